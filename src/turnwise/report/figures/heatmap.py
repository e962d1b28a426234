"""Heat map of agreement, metric by human dimension (ENIGMA, figure 23), and box plots of it (figure 24)."""

from collections.abc import Iterator, Sequence
from math import isnan

import numpy as np

from turnwise.records import AgreementRecord
from turnwise.report import plot
from turnwise.report.agreement import Agreement, chosen_statistic, measured
from turnwise.report.documents import MetaDocument
from turnwise.report.figure import (
    Figure,
    learned_note,
    low_and_high,
    lower_is_better_note,
    provenance_notes,
    with_estimate,
)
from turnwise.report.rated_by import rated_by
from turnwise.report.runs import RunOf
from turnwise.report.text import number

MIN_CORRELATIONS = 3  # minimum number of correlations for a box


def _column_label(record: AgreementRecord) -> str:
    """The column of a record: its dimension, and its group if it has one."""
    return " ".join(filter(None, [record.dimension, record.group]))


def _levels(run: RunOf[MetaDocument]) -> Iterator[tuple[str, str, list[Agreement]]]:
    """Yield (statistic, level, agreements) for each level of the run's metrics, by one statistic."""
    records = [r for r in with_estimate(run.document.results) if r.metric]
    statistic = chosen_statistic(records)
    mine = [r for r in records if r.statistic == statistic]
    for level in dict.fromkeys(record.level for record in mine):
        found = measured([record for record in mine if record.level == level])
        yield str(statistic), str(level), [one for one in found if not isnan(one.value)]


def heatmaps(run: RunOf[MetaDocument]) -> Iterator[Figure]:
    """One heat map for each level with more than one column: metrics in rows, dimensions and groups in columns.

    A single column is the figure of `agreements` alone.
    """
    for statistic, level, mine in _levels(run):
        records = [one.record for one in mine]
        ceilings = {_column_label(one.record): one.one_rater for one in mine}
        if len(ceilings) < 2:
            continue
        who = rated_by(run, records)
        inside = " inside agents" if mine[0].inside else ""
        title = f"agreement with {who.words}{inside}, {level} level ({statistic})"
        above = ", ".join(
            f"{name} {number(value, 2)}" for name, value in ceilings.items() if value is not None
        )
        yield Figure(
            kind="heatmap",
            title=title,
            meaning="Blue is agreement, red is reversed ranking, pale is none; a star marks agreement or reversal that "
            "was shown. "
            + (f"Correlation of {who.one_of_them} with the others: {above}." if above else "")
            + lower_is_better_note(records, ": signs are turned, so that blue agrees there too")
            + learned_note(records),
            notes=provenance_notes(records, column=True),
            head=("metric", "dimension", "group", f"{statistic}{inside}", "low", "high", "one rater", "items",
                  "signature"),
            rows=tuple(
                (one.metric, one.record.dimension, one.record.group, one.value, *low_and_high(one.bounds),
                 one.one_rater, one.record.n_items, one.record.signature)
                for one in mine
            ),
            svg=_picture(mine, title),
        )  # fmt: skip


def _picture(agreements: Sequence[Agreement], title: str) -> str:
    """The heat map as SVG; metrics by falling best correlation, a star where agreement or reversal was shown."""
    best = {one.metric: max(x.value for x in agreements if x.metric == one.metric) for one in agreements}
    metrics = sorted(best, key=lambda name: -best[name])
    columns = list(dict.fromkeys(_column_label(one.record) for one in agreements))
    lines = [plot.broken(name) for name in columns]
    longest = max(len(line) for name in lines for line in name)
    slanted = max(map(len, columns)) * plot.LETTER_WIDTH * len(columns) > 0.6 * plot.WIDTH
    below = 24.0
    if slanted:  # .77 is the sine of the slant
        below = 20 + 0.77 * plot.LETTER_WIDTH * longest + plot.LINE_HEIGHT * (max(map(len, lines)) - 1)
    panel = plot.Panel.with_names(metrics, (-0.5, len(columns) - 0.5), below=below)
    for one in agreements:
        x, y = columns.index(_column_label(one.record)), metrics.index(one.metric)
        value = one.value
        star = "*" if one.is_shown or one.is_reversed else ""
        tip = f"{one.metric}, {_column_label(one.record)}: {one.text}"
        panel.marks.append(_cell(panel, x, y, value, tip))
        ink = "on-dark" if abs(value) > 0.55 else "on-light"
        words = f"{value:.2f}{star}" if len(columns) <= 6 else star
        if words:
            panel.text(panel.x(x), panel.y(y) + 4, words, anchor="middle", style=ink)
    floor = max(panel.y.start, panel.y.end)
    for place, name in enumerate(columns):
        if slanted:
            for number_of_line, line in enumerate(lines[place]):
                across = panel.x(place) + 4 + plot.LINE_HEIGHT * number_of_line
                panel.slanted_text(across, floor + 12, line, tip=name)
        else:
            panel.text(panel.x(place), floor + 14, name, anchor="middle", style="tick")
    return panel.svg(title)


