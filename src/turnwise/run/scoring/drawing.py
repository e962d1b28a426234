"""Draws the dialogues to rate next, with weights that undo the unequal draw: `calibrate --plan` and `rate --choose`."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from turnwise.errors import DataError, UsageError, counted
from turnwise.logs import native
from turnwise.logs.items.keys import WEIGHT, lookup
from turnwise.meta.calibrate import Units, expected_unit_errors
from turnwise.records import LabelDraw
from turnwise.run.scoring.tally import generator
from turnwise.stats.drawing import UNIFORM, inclusion_probabilities, systematic_draw
from turnwise.types import Dialogue, Floats

if TYPE_CHECKING:
    from turnwise.commands.calibrate import Calibrate


@dataclass(frozen=True, slots=True)
class Draw:
    """Dialogues that were drawn to be rated.

    Every dialogue has its weight, the inverse of its probability of having been drawn by now, in `meta.weight`.
    """

    dialogues: tuple[Dialogue, ...]  # all of the data
    drawn: frozenset[str]  # ids
    rated_before: int  # dialogues that have a rating

    def record(self) -> LabelDraw:
        """What results.json says about it."""
        mine = [one for one in self.dialogues if one.id in self.drawn]
        weights = [one.meta[WEIGHT] for one in mine]
        return LabelDraw(
            drawn=len(mine),
            rated_before=self.rated_before,
            key=f"meta.{WEIGHT}",
            smallest_weight=min(weights),
            largest_weight=max(weights),
            agents=dict(Counter(one.agent for one in mine)),
        )

    def write(self, folder: Path) -> None:
        """Write plan.jsonl, the drawn dialogues, and rest.jsonl, all others."""
        folder.mkdir(parents=True, exist_ok=True)
        native.write((one for one in self.dialogues if one.id in self.drawn), str(folder / "plan.jsonl"))
        native.write((one for one in self.dialogues if one.id not in self.drawn), str(folder / "rest.jsonl"))


def first_draw(spec: "Calibrate", dialogues: Sequence[Dialogue], selected: Collection[str]) -> Draw:
    """Draw from the selected ones of dialogues without a rating, each as likely.

    Nothing is known yet about the error of a metric. `selected` has ids.
    """
    open_ = np.array([one.id in selected for one in dialogues])
    chance = np.full(len(dialogues), _count(spec, int(open_.sum())) / max(1, int(open_.sum())))
    return _draw(spec, dialogues, np.where(open_, chance, 0.0), chance, rated=0)


def next_draw(spec: "Calibrate", dialogues: Sequence[Dialogue], units: Units) -> Draw:
    """Draw from the dialogues that are not rated yet, by the expected error of the metric."""
    errors = expected_unit_errors(units, rng=generator(spec.seed, "plan"))
    size = {one.id: 0.0 for one in dialogues}
    n_units = Counter(units.agents)
    dialogue_of_unit = dict(zip(units.names, units.dialogues, strict=True))
    for name, agent, error in zip(units.names, units.agents, errors.tolist(), strict=True):
        size[dialogue_of_unit[name]] += error / n_units[agent]
    rated = {dialogue_of_unit[name] for name, one in zip(units.names, units.labelled, strict=True) if one}
    sizes = np.array([size[one.id] for one in dialogues])
    there = np.array([size[one.id] > 0 for one in dialogues])
    open_ = np.array([one.id not in rated for one in dialogues]) & there
    count = _count(spec, int(open_.sum()))
    # Rated dialogues have the probability that they would have had, so that old and new labels can be weighed together.
    scale = inclusion_probabilities(sizes[open_], count)
    ratio = float(scale.sum() / np.maximum(sizes[open_].sum(), 1e-300))
    uniform = UNIFORM * count / int(open_.sum())
    chance = np.minimum(1.0, uniform + (1 - UNIFORM) * ratio * sizes)
    chance[open_] = scale
    before = _drawn_before(spec, dialogues, len(rated) / max(1, int(there.sum())))
    total = before + (1 - before) * chance
    return _draw(spec, dialogues, np.where(open_, chance, 0.0), total, rated=len(rated))


def weight_of(dialogue: Dialogue, key: str) -> float:
    """The weight of a dialogue at this key; `DataError` if it is not a number from 1 on."""
    text = lookup(dialogue, key)
    try:
        value = float(text) if text is not None else float("nan")
    except ValueError:
        value = float("nan")
    if not (isfinite(value) and value >= 1):
        raise DataError(
            f"the `{key}` of dialogue {dialogue.id!r} is {text or 'absent'}; expected the inverse of the probability "
            "with which it was drawn to be rated, a number from 1 on"
        )
    return value


def _count(spec: "Calibrate", n: int) -> int:
    """The number of dialogues to draw; `UsageError` if there are fewer."""
    if spec.plan is None or spec.plan > n:
        raise UsageError(
            f"{spec.plan} dialogues are to be drawn: only {counted(n, 'dialogue')} can still be rated"
        )
    return spec.plan


def _drawn_before(spec: "Calibrate", dialogues: Sequence[Dialogue], share: float) -> Floats:
    """The probability with which each dialogue was drawn until now: the share that is rated, or the inverse weight."""
    if spec.drawn != "weights":
        return np.full(len(dialogues), share)
    return np.array([1 / weight_of(one, spec.weights_key) for one in dialogues])


def _draw(
    spec: "Calibrate", dialogues: Sequence[Dialogue], chance: Floats, total: Floats, *, rated: int
) -> Draw:
    """Draw with these probabilities; `total` has those of having been drawn by now, whose inverses are the weights."""
    open_ = np.flatnonzero(chance > 0)
    drawn = open_[systematic_draw(chance[open_], generator(spec.seed, "draw"))]
    weighted = tuple(
        replace(one, meta={**one.meta, WEIGHT: round(1 / probability, 6)})
        for one, probability in zip(dialogues, total.tolist(), strict=True)
    )
    return Draw(weighted, frozenset(dialogues[at].id for at in drawn.tolist()), rated)
