"""Scores of the replies along a dialogue (after table 5 of the offline critic)."""

from collections.abc import Iterator, Mapping, Sequence

from turnwise.records import ScoreRecord
from turnwise.report import plot
from turnwise.report.documents import ScoreDocument
from turnwise.report.figure import Exchange, Figure, lower_is_better_note, metric_label, provenance_notes
from turnwise.report.lines import ItemLine, TranscriptLine
from turnwise.report.runs import RunOf
from turnwise.report.text import number

DIALOGUES_FILE = "transcripts.jsonl"
MAX_METRICS = 5  # metrics in a picture
MIN_REPLIES = 3  # minimum number of scored replies for a picture


def dialogue_scores(run: RunOf[ScoreDocument]) -> Iterator[Figure]:
    """One figure for each dialogue in `transcripts.jsonl` with at least three scored replies of the dialogue's agent.

    None if the run has no such file.
    """
    dialogues = {one.id: one for one in run.lines(DIALOGUES_FILE, TranscriptLine)}
    if not dialogues:
        return
    items: dict[str, list[ItemLine]] = {name: [] for name in dialogues}
    spans: dict[str, list[float]] = {}
    for item in run.lines("items.jsonl", ItemLine):
        for metric, score in item.scores.items():
            if score is not None:
                low, high = spans.setdefault(metric, [score, score])
                spans[metric] = [min(low, score), max(high, score)]
        if item.dialogue in items and item.turn is not None:
            items[item.dialogue].append(item)
    signed = {(record.agent, record.metric): record for record in run.document.results}
    for name, dialogue in dialogues.items():
        mine = sorted(items[name], key=_place)
        if len(mine) >= MIN_REPLIES and mine[0].agent == dialogue.agent:
            yield _figure(dialogue, mine, spans, signed)


def _figure(
    dialogue: TranscriptLine,
    items: Sequence[ItemLine],
    spans: Mapping[str, Sequence[float]],
    signed: Mapping[tuple[str | None, str], ScoreRecord],
) -> Figure:
    """The figure of one dialogue: its scores by the first five metrics that vary, scaled to 0..1 over the run.

    `spans` has the lowest and highest score of each metric in the run, `signed` the records by agent and metric.
    """
    scored = dict.fromkeys(m for item in items for m, score in item.scores.items() if score is not None)
    metrics = [name for name in scored if spans[name][1] > spans[name][0]][:MAX_METRICS]
    title = f"turn after turn: {dialogue.id} ({dialogue.agent})"
    panel = plot.Panel.with_axes((1, len(items)), (-0.05, 1.05), integer_ticks=True)
    panel.axes("reply", "score, 0 to 1 in this run")
    for series, metric in enumerate(metrics):
        low, high = spans[metric]
        values = [item.scores.get(metric) for item in items]
        heights = [float("nan") if value is None else (value - low) / (high - low) for value in values]
        panel.line(range(1, len(items) + 1), heights, series)
        for place, (height, value) in enumerate(zip(heights, values, strict=True), start=1):
            if value is not None:
                panel.dot(place, height, series, size=2.5, tip=f"reply {place}, {metric}: {number(value)}")
    behind = [found for name in metrics if (found := signed.get((dialogue.agent, name)))]
    named = {record.metric: metric_label(record) for record in behind}
    texts = dialogue.turns
    rows = tuple(
        (place, _turn_text(texts, _place(item)), *(item.scores.get(metric) for metric in metrics))
        for place, item in enumerate(items, start=1)
    )
    return Figure(
        kind="dialogue",
        title=title,
        meaning="Each metric is scaled from its lowest (0) to its highest (1) score of this run; one point per reply."
        + lower_is_better_note(behind, ""),
        notes=provenance_notes(
            behind,
            more=[f"{len(items)} replies are drawn; the score of a single reply has no interval"],
        ),
        head=("reply", "text", *metrics),
        rows=rows,
        svg=panel.svg(title, legend=[named.get(name, name) for name in metrics]),
        exchanges=tuple(
            Exchange(
                _turn_text(texts, _place(item) - 1),
                ((f"reply {place}", _turn_text(texts, _place(item)), _score_text(item, metrics)),),
            )
            for place, item in enumerate(items, start=1)
        ),
    )  # fmt: skip


def _place(item: ItemLine) -> int:
    """The index of the item's turn; -1 for a whole dialogue."""
    return -1 if item.turn is None else item.turn


def _turn_text(turns: Sequence[str], place: int) -> str:
    """The text of the turn at this index; "" if there is no such turn."""
    return turns[place] if 0 <= place < len(turns) else ""


def _score_text(item: ItemLine, metrics: Sequence[str]) -> str:
    """The item's scores as text, such as `bleu-4 0.210, length 12.000`."""
    return ", ".join(f"{name} {number(item.scores.get(name))}" for name in metrics)
