"""Realism of simulators against the error of their ranking of agents: `python -m benchmarks.play_simulators`.

In worlds where real users follow known rules, 16 simulators are these rules shifted by degree in manner, patience,
knowledge and agreement. Each plays the same scenarios with eight agents. Its ranking of them is compared with the true
one, that of dialogues with the rules themselves in other scenarios. The printed realism is compared with this error
over the simulators, in rank.

A shift in manner hardly moves the scores of agents that look for words, and one in patience hardly moves the words: no
distance between messages can see every error, and the result says how much it sees.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from turnwise.commands.play import Play
from turnwise.encode import load
from turnwise.logs.native import read
from turnwise.report.documents import PlayDocument
from turnwise.run.play.command import play
from turnwise.run.play.realism import MEASURES, Said, realism
from turnwise.stats.correlation import kendall, spearman
from turnwise.stats.interval import percentile
from turnwise.types import Dialogue, Floats, Signature, Turn
from turnwise.users.rules import RuleUser
from turnwise.users.user import Stage, UserMessage
from turnwise.worlds import named
from turnwise.worlds.booking.wording import LEAVING

RESULT = Path(__file__).parent / "results" / "play_simulators.json"
AGENTS, SCENARIOS, TRUTH = 8, 40, 150
DEGREES = (0.1, 0.3, 0.6, 1.0)
KINDS = ("manner", "patience", "knowledge", "agreement")
WORLDS = {"booking": ("behaviour", "reward"), "task": ("graded", "success"), "chat": ("failings", "overall")}
_POLITE = "I would be most grateful if you could kindly assist me with the following matter. "


class Shifted:
    """The rules of a world, shifted by a degree from 0 to 1."""

    concurrent: ClassVar[bool] = True

    def __init__(self, kind: str, degree: float) -> None:
        self.kind, self.degree, self.rules = kind, degree, RuleUser()

    @property
    def signature(self) -> Signature:
        """The kind and the degree."""
        return Signature("shifted", (("kind", self.kind), ("degree", str(self.degree))))

    def __call__(self, stage: Stage, turns: Sequence[Turn], seed: int, /) -> UserMessage:
        """The message of the rules, shifted with a probability of the degree."""
        message = self.rules(stage, turns, seed)
        rng = np.random.default_rng([seed, 1])
        if message.leaving or rng.random() >= self.degree * (
            0.4 if self.kind == "patience" and turns else 1.0
        ):
            return message
        if self.kind == "manner":
            return UserMessage(_POLITE + message.text)
        if self.kind == "patience":
            leaves = (
                f"{message.text} {LEAVING[0]}" if stage.scenario.world == "booking" else "Never mind, bye."
            )
            return UserMessage(leaves, "gave-up" if turns else None)
        if not turns:
            return message
        if self.kind == "knowledge":
            return UserMessage("I do not know that.")
        return UserMessage("Yes, that is fine.")


def held(
    world: str, agents: dict[str, Any], user: Any, *, seed: int, scenarios: int
) -> tuple[PlayDocument, list[Dialogue]]:
    """The results and the dialogues of the agents with a user."""
    with tempfile.TemporaryDirectory() as folder:
        output = f"{folder}/runs.jsonl"
        spec = Play(
            scenarios=f"world:{world}", agents=list(agents), output=output, user="rules", limit=scenarios, seed=seed,
            check=False, max_turns=20, draws=100,
        )  # fmt: skip
        document = play(spec, others=agents, user=user)
        return document, list(read(output))


def means(document: PlayDocument, dimension: str, names: Sequence[str]) -> Floats:
    """The mean score of each agent; 0 for one without a score."""
    found = {one.agent: one.value for one in document.results if one.dimension == dimension}
    return np.array([found.get(name, 0.0) for name in names])


def messages(dialogues: Sequence[Dialogue]) -> list[Said]:
    """What the users said."""
    return [
        Said(str(one.extra["task"]), turn.text)
        for one in dialogues
        for turn in one.turns
        if turn.role == "user"
    ]


def measured(world: str) -> list[dict[str, Any]]:
    """Realism and ranking error of every simulator in a world."""
    family, dimension = WORLDS[world]
    agents = named(world).family(family, agents=AGENTS)
    names = list(agents)
    truth, real = held(world, agents, RuleUser(), seed=1, scenarios=TRUTH)
    dimensions = sorted({one.dimension for one in truth.results})
    dimension = dimension if dimension in dimensions else dimensions[0]
    true = means(truth, dimension, names)
    kept = messages(real)[:3000]
    encoder = load("hashing")
    found = []
    for kind, degree in [("none", 0.0), *((kind, degree) for kind in KINDS for degree in DEGREES)]:
        user = RuleUser() if kind == "none" else Shifted(kind, degree)
        document, dialogues = held(world, agents, user, seed=2, scenarios=SCENARIOS)
        scores = means(document, dimension, names)
        # A simulator that gives all agents the same score orders none of them.
        order = kendall(scores, true) if np.ptp(scores) else 0.0
        records = realism(messages(dialogues), kept, encoder=encoder, kind="all")
        found.append(
            {
                "world": world, "dimension": dimension, "simulator": kind, "degree": degree,
                "dialogues": len(dialogues), "kendall": order, "error": (1 - order) / 2,
                "bias": float(np.abs(scores - true).mean()),
                "realism": {
                    one.measure: {"estimate": one.estimate, "interval": one.interval, "floor": one.floor}
                    for one in records
                },
            }
        )  # fmt: skip
        print(
            json.dumps({key: found[-1][key] for key in ("world", "simulator", "degree", "error", "bias")}),
            flush=True,
        )
    return found


def related(rows: Sequence[dict[str, Any]], against: str) -> dict[str, Any]:
    """The rank correlation of each measure of realism with an error, over the simulators, with its interval."""
    made: dict[str, Any] = {}
    for measure in MEASURES:
        sign = -1.0 if measure == "prd" else 1.0
        x = np.array([sign * row["realism"][measure]["estimate"] for row in rows])
        y = np.array([row[against] for row in rows])
        rng = np.random.default_rng(0)
        draws = []
        for _ in range(2000):
            chosen = rng.integers(len(x), size=len(x))
            draws.append(spearman(x[chosen], y[chosen]))
        made[measure] = {
            "spearman": spearman(x, y), "interval": percentile(np.array(draws), n_clusters=len(x)),
            "simulators": len(x),
        }  # fmt: skip
    return made


def main() -> None:
    """Measure, relate, and write the result."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS))
    given = options.parse_args()
    result: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    for world in given.worlds:
        rows = measured(world)
        shifted = [row for row in rows if row["simulator"] != "none"]
        result[world] = {
            "agents": AGENTS, "scenarios": SCENARIOS, "truth_scenarios": TRUTH, "simulators": rows,
            "with_ranking_error": related(shifted, "error"), "with_bias": related(shifted, "bias"),
        }  # fmt: skip
        RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
