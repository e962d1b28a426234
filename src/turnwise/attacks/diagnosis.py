"""Diagnosis of a metric: is it constant, random or failing, and which simple features do its scores follow?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.attacks.context import Context
from turnwise.attacks.features import FEATURES
from turnwise.attacks.target import Target
from turnwise.attacks.verdict import ROUNDING
from turnwise.stats.correlation import spearman
from turnwise.types import Floats

REPEATED_CALLS = 40  # replies scored twice to measure noise
MAX_NOISE = 0.05  # share of noise in the variance above which a metric is called random; our choice


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Properties of a metric on people's replies: whether it is constant, and two shares.

    `noise` is the share of noise in the variance, `unscored` the share of replies without a score; `errors` counts the
    reasons for missing scores.
    """

    constant: bool  # all replies get the same score
    noise: float  # share of the variance that changes when scored again: 0 if deterministic, 1 if pure noise
    unscored: float  # share of people's replies without a score
    errors: dict[str, int]

    @property
    def scores(self) -> bool:
        """Whether at least one of people's replies has a score, so that an attack is possible."""
        return self.unscored < 1

    @property
    def random(self) -> bool:
        """Whether noise makes more than 5 % of the variance of the scores."""
        return self.noise > MAX_NOISE

    @property
    def warning(self) -> str | None:
        """Why the result of an attack means little: no scores, constant or random; None if none of these holds."""
        if self.unscored == 1:
            why = next(iter(self.errors), "it returned NaN")
            return f"the metric scored none of people's replies: {why}"
        if self.constant:
            return "the metric gives every reply of a person the same score"
        if self.random:
            return f"the metric is random: {self.noise:.0%} of what moves its scores is gone when it is asked again"
        return None


def diagnose(target: Target, contexts: Sequence[Context]) -> Diagnosis:
    """Score people's replies in their own and in each other's contexts, and about 40 of these pairs a second time."""
    own = [(context, context.human) for context in contexts]
    misplaced = [
        (context, other.human) for context, other in zip(contexts, [*contexts[1:], contexts[0]], strict=True)
    ]
    scores = target.scores([*own, *misplaced])
    known = scores[~np.isnan(scores)]
    some = [*own, *misplaced][:: max(1, 2 * len(own) // REPEATED_CALLS)]
    first, second = target.scores(some), target.again(some)
    both = ~(np.isnan(first) | np.isnan(second))
    variance = float(np.var(known)) if len(known) else 0.0
    # The variance of scores below 1e-162 is 0 even if they differ.
    same = variance == 0 or bool(np.ptp(known) <= ROUNDING * np.abs(known).max())
    noise = float(np.mean((first[both] - second[both]) ** 2)) / 2 if both.any() else 0.0
    return Diagnosis(
        constant=len(known) > 0 and same,
        noise=0.0 if same else min(1.0, noise / variance),
        unscored=float(np.isnan(scores[: len(own)]).mean()),
        errors=dict(target.errors),
    )


@dataclass(frozen=True, slots=True)
class Tendency:
    """Correlation of the metric's scores with a simple feature of the reply."""

    feature: str
    correlation: float  # Spearman, over all scored replies, within contexts
    description: str

    @classmethod
    def of(cls, feature: str, correlation: float) -> "Tendency":
        """The tendency with its description; a correlation of zero is described as falling."""
        grows = "grows" if correlation > 0 else "falls"
        return cls(feature, correlation, f"the score {grows} with {FEATURES[feature].description}")

    @property
    def negated(self) -> "Tendency":
        """The tendency of the metric's own scores, if lower is better and they were negated for the attack."""
        return Tendency.of(self.feature, -self.correlation)


def tendencies(pairs: Sequence[tuple[Context, str]], scores: Floats) -> list[Tendency]:
    """Spearman correlation of each feature with the score, both centred within contexts; strongest first.

    Features that do not vary are left out; empty with fewer than ten scored replies or if the scores do not vary.
    """
    known = ~np.isnan(scores)
    pairs = [pair for pair, good in zip(pairs, known, strict=True) if good]
    if len(pairs) < 10:
        return []
    _, codes = np.unique([context.item.id for context, _ in pairs], return_inverse=True)
    centred = _minus_context_mean(scores[known], codes)
    found = []
    for name, feature in FEATURES.items():
        values = _minus_context_mean(
            np.array([feature.value(context, reply) for context, reply in pairs]), codes
        )
        if np.ptp(values) > 0 and np.ptp(centred) > 0:
            found.append(Tendency.of(name, spearman(values, centred)))
    return sorted(found, key=lambda one: -abs(one.correlation))


def _minus_context_mean(values: Floats, codes: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Floats:
    """Each value minus the mean of the values with the same code; codes number the contexts from 0."""
    means = np.bincount(codes, values) / np.bincount(codes)
    return np.asarray(values - means[codes])
