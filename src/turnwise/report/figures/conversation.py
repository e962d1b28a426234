"""Scores turn after turn along a conversation (after the critic's table 5): where does it go wrong?"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnwise.report import plot
from turnwise.report.figure import Exchange, Figure, Record, axis, lower, stated
from turnwise.report.runs import Run
from turnwise.report.text import number

CONVERSATIONS = "conversations.jsonl"
METRICS = 5
FEWEST = 3  # judged replies that make a line


def conversations(run: Run) -> Iterator[Figure]:
    talks = {one["id"]: one for one in run.lines(CONVERSATIONS)}
    if not talks:
        return
    items: dict[str, list[dict[str, Any]]] = {name: [] for name in talks}
    spans: dict[str, list[float]] = {}
    for item in run.lines("items.jsonl"):
        for metric, score in item["scores"].items():
            if score is not None:
                low, high = spans.setdefault(metric, [score, score])
                spans[metric] = [min(low, score), max(high, score)]
        if item["dialogue"] in items and item["turn"] is not None:
            items[item["dialogue"]].append(item)
    signed = {(record.get("agent"), record["metric"]): record for record in run.results}
    for name, talk in talks.items():
        mine = sorted(items[name], key=lambda item: int(item["turn"]))
        if len(mine) >= FEWEST and mine[0]["agent"] == talk["agent"]:
            yield _figure(talk, mine, spans, signed)


def _figure(
    talk: Mapping[str, Any],
    items: Sequence[Mapping[str, Any]],
    spans: Mapping[str, Sequence[float]],
    signed: Mapping[tuple[str | None, str], Record],
) -> Figure:
    scored = dict.fromkeys(m for item in items for m, score in item["scores"].items() if score is not None)
    metrics = [name for name in scored if spans[name][1] > spans[name][0]][:METRICS]
    title = f"turn after turn: {talk['id']} ({talk['agent']})"
    panel = plot.Panel.over((1, len(items)), (-0.05, 1.05), whole=True)
    panel.axes("reply", "score, from least to greatest of the run")
    for series, metric in enumerate(metrics):
        low, high = spans[metric]
        values = [item["scores"].get(metric) for item in items]
        heights = [float("nan") if value is None else (value - low) / (high - low) for value in values]
        panel.line(range(1, len(items) + 1), heights, series)
        for place, (height, value) in enumerate(zip(heights, values, strict=True), start=1):
            if value is not None:
                panel.dot(place, height, series, size=2.5, tip=f"reply {place}, {metric}: {number(value)}")
    behind = [found for name in metrics if (found := signed.get((talk["agent"], name)))]
    named = {record["metric"]: axis(record) for record in behind}
    texts = talk["turns"]
    rows = tuple(
        (place, _said(texts, int(item["turn"])), *(item["scores"].get(metric) for metric in metrics))
        for place, item in enumerate(items, start=1)
    )
    return Figure(
        kind="conversation",
        title=title,
        meaning="Each metric runs from its least (0) to its greatest (1) score in this run; one point a reply."
        + lower(behind, ""),
        notes=stated(
            behind,
            more=[f"{len(items)} of them are drawn; a single reply's number has no interval"],
        ),
        head=("reply", "text", *metrics),
        rows=rows,
        svg=panel.svg(title, legend=[named.get(name, name) for name in metrics]),
        exchanges=tuple(
            Exchange(
                _said(texts, int(item["turn"]) - 1),
                ((f"reply {place}", _said(texts, int(item["turn"])), _told(item, metrics)),),
            )
            for place, item in enumerate(items, start=1)
        ),
    )  # fmt: skip


def _said(turns: Sequence[str], place: int) -> str:
    return turns[place] if 0 <= place < len(turns) else ""


def _told(item: Mapping[str, Any], metrics: Sequence[str]) -> str:
    return ", ".join(f"{name} {number(item['scores'].get(name))}" for name in metrics)
