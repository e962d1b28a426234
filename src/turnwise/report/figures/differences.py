"""The differences between agents: one scale for each unit, with the intervals that decided."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from turnwise.metrics import is_rating
from turnwise.records import DifferenceRecord
from turnwise.report import plot
from turnwise.report.claims.agents import by_people, dimension, leader
from turnwise.report.documents import CompareDocument
from turnwise.report.figure import (
    Figure,
    in_words,
    lower_is_better_note,
    provenance_notes,
    with_estimate,
)
from turnwise.report.runs import RunOf

MAX_ROWS = 30  # maximum rows of a picture; the table has all
ROW, AXIS = 36.0, 40.0  # heights of a row, and of the axis below the rows of one unit
TEXT, BELOW = -7.0, 0.25  # where the text of a row is, in units, and the interval below it, in rows


@dataclass(frozen=True, slots=True)
class Gap:
    """A difference as it is drawn: from the first agent to the second."""

    record: DifferenceRecord
    name: str
    sign: int  # -1 if the record has the agents the other way round

    @property
    def value(self) -> float:
        """The difference."""
        return self.sign * self.record.value

    @property
    def decisive(self) -> tuple[float, float] | None:
        """The interval that decides."""
        return self._turned(self.record.decisive)

    @property
    def alone(self) -> tuple[float, float] | None:
        """The interval of this comparison alone."""
        return self._turned(self.record.bounds)

    @property
    def means(self) -> tuple[float | None, float | None]:
        """The means of the first agent and of the second."""
        a, b = self.record.a, self.record.b
        return (a, b) if self.sign > 0 else (b, a)

    @property
    def text(self) -> str:
        """The difference with the interval that decides."""
        return in_words(self.value, self.decisive)

    def _turned(self, bounds: tuple[float, float] | None) -> tuple[float, float] | None:
        """The interval in the direction in which it is drawn."""
        return bounds if bounds is None or self.sign > 0 else (-bounds[1], -bounds[0])


def differences(run: RunOf[CompareDocument]) -> Iterator[Figure]:
    """The differences of two agents by ratings and metrics in one figure, from the agent that leads by the first; of
    several agents those of all pairs, one figure for each metric and group. Win rates have figures of their own.
    """
    known = with_estimate((*run.document.people, *run.document.results))
    mine = sorted((record for record in known if record.win_rate is None), key=_place)
    pairs = {frozenset((record.agent_a, record.agent_b)) for record in mine}
    if len(pairs) == 1:
        yield of_pair(mine, leader(mine[0]))
        return
    for metric, group in dict.fromkeys((record.metric, record.group) for record in mine):
        here = [record for record in mine if (record.metric, record.group) == (metric, group)]
        title = f"differences of all pairs by {metric}" + (f", {group}" if group else "")
        yield _figure([_led(record) for record in here], title, ("the first", "the second"))


def _place(record: DifferenceRecord) -> tuple[bool, bool]:
    """The place of a difference in a figure: people's ratings first, and of these `overall` first."""
    return not by_people(record), not (by_people(record) and dimension(record.metric).startswith("overall"))


def of_pair(records: Sequence[DifferenceRecord], first: str) -> Figure:
    """The figure of the differences of two agents by ratings and metrics, from the agent `first` to the other."""
    second = str(records[0].agent_b if first == records[0].agent_a else records[0].agent_a)
    gaps = [Gap(record, _about(record), 1 if record.agent_a == first else -1) for record in records]
    return _figure(gaps, f"{first} minus {second}", (first, second))


def _led(record: DifferenceRecord) -> Gap:
    """The difference from the agent that leads to the other."""
    turned = leader(record) != record.agent_a
    names = (record.agent_a, record.agent_b)[:: -1 if turned else 1]
    return Gap(record, f"{names[0]} - {names[1]}", -1 if turned else 1)


def _figure(gaps: Sequence[Gap], title: str, agents: tuple[str, str]) -> Figure:
    """The figure of these differences, which are those of `agents` or of the agents in their names."""
    first, second = agents
    records = [gap.record for gap in gaps]
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
            (gap.name, r.group, *gap.means, gap.value, *(gap.decisive or (None, None)), *(gap.alone or (None, None)),
             r.p, r.p_adjusted, None if r.effect_size is None else gap.sign * r.effect_size, r.verdict, r.signature)
            for gap, r in zip(gaps, records, strict=True)
        ),
        svg=_picture(gaps, title, agents),
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


def _picture(gaps: Sequence[Gap], title: str, agents: tuple[str, str]) -> str:
    """The picture of the first 30 differences: those of one unit above one axis, whose middle is 0."""
    shown = gaps[:MAX_ROWS]
    units = list(dict.fromkeys(unit(gap.record) for gap in shown))
    sides = [plot.broken(f"{agent} higher", plot.MAX_LINE_LETTERS // 2 - 2) for agent in reversed(agents)]
    head = plot.LINE_HEIGHT * max(map(len, sides)) + 8
    canvas = plot.Panel(
        plot.Scale(-1, 1, 8, plot.WIDTH - 8),
        plot.Scale(0, 1, 0, 1),
        height=head + ROW * len(shown) + AXIS * len(units),
    )
    for lines, shift, anchor in zip(sides, (-10, 10), ("end", "start"), strict=True):
        canvas.text_lines(plot.WIDTH / 2 + shift, head / 2 + 4, lines, anchor=anchor, style="label")
    top = head
    for name in units:
        top += _rows(canvas, [gap for gap in shown if unit(gap.record) == name], name, top)
    return canvas.svg(title)


def _rows(canvas: plot.Panel, gaps: Sequence[Gap], name: str, top: float) -> float:
    """Draw the rows of one unit from this height on, and return their height."""
    size = max(abs(edge) for gap in gaps for edge in (gap.value, *(gap.decisive or ()))) * 1.05 or 1.0
    across = plot.Scale(-size, size, canvas.x.start, canvas.x.end)
    bottom = top + ROW * len(gaps)
    panel = plot.Panel(across, plot.Scale(-0.5, len(gaps) - 0.5, top, bottom), marks=canvas.marks)
    # The row of a single metric has its name.
    panel.axes(name if is_rating(gaps[0].record.metric) or len(gaps) > 1 else "")
    panel.vertical_rule(0.0)
    for place, gap in enumerate(gaps):
        line = panel.y(place) + TEXT
        panel.text_lines(across.start, line, plot.broken(gap.name, plot.MAX_LINE_LETTERS - len(gap.text) - 2))
        panel.text(across.end, line, gap.text, anchor="end")
        series = 0 if gap.record.shown else 7
        if gap.decisive:
            panel.path([(end, place + BELOW) for end in gap.decisive], style=f"whisker s{series}")
        panel.dot(gap.value, place + BELOW, series, tip=f"{gap.name}: {gap.text}")
    return bottom - top + AXIS
