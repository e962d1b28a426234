"""What every statistic of agreement shares: settings of resampling, intervals with p-values, and reasons for none."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
from msgspec.structs import replace

from turnwise.meta.points import Points
from turnwise.meta.system_draws import SystemDraws
from turnwise.records import AgreementRecord
from turnwise.stats.interval import Interval
from turnwise.stats.shared_draws import SharedDraws
from turnwise.types import Floats

NO_INTERVAL = "none: no interval asked for"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """Settings of intervals, tests and the advice on more data."""

    precision: float  # half-width that the advice on more data aims at
    intervals: bool
    draws: int
    rng: SharedDraws
    systems: SystemDraws  # shared by all statistics and dimensions


def interval_and_p(
    value: float,
    interval: Callable[..., tuple[Interval | None, str]],
    p_value: Callable[..., float],
    resampling: Resampling,
) -> tuple[Interval | None, str, float]:
    """The interval, its method and the p-value of the correlation `value`; None, no method and NaN where it is NaN.

    `interval` and `p_value` are called with `draws` and `rng`. Without `resampling.intervals` only p is computed.
    """
    bounds, method, p = None, "" if resampling.intervals else NO_INTERVAL, float("nan")
    if not isnan(value):
        if resampling.intervals:
            bounds, method = interval(draws=resampling.draws, rng=resampling.rng)
        p = p_value(draws=resampling.draws, rng=resampling.rng)
    return bounds, method, p


def nan_if_constant(of: Callable[[Floats, Floats], float], x: Floats, y: Floats) -> float:
    """The statistic `of` of scores `x` and ratings `y`.

    NaN without ratings or if all are equal, for pairwise accuracy too.
    """
    return of(x, y) if len(y) and np.ptp(y) > 0 else float("nan")


def without_each_agent(
    points: Points, of: Callable[[np.ndarray[Any, np.dtype[np.bool_]]], float]
) -> dict[str, float]:
    """Agent -> the statistic without that agent's points; empty with fewer than two agents.

    `of` computes the statistic from a mask of the points to keep.
    """
    agents = np.array(points.agents)
    names = tuple(dict.fromkeys(points.agents))
    return {name: of(agents != name) for name in names} if len(names) > 1 else {}


def why_undefined(points: Points, what: str, fewest: int = 2) -> str:
    """Why a correlation over these points is undefined, given that it is; `what` names the points in the sentence."""
    if len(points.x) < fewest:
        return f"{len(points.x)} {what}, and at least {fewest} are needed"
    if np.isnan(points.x).any():
        return f"the metric has no number for some of the {what}"
    if np.ptp(points.y) == 0:
        return "all ratings are equal"
    if np.ptp(points.x) == 0:
        return "the metric gives everything the same number"
    return "an agent is in one cluster only"  # soft pairwise accuracy needs the variance of each


def clipped(bounds: Interval | None, statistic: str) -> Interval | None:
    """The interval clipped to the range of the statistic: [0, 1] for pairwise accuracy, else [-1, 1].

    None stays None.
    """
    low = 0.0 if statistic == "pairwise" else -1.0
    return bounds and (max(bounds[0], low), min(bounds[1], 1.0))


def skipped_if_undefined(record: AgreementRecord, reason: str) -> AgreementRecord:
    """The record; one without an estimate is `skipped` for this reason, and has no p and no method."""
    if record.estimate is not None:
        return record
    return replace(record, status="skipped", reason=reason, p=None, method="", unvarying=False)
