"""Heat map of agreement, metric by human dimension (ENIGMA, figure 23), and box plots of it (figure 24)."""

from collections.abc import Iterator, Sequence

import numpy as np

from turnwise.records import AgreementRecord, MetaDocument
from turnwise.report import plot
from turnwise.report.figure import (
    Figure,
    learned_note,
    low_and_high,
    lower_is_better_note,
    provenance_notes,
    with_estimate,
    with_interval,
)
from turnwise.report.rated_by import rated_by
from turnwise.report.runs import RunOf
from turnwise.report.text import number

MIN_CORRELATIONS = 3  # minimum number of correlations for a box


def _column_label(record: AgreementRecord) -> str:
    """The column of a record: its dimension, and its group if it has one."""
    return " ".join(filter(None, [record.dimension, record.group]))


def _statistic(run: RunOf[MetaDocument]) -> str | None:
    """Spearman if a metric of the run has it, else the run's first statistic; None if there is none."""
    there = dict.fromkeys(record.statistic for record in run.document.results if record.metric)
    return "spearman" if "spearman" in there else next((name for name in there if name), None)


def _levels(run: RunOf[MetaDocument]) -> Iterator[tuple[str, str, list[AgreementRecord]]]:
    """Yield (statistic, level, records with an estimate) for each level of the run's metrics, by one statistic."""
    statistic = _statistic(run)
    mine = [r for r in with_estimate(run.document.results) if r.metric and r.statistic == statistic]
    for level in dict.fromkeys(record.level for record in mine):
        yield str(statistic), str(level), [record for record in mine if record.level == level]


def heatmaps(run: RunOf[MetaDocument]) -> Iterator[Figure]:
    """One heat map for each level: metrics in rows, dimensions and groups in columns."""
    for statistic, level, mine in _levels(run):
        who = rated_by(run, mine)
        title = f"agreement with {who.words}, {level} level ({statistic})"
        ceilings = {_column_label(r): r.one_rater for r in mine}
        above = ", ".join(
            f"{name} {number(value, 2)}" for name, value in ceilings.items() if value is not None
        )
        yield Figure(
            kind="heatmap",
            title=title,
            meaning="Blue is agreement, red is reversed ranking, pale is none; a star marks p of .05 or less. "
            + (f"Correlation of {who.one_of_them} with the others: {above}." if above else "")
            + lower_is_better_note(mine, ": signs are turned, so that blue agrees there too")
            + learned_note(mine),
            notes=provenance_notes(mine, column=True),
            head=("metric", "dimension", "group", statistic, "low", "high", "p", "one rater", "items", "signature"),
            rows=tuple(
                (r.metric, r.dimension, r.group, r.estimate, *low_and_high(r.interval), r.p, r.one_rater, r.n_items,
                 r.signature)
                for r in mine
            ),
            svg=_picture(mine, title),
        )  # fmt: skip


def _picture(records: Sequence[AgreementRecord], title: str) -> str:
    """The heat map as SVG; metrics by falling best correlation, a star where p is .05 or less."""
    best = {str(r.metric): max(x.value for x in records if x.metric == r.metric) for r in records}
    metrics = sorted(best, key=lambda name: -best[name])
    columns = list(dict.fromkeys(map(_column_label, records)))
    longest = min(plot.MAX_NAME_LETTERS, max(map(len, columns)))
    slanted = longest * plot.LETTER_WIDTH * len(columns) > 0.6 * plot.WIDTH
    below = 20 + 0.77 * plot.LETTER_WIDTH * longest if slanted else 24  # .77 is the sine of the slant
    panel = plot.Panel.with_names(metrics, (-0.5, len(columns) - 0.5), below=below)
    for record in records:
        x, y = columns.index(_column_label(record)), metrics.index(str(record.metric))
        value = record.value
        star = "*" if record.p is not None and record.p <= 0.05 else ""
        tip = f"{record.metric}, {_column_label(record)}: {with_interval(record)}"
        panel.marks.append(_cell(panel, x, y, value, tip))
        ink = "on-dark" if abs(value) > 0.55 else "on-light"
        words = f"{value:.2f}{star}" if len(columns) <= 6 else star
        if words:
            panel.text(panel.x(x), panel.y(y) + 4, words, anchor="middle", style=ink)
    floor = max(panel.y.start, panel.y.end)
    for place, name in enumerate(columns):
        if slanted:
            panel.slanted_text(
                panel.x(place) + 4, floor + 12, plot.truncate(name, plot.MAX_NAME_LETTERS), tip=name
            )
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
    for statistic, level, mine in _levels(run):
        values = {
            name: sorted(r.value for r in mine if r.metric == name)
            for name in dict.fromkeys(str(r.metric) for r in mine)
        }
        values = {name: found for name, found in values.items() if len(found) >= MIN_CORRELATIONS}
        if not values:
            continue
        names = sorted(values, key=lambda name: -float(np.median(values[name])))
        title = f"spread of agreement over dimensions, {level} level ({statistic})"
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
