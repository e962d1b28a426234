"""The share of tasks that pass in all of k trials, and in one or more, against k."""

from collections.abc import Iterator

from turnwise.report import plot
from turnwise.report.documents import ReliabilityDocument
from turnwise.report.figure import Figure, low_and_high, provenance_notes, with_estimate
from turnwise.report.runs import RunOf
from turnwise.report.text import number

MOST_BANDS = 2  # lines up to which intervals are drawn as bands


def passes(run: RunOf[ReliabilityDocument]) -> Iterator[Figure]:
    """One figure for each metric, group and statistic, with a line for each agent."""
    records = with_estimate(run.document.results)
    for metric, group, statistic in dict.fromkeys((r.metric, r.group, r.statistic) for r in records):
        mine = [r for r in records if (r.metric, r.group, r.statistic) == (metric, group, statistic)]
        agents = list(dict.fromkeys(r.agent for r in mine))
        ks = [r.k or 1 for r in mine]
        panel = plot.Panel.with_axes((0, max(ks) + 1), (0, 1), integer_ticks=True)
        panel.axes("k", "share of tasks")
        for place, agent in enumerate(agents):
            own = sorted((r for r in mine if r.agent == agent), key=lambda record: record.k or 1)
            xs = [r.k or 1 for r in own]
            bounds = [r.bounds or (r.value, r.value) for r in own]
            if len(agents) <= MOST_BANDS:
                panel.band(xs, [low for low, _ in bounds], [high for _, high in bounds], place)
            panel.line(xs, [r.value for r in own], place)
            for record, x in zip(own, xs, strict=True):
                panel.dot(x, record.value, place, tip=f"{agent}, k {x}: {number(record.estimate)}")
        title = f"{metric}{f', {group}' if group else ''}: {statistic}"
        what = "all of k trials" if statistic == "pass^k" else "one or more of k trials"
        yield Figure(
            kind="passes",
            title=title,
            meaning=f"The share of tasks of which {what} pass."
            + (" Bands are 95 % intervals over tasks." if len(agents) <= MOST_BANDS else ""),
            notes=provenance_notes(mine),
            head=("agent", "k", "estimate", "low", "high", "tasks", "trials"),
            rows=tuple(
                (r.agent, r.k, r.estimate, *low_and_high(r.interval), r.n_clusters, r.n_items) for r in mine
            ),
            svg=panel.svg(title, legend=[str(agent) for agent in agents]),
        )


def noise(run: RunOf[ReliabilityDocument]) -> Iterator[Figure]:
    """One figure for each metric, agent and group: where its values vary, and what to add."""
    for one in run.document.noise:
        records = [
            r
            for r in run.document.results
            if (r.metric, r.agent, r.group) == (one.metric, one.agent, one.group)
        ]
        panel = plot.Panel.with_names([each.source for each in one.sources], (0, 1))
        panel.axes("share of the variance")
        for place, each in enumerate(one.sources):
            panel.dot(each.share or 0.0, place, tip=f"{each.source}: {number(each.share)}")
        about = ", ".join(filter(None, [one.metric, one.agent, one.group]))
        ends = [f"{number(each.standard_error)} with twice as many {each.twice}" for each in one.additions]
        yield Figure(
            kind="noise",
            title=f"Where values vary: {about}",
            meaning="The share of the variance of a single value that each source has, and the number of its levels "
            "that the mean averages over.",
            notes=provenance_notes(
                records, more=[f"standard error of the mean {number(one.standard_error)}; {', '.join(ends)}"]
            ),
            head=("source", "share", "variance", "levels"),
            rows=tuple((each.source, each.share, each.variance, each.levels) for each in one.sources),
            svg=panel.svg(f"Where values vary: {about}"),
        )
