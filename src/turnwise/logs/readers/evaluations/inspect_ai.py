"""Logs of Inspect AI: `.json`, or `.eval`, which is a zip file of samples.

Each sample is a dialogue. Its scores become ratings of the whole dialogue, one dimension a scorer: C, I, P and N are 1,
0, .5 and 0, as Inspect counts them. The target is a reference of the last reply. Tool calls are rewritten in OpenAI's
form, content parts keep their types, and texts that the log keeps as attachments are put back in their places. The
input and the output of a sample, which its messages repeat, are kept as far as they say something else (`stop_reason`,
`usage`). What a log says of the whole run is counted by its keys. A sample is a `task`, named after the log's task, and
an epoch its `trial`; the error of a sample that Inspect could not finish is its `failure`.
"""

import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

from turnwise.logs.checks import RuleError, each, optional, others, record, required
from turnwise.logs.dialogue import from_record
from turnwise.logs.files import Packed
from turnwise.logs.readers.messages import (
    as_json,
    beside_rating,
    present,
    rating,
    text_at,
    tool_call,
    trial_of,
)
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, build_each, decoded, listed, raise_data_error
from turnwise.types import Dialogue

NAMED = 4  # files that a reason names
GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}  # correct, incorrect, partial, no answer
ATTACHMENT = "attachment://"
MESSAGE = frozenset({"role", "content", "tool_calls", "function"})
SAMPLE = frozenset(
    {"id", "messages", "scores", "target", "attachments", "events", "events_data", "store", "input", "output"}
)


OUTPUT = frozenset({"choices", "completion", "model"})  # the last reply again, and the agent
EVENTS = ("events", "events_data")
CALL = frozenset({"id", "function", "arguments", "type"})
SCORE = frozenset({"value", "explanation"})
RUN = "settings and totals of the whole run"


def recognises(sample: Sample) -> bool:
    """Whether a zip file has `header.json` and samples, or the first JSON record has `eval`, `samples` and `plan`."""
    if sample.form == "zip":
        return "header.json" in sample.names and any(name.startswith("samples/") for name in sample.names)
    return sample.has("eval", "samples", "plan")


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a sample, that is, a task's sample in one epoch."""
    options = options or Options()
    try:
        if zipfile.is_zipfile(path):
            yield from _packed(path, options)
        else:
            log, samples = listed(path, "samples")
            _count_run(log, options)
            about = optional(log, "eval", record, default={})
            yield from build_each(enumerate(samples or ()), _builder(about, options), "samples")
    except RuleError as error:
        raise_data_error(error, path)


def _count_run(log: Mapping[str, Any], options: Options) -> None:
    """Count as dropped what a log says of the whole run; the reason names the keys."""
    if keys := [key for key, one in log.items() if one not in (None, [], {})]:
        options.dropped[f"{RUN} ({', '.join(f'`{key}`' for key in keys)})"] += len(keys)


def _packed(path: str, options: Options) -> Iterator[Dialogue]:
    """The dialogues of a `.eval` file, in the order of the samples' file names; a broken zip file raises
    `DataError`.
    """
    with Packed(path) as packed:
        names = sorted(
            name for name in packed.names if name.startswith("samples/") and name.endswith(".json")
        )
        header = record(decoded(packed.read("header.json"))) if "header.json" in packed.names else {}
        _count_run(header, options)
        unread = sorted({*packed.names} - {*names, "header.json"})
        if unread := [name for name in unread if not name.endswith("/")]:
            shown = ", ".join(f"`{name}`" for name in unread[:NAMED])
            options.dropped[f"other files of the log ({shown})"] += len(unread)
        build = _builder(optional(header, "eval", record, default={}), options)
        for name in names:
            try:
                yield build(decoded(packed.read(name)), name)
            except RuleError as error:
                raise error.inside(name) from None


def _builder(about: Mapping[str, Any], options: Options) -> Any:
    """The function that makes a dialogue of a sample and its place; `about` is the log's `eval` object."""

    def dialogue(value: Any, place: str) -> Dialogue:
        """A sample as the dialogue `SAMPLE-EPOCH`; one without messages has its input alone. Event logs are counted as
        dropped.
        """
        values = record(value)
        if not values.get("messages"):
            values = {**values, "messages": _asked(values)}
        kept = optional(values, "attachments", record, default={})
        messages = [_message(one, kept) for one in required(values, "messages", each(record))]
        if any(values.get(key) for key in EVENTS):
            options.dropped["event logs of samples (`events`)"] += 1
        said = as_json([values["messages"], values.get("events"), values.get("events_data")])
        if unused := sum(f"{ATTACHMENT}{key}" not in said for key in kept):
            options.dropped["attachments that no message and no event names"] += unused
        scores = optional(values, "scores", record, default={})
        if unrated := sum(not any(True for _ in _ratings({key: one})) for key, one in scores.items()):
            options.dropped["scores that are neither a number nor a grade"] += unrated
        agent = text_at(about, "model") or text_at(values, "output", "model")
        meta = {
            "task": about.get("task"), "sample": values.get("id"), "epoch": values.get("epoch"),
            **others(values, SAMPLE), "store": values.get("store") or None,
            "input": _unless_said(values.get("input"), messages),
            "target": None if _references(messages, values.get("target")) else values.get("target") or None,
            "output": _output(optional(values, "output", record, default={}), messages, agent) or None,
        }  # fmt: skip
        native = {
            "id": f"{values.get('id', place)}-{values.get('epoch', 1)}",
            "agent": agent,
            "messages": messages,
            "ratings": list(_ratings(scores)),
            "meta": present(meta),
            **trial_of(_task(about, values), values.get("epoch"), text_at(values, "error", "message")),
        }
        return from_record(native, default_id=place)

    return dialogue