def _cell(panel: plot.Panel, x: int, y: int, value: float, tip: str) -> str:
    """A cell as an SVG rectangle, which is not added to the panel; its colour is a fill that depends on the value."""
    panel.bar((x - 0.5, x + 0.5), (y - 0.5, y + 0.5), style="cell", tip=tip)
    return panel.marks.pop().replace("<rect ", f'<rect fill="{colour(value)}" ', 1)


def colour(value: float) -> str:
    """The fill of a correlation as #rrggbb: red at -1, pale at 0, blue at 1; beyond that as at the ends."""
    pale, end = np.array([236, 238, 242]), np.array([33, 86, 165] if value > 0 else [176, 42, 48])
    red, green, blue = np.rint(pale + min(1.0, abs(value)) * (end - pale)).astype(int)
    return f"#{red:02x}{green:02x}{blue:02x}"


def boxes(run: RunOf[MetaDocument]) -> Iterator[Figure]:
    """Box plots of each metric's correlations over dimensions and groups, one figure for each level.

    Metrics with fewer than three correlations are left out.
    """
    for statistic, level, agreements in _levels(run):
        mine = [one.record for one in agreements]
        values = {
            name: sorted(one.value for one in agreements if one.metric == name)
            for name in dict.fromkeys(one.metric for one in agreements)
        }
        values = {name: found for name, found in values.items() if len(found) >= MIN_CORRELATIONS}
        if not values:
            continue
        names = sorted(values, key=lambda name: -float(np.median(values[name])))
        inside = " inside agents" if agreements[0].inside else ""
        title = f"spread of agreement{inside} over dimensions, {level} level ({statistic})"
        panel = plot.Panel.with_names(
            names, plot.padded_range([v for found in values.values() for v in (*found, 0.0)])
        )
        panel.axes(statistic)
        panel.vertical_rule(0.0)
        signed = {str(r.metric): r.signature for r in mine}
        rows = []
        for place, name in enumerate(names):
            found = values[name]
            low, middle, high = (float(q) for q in np.quantile(found, [0.25, 0.5, 0.75]))
            panel.path([(found[0], place), (found[-1], place)], style="whisker s0")
            tip = f"{name}: median {number(middle)}, quartiles {number(low)} and {number(high)}"
            panel.bar((low, high), (place - 0.32, place + 0.32), style="box s0", tip=tip)
            panel.path([(middle, place - 0.32), (middle, place + 0.32)], style="line s1")
            for value in found:
                panel.dot(value, place, 0, size=2)
            rows.append((name, len(found), found[0], low, middle, high, found[-1], signed[name]))
        yield Figure(
            kind="boxes",
            title=title,
            meaning="The box spans the quartiles of a metric's correlations, the line in it is the median, the "
            "whisker spans the range; one dot for each dimension and group."
            + lower_is_better_note(mine, ": signs are turned there")
            + learned_note(r for r in mine if r.metric in values),
            notes=provenance_notes(
                [r for r in mine if r.metric in values],
                more=[f"{len(next(iter(values.values())))} correlations a box"],
                column=True,
            ),
            head=(
                "metric",
                "correlations",
                "least",
                "lower quartile",
                "median",
                "upper quartile",
                "greatest",
                "signature",
            ),
            rows=tuple(rows),
            svg=panel.svg(title),
        )
