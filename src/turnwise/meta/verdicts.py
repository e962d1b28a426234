"""What may be said of several comparisons together: adjusted p-values, intervals and verdicts.

People's judgements (`rating:DIMENSION`, `preference:DIMENSION`) are one family, everything else another. Inside a
family the chance of a single false verdict is at most 5 % (`stats.multiplicity`), and Bonferroni's intervals hold
together with 95 %, or 91 to 94 % where some of them are cut. So a metric that is added changes nothing of what is said
of people, nor a second dimension what metrics say.

An interval of a step-down procedure cannot say more of a difference than the step that showed it: where only a later
step shows a difference, its interval is cut at 0. It has 0 inside exactly where the difference was not shown.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TypeVar, get_args

import numpy as np
from msgspec.structs import replace

from turnwise.metrics import is_preference, is_rating
from turnwise.records import LEVEL, ChangeRecord, DifferenceRecord, Family, known
from turnwise.stats.multiplicity import step_down, together, true_counts
from turnwise.stats.shares import share_interval
from turnwise.stats.studentised import t_interval

NOT_SHOWN = "not shown"
EDGE = 0.1  # of the significance level: so near to it a verdict is said to be at the edge

Compared = TypeVar("Compared", DifferenceRecord, ChangeRecord)


def with_verdicts(
    records: Sequence[Compared], margins: Mapping[str, float] | None = None
) -> tuple[Compared, ...]:
    """The records with what their family allows to say of each; `margins` has metric -> a difference that does not
    matter, with "" for all others.
    """
    judged = dict(enumerate(records))
    families: tuple[Family, ...] = get_args(Family)
    for family in families:
        places = [at for at, record in judged.items() if family_of(record.metric) == family]
        mine = [judged[at] for at in places]
        judged |= dict(zip(places, _adjusted(mine, family), strict=True))
    return tuple(_with_margin(judged[at], margins or {}) for at in range(len(records)))


def family_of(metric: str) -> Family:
    """The family of the comparisons by this metric."""
    return "people" if is_rating(metric) or is_preference(metric) else "metrics"


def _adjusted(records: Sequence[Compared], family: Family) -> list[Compared]:
    """The records of a family with adjusted p and interval, and the verdict at 5 %."""
    p = np.array([np.nan if record.p is None else record.p for record in records])
    n = int(np.sum(~np.isnan(p)))
    adjusted = step_down(p, _possible(records))
    return [
        _with_verdict(record, family, n, value)
        for record, value in zip(records, adjusted.tolist(), strict=True)
    ]


def _possible(records: Sequence[DifferenceRecord] | Sequence[ChangeRecord]) -> frozenset[int]:
    """How many of the null hypotheses with a p-value can be true together.

    Means of the same items are equal or not for every two agents alike, which limits the numbers. Choices between two
    agents, and pairs of agents on different items, are free of each other.
    """
    sets = []
    tested = [record for record in records if record.p is not None]
    for _, group in groupby(tested, lambda record: (record.metric, record.group)):
        mine = list(group)
        free = frozenset(range(len(mine) + 1))
        compared = [one for one in mine if isinstance(one, DifferenceRecord) and one.win_rate is None]
        agents = {name for one in compared for name in (one.agent_a, one.agent_b)}
        every = len(agents) * (len(agents) - 1) // 2 == len(mine) == len(compared)
        alike = len({one.sampling for one in compared}) == 1 and not any(
            one.unpaired_a or one.unpaired_b or one.thinned_a or one.thinned_b for one in compared
        )
        sets.append(true_counts(len(agents)) if every and alike else free)
    return together(sets)


def _with_verdict(record: Compared, family: Family, n: int, p: float) -> Compared:
    """The record with its adjusted p and interval, and its verdict; without an estimate the verdict is the status."""
    agents = record.named("agent_a", "agent_b")
    if agents != sorted(agents) and isinstance(
        record, DifferenceRecord
    ):  # so that rounding is that of one order
        return _with_verdict(record.mirrored(), family, n, p).mirrored()
    blank = replace(record, family=family, family_size=n, p_adjusted=known(p))
    if record.estimate is None:
        return replace(blank, verdict=record.status)
    shown = p <= LEVEL
    interval = interval_at(record, 1 - LEVEL / max(1, n))
    if shown and interval is not None and interval[0] < 0 < interval[1]:
        interval = (0.0, interval[1]) if record.estimate > 0 else (interval[0], 0.0)
    return replace(
        blank,
        interval_adjusted=interval,
        at_most_apart=_excluded_from(interval, record.points),
        at_edge=abs(p - LEVEL) <= EDGE * LEVEL,
        verdict=record.leads if shown else NOT_SHOWN,
    )


def _excluded_from(interval: tuple[float, float] | None, points: float | None) -> float | None:
    """The largest difference inside the interval; None where it is no smaller than the scale is wide, so that nothing
    is excluded.
    """
    if interval is None:
        return None
    largest = max(map(abs, interval))
    return None if points is not None and largest >= points else largest


def interval_at(record: DifferenceRecord | ChangeRecord, level: float) -> tuple[float, float] | None:
    """The interval of a comparison at another level than 95 %, by the procedure of its own; None without one."""
    if record.interval is None or level == 1 - LEVEL:
        return record.bounds
    if record.estimate is None or record.standard_error is None:
        rest = 1.0 if record.p_elsewhere is None else record.p_elsewhere
        return record.bounds if rest < 1 - level else None
    error, degrees = record.standard_error, record.degrees or 0.0
    if not record.anytime and isinstance(record, DifferenceRecord) and record.win_rate is not None:
        share = share_interval(
            (1 + record.estimate) / 2, error / 2, degrees, n_clusters=record.n_clusters, level=level
        )
        return share and (2 * share[0] - 1, 2 * share[1] - 1)
    return t_interval(record.estimate, error, degrees, level, anytime=record.anytime)


def _with_margin(record: Compared, margins: Mapping[str, float]) -> Compared:
    """The record with what its interval says of a margin, if there is one for its metric."""
    margin = margins.get(record.metric, margins.get(""))
    if margin is None or record.estimate is None:
        return record
    ends = record.decisive
    low, high = ends or (-np.inf, np.inf)
    equivalent = None if ends is None else -margin < low and high < margin
    if record.better == "lower":
        low, high = -high, -low
    first, second = (record.better is not None and end for end in (low > -margin, high < margin))
    said = f"equal within {margin:g}" if equivalent else None
    if isinstance(record, ChangeRecord):
        said = said or (f"no worse by {margin:g}" if first else None)
        found = replace(record, margin=margin, equivalent=equivalent, no_worse=bool(first))
    else:
        sides = (record.agent_a, first), (record.agent_b, second)
        names = tuple(sorted(str(agent) for agent, holds in sides if holds))
        said = said or (f"{names[0]} is no worse by {margin:g}" if len(names) == 1 else None)
        found = replace(record, margin=margin, equivalent=equivalent, no_worse=names)
    return replace(found, verdict=said) if said and record.verdict == NOT_SHOWN else found
