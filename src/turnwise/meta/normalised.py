"""Where two metrics part company over good and bad replies, on people's own scale (ADEM, Tables 6, 9, 12 and 13).

A metric's scores are given the mean and deviation of the ratings and cut to the ends of the scale; a raw score of 0,
no word in common, is the scale's low end. Normalised so, `|metric|`, scores of different metrics can be held
against the same thresholds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.errors import UsageError
from turnwise.meta.correlate import by_unit
from turnwise.meta.gold import Gold
from turnwise.meta.table import ScoreTable
from turnwise.types import Floats

Mask = NDArray[np.bool_]
HIGH, LOW = 0.75, 0.25  # of the scale: 4 and 2 on 1 to 5
SHOWN = 3  # examples of a kind


def normalised(
    scores: Floats, ratings: Floats, scale: tuple[float, float], *, zero_is_low: bool = True
) -> Floats:
    """|metric|; a metric that gives everyone the same has no deviation to match, and is NaN."""
    low, high = scale
    deviation = float(scores.std())
    if deviation == 0:
        return np.full(len(scores), np.nan)
    found = np.clip((scores - scores.mean()) / deviation * ratings.std() + ratings.mean(), low, high)
    return np.where(zero_is_low & (scores == 0), low, found)


@dataclass(frozen=True, slots=True, eq=False)
class Parting:
    """Which replies are where; the paper's Table 6 is their counts."""

    good: Mask  # people: at least 4 of 5
    missed: Mask  # good, and every metric of `others` below 2
    rescued: Mask  # missed, and the judged metric above 4
    failed: Mask  # good, and the judged metric below 2
    beaten: Mask  # failed, and one of the others above 4
    fooled: Mask  # people below 2 and one of the others too, and the judged metric above 4

    def counts(self) -> dict[str, int]:
        return {name: int(np.count_nonzero(getattr(self, name))) for name in Parting.__slots__}


def parting(
    judged: Floats, others: Mapping[str, Floats], ratings: Floats, scale: tuple[float, float]
) -> Parting:
    """All scores are raw; they are normalised here. `judged` predicts a rating, so its 0 means nothing special."""
    low, high = (scale[0] + share * (scale[1] - scale[0]) for share in (LOW, HIGH))
    own = normalised(judged, ratings, scale, zero_is_low=False)
    table = np.array([normalised(scores, ratings, scale) for scores in others.values()])
    good, bad = ratings >= high, ratings <= low
    missed, failed = good & (table < low).all(axis=0), good & (own < low)
    return Parting(
        good=good,
        missed=missed,
        rescued=missed & (own > high),
        failed=failed,
        beaten=failed & (table > high).any(axis=0),
        fooled=bad & (table < low).any(axis=0) & (own > high),
    )


def partings(tables: Sequence[ScoreTable], gold: Gold, *, group: str = "") -> list[dict[str, Any]]:
    """The first metric against the others, on the replies that all of them scored: a record for each kind."""
    if len(tables) < 2:
        raise UsageError("--normalised holds the first metric against the others: name two or more with -m")
    if gold.matrix.scale is None:
        raise UsageError(
            f"--normalised needs the ends of the scale on which `{gold.dimension}` was rated, and the data does not "
            "give them (`scale` of a rating)"
        )
    points = [by_unit(table, gold) for table in tables]
    scores = [dict(zip(one.names, one.x, strict=True)) for one in points]
    names = [name for name in points[0].names if all(name in one for one in scores)]
    columns = [np.array([one[name] for name in names]) for one in scores]
    ratings = np.array([gold.values[name] for name in names])
    others = {table.name: column for table, column in zip(tables[1:], columns[1:], strict=True)}
    parted = parting(columns[0], others, ratings, gold.matrix.scale)
    about = {
        "metric": tables[0].name,
        "others": list(others),
        "dimension": gold.dimension,
        "group": group or None,
    }
    return [
        {
            **about,
            "kind": kind,
            "n": count,
            "of": len(names),
            "examples": [names[at] for at in np.flatnonzero(getattr(parted, kind))[:SHOWN]],
        }
        for kind, count in parted.counts().items()
    ]
