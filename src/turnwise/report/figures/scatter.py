"""Scatter plots of a metric against people's ratings, with a dot for each rated unit (ADEM, figure 3) or agent.

Mean ratings have few distinct values, so dots would overlap. Each is moved sideways by up to a quarter of the smallest
step between ratings, by a hash of its name, so that the same results give the same picture.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from zlib import crc32

from turnwise.records import AgreementRecord
from turnwise.report import plot
from turnwise.report.documents import MetaDocument
from turnwise.report.figure import (
    Figure,
    learned_note,
    lower_is_better_note,
    metric_label,
    provenance_notes,
    with_estimate,
    with_interval,
)
from turnwise.report.lines import DialogueLine, ItemLine, PeopleLine
from turnwise.report.rated_by import RatedBy, rated_by
from turnwise.report.runs import RunOf
from turnwise.report.text import number

MAX_METRICS = 6  # maximum metrics shown: the best ones and the worst one
MAX_DOTS = 1500  # maximum dots of a picture; the table and the correlation use all
PEOPLE = "people.jsonl"
STATISTICS = ("spearman", "pearson", "kendall", "pairwise")


def scatters(run: RunOf[MetaDocument]) -> Iterator[Figure]:
    """Figures of each chosen metric against people: first a dot for each rated turn or dialogue, then for each agent.

    Only the first dimension, group and level is shown, with at most six metrics: the best ones and the worst.
    """
    people = list(run.lines(PEOPLE, PeopleLine))
    known = with_estimate(run.document.results)
    rated = [record for record in known if record.metric and record.level != "system"]
    if people and rated:
        yield from _unit_figures(run, people, rated)
    for record in _best_and_worst([record for record in known if record.systems]):
        yield _agent_figure(record, rated_by(run, [record]))


def _best_and_worst(records: Sequence[AgreementRecord]) -> list[AgreementRecord]:
    """Records of one statistic on the first record's dimension, group and level, highest first.

    All of them if there are at most six, else the five highest and the lowest. Spearman is preferred.
    """
    if not records:
        return []
    about = (records[0].dimension, records[0].group, records[0].level)
    mine = [record for record in records if (record.dimension, record.group, record.level) == about]
    there = {record.statistic for record in mine}
    statistic = next((name for name in STATISTICS if name in there), records[0].statistic)
    mine = [record for record in mine if record.statistic == statistic]
    mine.sort(key=lambda record: -record.value)
    return mine if len(mine) <= MAX_METRICS else [*mine[: MAX_METRICS - 1], mine[-1]]


def _unit_figures(
    run: RunOf[MetaDocument], people: Sequence[PeopleLine], agreements: Sequence[AgreementRecord]
) -> Iterator[Figure]:
    """A figure for each of the best metrics and for the worst by `agreements`, on the dimension, group and level of the
    first: a dot for each rated item or dialogue that it scored, at most `MAX_DOTS`; none for a metric without dots.
    """
    chosen = _best_and_worst(agreements)
    about = (chosen[0].dimension, chosen[0].level, chosen[0].group or "")
    ratings = {one.id: one.people for one in people if (one.dimension, one.level, one.group or "") == about}
    whole = chosen[0].level == "dialogue"
    named = (
        ((one.dialogue, one) for one in run.lines("dialogues.jsonl", DialogueLine))
        if whole
        else ((one.id, one) for one in run.lines("items.jsonl", ItemLine))
    )
    lines = [(name, one) for name, one in named if name in ratings and one.group == about[2]]
    step = _step(sorted(set(ratings.values())))
    for record in chosen:
        dots = [
            (name, one.agent, ratings[name], score)
            for name, one in lines
            if (score := one.scores.get(str(record.metric))) is not None
        ]
        if dots:
            yield _figure(record, dots, step, rated_by(run, [record]))


def _step(values: Sequence[float]) -> float:
    """The smallest step between the sorted ratings, and at least a fortieth of their range; 0 without ratings."""
    gaps = [high - low for low, high in pairwise(values)]
    return max(min(gaps, default=0.0), (values[-1] - values[0]) / 40 if values else 0.0)


def _jitter(name: str) -> float:
    """A number from -1 to 1 that depends on the name only (a hash)."""
    return crc32(name.encode()) % 2001 / 1000 - 1


def _figure(
    record: AgreementRecord, dots: Sequence[tuple[str, str, float, float]], step: float, who: RatedBy
) -> Figure:
    """The figure of one metric with `dots` of (unit, agent, rating, score); `step` scales the shift to the side."""
    metric, dimension = str(record.metric), record.dimension
    title = f"{metric} against {who.words}: {dimension}, a dot a {record.level}"
    every = -(-len(dots) // MAX_DOTS)
    panel = plot.Panel.with_axes(
        plot.padded_range([dot[2] for dot in dots], pad=0.08), plot.padded_range(dot[3] for dot in dots)
    )
    panel.axes(f"{who.possessive} mean rating, {dimension}", metric_label(record))
    for name, agent, people, score in dots[::every]:
        tip = f"{name} ({agent}): {who.words} {number(people)}, {metric} {number(score)}"
        panel.dot(people + 0.25 * step * _jitter(name), score, 0, size=2.2, tip=tip)
    one = record.one_rater
    single = who.one_of_them.capitalize()
    reached = f" {single} against the others reaches {number(one)}." if one is not None else ""
    return Figure(
        kind="scatter",
        title=title,
        meaning=f"{record.statistic} {with_interval(record)}.{reached} Dots are moved sideways a little, as many "
        "share a rating." + lower_is_better_note([record], ", and the sign of the correlation is turned")
        + (f" One dot in {every} is shown." if every > 1 else "")
        + learned_note([record]),
        notes=provenance_notes([record]),
        head=(str(record.level), "agent", who.words, metric),
        rows=tuple(dots),
        svg=panel.svg(title),
    )  # fmt: skip


def _agent_figure(record: AgreementRecord, who: RatedBy) -> Figure:
    """The figure of one metric with a dot for each agent of the record's `systems`."""
    metric, dimension = str(record.metric), record.dimension
    known = [
        (one.people, one.metric, one.agent)
        for one in record.systems
        if one.people is not None and one.metric is not None
    ]
    systems = sorted(known, key=lambda one: -one[0])
    title = f"{metric} against {who.words}: {dimension}, a dot an agent"
    panel = plot.Panel.with_axes(
        plot.padded_range((people for people, _, _ in systems), pad=0.08),
        plot.padded_range((score for _, score, _ in systems), pad=0.08),
    )
    panel.axes(f"{who.possessive} mean rating, {dimension}", metric_label(record))
    for people, score, agent in systems:
        panel.dot(people, score, 0, tip=agent)
    key = panel.label_dots(systems)
    return Figure(
        kind="systems",
        title=title,
        meaning=f"{record.statistic} {with_interval(record)} over {len(systems)} agents."
        + lower_is_better_note([record], ", and the sign of the correlation is turned")
        + (" Dots are numbered as in the list above." if key else "")
        + learned_note([record]),
        notes=provenance_notes([record]),
        head=("agent", who.words, metric),
        rows=tuple((agent, people, score) for people, score, agent in systems),
        svg=panel.svg(title, key=key),
    )