def _task(about: Mapping[str, Any], values: Mapping[str, Any]) -> str | None:
    """The name of a sample among those of all logs: `TASK/SAMPLE`; None for a sample without an id."""
    if values.get("id") is None:
        return None
    return "/".join([*filter(None, [text_at(about, "task")]), str(values["id"])])


def _unless_said(text: Any, messages: list[dict[str, Any]]) -> Any:
    """A text, or anything else, that no message has as its content or in a text part; None for one that a message has.

    A list of messages is left out if each of them is said.
    """
    said = [one["content"] for one in messages]
    said += [part.get("text") for one in said if isinstance(one, list) for part in one]
    if isinstance(text, list) and all(
        isinstance(one, dict) and _unless_said(one.get("content"), messages) is None for one in text
    ):
        return None
    return None if text in (None, "") or text in said else text


def _output(output: Mapping[str, Any], messages: list[dict[str, Any]], agent: str | None) -> dict[str, Any]:
    """What a sample's output says beside the reply that the messages repeat and the agent; further choices are kept
    whole.
    """
    choices: list[dict[str, Any]] = []
    for choice in optional(output, "choices", each(record), default=()):
        repeated = _unless_said(_content_of(choice.get("message")), messages) is None
        choices.append(others(choice, frozenset({"message"})) if repeated and not choices else choice)
    completion = _unless_said(output.get("completion"), messages)
    found = {
        **others(output, OUTPUT),
        "model": None if output.get("model") == agent else output.get("model"),
        "completion": completion,
        "choices": [one for one in choices if one] or None,
    }
    return present(found)


def _content_of(message: Any) -> Any:
    """The content of a message; None if there is none."""
    return message.get("content") if isinstance(message, dict) else None


def _asked(values: Mapping[str, Any]) -> list[Any]:
    """The input of a sample as messages, for a sample that ended before it had any."""
    given = values.get("input")
    return given if isinstance(given, list) else [{"role": "user", "content": given}]


def _message(values: dict[str, Any], attachments: Mapping[str, Any]) -> dict[str, Any]:
    """A message in native form, with attachments put back."""
    native = {key: one for key, one in values.items() if key not in MESSAGE}
    native |= {"role": values.get("role"), "content": _content(values.get("content"), attachments)}
    calls = optional(values, "tool_calls", each(record), default=())
    if calls:
        native["tool_calls"] = [_call(call, attachments) for call in calls]
    if text_at(values, "function"):
        native["name"] = values["function"]
    return native


def _call(call: dict[str, Any], attachments: Mapping[str, Any]) -> dict[str, Any]:
    """A tool call in OpenAI's form, with attachments put back in its arguments; one that has that form already
    is returned unchanged.
    """
    function = call.get("function")
    if isinstance(function, dict):  # OpenAI's form already
        return call
    given = call.get("arguments") or {}
    arguments = (
        {key: _put_back(one, attachments) for key, one in given.items()} if isinstance(given, dict) else given
    )
    kept = present(others(call, CALL)) | (
        {} if call.get("type") in (None, "function") else {"source_type": call["type"]}
    )
    return kept | tool_call(str(function), arguments, call.get("id"))


def _content(content: Any, attachments: Mapping[str, Any]) -> Any:
    """A message's text, or its list of parts, with attachments put back."""
    if not isinstance(content, list):
        return _put_back(content, attachments)
    return [_part(record(part), attachments) for part in content]


def _part(part: dict[str, Any], attachments: Mapping[str, Any]) -> dict[str, Any]:
    """A content part; a picture in OpenAI's form, others under their own types."""
    kind = part.get("type")
    values = {key: _put_back(one, attachments) for key, one in part.items()}
    if kind == "image":
        more = present(others(values, frozenset({"type", "image"})))
        return {**more, "type": "image_url", "image_url": {"url": values.get("image")}}
    return present(values) if kind == "text" else values


def _put_back(value: Any, attachments: Mapping[str, Any]) -> Any:
    """The attached text that a value refers to; any other value, or an unknown reference, unchanged."""
    if isinstance(value, str) and value.startswith(ATTACHMENT):
        return attachments.get(value.removeprefix(ATTACHMENT), value)
    return value


def _references(messages: list[dict[str, Any]], target: Any) -> bool:
    """Give the last reply the sample's targets as references, in place, and return whether all of them are kept so."""
    targets = [target] if isinstance(target, str) else target if isinstance(target, list) else []
    texts = [one.strip() for one in targets if isinstance(one, str) and one.strip()]
    for message in reversed(messages):
        if texts and message["role"] == "assistant":
            message["references"] = texts
            return len(texts) == len(targets)
    return False


def _ratings(scores: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Each score as a rating of the dialogue; a score with parts has one for each, `SCORER.PART`.

    Texts that are no grade, and NaN, are left out.
    """
    for scorer, score in scores.items():
        found = score.get("value") if isinstance(score, dict) else score
        values = found if isinstance(found, dict) else {"": found}
        for part, value in values.items():
            dimension = f"{scorer}.{part}" if part else scorer
            more = (
                {**beside_rating(score, SCORE), "explanation": score.get("explanation")}
                if isinstance(score, dict)
                else {}
            )
            if isinstance(value, str) and value in GRADES:
                yield rating(dimension, GRADES[value], rater=scorer, scale=(0, 1), automatic=True, **more)
            elif isinstance(value, bool):
                yield rating(dimension, float(value), rater=scorer, scale=(0, 1), automatic=True, **more)
            elif isinstance(value, int | float) and value == value:
                yield rating(dimension, value, rater=scorer, automatic=True, **more)
