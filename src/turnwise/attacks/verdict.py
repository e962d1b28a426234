"""Does a strategy beat people? Judged on contexts that the search never saw, and for all that were tried.

A strategy is a fraud if its mean score is above people's on the same contexts, with an interval of the gain
above zero at a level that is shared among all strategies that were judged (Bonferroni): one chance finding in
twenty attacks, however many strategies each tries. People's replies and references are never a fraud.

At so high a level a bootstrap has too few draws in its tail (a thousand have one beyond .999), and t knows nothing of
skewness: the interval of a gain is the wider of both at each end. tests/attacks/test_attack.py holds the rate of false
alarms on noise to this.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.attacks.context import FEWEST, Context
from turnwise.stats.interval import Interval, interval_of_sums, jackknife_t
from turnwise.stats.resample import jackknife_sums
from turnwise.types import Floats

LEVEL = 0.95
ROUNDING = 1e-12  # of a number, relative to it
LEAST = 1e-6  # gain that is one, relative to the scores: less is what their sums were rounded by


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One strategy on the held-out contexts."""

    strategy: str
    kind: str
    description: str
    example: str  # one reply
    transcript: tuple[tuple[str, str], ...]  # (what came before, what it answered)
    people_said: tuple[str, ...] = ()  # what a person answered there
    transcript_scores: tuple[tuple[float, float], ...] = ()  # of its answer, and of the person's
    score: float
    interval: Interval | None  # of the score
    gain: float  # over people on the same contexts
    gain_interval: Interval | None  # at the shared level
    beats_human: float  # share of contexts where it scores above the person's reply
    significant: bool
    n: int
    n_clusters: int
    unscored: int


def judged(
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
) -> Judged:
    """What the scores say; `tested` strategies share the error."""
    known = ~(np.isnan(scores) | np.isnan(people))
    clusters = np.array([context.item.cluster for context in contexts])[known]
    own, human = scores[known], people[known]
    shared = 1 - (1 - LEVEL) / max(1, tested)
    scale = float(np.abs([own, human]).max(initial=0.0))
    gain, gain_interval = _mean(own - human, clusters, shared, draws, rng, wider=True, scale=scale)
    score, interval = _mean(own, clusters, LEVEL, draws, rng)
    shown = [place for place in np.argsort(-np.where(known, scores - people, -np.inf))[:3] if known[place]]
    return Judged(
        strategy=name,
        kind=kind,
        description=description,
        example=replies[shown[0]] if shown else "",
        transcript=tuple((contexts[place].last, replies[place]) for place in shown),
        people_said=tuple(contexts[place].human for place in shown),
        transcript_scores=tuple((float(scores[place]), float(people[place])) for place in shown),
        score=score,
        interval=interval,
        gain=gain,
        gain_interval=gain_interval,
        beats_human=float(np.mean(own > human)) if len(own) else float("nan"),
        significant=bool(
            kind != "people" and gain_interval is not None and gain_interval[0] > 0 and gain > LEAST * scale
        ),
        n=int(known.sum()),
        n_clusters=len(set(clusters.tolist())),
        unscored=int((~known).sum()),
    )


def _mean(
    values: Floats,
    clusters: np.ndarray[tuple[int], np.dtype[np.str_]],
    level: float,
    draws: int,
    rng: np.random.Generator,
    *,
    wider: bool = False,
    scale: float = 0.0,
) -> tuple[float, Interval | None]:
    """The mean and its interval by cluster; a difference that is the same everywhere is as sure as can be.

    Numbers that are made of others, as large as `scale`, are the same if they differ by the rounding of those.
    """
    if not len(values):
        return float("nan"), None
    _, codes = np.unique(clusters, return_inverse=True)
    n_clusters = int(codes.max()) + 1
    if np.ptp(values) <= ROUNDING * max(scale, float(np.abs(values).max())):
        # A metric that scored a strategy in a few contexts shows nothing of it.
        sure = n_clusters >= FEWEST
        return float(values[0]), (float(values[0]), float(values[0])) if sure else None
    sums = np.zeros((n_clusters, 2))
    np.add.at(sums, codes, np.column_stack([values, np.ones(len(values))]))
    mean = float(values.mean())
    interval, _ = interval_of_sums(sums, _ratio, draws=draws, rng=rng, level=level, bounds=None)
    student = jackknife_t(mean, jackknife_sums(sums, _ratio), level) if wider else interval
    if interval is None or student is None:
        return mean, None
    return mean, (min(interval[0], student[0]), max(interval[1], student[1]))


def _ratio(total: Floats) -> Floats:
    return np.asarray(total[..., 0] / total[..., 1])
