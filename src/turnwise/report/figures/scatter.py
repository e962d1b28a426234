"""A metric against people, a dot a rated unit (ADEM, figure 3), or a dot an agent.

Ratings are whole numbers and their means a few, so dots lie on each other: each is moved sideways by up to a quarter of
the least step between ratings, by a hash of its name, so that the same results give the same picture.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any
from zlib import crc32

from turnwise.report import plot
from turnwise.report.figure import Figure, Record, answered, axis, lower, stated, with_interval
from turnwise.report.runs import Run
from turnwise.report.text import number

MOST = 6  # metrics that are shown, those that agree best and the one that agrees least
DOTS = 1500  # of a picture; the table and the number are of all
PEOPLE = "people.jsonl"
WANTED = ("spearman", "pearson", "kendall", "pairwise")


def scatters(run: Run) -> Iterator[Figure]:
    """One figure a metric, at the level that was rated, on the first dimension that was."""
    people = list(run.lines(PEOPLE))
    rated = [
        record for record in answered(run.results) if record.get("metric") and record["level"] != "system"
    ]
    if people and rated:
        yield from _units(run, people, rated)
    systems = [r for r in answered(run.results) if r.get("systems")]
    for record in _chosen(systems):
        yield _by_agent(record)


def _chosen(records: Sequence[Record]) -> list[Record]:
    """The best and the worst of one statistic, on the first dimension and group."""
    if not records:
        return []
    about = {name: records[0].get(name) for name in ("dimension", "group", "level")}
    there = {record["statistic"] for record in records}
    statistic = next((name for name in WANTED if name in there), records[0]["statistic"])
    mine = [
        r for r in records if r["statistic"] == statistic and all(r.get(key) == value for key, value in about.items())
    ]  # fmt: skip
    mine.sort(key=lambda record: -record["estimate"])
    return mine if len(mine) <= MOST else [*mine[: MOST - 1], mine[-1]]


def _units(run: Run, people: Sequence[Mapping[str, Any]], rated: Sequence[Record]) -> Iterator[Figure]:
    chosen = _chosen(rated)
    level = chosen[0]["level"]
    group = chosen[0].get("group") or ""
    ratings = {
        one["id"]: one["people"]
        for one in people
        if one["dimension"] == chosen[0]["dimension"]
        and one["level"] == level
        and (one["group"] or "") == group
    }
    name = "dialogue" if level == "dialogue" else "id"
    lines = [
        one
        for one in run.lines("dialogues.jsonl" if level == "dialogue" else "items.jsonl")
        if one[name] in ratings and one["group"] == group
    ]
    step = _step(sorted(set(ratings.values())))
    for record in chosen:
        metric = record["metric"]
        dots = [
            (one[name], one["agent"], ratings[one[name]], one["scores"][metric])
            for one in lines
            if one["scores"].get(metric) is not None
        ]
        if dots:
            yield _figure(record, dots, step)


def _step(values: Sequence[float]) -> float:
    """The least distance between ratings; that of their range over forty where they are many."""
    gaps = [high - low for low, high in pairwise(values)]
    return max(min(gaps, default=0.0), (values[-1] - values[0]) / 40 if values else 0.0)


def _jitter(name: str) -> float:
    """From -1 to 1, always the same for a name."""
    return crc32(name.encode()) % 2001 / 1000 - 1


def _figure(record: Record, dots: Sequence[tuple[str, str, float, float]], step: float) -> Figure:
    metric, dimension = record["metric"], record["dimension"]
    title = f"{metric} against people: {dimension}, a dot a {record['level']}"
    every = -(-len(dots) // DOTS)
    panel = plot.Panel.over(
        plot.reach([dot[2] for dot in dots], pad=0.08), plot.reach(dot[3] for dot in dots)
    )
    panel.axes(f"people's mean rating, {dimension}", axis(record))
    for name, agent, people, score in dots[::every]:
        tip = f"{name} ({agent}): people {number(people)}, {metric} {number(score)}"
        panel.dot(people + 0.25 * step * _jitter(name), score, 0, size=2.2, tip=tip)
    ceiling = record.get("ceiling")
    reached = f" One person against the others reaches {number(ceiling)}." if ceiling is not None else ""
    return Figure(
        kind="scatter",
        title=title,
        meaning=f"{record['statistic']} {with_interval(record)}.{reached} Dots are moved sideways a little, as many "
        "share a rating." + lower([record], ", and the sign of the correlation is turned")
        + (f" One dot in {every} is shown." if every > 1 else ""),
        notes=stated([record]),
        head=(record["level"], "agent", "people", metric),
        rows=tuple(dots),
        svg=panel.svg(title),
    )  # fmt: skip


def _by_agent(record: Record) -> Figure:
    metric, dimension = record["metric"], record["dimension"]
    systems = sorted(record["systems"], key=lambda one: -one["people"])
    title = f"{metric} against people: {dimension}, a dot an agent"
    panel = plot.Panel.over(
        plot.reach((one["people"] for one in systems), pad=0.08),
        plot.reach((one["metric"] for one in systems), pad=0.08),
    )
    panel.axes(f"people's mean rating, {dimension}", axis(record))
    for one in systems:
        panel.dot(one["people"], one["metric"], 0, tip=one["agent"])
    key = panel.name([(one["people"], one["metric"], one["agent"]) for one in systems])
    return Figure(
        kind="systems",
        title=title,
        meaning=f"{record['statistic']} {with_interval(record)} over {len(systems)} agents."
        + lower([record], ", and the sign of the correlation is turned")
        + (" Dots are numbered as in the list above." if key else ""),
        notes=stated([record]),
        head=("agent", "people", metric),
        rows=tuple((one["agent"], one["people"], one["metric"]) for one in systems),
        svg=panel.svg(title, key=key),
    )
