"""Langfuse's exports of traces or observations: JSON, or JSON Lines.

A trace with observations has its model calls among them (`type` GENERATION); one without has `input` and `output`.
Calls of one session, else of one trace, are joined to dialogues (`exchanges.py`). Scores become ratings of the last
reply that the trace holds; categorical ones are counted. Other keys of traces and observations are kept beside the
reply, in `call`; `input` and `output` of a trace with model calls, which repeat theirs, are not.
"""

from collections.abc import Iterator
from typing import Any

from turnwise.logs.checks import RuleError, each, optional, others, record
from turnwise.logs.files import counting
from turnwise.logs.ids import IdSet
from turnwise.logs.readers.messages import beside_rating, present, rating, text_at
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, is_large, raise_data_error, records
from turnwise.logs.readers.traces.exchanges import Call, dialogues, seconds
from turnwise.logs.readers.traces.logged import messages
from turnwise.types import Dialogue

# Keys that are kept elsewhere in a dialogue.
TRACE = frozenset({"traceId", "trace_id", "sessionId", "session_id", "name", "userId", "tags", "input", "output",
                   "observations", "scores"})  # fmt: skip
OBSERVATION = frozenset({"type", "model", "input", "output"})
EVALUATOR = "EVAL"  # the source of a score by a language model; people's are ANNOTATION or API
SCORE = frozenset({"name", "value", "source", "comment"})


def recognises(sample: Sample) -> bool:
    """Whether the first record has the keys of a Langfuse trace or observation."""
    values = sample.first
    trace = {"id", "input", "output"} <= values.keys() and bool(
        {"sessionId", "session_id", "userId", "observations", "htmlPath"} & values.keys()
    )
    return trace or (
        "input" in values
        and values.get("type") in ("GENERATION", "SPAN", "EVENT")
        and bool({"traceId", "trace_id"} & values.keys())
    )


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """The dialogues of all model calls in the file, which are held in memory to be joined; those of a large file whose
    traces of a session follow each other session by session.
    """
    options = options or Options()

    def calls() -> Iterator[Call]:
        """The calls of all traces, in the order of the file."""
        for value, place, located in records(path):
            with located():
                found = list(_calls(record(value), place, options))
            yield from found

    try:
        versions = _versions_of_grouped(path) if is_large(path) else None
        yield from dialogues(calls(), options, grouped=versions is not None, versions=versions or 0)
    except RuleError as error:
        raise_data_error(error, path)


def _versions_of_grouped(path: str) -> int | None:
    """The number of versions of prompts, if the traces of each session follow each other; else None.

    The bytes that this reads are not counted for the progress bar.
    """
    seen, last, versions = IdSet(), None, set[str]()
    with counting(lambda _: None):
        for value, place, located in records(path):
            with located():
                group = _group(record(value), place)
                inside = optional(record(value), "observations", each(_observation), default=())
                versions.update(filter(None, map(_version, [value, *inside])))
            if group != last and group in seen:
                return None
            seen.add(group)
            last = group
    return len(versions)


def _group(values: dict[str, Any], place: str) -> str:
    """The session of a trace or observation, else its trace."""
    return text_at(values, "sessionId") or text_at(values, "session_id") or _trace(values, place)


def _trace(values: dict[str, Any], place: str) -> str:
    """The id of a trace, or of the trace of an observation; `place` if it has none."""
    return text_at(values, "traceId") or text_at(values, "trace_id") or text_at(values, "id") or place


def _calls(values: dict[str, Any], place: str, options: Options) -> Iterator[Call]:
    """The model calls of one trace or observation; the trace's scores go to its last call.

    Everything else is counted as dropped: other observations in a trace, and a record of another type without model
    calls in it.
    """
    trace, group = _trace(values, place), _group(values, place)
    meta = present(
        {
            "trace": trace,
            "name": values.get("name"),
            "user": values.get("userId"),
            "tags": values.get("tags") or None,
        }
    )
    marks = list(_ratings(values, options))
    inside = optional(values, "observations", each(_observation), default=())
    observed = [one for one in inside if one.get("type") == "GENERATION"]
    no_call = values.get("type") not in (None, "GENERATION") and not observed
    no_calls = sum(bool(one) for one in inside) - len(observed) + no_call  # an empty one is a bare id
    if no_calls:
        options.dropped["observations that are no model call"] += no_calls
    if no_call:
        return
    known = TRACE | ({"id"} if trace == values.get("id") else set()) | (set() if observed else OBSERVATION)
    about = others(values, known)
    if observed:  # its input and output, unless a call has the same
        own = ("input", "output")
        about |= {key: values[key] for key in own if all(one.get(key) != values.get(key) for one in observed)
                  and values.get(key) is not None}  # fmt: skip
    for number, one in enumerate(observed or [values], 1):
        more = {**others(one, OBSERVATION), "of_trace": about or None} if observed else about
        if number < len(observed):
            more.pop("of_trace")
        yield Call(
            group,
            seconds(one.get("startTime") or one.get("start_time") or one.get("timestamp")),
            messages(one.get("input"), role="user", notes=options.notes),
            messages(one.get("output"), role="assistant", notes=options.notes),
            text_at(one, "model"),
            version := _version(one),
            marks if number == len(observed or [values]) else [],
            meta | present({"prompt": version}),
            more,
        )


def _version(values: dict[str, Any]) -> str | None:
    """The prompt of a call with its version, as Langfuse's prompt management numbers them; None without."""
    name = values.get("promptName") or values.get("prompt_name")
    number = values.get("promptVersion") or values.get("prompt_version")
    parts = ([str(name)] if name else []) + ([f"v{number}"] if number else [])
    return " ".join(parts) or None


def _observation(value: Any) -> dict[str, Any]:
    """The observation; an empty one for a bare id, by which some exports name it."""
    return value if isinstance(value, dict) else {}  # some exports name observations by their ids alone


def _ratings(values: dict[str, Any], options: Options) -> Iterator[dict[str, Any]]:
    """The numeric scores of a trace in native form; others are counted as dropped."""
    scores = values.get("scores")
    for one in scores if isinstance(scores, list) else ():
        value = one.get("value") if isinstance(one, dict) else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            options.dropped["scores that are no number"] += 1
            continue
        more = {**beside_rating(one, SCORE), "comment": one.get("comment")}
        source = text_at(one, "source")
        if source == EVALUATOR:
            more["automatic"] = True
        yield rating(str(one.get("name")), value, rater=source, **more)
