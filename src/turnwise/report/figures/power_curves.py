"""Power against the number of dialogues, one line for each number of raters."""

from collections.abc import Iterator, Sequence
from math import inf, nan
from typing import TypeAlias

from turnwise.records.planning import PlanRecord, PowerCurve
from turnwise.report import plot
from turnwise.report.documents import PowerDocument
from turnwise.report.figure import Figure, low_and_high, provenance_notes
from turnwise.report.runs import RunOf

Key: TypeAlias = tuple[
    str, str | None, str | None, int | None
]  # metric, design, metric whose scores help, turns


def power_curves(run: RunOf[PowerDocument]) -> Iterator[Figure]:
    """One figure for each metric, design, use of scores and number of turns, the most sparing first."""
    curves = [curve for curve in run.document.curves if curve.dialogues]
    asked = next((r.target_power for r in run.document.results if r.target_power is not None), 0.8)
    planned: dict[Key, list[PlanRecord]] = {_key(curve): [] for curve in curves}
    for record in run.document.results:
        if _key(record) in planned:
            planned[_key(record)].append(record)
    for key, records in sorted(planned.items(), key=lambda item: _least(item[1])):
        metric, design, scores, turns = key
        mine = [c for c in curves if _key(c) == key]
        panel = plot.Panel.with_axes((0, max(c.dialogues[-1] for c in mine)), (0, 1), integer_ticks=True)
        panel.axes("dialogues of each agent", "power")
        panel.horizontal_rule(asked)
        for place, curve in enumerate(mine):
            panel.line(curve.dialogues, [nan if power is None else power for power in curve.power], place)
        beside = f" with scores of {scores}" if scores else ""
        several = f", turns in a dialogue: {turns}" if turns != 1 else ""
        title = f"{metric}, {design}{beside}{several}"
        yield Figure(
            kind="power",
            title=title,
            meaning=f"The probability of showing the difference if it is there. The dashed line is {asked:g}. Where "
            "lines of more raters lie close together, more dialogues are worth more than more raters.",
            notes=provenance_notes(records),
            head=("raters", "difference", "dialogues", "low", "high", "ratings", "cost"),
            rows=tuple(
                (r.raters, r.difference, r.dialogues, *low_and_high(r.interval), r.ratings, r.cost)
                for r in records
            ),
            svg=panel.svg(title, legend=[f"raters: {c.raters} (difference {c.difference:g})" for c in mine]),
        )


def _key(one: PlanRecord | PowerCurve) -> Key:
    """Which figure shows a plan or a curve."""
    return one.metric, one.design, one.scores, one.turns


def _least(records: Sequence[PlanRecord]) -> float:
    """The fewest dialogues, or the smallest difference, among these; infinity if none was found."""
    return min((one.value for one in records if one.estimate is not None), default=inf)
