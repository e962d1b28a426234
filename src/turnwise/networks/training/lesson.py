"""What a trainer is given and what it gives back: the one contract of `turnwise train`.

A trainer is a function `train(lesson) -> Trained`, named in `turnwise.run.train.command.TRAINERS`. It lives beside
what it trains (a metric, an agent) and reads no file: conversations, ratings and settings are in the lesson, and what
it returns is written as a folder (`encode/models/folder.py`) by the command. Checkpoints go to `lesson.work`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.errors import DataError, UsageError
from turnwise.types import Dialogue, Finding, Floats, Item, digest

FEWEST = 30  # rated items: below, a correlation is known to no better than +-.36


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """People's side: one number an item, its good end up."""

    dimension: str
    values: Mapping[str, float]  # item id -> the raters' mean
    scale: tuple[float, float] | None
    per_item: float  # ratings of an item, harmonic mean
    ceiling: float  # correlation that a perfect judge could reach; NaN where one rater judged each item

    @property
    def card(self) -> dict[str, Any]:
        return {"dimension": self.dimension, "per_item": self.per_item, "scale": self.scale}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    metric: str
    dialogues: Sequence[Dialogue]  # whole conversations
    items: Sequence[Item]  # the judged replies in their contexts: the rated ones, where turns were rated
    ratings: Ratings | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)  # --set KEY=VALUE
    model: str | None = None  # --model: the encoder or language model to build on
    seed: int = 0
    device: str = "cpu"
    work: Path | None = None  # where checkpoints are kept; None: nowhere
    data: Mapping[str, Any] = field(default_factory=dict)  # files with sha256, for the card
    say: Callable[[str], None] = lambda _: None  # one line of progress

    @property
    def rng(self) -> np.random.Generator:
        """A generator of its own for each metric; the same for the same seed."""
        return np.random.default_rng([self.seed, int(digest(self.metric), 16)])

    @property
    def fingerprint(self) -> str:
        """Tells this run from every other: a checkpoint of another is not taken up."""
        asked = {"settings": dict(self.settings), "model": self.model, "seed": self.seed, "data": self.data}
        return digest(self.metric, json.dumps(asked, sort_keys=True, default=str))

    def setting(self, name: str, default: Any) -> Any:
        """A setting in the type of its default."""
        value = self.settings.get(name, default)
        if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if default is not None and type(value) is not type(default):
            raise UsageError(
                f"--set {name}={value}: expected {type(default).__name__}, as in {name}={default}"
            )
        return value

    def check_settings(self, known: Sequence[str]) -> None:
        """A misspelt setting would otherwise change nothing and say nothing."""
        for name in self.settings:
            if name not in known:
                raise UsageError(
                    f"`train {self.metric}` has no setting `{name}`; it has: {', '.join(known) or 'none'}"
                )

    def rated(self) -> tuple[list[Item], Floats]:
        """The items that people rated, and their ratings; refuses what cannot teach anything."""
        if self.ratings is None or not self.ratings.values:
            raise DataError(
                f"`train {self.metric}` learns from ratings, and the data has none; `turnwise rate` collects some"
            )
        known = self.ratings.values
        there = [item for item in self.items if item.id in known and item.missing is None]
        if there and not any(turn.text for item in there for turn in item.context):
            raise DataError("no rated reply has a context, and this metric reads replies in their context")
        items = [item for item in there if any(turn.text for turn in item.context) and item.reply.strip()]
        if len(items) < FEWEST:
            raise DataError(
                f"{len(items)} rated replies with a context; at least {FEWEST} are needed to learn from"
            )
        if lost := len(there) - len(items):
            self.say(
                f"warning: {lost} of {len(there)} rated replies have no context or no text and are left out"
            )
        values = np.array([known[item.id] for item in items])
        if np.ptp(values) == 0:
            raise DataError(
                f"all {len(items)} ratings of `{self.ratings.dimension}` are {values[0]:g}: nothing to learn"
            )
        if self.ratings.per_item < 1.5:
            self.say(
                "warning: one rater judged each reply: how far people agree is unknown, and so is the ceiling"
            )
        return items, values


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """What a trainer gives back: the parts of a model's folder, and how training went."""

    kind: str
    tensors: Mapping[str, NDArray[Any]]
    config: Mapping[str, Any]
    card: Mapping[str, Any]  # `folder.CARD_KEYS`; data and command are filled in by the command
    curve: Sequence[Mapping[str, float]] = ()  # one record an epoch
    findings: Sequence[Finding] = ()  # what the command prints: held-out numbers with intervals
