"""The scores of a finished run in the forms in which other tools take them.

*Tidy*: a row for each score, as CSV or Parquet. *Langfuse* and *LangSmith*: a JSON line for each score, whose keys are
the arguments of `Langfuse.create_score` and of `langsmith.Client.create_feedback`. *OpenTelemetry*: OTLP JSON with an
event `gen_ai.evaluation.result` for each score, on the span of the reply. *Inspect AI*: the records of
`precomputed_scores`, one a sample, with the means of its replies. In each the signature of the metric says who gave the
score. What a score belongs to is found in the logs: the ids that their tool gave traces, calls and samples. A score
without one is counted, and not written.
"""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from uuid import NAMESPACE_URL, uuid5

import msgspec

from turnwise import __version__
from turnwise.errors import DataError, UsageError
from turnwise.extras import require
from turnwise.logs.files import replacing
from turnwise.run.resume.finished_run import ITEMS, origin_of, read_run
from turnwise.types import Dialogue

Form = Literal["tidy", "langfuse", "langsmith", "otel", "inspect"]
COLUMNS = ("item", "dialogue", "turn", "agent", "group", "cluster", "pair", "metric", "score", "signature")
EVENT = "gen_ai.evaluation.result"
SIGNATURE = "turnwise.signature"  # attribute of an event: the identity of the evaluator
NO_ID = "scores of dialogues that have no id of this tool in the logs"


class ScoredItem(msgspec.Struct):
    """A line of `items.jsonl` with its scores."""

    id: str
    dialogue: str
    turn: int | None
    agent: str
    group: str
    cluster: str
    pair: str
    scores: dict[str, float | None] = {}


@dataclass(frozen=True, slots=True)
class Score:
    """One score of a run."""

    item: ScoredItem
    metric: str
    value: float
    signature: str

    @property
    def row(self) -> dict[str, Any]:
        """The score as a row of a tidy table."""
        item = self.item
        values = (item.id, item.dialogue, item.turn, item.agent, item.group, item.cluster, item.pair)
        return dict(zip(COLUMNS, (*values, self.metric, self.value, self.signature), strict=True))

    @property
    def identity(self) -> str:
        """A UUID that the same score of the same item always has, so that it replaces what was sent before."""
        return str(
            uuid5(NAMESPACE_URL, "\n".join((self.item.id, self.item.agent, self.metric, self.signature)))
        )

    @property
    def about(self) -> dict[str, Any]:
        """What says how the score came about."""
        return {
            "signature": self.signature,
            "item": self.item.id,
            "agent": self.item.agent,
            "turnwise": __version__,
        }


@dataclass(slots=True)
class Written:
    """How many scores were written, and what was not."""

    scores: int = 0
    unscored: int = 0  # items without a score of a metric
    left_out: Counter[str] = field(default_factory=Counter)


def scores_of(folder: Path, written: Written) -> Iterator[Score]:
    """The scores of a finished run, item by item; an item without a score is counted in `written`."""
    run = read_run(folder)
    lines = msgspec.json.Decoder(ScoredItem).decode_lines((folder / ITEMS).read_bytes())
    for item in lines:
        for metric, part in run.parts.items():
            if (item.turn is None) is not part.whole:
                continue
            value = item.scores.get(metric)
            if value is None:
                written.unscored += 1
            else:
                yield Score(item, metric, value, part.signature)


def export(folder: Path, form: Form, target: Path, dialogues: Callable[[], Iterator[Dialogue]]) -> Written:
    """Write the scores of a run; `dialogues` reads its logs, which only forms of other tools need."""
    written = Written()
    scores = scores_of(folder, written)
    if form == "tidy":
        content = _tidy(scores, target, written)
    else:
        logs = {dialogue.id: dialogue for dialogue in dialogues()}
        content = FORMS[form](scores, logs, written)
        if not written.scores:
            raise DataError(
                f"no score of {folder} belongs to a dialogue with an id of {form} in the logs; are they those that the "
                "run scored, and written by this tool?"
            )
    with replacing(str(target)) as file:
        file.write(content)
    return written


def _tidy(scores: Iterator[Score], target: Path, written: Written) -> bytes:
    """A row for each score, as CSV or, if the name ends so, Parquet."""
    rows = [score.row for score in scores]
    written.scores = len(rows)
    if target.suffix == ".parquet":
        require("tables", "writing Parquet")
        import polars

        stream = io.BytesIO()
        kinds = {"turn": polars.Int64, "score": polars.Float64}
        polars.DataFrame(
            rows, schema={name: kinds.get(name, polars.String) for name in COLUMNS}
        ).write_parquet(stream)
        return stream.getvalue()
    if target.suffix != ".csv":
        raise UsageError(f"{target}: the name of a tidy table ends in .csv or .parquet")
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


Logs = Mapping[str, Dialogue]


def _place(score: Score, logs: Logs) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """What the logs say of the dialogue of a score, and of the call that made its reply; empty if they lack it."""
    dialogue = logs.get(score.item.dialogue)
    turn = score.item.turn
    # The logs may be others than those that were scored.
    if dialogue is None or (turn is not None and turn >= len(dialogue.turns)):
        return {}, {}
    call = {} if turn is None else dialogue.turns[turn].extra.get("call")
    return dialogue.meta, call if isinstance(call, Mapping) else {}


