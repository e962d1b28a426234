"""Leaderboards: all agents by one metric, with what the verdicts on every two of them allow to say of their order.

Agents that share a letter were not shown to differ (the compact letter display of Piepho 2004). The ranks that are left
open for an agent follow from the same verdicts: it is below every agent that was shown to be better, and above each
that was shown to be worse. As the verdicts hold together, so do all letters and ranks (Al Mohamad, van Zwet, Solari and
Goeman 2021).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_lowercase

from msgspec.structs import replace

from turnwise.meta.verdicts import family_of
from turnwise.records import DifferenceRecord, PreferenceFit, RankedAgent

WHOLE = "overall"  # dimensions whose names begin so come first


def ranked(rows: Sequence[RankedAgent], verdicts: Iterable[DifferenceRecord]) -> list[RankedAgent]:
    """The agents of one metric and group, best first, with ranks and letters from the verdicts on every two of them.

    Agents without an estimate come last and have no rank.
    """
    known = [row for row in rows if row.estimate is not None]
    above: dict[str, set[str]] = {row.agent: set() for row in known}
    for one in verdicts:
        if one.shown and one.leader is not None:
            other = str(one.agent_b if one.leader == one.agent_a else one.agent_a)
            if other in above and one.leader in above:
                above[other].add(one.leader)
    # By the verdicts first: a mean over all items may have another order than the items that two agents share.
    sign = -1 if any(row.better != "lower" for row in known) else 1
    best_first = sorted(known, key=lambda row: (len(above[row.agent]), sign * row.value, row.agent))
    places = {row.agent: at for at, row in enumerate(best_first)}
    differ = {
        (places[one], places[other])
        for name, better in above.items()
        for leader in better
        for one, other in ((name, leader), (leader, name))
    }
    n = len(best_first)
    letters = tie_letters(n, differ)
    below = {name: sum(name in better for better in above.values()) for name in places}
    return [
        *(
            replace(
                row,
                rank=1 + at,
                rank_interval=(1 + len(above[row.agent]), n - below[row.agent]),
                ties=letters[at],
                n_above=len(above[row.agent]),
                n_below=below[row.agent],
                n_agents=n,
            )
            for at, row in enumerate(best_first)
        ),
        *(row for row in rows if row.estimate is None),
    ]


def tie_letters(n: int, differ: set[tuple[int, int]]) -> list[str]:
    """The letters of n agents: two share one exactly if they are not among the pairs that `differ`.

    Each pair that differs splits the sets that have both (insert and absorb, Piepho 2004).
    """
    sets = [frozenset(range(n))]
    for one, other in sorted(differ):
        parts: list[frozenset[int]] = []
        for members in sets:
            parts += [members - {one}, members - {other}] if {one, other} <= members else [members]
        sets = [part for part in dict.fromkeys(parts) if not any(part < another for another in parts)]
    sets.sort(key=sorted)
    return ["".join(letter(at) for at, members in enumerate(sets) if agent in members) for agent in range(n)]


def letter(at: int) -> str:
    """The letter of a set of agents: a to z, then a1, b1, ..."""
    again, which = divmod(at, len(ascii_lowercase))
    return f"{ascii_lowercase[which]}{again or ''}"


def in_order(rows: Iterable[RankedAgent]) -> list[RankedAgent]:
    """The rows with people's judgements before metrics, and of these the dimensions about the whole first; otherwise
    the order is kept.
    """
    return sorted(rows, key=lambda row: (family_of(row.metric) != "people", not _is_whole(row.metric)))


def _is_whole(metric: str) -> bool:
    """Whether a dimension is about the whole."""
    return metric.partition(":")[2].startswith(WHOLE)


def by_strength(fits: Sequence[PreferenceFit]) -> Iterator[list[RankedAgent]]:
    """The agents of each fit by their Bradley-Terry strengths, if comparisons connect all of them."""
    for fit in fits:
        if (fit.n_components or 1) == 1 and len(fit.strengths) > 2:
            yield [
                RankedAgent(
                    metric=fit.metric,
                    agent=one.agent,
                    group=fit.group,
                    level="system",
                    better="higher",
                    estimate=one.estimate,
                    interval=one.interval,
                    n_items=one.n_items,
                    status="ok" if one.estimate is not None else "refused",
                    reason=one.reason or fit.reason,
                    method=fit.method,
                )
                for one in fit.strengths
            ]


def leaderboard(
    means: Sequence[RankedAgent], records: Sequence[DifferenceRecord], fits: Sequence[PreferenceFit]
) -> tuple[RankedAgent, ...]:
    """The agents by each metric and group that compared more than two, best first."""
    tables: dict[tuple[str, str | None], list[RankedAgent]] = {}
    for row in (*means, *(one for rows in by_strength(fits) for one in rows)):
        tables.setdefault((row.metric, row.group), []).append(row)
    verdicts = _by_table(records)
    return tuple(
        in_order(
            row
            for key, rows in tables.items()
            if len(rows) > 2
            for row in ranked(rows, verdicts.get(key, ()))
        )
    )


def _by_table(
    records: Sequence[DifferenceRecord],
) -> Mapping[tuple[str, str | None], list[DifferenceRecord]]:
    """The records of each metric and group."""
    found: dict[tuple[str, str | None], list[DifferenceRecord]] = {}
    for record in records:
        found.setdefault((record.metric, record.group), []).append(record)
    return found
