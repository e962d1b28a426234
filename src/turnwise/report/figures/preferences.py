"""Figures of preferences: win rates of every two agents, and Bradley-Terry strengths."""

from collections.abc import Iterator

from turnwise.report.documents import CompareDocument
from turnwise.report.figure import Figure, low_and_high, provenance_notes, with_estimate
from turnwise.report.figures.interval_lists import Row, interval_list
from turnwise.report.runs import RunOf


def win_rates(run: RunOf[CompareDocument]) -> Iterator[Figure]:
    """One figure for each dimension of preferences and group: the shares of wins of every two agents."""
    mine = [record for record in with_estimate(run.document.results) if record.win_rate is not None]
    for metric, group in dict.fromkeys((record.metric, record.group) for record in mine):
        here = [r for r in mine if (r.metric, r.group) == (metric, group)]
        title = f"wins by {metric}" + (f", {group}" if group else "")
        yield Figure(
            kind="win rates",
            title=title,
            meaning="Share of comparisons that the first agent won less the share that the second won. Right of the "
            "line the first leads; an interval that crosses the line shows no difference.",
            notes=provenance_notes(here, column=True),
            head=(
                "first", "second", "first won", "second won", "ties", "difference", "low", "high", "p", "comparisons",
            ),
            rows=tuple(
                (r.agent_a, r.agent_b, r.a, r.b, r.ties, r.estimate, *low_and_high(r.interval), r.p, r.n_items)
                for r in here
            ),
            svg=interval_list(
                [Row.of(f"{r.agent_a} - {r.agent_b}", r) for r in here], title, along="won less lost", rules=(0.0,)
            ),
        )  # fmt: skip


def strengths(run: RunOf[CompareDocument]) -> Iterator[Figure]:
    """One figure for each Bradley-Terry fit: the strengths of the agents, strongest first."""
    for fit in run.document.preferences:
        mine = with_estimate(fit.strengths)
        if not mine:
            continue
        title = f"strengths by {fit.metric}" + (f", {fit.group}" if fit.group else "")
        apart = " Agents of different components cannot be compared." if (fit.n_components or 0) > 1 else ""
        control = f" Controlled for {' and '.join(fit.control)}." if fit.control else ""
        yield Figure(
            kind="strengths",
            title=title,
            meaning=f"Log odds of winning against an average agent; 0 is the mean of the agents.{apart}{control}",
            notes=(fit.method,),
            head=("agent", "component", "strength", "low", "high", "comparisons"),
            rows=tuple(
                (one.agent, one.component, one.estimate, *low_and_high(one.interval), one.n_items)
                for one in mine
            ),
            svg=interval_list(
                [Row.of(one.agent, one) for one in mine], title, along="log odds", rules=(0.0,)
            ),
        )
