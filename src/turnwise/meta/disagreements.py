"""Replies on which metrics disagree with people and with each other (ADEM, Tables 6, 9, 12 and 13).

Each metric's scores are normalised to the mean and standard deviation of the ratings and clipped to the rating scale; a
raw score of 0 (no word in common) becomes the low end of the scale. Normalised scores, `|metric|` in the paper, of
different metrics can be compared with the same thresholds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from turnwise.errors import UsageError, setting
from turnwise.meta.gold import Gold
from turnwise.meta.points import unit_points
from turnwise.meta.table import ScoreTable
from turnwise.records import DisagreementCount
from turnwise.types import Floats

Mask = NDArray[np.bool_]
HIGH, LOW = 0.75, 0.25  # thresholds as shares of the scale: 4 and 2 on a scale of 1 to 5, as in the paper
SHOWN = 3  # examples listed of each kind


def on_rating_scale(
    scores: Floats, ratings: Floats, scale: tuple[float, float], *, zero_is_low: bool = True
) -> Floats:
    """Scores with the mean and standard deviation of the ratings, clipped to the scale; NaN for a constant metric.

    With `zero_is_low`, a raw score of 0 becomes the low end of the scale.
    """
    low, high = scale
    deviation = float(scores.std()) if len(scores) else 0.0
    if deviation == 0:
        return np.full(len(scores), np.nan)
    found = np.clip((scores - scores.mean()) / deviation * ratings.std() + ratings.mean(), low, high)
    return np.where(zero_is_low & (scores == 0), low, found)


@dataclass(frozen=True, slots=True, eq=False)
class Disagreements:
    """Which replies are of each kind, as (n,) masks; the counts are the paper's Table 6."""

    good: Mask  # rated at least 4 of 5 by people
    missed: Mask  # good, and below 2 by all the other metrics
    rescued: Mask  # missed, and above 4 by the first metric
    failed: Mask  # good, and below 2 by the first metric
    beaten: Mask  # failed, and above 4 by one of the other metrics
    fooled: Mask  # at most 2 by people, below 2 by one of the other metrics, and above 4 by the first metric

    def counts(self) -> dict[str, int]:
        """Number of replies of each kind, in the order of the fields."""
        return {name: int(np.count_nonzero(getattr(self, name))) for name in Disagreements.__slots__}


def disagreements(
    first_metric: Floats, others: Mapping[str, Floats], ratings: Floats, scale: tuple[float, float]
) -> Disagreements:
    """Replies of each kind, from the raw scores of the first metric and of the others.

    The first metric predicts a rating, so a raw score of 0 is not mapped to the low end of the scale.
    """
    low, high = (scale[0] + share * (scale[1] - scale[0]) for share in (LOW, HIGH))
    first = on_rating_scale(first_metric, ratings, scale, zero_is_low=False)
    other_scores = np.array([on_rating_scale(scores, ratings, scale) for scores in others.values()])
    good, bad = ratings >= high, ratings <= low
    missed, failed = good & (other_scores < low).all(axis=0), good & (first < low)
    return Disagreements(
        good=good,
        missed=missed,
        rescued=missed & (first > high),
        failed=failed,
        beaten=failed & (other_scores > high).any(axis=0),
        fooled=bad & (other_scores < low).any(axis=0) & (first > high),
    )


def disagreement_records(
    tables: Sequence[ScoreTable], gold: Gold, *, group: str = ""
) -> list[DisagreementCount]:
    """A record for each kind of reply: the first metric against the others, on replies that all of them scored.

    Records have the number of replies and the first 3 ids by name. Fewer than two metrics, or a dimension without a
    scale, is a `UsageError`.
    """
    if len(tables) < 2:
        raise UsageError(
            f"{setting('--normalised')} compares the first metric with the others: give two or more with "
            f"{setting('-m')}"
        )
    if gold.matrix.scale is None:
        raise UsageError(
            f"{setting('--normalised')} needs the ends of the scale on which `{gold.dimension}` was rated, and the "
            "data does not give them (`scale` of a rating)"
        )
    points = [unit_points(table, gold) for table in tables]
    scores = [dict(zip(one.names, one.x, strict=True)) for one in points]
    names = sorted(name for name in points[0].names if all(name in one for one in scores))
    columns = [np.array([one[name] for name in names]) for one in scores]
    ratings = np.array([gold.values[name] for name in names])
    others = {table.name: column for table, column in zip(tables[1:], columns[1:], strict=True)}
    found = disagreements(columns[0], others, ratings, gold.matrix.scale)
    return [
        DisagreementCount(
            metric=tables[0].name,
            others=tuple(others),
            dimension=gold.dimension,
            group=group or None,
            kind=kind,
            n=count,
            of=len(names),
            examples=tuple(names[at] for at in np.flatnonzero(getattr(found, kind))[:SHOWN]),
        )
        for kind, count in found.counts().items()
    ]