def _langfuse(scores: Iterator[Score], logs: Logs, written: Written) -> bytes:
    """The arguments of `create_score`, a line for each score."""

    def line(score: Score) -> dict[str, Any] | None:
        """One score; None if its dialogue has no trace."""
        meta, call = _place(score, logs)
        trace = call.get("trace") or meta.get("trace")
        if not trace:
            return None
        observation = {"observation_id": call["id"]} if isinstance(call.get("id"), str) else {}
        return {
            "score_id": score.identity, "trace_id": trace, **observation, "name": score.metric, "value": score.value,
            "data_type": "NUMERIC", "comment": score.signature, "metadata": score.about,
        }  # fmt: skip

    return _lines(scores, line, written)


def _langsmith(scores: Iterator[Score], logs: Logs, written: Written) -> bytes:
    """The arguments of `create_feedback`, a line for each score."""

    def line(score: Score) -> dict[str, Any] | None:
        """One score; None if its dialogue has no run."""
        meta, call = _place(score, logs)
        run = call.get("run") or meta.get("run")
        if not run:
            return None
        project = {"session_id": call["session_id"]} if isinstance(call.get("session_id"), str) else {}
        return {
            **project,
            "run_id": run, "key": score.metric, "score": score.value, "comment": score.signature,
            "feedback_id": score.identity, "feedback_source_type": "model", "source_info": score.about,
        }  # fmt: skip

    return _lines(scores, line, written)


def _lines(scores: Iterator[Score], line: Callable[[Score], Any], written: Written) -> bytes:
    """A JSON line for each score that has a place in its tool; the others are counted."""
    found = []
    for score in scores:
        made = line(score)
        if made is None:
            written.left_out[NO_ID] += 1
        else:
            found.append(msgspec.json.encode(made) + b"\n")
    written.scores = len(found)
    return b"".join(found)


def _otel(scores: Iterator[Score], logs: Logs, written: Written) -> bytes:
    """An OTLP request with an event for each score."""
    entries = []
    for score in scores:
        meta, call = _place(score, logs)
        trace = call.get("trace") or meta.get("trace")
        context = call.get("context")
        span = call.get("spanId") or (context.get("span_id") if isinstance(context, Mapping) else None)
        if not trace:
            written.left_out[NO_ID] += 1
            continue
        attributes: dict[str, str | float] = {
            "gen_ai.evaluation.name": score.metric, "gen_ai.evaluation.score.value": score.value,
            SIGNATURE: score.signature, "turnwise.item": score.item.id, "turnwise.agent": score.item.agent,
        }  # fmt: skip
        spanned = {"spanId": str(span).removeprefix("0x")} if span else {}
        listed = [_attribute(key, value) for key, value in attributes.items()]
        at = {"timeUnixNano": "0", "observedTimeUnixNano": "0"}
        entries.append({**at, "eventName": EVENT, "traceId": trace, **spanned, "attributes": listed})
    written.scores = len(entries)
    scope = {"scope": {"name": "turnwise", "version": __version__}, "logRecords": entries}
    resource = {"attributes": [_attribute("service.name", "turnwise")]}
    return msgspec.json.encode({"resourceLogs": [{"resource": resource, "scopeLogs": [scope]}]}) + b"\n"


def _attribute(key: str, value: str | float) -> dict[str, Any]:
    """An attribute as OTLP JSON writes it."""
    return {"key": key, "value": {"stringValue": value} if isinstance(value, str) else {"doubleValue": value}}


def _inspect(scores: Iterator[Score], logs: Logs, written: Written) -> bytes:
    """The records of `precomputed_scores`: for each sample the mean of its replies by each metric."""
    by_sample: dict[tuple[str, int | None], dict[str, list[float]]] = {}
    signatures: dict[str, str] = {}
    for score in scores:
        meta, _ = _place(score, logs)
        if meta.get("sample") is None:
            written.left_out[NO_ID] += 1
            continue
        epoch = meta.get("epoch")
        key = str(meta["sample"]), epoch if isinstance(epoch, int) else None
        by_sample.setdefault(key, {}).setdefault(score.metric, []).append(score.value)
        signatures[score.metric] = score.signature
        written.scores += 1
    records = []
    for (sample, epoch), values in by_sample.items():
        means = {metric: sum(several) / len(several) for metric, several in values.items()}
        about = {"signatures": signatures, "turnwise": __version__}
        numbered = {} if epoch is None else {"epoch": epoch}
        value: Any = means if len(signatures) > 1 else next(iter(means.values()))
        records.append({"id": sample, **numbered, "value": value, "metadata": about})
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)


FORMS: Mapping[Form, Callable[[Iterator[Score], Logs, Written], bytes]] = {
    "langfuse": _langfuse,
    "langsmith": _langsmith,
    "otel": _otel,
    "inspect": _inspect,
}


def inputs_of(folder: Path) -> Sequence[str]:
    """The files that a run scored, as its results name them."""
    return [one.path for one in origin_of(folder).inputs]
