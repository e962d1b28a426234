"""The differences between agents: one scale for each unit, with the intervals that decided."""

import re
from collections.abc import Iterator, Sequence

from turnwise.metrics import is_rating
from turnwise.records import CompareDocument, DifferenceRecord
from turnwise.report import plot
from turnwise.report.figure import (
    Figure,
    in_words,
    low_and_high,
    lower_is_better_note,
    provenance_notes,
    with_estimate,
)
from turnwise.report.runs import RunOf

MAX_ROWS = 30  # maximum rows of a picture; the table has all
ROW, AXIS = 36.0, 40.0  # heights of a row, and of the axis below the rows of one unit


def differences(run: RunOf[CompareDocument]) -> Iterator[Figure]:
    """The differences of two agents by ratings and metrics in one figure; of several agents those of all pairs, one
    figure for each metric and group. Win rates have figures of their own.
    """
    known = with_estimate((*run.document.people, *run.document.results))
    mine = [record for record in known if record.win_rate is None]
    pairs = dict.fromkeys((record.agent_a, record.agent_b) for record in mine)
    if len(pairs) == 1:
        ((first, second),) = pairs
        yield _figure(
            mine, f"{first} minus {second}", [_about(record) for record in mine], (str(first), str(second))
        )
        return
    for metric, group in dict.fromkeys((record.metric, record.group) for record in mine):
        here = [record for record in mine if (record.metric, record.group) == (metric, group)]
        title = f"differences of all pairs by {metric}" + (f", {group}" if group else "")
        yield _figure(here, title, [f"{r.agent_a} - {r.agent_b}" for r in here], ("the first", "the second"))


def _figure(
    records: Sequence[DifferenceRecord], title: str, names: Sequence[str], agents: tuple[str, str]
) -> Figure:
    """The figure of these differences, which are those of `agents` or of the agents in `names`."""
    first, second = agents
    return Figure(
        kind="differences",
        title=title,
        meaning=f"Right of the line {first} has the higher number, left of it {second}. Each unit has its own scale. "
        "The interval is the one that decides, adjusted for all comparisons of its family together: one that crosses "
        "the line shows no difference, and no equality either."
        + lower_is_better_note(records, ": there the left is the good end"),
        notes=provenance_notes(records, more=families(records), column=True),
        head=("", "group", first, second, "difference", "low", "high", "low alone", "high alone", "p", "p adjusted",
              "effect size", "verdict", "signature"),
        rows=tuple(
            (name, r.group, r.a, r.b, r.estimate, *low_and_high(r.decisive), *low_and_high(r.interval), r.p,
             r.p_adjusted, r.effect_size, r.verdict, r.signature)
            for name, r in zip(names, records, strict=True)
        ),
        svg=_picture(records, names, title, agents),
    )  # fmt: skip


def families(records: Sequence[DifferenceRecord]) -> list[str]:
    """A note for each family of comparisons that is adjusted together."""
    sizes = dict.fromkeys((r.family, r.family_size) for r in records if (r.family_size or 1) > 1)
    return [f"adjusted for {size} comparisons by {family or 'all metrics'}" for family, size in sizes]


def _about(record: DifferenceRecord) -> str:
    """The metric and the group of a difference."""
    return record.metric + (f" {record.group}" if record.group else "")


def unit(record: DifferenceRecord) -> str:
    """The unit of a difference: points of a scale, or the metric without its number of words, as in `bleu-4`."""
    if is_rating(record.metric):
        return f"points of {record.points:g}" if record.points else "points"
    return re.sub(r"-\d+$", "", record.metric.split("[")[0])


def _picture(
    records: Sequence[DifferenceRecord], names: Sequence[str], title: str, agents: tuple[str, str]
) -> str:
    """The picture of the first 30 differences: those of one unit above one axis, whose middle is 0."""
    shown = list(zip(records, names, strict=True))[:MAX_ROWS]
    units = list(dict.fromkeys(unit(record) for record, _ in shown))
    sides = [
        plot.broken(f"{agent} higher", plot.MAX_LINE_LETTERS // 2 - 2) for agent in (agents[1], agents[0])
    ]
    head = plot.LINE_HEIGHT * max(map(len, sides)) + 8
    canvas = plot.Panel(
        plot.Scale(-1, 1, 8, plot.WIDTH - 8),
        plot.Scale(0, 1, 0, 1),
        height=head + ROW * len(shown) + AXIS * len(units),
    )
    for side, lines in enumerate(sides):
        middle = plot.WIDTH / 2
        across, anchor = (middle - 10, "end") if side == 0 else (middle + 10, "start")
        canvas.text_lines(across, head / 2 + 4, lines, anchor=anchor, style="label")
    top = head
    for name in units:
        mine = [(record, label) for record, label in shown if unit(record) == name]
        top += _rows(canvas, mine, name, top)
    return canvas.svg(title)


def _rows(canvas: plot.Panel, rows: Sequence[tuple[DifferenceRecord, str]], name: str, top: float) -> float:
    """Draw the rows of one unit from this height on, and return their height."""
    ends = [edge for record, _ in rows for edge in (record.value, *(record.decisive or ()))]
    size = max(map(abs, plot.padded_range([*ends, *(-end for end in ends)])))
    across = plot.Scale(-size, size, canvas.x.start, canvas.x.end)
    bottom = top + ROW * len(rows)
    panel = plot.Panel(across, plot.Scale(-0.5, len(rows) - 0.5, top, bottom), marks=canvas.marks)
    # The row of a single metric has its name.
    panel.axes(name if is_rating(rows[0][0].metric) or len(rows) > 1 else "")
    panel.vertical_rule(0.0)
    for place, (record, label) in enumerate(rows):
        words = in_words(record.value, record.decisive)
        line = panel.y(place) + 9
        room = plot.MAX_LINE_LETTERS - len(words) - 2
        names = plot.broken(label, room)
        panel.text_lines(across.start, line - 16, names)
        panel.text(across.end, line - 16, words, anchor="end")
        lower = (line - panel.y.start) / (panel.y.end - panel.y.start) * len(rows) - 0.5
        if record.decisive:
            panel.path(
                [(end, lower) for end in record.decisive], style=f"whisker s{0 if record.shown else 7}"
            )
        panel.dot(record.value, lower, 0 if record.shown else 7, tip=f"{label}: {words}")
    return bottom - top + AXIS
