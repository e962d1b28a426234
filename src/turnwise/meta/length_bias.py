"""Length bias: does a metric favour replies as long as their reference? (Liu et al. 2016; ADEM, Table 8.)

Replies are split by their difference in words to the reference. A metric that scores replies of similar length higher,
where people do not, is biased. The p-value is of Welch's t-test, which allows unequal variances.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from turnwise.errors import Refused, TooFewItems
from turnwise.meta.gold import Gold
from turnwise.meta.points import unit_points
from turnwise.meta.table import ScoreTable
from turnwise.records import LengthBias, finite
from turnwise.types import Floats, Item

NEAR_WORDS = 6  # largest difference in words that counts as near: the paper's, which halves its test set


@dataclass(frozen=True, slots=True)
class NearAndFar:
    """Mean scores of replies near to and far from the length of their reference, and Welch's p-value."""

    near: float  # mean score of replies within `NEAR_WORDS` words of their reference
    far: float
    n_near: int
    n_far: int
    p: float


def length_bias(scores: Floats, gaps: Floats, *, near: int = NEAR_WORDS) -> NearAndFar:
    """Compare the scores of replies near to and far from the length of their reference.

    `gaps` has the absolute difference in words of each reply; up to `near` is near. Raises `TooFewItems` with fewer
    than 2 replies on a side. p is NaN if the scores of neither side vary.
    """
    is_near = gaps <= near
    one, two = scores[is_near], scores[~is_near]
    if min(len(one), len(two)) < 2:
        raise TooFewItems(
            "{n_near} replies are within {near} words of their reference and {n_far} are not; 2 of each are needed",
            "too-few-near-or-far",
            n_near=len(one),
            n_far=len(two),
            near=near,
        )
    return NearAndFar(float(one.mean()), float(two.mean()), len(one), len(two), _welch_p(one, two))


def _welch_p(one: Floats, two: Floats) -> float:
    """The two-sided p-value of Welch's t-test; NaN if neither side varies.

    scipy's function warns about scores that are nearly equal, which is no mistake here.
    """
    from scipy.special import stdtr

    parts = [(float(np.var(side, ddof=1)) / len(side), len(side) - 1) for side in (one, two)]
    total = sum(part for part, _ in parts)
    if not total > 0:
        return float("nan")
    freedom = 1 / sum((part / total) ** 2 / degrees for part, degrees in parts)
    return 2 * float(stdtr(freedom, -abs(float(one.mean()) - float(two.mean())) / total**0.5))


def length_difference(item: Item) -> float:
    """Absolute difference in words to the reference nearest in length; NaN without a reference."""
    words = len(item.reply.split())
    return min((float(abs(words - len(text.split()))) for text in item.references), default=float("nan"))


def length_bias_records(
    tables: Sequence[ScoreTable], gold: Gold, gaps_of: Mapping[str, float], *, group: str = ""
) -> list[LengthBias]:
    """The bias of people's ratings and of each metric that is not refused, or the reason for none.

    A side uses the replies that it scored and that have a reference. Scores of metrics where lower is better are
    negated. `gaps_of` has the `length_difference` of each reply by id; `group` is copied into the records.
    """
    people = list(gold.values)
    sides = {"people": (people, np.array([gold.values[name] for name in people]))}
    for table in tables:
        try:
            points = unit_points(table, gold)
        except Refused:  # the metric's record has the reason
            continue
        sides[table.name] = (list(points.names), points.x)
    biases = []
    for name, (ids, scores) in sides.items():
        gaps = np.array([gaps_of.get(name, np.nan) for name in ids])
        known = ~np.isnan(gaps)
        about: dict[str, Any] = {"metric": name, "dimension": gold.dimension, "group": group or None}
        try:
            bias = length_bias(scores[known], gaps[known])
        except TooFewItems as error:
            about |= dict.fromkeys(NearAndFar.__slots__)
            biases.append(LengthBias(**about, reason=str(error)))
            continue
        about |= asdict(bias) | {"p": finite(bias.p)}
        biases.append(LengthBias(**about, reason=None))
    return biases
