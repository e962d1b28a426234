"""Test of strategies against people on contexts that the search did not use.

A strategy is a fraud if its mean score is above people's on the same contexts and the interval of this gain is above
zero, at a level corrected for the number of strategies tested (Bonferroni): at most one attack in twenty reports a
fraud by chance. People's replies and references never count as a fraud, nor does a strategy that the metric leaves
unscored in more than half of the contexts in which it scores people's: a metric that gives no score is not deceived.

At such a high level a bootstrap has too few draws in the tail (of a thousand, one is beyond .999), and a t interval
ignores skewness. The interval of a gain is therefore the wider of both at each end. tests/attacks/test_attack.py checks
the rate of false positives on noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.attacks.context import MIN_CONTEXTS, Context
from turnwise.stats.interval import Interval, interval_of_sums, jackknife_t
from turnwise.stats.resample import jackknife_sums
from turnwise.types import Floats

LEVEL = 0.95  # confidence level, before the correction for several strategies
ROUNDING = 1e-12  # relative rounding error of a score
MIN_RELATIVE_GAIN = 1e-6  # smallest gain, relative to the scores, that is more than rounding error of sums


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedStrategy:
    """The result of one strategy on the held-out contexts.

    `gain` is its mean score minus people's on the same contexts; NaN if it has a score in fewer than half of those in
    which people's replies have one. `transcript` has pairs of the last turn of a context
    and the strategy's reply; `n` and `unscored` count contexts.
    """

    strategy: str
    kind: str
    description: str
    example: str  # one reply
    transcript: tuple[tuple[str, str], ...]  # (last turn of the context, reply of the strategy)
    people_said: tuple[str, ...] = ()  # replies of people in the contexts of the transcript
    transcript_scores: tuple[
        tuple[float, float], ...
    ] = ()  # scores of the strategy's and of the person's reply
    score: float
    interval: Interval | None  # interval of `score`
    gain: float  # over people on the same contexts
    gain_interval: Interval | None  # at the corrected level
    beats_human: float  # share of contexts where it scores above the person's reply
    significant: bool
    n: int
    n_clusters: int
    unscored: int


def measure_strategy(
    name: str,
    kind: str,
    description: str,
    *,
    contexts: Sequence[Context],
    replies: Sequence[str],
    scores: Floats,
    people: Floats,
    tested: int,
    draws: int,
    rng: np.random.Generator,
) -> TestedStrategy:
    """Compare the scores of a strategy with people's in the same contexts; NaN of either is left out.

    The level of the gain's interval is corrected for `tested` strategies. The transcript has the three largest gains.
    """
    known = ~(np.isnan(scores) | np.isnan(people))
    enough = 2 * known.sum() >= (~np.isnan(people)).sum()
    clusters = np.array([context.item.cluster for context in contexts])[known]
    own, human = scores[known], people[known]
    corrected_level = 1 - (1 - LEVEL) / max(1, tested)
    scale = float(np.abs([own, human]).max(initial=0.0))
    gain, gain_interval = _mean_and_interval(
        own - human, clusters, corrected_level, draws, rng, wider=True, scale=scale
    )
    score, interval = _mean_and_interval(own, clusters, LEVEL, draws, rng)
    if not enough:
        gain, gain_interval, interval = float("nan"), None, None
    shown = [index for index in np.argsort(-np.where(known, scores - people, -np.inf))[:3] if known[index]]
    return TestedStrategy(
        strategy=name,
        kind=kind,
        description=description,
        example=replies[shown[0]] if shown else "",
        transcript=tuple((contexts[index].last_turn, replies[index]) for index in shown),
        people_said=tuple(contexts[index].human for index in shown),
        transcript_scores=tuple((float(scores[index]), float(people[index])) for index in shown),
        score=score,
        interval=interval,
        gain=gain,
        gain_interval=gain_interval,
        beats_human=float(np.mean(own > human)) if len(own) and enough else float("nan"),
        significant=bool(
            kind != "people"
            and gain_interval is not None
            and gain_interval[0] > 0
            and gain > MIN_RELATIVE_GAIN * scale
        ),
        n=int(known.sum()),
        n_clusters=len(set(clusters.tolist())),
        unscored=int((~known).sum()),
    )


def _mean_and_interval(
    values: Floats,
    clusters: np.ndarray[tuple[int], np.dtype[np.str_]],
    level: float,
    draws: int,
    rng: np.random.Generator,
    *,
    wider: bool = False,
    scale: float = 0.0,
) -> tuple[float, Interval | None]:
    """The mean and its interval by cluster; with `wider`, the wider of the bootstrap and the t interval at each end.

    NaN and None without values; None also if an interval cannot be computed. Values that are all equal have an interval
    of width 0 if there are at least `MIN_CONTEXTS` clusters, else None. Values count as equal if they differ by the
    rounding error of numbers as large as `scale`.
    """
    if not len(values):
        return float("nan"), None
    _, codes = np.unique(clusters, return_inverse=True)
    n_clusters = int(codes.max()) + 1
    if np.ptp(values) <= ROUNDING * max(scale, float(np.abs(values).max())):
        enough = n_clusters >= MIN_CONTEXTS
        return float(values[0]), (float(values[0]), float(values[0])) if enough else None
    sums = np.zeros((n_clusters, 2))
    np.add.at(sums, codes, np.column_stack([values, np.ones(len(values))]))
    mean = float(values.mean())
    interval, _ = interval_of_sums(sums, _mean_of_sums, draws=draws, rng=rng, level=level, bounds=None)
    student = jackknife_t(mean, jackknife_sums(sums, _mean_of_sums), level) if wider else interval
    if interval is None or student is None:
        return mean, None
    return mean, (min(interval[0], student[0]), max(interval[1], student[1]))


def _mean_of_sums(total: Floats) -> Floats:
    """Mean from sums: column 0 (sum of values) over column 1 (count), along the last axis."""
    return np.asarray(total[..., 0] / total[..., 1])
