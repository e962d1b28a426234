"""Two agents of which at least one is a target: how far apart they are, and what choosing the wrong one would cost.

The errors of two estimates are taken to be independent and normal, with the standard deviations that their intervals
say. For a rated agent it is that of its mean rating.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from turnwise.errors import UsageError, setting
from turnwise.records import AgentDifference
from turnwise.run.ope.estimate import TargetEstimate

if TYPE_CHECKING:
    from turnwise.commands.ope import Ope

NORMAL = 1.96  # standard errors of a 95 % interval
EVERYONE = "all"


def compared(
    spec: "Ope",
    rating: str,
    groups: Sequence[Sequence[TargetEstimate]],
    known: Mapping[str, float],
    errors: Mapping[str, float],
) -> list[AgentDifference]:
    """Every two targets that have an estimate, and every such target less each rated agent of --against.

    `groups` have one estimate of each target, and targets of one group are compared. `known` are the mean ratings of
    rated agents, `errors` their standard errors. With --all there are none.
    """
    if spec.all_agents:
        return []
    targets = {one.target for group in groups for one in group}
    others = [name for name in known if name not in targets]
    rated = others if spec.against == (EVERYONE,) else list(spec.against)
    for name in rated:
        if name not in others:
            raise UsageError(
                f"{setting('--against', name)}: nobody rated `{name}` on {rating}, or it is a target; rated are: "
                f"{', '.join(others) or 'none'}"
            )
    found = []
    for group in groups:
        given = [one for one in group if one.estimate is not None]
        for at, one in enumerate(given):
            mine = (one.estimate or 0.0, _error(one))
            for other in given[at + 1 :]:
                yours = (other.estimate or 0.0, _error(other))
                estimator = AgentDifference.between.join(dict.fromkeys((one.estimator, other.estimator)))
                found.append(
                    _difference(rating, estimator, one.target, other.target, mine, yours, rated=False)
                )
            for name in rated:
                yours = (known[name], errors.get(name, 0.0))
                found.append(_difference(rating, one.estimator, one.target, name, mine, yours, rated=True))
    return found


def by_estimator(estimates: Sequence[TargetEstimate]) -> list[list[TargetEstimate]]:
    """The estimates of each estimator, in order."""
    groups: dict[str, list[TargetEstimate]] = {}
    for one in estimates:
        groups.setdefault(one.estimator, []).append(one)
    return list(groups.values())


def _error(one: TargetEstimate) -> float:
    """The standard deviation of an estimate's error, from its interval; NaN without one."""
    return float("nan") if one.interval is None else (one.interval[1] - one.interval[0]) / 2 / NORMAL


def _difference(
    rating: str,
    estimator: str,
    agent: str,
    minus: str,
    mine: tuple[float, float],
    yours: tuple[float, float],
    *,
    rated: bool,
) -> AgentDifference:
    """The difference of two agents, each an estimate and its standard error."""
    gap = mine[0] - yours[0]
    error = float(np.hypot(mine[1], yours[1]))
    if not np.isfinite(error):
        return AgentDifference(
            rating=rating, estimator=estimator, agent=agent, minus=minus, rated=rated, estimate=gap,
            interval=None, p_above=None, regret=None,
        )  # fmt: skip
    return AgentDifference(
        rating=rating,
        estimator=estimator,
        agent=agent,
        minus=minus,
        rated=rated,
        estimate=gap,
        interval=(gap - NORMAL * error, gap + NORMAL * error),
        p_above=above(gap, error),
        regret=regret(gap, error),
    )


def above(gap: float, error: float) -> float:
    """The probability that a difference with this estimate and standard error is above 0."""
    from scipy.special import ndtr

    return float(ndtr(gap / error)) if error > 0 else float(gap > 0)


def regret(gap: float, error: float) -> float:
    """The expected loss of choosing the agent with the higher estimate: the mean of what the other one is better by."""
    from scipy.special import ndtr

    if not error > 0:
        return 0.0
    z = abs(gap) / error
    density = float(np.exp(-z * z / 2) / np.sqrt(2 * np.pi))
    return max(0.0, error * (density - z * float(ndtr(-z))))
