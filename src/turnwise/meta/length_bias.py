"""Does a score favour replies as long as their reference? (Liu et al. 2016; ADEM, Table 8.)

Replies are parted by the difference in words to their reference; a metric that scores the near ones higher, where
people do not, is biased. p is Welch's: the groups need not spread alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

import numpy as np

from turnwise.errors import Refused, TooFewItems
from turnwise.meta.correlate import by_unit
from turnwise.meta.gold import Gold
from turnwise.meta.table import ScoreTable
from turnwise.types import Floats, Item

NEAR = 6  # words: the paper's, where it parts the test set in halves


@dataclass(frozen=True, slots=True)
class LengthBias:
    near: float  # mean score of replies within `NEAR` words of their reference
    far: float
    n_near: int
    n_far: int
    p: float


def length_bias(scores: Floats, gaps: Floats, *, near: int = NEAR) -> LengthBias:
    """`gaps` are absolute differences in words, one a reply."""
    from scipy.stats import ttest_ind

    close = gaps <= near
    one, two = scores[close], scores[~close]
    if min(len(one), len(two)) < 2:
        raise TooFewItems(
            f"{len(one)} replies are within {near} words of their reference and {len(two)} are not; "
            "2 of each are needed"
        )
    if np.ptp(scores) == 0:
        return LengthBias(float(one.mean()), float(two.mean()), len(one), len(two), float("nan"))
    p = float(ttest_ind(one, two, equal_var=False).pvalue)
    return LengthBias(float(one.mean()), float(two.mean()), len(one), len(two), p)


def gap(item: Item) -> float:
    """Words between the reply and the nearest of its references in length; NaN where there is none."""
    words = len(item.reply.split())
    return min((float(abs(words - len(text.split()))) for text in item.references), default=float("nan"))


def biases(
    tables: Sequence[ScoreTable], gold: Gold, items: Mapping[str, Item], *, group: str = ""
) -> list[dict[str, Any]]:
    """A record for people, and one for each metric on the replies that it scored; the good end of both is up."""
    people = list(gold.values)
    sides = {"people": (people, np.array([gold.values[name] for name in people]))}
    for table in tables:
        try:
            points = by_unit(table, gold)
        except Refused:  # its finding says why
            continue
        sides[table.name] = (list(points.names), points.x)
    found = []
    for name, (ids, scores) in sides.items():
        gaps = np.array([gap(items[one]) if one in items else np.nan for one in ids])
        known = ~np.isnan(gaps)
        about = {"metric": name, "dimension": gold.dimension, "group": group or None}
        try:
            bias = asdict(length_bias(scores[known], gaps[known]))
        except TooFewItems as error:
            found.append({**about, **dict.fromkeys(LengthBias.__slots__), "reason": str(error)})
            continue
        found.append({**about, **bias, "p": None if isnan(bias["p"]) else bias["p"], "reason": None})
    return found
