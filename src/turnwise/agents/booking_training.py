"""Trainers of sellers and customers of the booking world: cloning of logged dialogues, with one training loop.

`share` is the part of the dialogues that is learned from, `intent`, `flight` and `name` are the weights of the heads
(equation 13 of ENIGMA): by them sellers of graded strength are made. Validation is on the last tenth of the dialogues,
which the share does not touch.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwise.errors import DataError, UsageError
from turnwise.networks.training.task import TrainedModel, TrainingTask
from turnwise.records import StatisticRecord
from turnwise.types import Dialogue

if TYPE_CHECKING:
    from turnwise.networks.transformer import Example

FEWEST = 20  # dialogues to learn from and to validate on
_HELD_OUT = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a seller or a customer is trained; the three weights are for sellers only."""

    share: float = 1.0  # of the dialogues that are not held out
    layers: int = 2
    width: int = 48
    updates: int = 400
    batch: int = 16
    rate: float = 3e-3
    intent: float = 1.0
    flight: float = 1.0
    name: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise UsageError(f"`share` is above 0 and at most 1, not {self.share:g}")
        if min(self.layers, self.width, self.updates, self.batch) < 1:
            raise UsageError("layers, width, updates and batch are 1 or more")
        if min(self.intent, self.flight, self.name) < 0:
            raise UsageError("intent, flight and name are 0 or more")


def seller(task: TrainingTask) -> TrainedModel:
    """Train a seller on booking dialogues, which must hold the flight table in `meta.briefing`."""
    settings = _settings(task, [one.name for one in fields(Settings)])
    return train_seller(task.dialogues, settings, seed=task.seed, work=task.work, say=task.say)


def customer(task: TrainingTask) -> TrainedModel:
    """Train a customer on booking dialogues, which must hold what the customer wanted in `goal`."""
    names = [one.name for one in fields(Settings) if one.name not in ("intent", "flight", "name")]
    settings = _settings(task, names)
    return train_customer(task.dialogues, settings, seed=task.seed, work=task.work, say=task.say)


def train_seller(
    dialogues: Sequence[Dialogue],
    settings: Settings,
    *,
    seed: int,
    work: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> TrainedModel:
    """Train a seller; raises `DataError` if fewer than 20 dialogues have a flight table and a seller's turn."""
    from turnwise.agents.seller import HEADS, seller_example, seller_weights
    from turnwise.agents.trained_speaker import Words
    from turnwise.worlds.booking.tokens import FEATURES, seller_pieces

    usable = [
        one
        for one in dialogues
        if "briefing" in one.meta and any(turn.role == "assistant" and turn.content for turn in one.turns)
    ]
    _check(usable, "a flight table (`meta.briefing`) and a seller's turn")
    words = Words.learn([seller_pieces(turn.text) for one in usable for turn in one.turns])
    weights = seller_weights(intent=settings.intent, flight=settings.flight, name=settings.name)
    return _trained(
        "seller",
        [seller_example(one, words) for one in usable],
        settings,
        {"vocabulary": len(words), "heads": HEADS, "features": FEATURES},
        weights,
        {"words": list(words.pieces)},
        seed=seed,
        work=work,
        say=say,
    )


def train_customer(
    dialogues: Sequence[Dialogue],
    settings: Settings,
    *,
    seed: int,
    work: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> TrainedModel:
    """Train a customer; raises `DataError` if fewer than 20 dialogues say what the customer wanted."""
    from turnwise.agents.customer import customer_example
    from turnwise.agents.trained_speaker import Words
    from turnwise.worlds.booking.tokens import customer_pieces, goal_pieces

    usable = [one for one in dialogues if one.goal and {"goal", "name", "origin", "price"} <= set(one.goal)]
    _check(usable, "a customer's `goal` with its name, route and budget")
    words = Words.learn(
        [customer_pieces(turn.text, one.goal or {}) for one in usable for turn in one.turns]
        + [goal_pieces(one.goal or {}) for one in usable]
    )
    return _trained(
        "customer",
        [customer_example(one, words) for one in usable],
        settings,
        {"vocabulary": len(words)},
        {},
        {"words": list(words.pieces)},
        seed=seed,
        work=work,
        say=say,
    )


def _check(usable: Sequence[Dialogue], needs: str) -> None:
    """Raise `DataError` if too few dialogues are usable."""
    if len(usable) < FEWEST:
        raise DataError(
            f"{len(usable)} dialogues of the booking world have {needs}, and {FEWEST} are needed; "
            "`turnwise simulate booking` makes some"
        )


def _settings(task: TrainingTask, names: Sequence[str]) -> Settings:
    """The default settings with those of the task; raises `UsageError` for unknown ones."""
    task.check_settings(names)
    default = Settings()
    return Settings(**{name: task.setting(name, getattr(default, name)) for name in names})


def _trained(
    kind: str,
    examples: Sequence["Example"],
    settings: Settings,
    sizes: Mapping[str, Any],
    weights: Mapping[str, float],
    config: Mapping[str, Any],
    *,
    seed: int,
    work: Path | None,
    say: Callable[[str], None],
) -> TrainedModel:
    """Train the network on the examples; its perplexity is that of the held-out tenth."""
    from turnwise.networks.training.loop import Plan, fit
    from turnwise.networks.transformer import Sizes, half, new_network

    order = np.random.default_rng([seed, 0]).permutation(len(examples)).tolist()
    count = max(2, round(_HELD_OUT * len(examples)))
    held_out = [examples[at] for at in order[:count]]
    rest = [examples[at] for at in order[count:]]
    learned = rest[: max(4, round(settings.share * len(rest)))]
    longest = max(len(one.tokens) for one in examples)
    network = new_network(Sizes(width=settings.width, layers=settings.layers, longest=longest, **sizes), seed)
    steps = -(-len(learned) // settings.batch)

    curve = fit(
        network,
        lambda positions: network.losses([learned[at] for at in positions], weights),
        len(learned),
        plan=Plan(
            epochs=max(1, settings.updates // steps),
            batch=settings.batch,
            rate=settings.rate,
            patience=max(3, 100 // steps),
            seed=seed,
        ),
        validate=lambda: network.mean_loss(held_out, weights),
        measures=lambda: {"perplexity": float(np.exp(network.mean_loss(held_out)))},
        work=work,
        about=kind,
        say=say,
    )
    best = min(curve, key=lambda point: point["validation"])
    shape = {"width": settings.width, "layers": settings.layers, "longest": longest, **sizes}
    return TrainedModel(
        kind=kind,
        tensors=half(network),
        config={**config, "sizes": shape, "settings": asdict(settings)},
        card={
            "held_out": {"perplexity": best["perplexity"], "dialogues": len(held_out)},
            "trained_on": len(learned),
            "languages": "those of the training text",
        },
        curve=curve,
        findings=(
            StatisticRecord(
                metric=kind,
                statistic="perplexity",
                estimate=best["perplexity"],
                n_items=len(held_out),
                n_clusters=len(held_out),
                method="held-out dialogues",
            ),
        ),
    )
