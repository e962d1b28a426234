"""The contract of worlds."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from turnwise.conformance.plugins import world_problem
from turnwise.errors import TurnwiseError
from turnwise.logs.conversion import checked
from turnwise.testing.expect import ContractError, expect, no_problem, running
from turnwise.types import Dialogue

AGENTS = 3


def check_world(module: ModuleType | Any, *, dialogues: int = 3) -> None:
    """Check that a world keeps its contract; raises `ContractError` with one sentence where it does not.

    Parameters:
        module: A module with `WORLD`, `FAMILIES` and `family`.
        dialogues: How many dialogues each agent of each family holds; families have three agents here.
    """
    no_problem(world_problem(module))
    for name in module.FAMILIES:
        with running(f"family({name!r}, agents={AGENTS})"):
            family = dict(module.family(name, agents=AGENTS))
        expect(
            len(family) == AGENTS,
            f"family({name!r}, agents={AGENTS}) has {len(family)} agents; expected {AGENTS}",
        )
        for label, agent in family.items():
            expect(callable(agent), f"agent `{label}` of family `{name}` cannot be called")
            _check_dialogues(module.WORLD, label, agent, family, dialogues)


def _check_dialogues(world: Any, name: str, agent: Any, family: dict[str, Any], dialogues: int) -> None:
    """Raise `ContractError` unless the dialogues of one agent are repeatable and valid in the native format, are rated
    on dimensions of the world only, have alternatives of the whole family, and a truth of the right shape.
    """
    held: list[Dialogue] = []
    for number in range(dialogues):
        with running(f"a dialogue of agent `{name}`"):
            first, again = (
                world.play(
                    agent,
                    np.random.default_rng(number),
                    identity=f"{name}/{number}",
                    name=name,
                    others=family,
                )
                for _ in range(2)
            )
        expect(isinstance(first, Dialogue), f"`play` returned a {type(first).__name__}; expected a Dialogue")
        expect(first == again, f"two dialogues of `{name}` with the same seed differ")
        _check_alternatives(first, family)
        _check_ratings(first, world.dimensions)
        held.append(first)
        with running(f"the truth of agent `{name}`"):
            truth = np.asarray(world.truth(agent, np.random.default_rng(number)))
        expect(
            truth.shape == (len(world.dimensions),),
            f"`truth` has shape {truth.shape}; expected one number for each of {', '.join(world.dimensions)}",
        )
        expect(not np.isinf(truth).any(), f"`truth` of `{name}` is infinite")
    try:
        list(checked(iter(held), "simulated dialogues"))
    except TurnwiseError as error:
        raise ContractError(f"a simulated dialogue breaks the rules of the native format: {error}") from error


def _check_alternatives(dialogue: Dialogue, family: dict[str, Any]) -> None:
    """Raise `ContractError` if some reply has no alternative of some agent of the family."""
    for turn in dialogue.turns:
        if turn.role == "assistant":
            missing = [name for name in family if name not in turn.alternatives]
            expect(not missing, f"a reply in `{dialogue.id}` has no alternative of {', '.join(missing)}")


def _check_ratings(dialogue: Dialogue, dimensions: tuple[str, ...]) -> None:
    """Raise `ContractError` if a rating is on a dimension that the world does not name."""
    for rating in dialogue.ratings:
        expect(
            rating.dimension in dimensions,
            f"`{dialogue.id}` is rated on `{rating.dimension}`, which is not in `dimensions`: {', '.join(dimensions)}",
        )
