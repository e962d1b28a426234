"""Calibration of estimates over the logged agents: from a raw estimate to a mean rating with an interval.

The bias of an estimator is larger than its sampling error: a bootstrap over dialogues with a nominal level of 95 %
covers the truth 0 to 27 % of the time. The mean ratings of the logged agents are known, so each of them is left out and
estimated in turn, and a line is fitted from these estimates to the known means. The target's estimate is mapped by the
line, and its interval is Student's prediction interval for one more agent. It is valid if the target is an agent like
the others.

Estimates and means are both taken relative to the level (mean rating) of the dialogues that the estimate was made from.
Without the dialogues of a good agent that level is lower, so a known agent's estimate falls as its own mean rises; this
is not so for a new agent. Without this correction an estimator that hardly distinguishes agents would be extrapolated
far beyond them (papers/enigma.md).

If the estimates of the known agents do not rise with their means, the estimate is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.conformance.calls import estimate_of, estimates_of
from turnwise.encode.episodes import leave_out
from turnwise.errors import Refused, counted
from turnwise.protocols import EstimatesMany
from turnwise.types import Episodes, Estimate, Estimator, Floats

FEWEST = 4  # agents beside the target: a line through 3 leaves one degree of freedom and a useless interval
LEVEL = 0.95
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

    def at(self, estimate: float) -> float:
        """The mean rating of an agent with this raw estimate; both are relative to the level, as in the fit."""
        return self.intercept + self.slope * estimate

    def interval(self, estimate: float, level: float = LEVEL) -> tuple[float, float]:
        """Both ends of Student's prediction interval of the mean rating of one more agent with this estimate."""
        from scipy.special import stdtrit

        spread = self.spread * np.sqrt(1 + 1 / self.n + (estimate - self.centre) ** 2 / self.size)
        half = float(stdtrit(self.n - 2, (1 + level) / 2) * spread)
        return self.at(estimate) - half, self.at(estimate) + half


def line(estimates: Floats, known: Floats) -> Line:
    """Least-squares line of the known means on the estimates, with a one-sided p-value of its slope.

    Raises `Refused` with fewer than `FEWEST` agents, or if all estimates or all known means are equal.
    """
    from scipy.special import stdtr

    n = len(known)
    if n < FEWEST:
        raise Refused(
            f"calibration needs {FEWEST} other agents with rated dialogues and alternatives of their own, and there "
            f"are {n}; log more agents, and `turnwise respond` for each"
        )
    centre = float(estimates.mean())
    size = float(np.sum((estimates - centre) ** 2))
    if not size > 1e-12 * max(1.0, centre**2):
        raise Refused("all known agents get the same estimate: it cannot rank them")
    spread = float(np.sum((known - known.mean()) ** 2))
    if not spread > 1e-12 * max(1.0, float(known.mean()) ** 2):
        raise Refused("all known agents have the same mean rating: nothing shows whether it can rank agents")
    slope = float((estimates - centre) @ known) / size
    intercept = float(known.mean()) - slope * centre
    missed = known - intercept - slope * estimates
    variance = float(missed @ missed) / (n - 2)
    error = np.sqrt(variance / size)
    p = float(stdtr(n - 2, -slope / error)) if error > 0 else float(slope <= 0)
    correlation = slope * np.sqrt(size / spread)
    return Line(
        slope=slope,
        intercept=intercept,
        spread=float(np.sqrt(variance)),
        centre=centre,
        size=size,
        n=n,
        correlation=float(correlation),
        p=p,
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


def can_rank(fitted: Line) -> None:
    """Raise `Refused` if the slope of the line is not significantly positive (one-sided p above `CHANCE`)."""
    if not fitted.p <= CHANCE:
        raise Refused(
            f"left out in turn, the {counted(fitted.n, 'known agent')} are not ranked: their estimates correlate "
            f"{fitted.correlation:.2f} with their means (p {fitted.p:.2f}); more dialogues of each agent, more "
            "agents that differ in quality, or another --estimator may help"
        )
