"""Does a score favour replies as long as their reference? (Liu et al. 2016; ADEM, Table 8.)

Replies are parted by the difference in words to their reference; a metric that scores the near ones higher, where
people do not, is biased. p is Welch's: the groups need not spread alike.
"""

from dataclasses import dataclass

import numpy as np

from turnwise.errors import TooFewItems
from turnwise.types import Floats

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
