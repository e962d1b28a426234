"""A few ratings of the target beside the prediction of its dialogues.

Two estimates are made whose errors are nearly independent. One is that of `turnwise calibrate`: the mean of the
ratings, corrected by how far the predictions of the rated dialogues lie from those of all (prediction-powered
inference); how high or low the predictions are does not matter to it. The other is the mean prediction, with the
interval that agents left out have. They are averaged by the inverse of their variances. Where they contradict each
other, so that two such estimates would in fewer than `CONTRADICTION` of cases, the ratings alone decide.
"""

from dataclasses import dataclass

import numpy as np

from turnwise.errors import Refused
from turnwise.estimators.dialogues.estimate import DialoguesEstimate
from turnwise.stats.interval import Interval
from turnwise.stats.ppi import Sample, corrected_mean
from turnwise.types import Floats

CONTRADICTION = 0.01
NORMAL = 1.96  # standard errors of a 95 % interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooled:
    """The estimate from ratings and prediction."""

    estimate: float
    interval: Interval
    of_ratings: float  # the estimate of the ratings, corrected by the predictions
    method: str
    contradicted: float | None = None  # the prediction, where the ratings contradict it and it is not used


def pooled(made: DialoguesEstimate | None, ratings: Floats) -> Pooled:
    """The pooled estimate; `ratings` (m,) are those of the target's dialogues, NaN where nobody rated one.

    Raises `Refused` if the ratings are fewer than two or do not vary, and there is no prediction that could be given.
    """
    from scipy.special import ndtr

    n = len(ratings)
    predicted = np.full(n, np.nan) if made is None else made.predicted
    codes = np.arange(n, dtype=np.int64)
    corrected = corrected_mean(Sample(predicted, ratings, np.ones(n), codes, n))
    usable = made is not None and made.refusal is None
    if corrected.interval is None:
        if not usable or made is None:
            raise Refused(
                "{n:#rating} of the target are too few for an interval, or are all equal; rate more of its dialogues",
                "too-few-own-ratings",
                n=corrected.n_labels,
            )
        return Pooled(
            estimate=made.value,
            interval=made.interval,
            of_ratings=corrected.estimate,
            method="prediction alone: the target's ratings give no interval",
        )
    how = f"{corrected.n_labels} ratings of the target, corrected by the prediction as `turnwise calibrate` does"
    if not usable or made is None:
        return Pooled(
            estimate=corrected.estimate,
            interval=corrected.interval,
            of_ratings=corrected.estimate,
            method=how,
        )
    half = (corrected.interval[1] - corrected.interval[0]) / 2
    own = (made.interval[1] - made.interval[0]) / 2
    apart = abs(corrected.estimate - made.value) * NORMAL / float(np.hypot(half, own))
    if 2 * float(ndtr(-apart)) < CONTRADICTION:
        return Pooled(
            estimate=corrected.estimate,
            interval=corrected.interval,
            of_ratings=corrected.estimate,
            method=f"{how}; the prediction contradicts them ({made.value:.3g}) and is not used",
            contradicted=made.value,
        )
    weight = own**2 / (own**2 + half**2)
    estimate = weight * corrected.estimate + (1 - weight) * made.value
    together = half * own / float(np.hypot(half, own))
    return Pooled(
        estimate=estimate,
        interval=(estimate - together, estimate + together),
        of_ratings=corrected.estimate,
        method=f"{how}, and averaged with the mean prediction by the inverse of their variances",
    )
