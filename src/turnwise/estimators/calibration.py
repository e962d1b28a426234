"""Calibration of estimates over the logged agents: from a raw estimate to a mean rating with an interval.

The bias of an estimator is larger than its sampling error: a bootstrap over dialogues with a nominal level of 95 %
covers the truth 0 to 27 % of the time. The mean ratings of the logged agents are known, so each of them is left out and
estimated in turn, and a line is fitted from these estimates to the known means. The target's estimate is mapped by the
line, and its interval is the prediction interval of the true mean of one more agent. The known means have sampling
errors, which are known too and are not part of that interval (`random_effects`). Where errors are not known, it is
Student's prediction interval. Both are valid if the target is an agent like the others.

Estimates and means are both taken relative to the level (mean rating) of the dialogues that the estimate was made from.
Without the dialogues of a good agent that level is lower, so a known agent's estimate falls as its own mean rises; this
is not so for a new agent. Without this correction an estimator that hardly distinguishes agents would be extrapolated
far beyond them (papers/enigma.md).

If the estimates of the known agents do not rise with their means, the estimate is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.conformance.calls import estimate_of, estimates_of
from turnwise.encode.episodes import leave_out
from turnwise.errors import Refused
from turnwise.estimators.random_effects import RandomEffects, random_effects
from turnwise.protocols import EstimatesMany
from turnwise.types import Episodes, Estimate, Estimator, Floats

FEWEST = 4  # agents beside the target: a line through 3 leaves one degree of freedom and a useless interval
LEVEL = 0.95
SHRUNK = 4  # dialogues by which an agent's variance is shrunk towards the common one
CHANCE = 0.05  # largest p-value of the slope with which an estimator counts as able to rank agents


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Known means against estimates: mean = intercept + slope * estimate."""

    slope: float
    intercept: float
    spread: float  # standard deviation of the known means around the line
    centre: float  # mean of the estimates
    size: float  # sum of squares of the estimates around it
    n: int
    correlation: float
    p: float  # one-sided p-value of the slope
    effects: RandomEffects | None = None  # the line with the known errors of the means, if they have any

    def at(self, estimate: float) -> float:
        """The mean rating of an agent with this raw estimate; both are relative to the level, as in the fit."""
        if self.effects is not None:
            return self.effects.at(estimate)
        return self.intercept + self.slope * estimate

    def interval(self, estimate: float, level: float = LEVEL) -> tuple[float, float]:
        """Both ends of the prediction interval of the true mean rating of one more agent with this estimate."""
        from scipy.special import stdtrit

        if self.effects is not None:
            return self.effects.interval(estimate, level)
        spread = self.spread * np.sqrt(1 + 1 / self.n + (estimate - self.centre) ** 2 / self.size)
        half = float(stdtrit(self.n - 2, (1 + level) / 2) * spread)
        return self.at(estimate) - half, self.at(estimate) + half


def line(estimates: Floats, known: Floats, errors: Floats | None = None) -> Line:
    """Least-squares line of the known means on the estimates, with a one-sided p-value of its slope.

    With the standard errors of the known means, predictions and intervals are those of random effects. Raises
    `Refused` with fewer than `FEWEST` agents, or if all estimates or all known means are equal.
    """
    from scipy.special import stdtr

    n = len(known)
    if n < FEWEST:
        raise Refused(
            "calibration needs {needed} other agents with rated dialogues and alternatives of their own, and there "
            "are {n}; log more agents, and `turnwise respond` for each",
            "too-few-known-agents",
            needed=FEWEST,
            n=n,
        )
    centre = float(estimates.mean())
    size = float(np.sum((estimates - centre) ** 2))
    if not size > 1e-12 * max(1.0, centre**2):
        raise Refused("all known agents get the same estimate: it cannot rank them", "same-estimates")
    spread = float(np.sum((known - known.mean()) ** 2))
    if not spread > 1e-12 * max(1.0, float(known.mean()) ** 2):
        raise Refused(
            "all known agents have the same mean rating or return: nothing shows whether it can rank agents",
            "same-means",
        )
    slope = float((estimates - centre) @ known) / size
    intercept = float(known.mean()) - slope * centre
    missed = known - intercept - slope * estimates
    variance = float(missed @ missed) / (n - 2)
    error = np.sqrt(variance / size)
    p = float(stdtr(n - 2, -slope / error)) if error > 0 else float(slope <= 0)
    correlation = slope * np.sqrt(size / spread)
    deviation = float(np.sqrt(variance))
    measured = errors is not None and bool(np.any(errors > 1e-9 * max(1.0, deviation)))
    return Line(
        slope=slope,
        intercept=intercept,
        spread=deviation,
        centre=centre,
        size=size,
        n=n,
        correlation=float(correlation),
        p=p,
        effects=random_effects(estimates, known, errors, spread=deviation)
        if errors is not None and measured
        else None,
    )


def estimates(
    estimator: Estimator, episodes: Episodes, targets: Sequence[str], *, rng: np.random.Generator
) -> list[Estimate]:
    """The estimate of each target in the order of `targets`, each from the dialogues that the target did not hold."""
    if isinstance(estimator, EstimatesMany):
        return estimates_of(estimator, episodes, targets, rng=rng)
    return [estimate_of(estimator, leave_out(episodes, {target}), target, rng=rng) for target in targets]


def known_means(episodes: Episodes) -> dict[str, float]:
    """Agent -> mean rating of the rated dialogues that it held itself; agents without a rated dialogue are left out."""
    found = {}
    for index, agent in enumerate(episodes.agents):
        rated = episodes.reward[(episodes.agent == index) & np.isfinite(episodes.reward)]
        if len(rated):
            found[agent] = float(rated.mean())
    return found


def known_errors(episodes: Episodes) -> dict[str, float]:
    """Agent -> the standard error of its mean rating in `known_means`."""
    rated = {}
    for index, agent in enumerate(episodes.agents):
        own = episodes.reward[(episodes.agent == index) & np.isfinite(episodes.reward)]
        if len(own):
            rated[agent] = (len(own), float(np.sum((own - own.mean()) ** 2)))
    return standard_errors(rated)


def standard_errors(rated: Mapping[str, tuple[int, float]]) -> dict[str, float]:
    """Agent -> the standard error of its mean, from the number of its ratings and their squares around the mean.

    The variance of an agent's ratings is shrunk towards that of all agents, as if it had `SHRUNK` more dialogues of
    that variance: a few equal ratings do not mean that there is no error. All are 0 if every agent has one rating.
    """
    freedom = sum(n - 1 for n, _ in rated.values())
    common = sum(squares for _, squares in rated.values()) / freedom if freedom else 0.0
    return {
        agent: float(np.sqrt((squares + SHRUNK * common) / (n - 1 + SHRUNK) / n))
        for agent, (n, squares) in rated.items()
    }


def can_rank(fitted: Line) -> None:
    """Raise `Refused` if the slope of the line is not significantly positive (one-sided p above `CHANCE`)."""
    if not fitted.p <= CHANCE:
        raise Refused(
            "left out in turn, the {n:#known agent} are not ranked: their estimates correlate {correlation:.2f} with "
            "their means (p {p:.3f}); more dialogues of each agent, more agents that differ in quality, or another "
            "{--estimator} may help",
            "not-ranked",
            n=fitted.n,
            correlation=float(fitted.correlation),
            p=float(fitted.p),
        )
