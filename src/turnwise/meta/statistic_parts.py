"""What every statistic of agreement shares: settings of resampling, intervals with p-values, and reasons for none.

Draws are as many as are needed so that neither the seed nor their number decides whether 0 is inside an interval and p
above 5 %. Student's t on the jackknife needs no draws, and was not taken yet: benchmarks/correlations.py has both.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import isnan, sqrt
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from turnwise.meta.points import Points
from turnwise.meta.system_draws import SystemDraws
from turnwise.records import LEVEL, AgreementRecord
from turnwise.stats.interval import Interval
from turnwise.stats.shared_draws import SharedDraws
from turnwise.types import Floats

NO_INTERVAL = "none: no interval asked for"
DRAWN = " draws"  # the end of the method of an interval that depends on draws
TIMES = (1, 4, 16, 64)  # as many draws as were asked for
# Half-widths that an end of an interval from 1,000 draws is rarely off: twice the largest standard error of 60 seeds,
# which is .03 to .1 for three correlations of 40 to 300 clusters.
FROM_1000 = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """Settings of intervals, tests and the advice on more data."""

    precision: float  # half-width that the advice on more data aims at
    intervals: bool
    draws: int
    rng: SharedDraws
    systems: SystemDraws  # shared by all statistics and dimensions


class Bounds(NamedTuple):
    """An interval with its method, and how far its ends may be from those of endless draws; 0 where none is drawn."""

    ends: Interval | None
    method: str
    error: float


def settled(
    interval: Callable[[int], tuple[Interval | None, str]], draws: int, *, cheap: bool = True
) -> Bounds:
    """The interval from as many draws as show whether 0 is inside: `draws`, and up to 64 times as many if they are
    `cheap`.

    `interval` makes it from a number of draws.
    """
    for times in TIMES if cheap else TIMES[:1]:
        ends, method = interval(draws * times)
        drawn = ends is not None and method.endswith(DRAWN)
        error = bound_error(ends, draws * times) if ends is not None and drawn else 0.0
        if ends is None or min(map(abs, ends)) >= error:
            break
    return Bounds(ends, method, error)


def bound_error(ends: Interval, draws: int) -> float:
    """How far the ends of an interval from this many draws may be from those of endless draws."""
    return FROM_1000 * (ends[1] - ends[0]) / 2 * sqrt(1000 / draws)


def settled_p(p_value: Callable[[int], float], draws: int) -> float:
    """The p-value from as many draws as show whether it is above 5 %: `draws`, and up to 64 times as many."""
    for times in TIMES:
        p = p_value(draws * times)
        if not abs(p - LEVEL) < 3 * sqrt(LEVEL * (1 - LEVEL) / (draws * times)):
            break
    return p


def interval_and_p(
    value: float,
    interval: Callable[..., tuple[Interval | None, str]],
    p_value: Callable[..., float],
    resampling: Resampling,
    *,
    cheap: bool = True,
) -> tuple[Bounds, float]:
    """The interval and the p-value of the correlation `value`; no interval, no method and NaN where it is NaN.

    `interval` and `p_value` are called with `draws` and `rng`, with more draws than were asked for only if these are
    `cheap`. Without `resampling.intervals` only p is computed.
    """
    bounds, p = Bounds(None, "" if resampling.intervals else NO_INTERVAL, 0.0), float("nan")
    if not isnan(value):
        if resampling.intervals:
            bounds = settled(lambda n: interval(draws=n, rng=resampling.rng), resampling.draws, cheap=cheap)
        p = settled_p(lambda n: p_value(draws=n, rng=resampling.rng), resampling.draws)
    return bounds, p


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
