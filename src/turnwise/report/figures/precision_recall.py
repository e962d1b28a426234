"""Precision-recall curves of agents' replies against people's (Xiang et al. 2021, after Sajjadi et al. 2018)."""

from collections.abc import Iterator, Sequence
from math import nan

from turnwise.records import Number
from turnwise.report import plot
from turnwise.report.documents import ScoreDocument
from turnwise.report.figure import Figure, provenance_notes, with_estimate
from turnwise.report.runs import RunOf
from turnwise.report.text import number

MAX_AGENTS = 6  # maximum agents in a picture, spread from the best to the worst


def precision_recall(run: RunOf[ScoreDocument]) -> Iterator[Figure]:
    """One figure for each metric with curves and each group; up to six agents from best to worst are drawn."""
    curved = [(record, record.curve) for record in with_estimate(run.document.results) if record.curve]
    for metric, group in dict.fromkeys((r.metric, r.group) for r, _ in curved):
        mine = [(r, curve) for r, curve in curved if (r.metric, r.group) == (metric, group)]
        mine.sort(key=lambda pair: -pair[0].value)
        places = sorted({round(k * (len(mine) - 1) / max(1, MAX_AGENTS - 1)) for k in range(MAX_AGENTS)})
        shown = [mine[place] for place in places if place < len(mine)]
        title = f"precision and recall by {metric}" + (f", {group}" if group else "")
        panel = plot.Panel.with_axes((0, 1.02), (0, 1.02), height=360)
        panel.axes("recall: what people say that the agent says too", "precision")
        for place, (_, curve) in enumerate(shown):
            panel.line(_numbers(curve.recall), _numbers(curve.precision), place)
        yield Figure(
            kind="prd",
            title=title,
            meaning="High on the left: what the agent says, people say too. Far to the right: what people say, it says "
            "too. A curve near the upper right corner is an agent that talks as people do."
            + (f" {len(shown)} of {len(mine)} agents are drawn, from best to worst." if len(mine) > MAX_AGENTS else ""),
            notes=provenance_notes([r for r, _ in mine]),
            head=("agent", metric, "recall", "precision"),
            rows=tuple(
                (r.agent, r.estimate, recall, precise)
                for r, curve in mine
                for recall, precise in zip(curve.recall, curve.precision, strict=True)
            ),
            svg=panel.svg(title, legend=[f"{r.agent} {number(r.estimate, 2)}" for r, _ in shown]),
        )  # fmt: skip


def _numbers(values: Sequence[Number]) -> list[float]:
    """The values with NaN for those that are unknown."""
    return [nan if value is None else value for value in values]
