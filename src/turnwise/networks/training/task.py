"""The input and the output of a trainer: the contract of `turnwise train`.

A trainer is a function `train(task) -> TrainedModel`, named in `turnwise.run.train.command.TRAINERS` or in an entry
point of the group `turnwise.trainers`. It reads no file: dialogues, ratings and settings are in the `TrainingTask`.
The command writes the returned `TrainedModel` as a folder (`encode/models/folder.py`). Checkpoints go to `task.work`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.errors import DataError, UsageError
from turnwise.errors import setting as worded
from turnwise.networks.training.preferences import Preferences
from turnwise.records import StatisticRecord
from turnwise.types import Dialogue, Floats, Item, digest, without_prompt

FEWEST = 30  # rated items; with fewer, the 95 % interval of a correlation is wider than +-.36


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """People's ratings on one dimension: one mean an item, turned so that higher is better."""

    dimension: str
    values: Mapping[str, float]  # item id -> the raters' mean
    scale: tuple[float, float] | None
    per_item: float  # ratings of an item, harmonic mean
    ceiling: float  # highest correlation a metric can reach; NaN where each item has one rater

    @property
    def card(self) -> dict[str, Any]:
        """The dimension, the ratings of an item and the scale, for the model's card."""
        return {"dimension": self.dimension, "per_item": self.per_item, "scale": self.scale}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingTask:
    """Everything a trainer needs: data, settings, seed, device and where to keep checkpoints."""

    metric: str  # name of the trainer
    dialogues: Sequence[Dialogue]
    items: Sequence[
        Item
    ]  # replies in their contexts; only the rated ones where the trainer learns from ratings
    ratings: Ratings | None = None
    preferences: Preferences | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)  # --set KEY=VALUE
    model: str | None = None  # --model: the encoder or language model to build on
    seed: int = 0
    device: str = "cpu"
    work: Path | None = None  # folder for checkpoints; None: write none
    data: Mapping[str, Any] = field(default_factory=dict)  # files with their sha256, for the model card
    say: Callable[[str], None] = lambda _: None  # prints one line of progress

    @property
    def rng(self) -> np.random.Generator:
        """A new random generator at each access, which depends on the seed and on the name of the trainer only."""
        return np.random.default_rng([self.seed, int(digest(self.metric), 16)])

    @property
    def fingerprint(self) -> str:
        """Digest of settings, model, seed and data: a checkpoint with another fingerprint is not resumed."""
        asked = {"settings": dict(self.settings), "model": self.model, "seed": self.seed, "data": self.data}
        return digest(self.metric, json.dumps(asked, sort_keys=True, default=str))

    def setting(self, name: str, default: Any) -> Any:
        """The value of a setting; raises `UsageError` where its type is not that of the default.

        An int is accepted for a float, and any type where the default is None.
        """
        value = self.settings.get(name, default)
        if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if default is not None and type(value) is not type(default):
            raise UsageError(
                f"{worded('--set', f'{name}={value}')}: expected {type(default).__name__}, as in {name}={default}"
            )
        return value

    def check_settings(self, known: Sequence[str]) -> None:
        """Raise `UsageError` for a setting that is not in `known`, for example a misspelt one."""
        for name in self.settings:
            if name not in known:
                raise UsageError(
                    f"`train {self.metric}` has no setting `{name}`; it has: {', '.join(known) or 'none'}"
                )

    def rated(self) -> tuple[list[Item], Floats]:
        """The rated items with a context and a reply, and their ratings; a warning gives the number of those left out.

        Raises `DataError` where fewer than 30 are left or all ratings are equal.
        """
        if self.ratings is None or not self.ratings.values:
            raise DataError(
                f"`train {self.metric}` learns from ratings, and the data has none; `turnwise rate` collects some"
            )
        known = self.ratings.values
        there = [item for item in self.items if item.id in known and item.missing is None]
        answering = [item for item in there if any(turn.text for turn in without_prompt(item.context))]
        if there and not answering:
            raise DataError("no rated reply has a context, and this metric reads replies in their context")
        items = [item for item in answering if item.reply.strip()]
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
                "warning: one rater rated each reply: how far people agree is unknown, and so is the ceiling"
            )
        return items, values


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedModel:
    """What a trainer returns: the parts of a model folder, the training curve and held-out results."""

    kind: str
    tensors: Mapping[str, NDArray[Any]]
    config: Mapping[str, Any]
    card: Mapping[str, Any]
    """What a user must know to judge the model, None or absent where it is not known: `raters` (how many people rated
    each item), `ceiling` (the agreement of one rater with the others), `held_out` (correlations with intervals),
    `attacks` (frauds known to score above people), `languages` and `licence`. The command adds `data` and `command`."""
    curve: Sequence[Mapping[str, float]] = ()  # one record an epoch
    findings: Sequence[StatisticRecord] = ()  # held-out numbers with intervals, which the command prints
