"""Logs of Inspect AI: `.json`, or `.eval`, which is a zip file of samples.

Each sample is a dialogue. Its scores become ratings of the whole dialogue, one dimension a scorer: C, I, P and N are 1,
0, .5 and 0, as Inspect counts them. The target is a reference of the last reply. Tool calls are rewritten in OpenAI's
form, content parts keep their types, and texts that the log keeps as attachments are put back in their places.
"""

import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

from turnwise.logs.checks import RuleError, each, optional, others, record, required
from turnwise.logs.dialogue import from_record
from turnwise.logs.files import Packed
from turnwise.logs.readers.messages import as_json, beside_rating, present, rating, text_at, tool_call
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, build_each, decoded, raise_data_error, read_json
from turnwise.types import Dialogue

GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}  # correct, incorrect, partial, no answer
ATTACHMENT = "attachment://"
MESSAGE = frozenset({"role", "content", "tool_calls", "function"})
SAMPLE = frozenset(
    {"id", "messages", "scores", "target", "attachments", "events", "events_data", "store", "input", "output"}
)


OUTPUT = frozenset({"choices", "completion", "model"})  # the last reply again, and the agent
CALL = frozenset({"id", "function", "arguments", "type"})
SCORE = frozenset({"value", "explanation"})
RUN = "settings and totals of the whole run (`eval`, `plan`, `results`, `stats`)"


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
            log = record(read_json(path))
            options.dropped[RUN] += 1
            about = optional(log, "eval", record, default={})
            samples = enumerate(optional(log, "samples", each(record), default=()))
            yield from build_each(samples, _builder(about, options), "samples")
    except RuleError as error:
        raise_data_error(error, path)


def _packed(path: str, options: Options) -> Iterator[Dialogue]:
    """The dialogues of a `.eval` file, in the order of the samples' file names; a broken zip file raises
    `DataError`.
    """
    with Packed(path) as packed:
        names = sorted(
            name for name in packed.names if name.startswith("samples/") and name.endswith(".json")
        )
        header = record(decoded(packed.read("header.json"))) if "header.json" in packed.names else {}
        if header:
            options.dropped[RUN] += 1
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
        if values.get("events"):
            options.dropped["event logs of samples (`events`)"] += 1
        said = as_json([values["messages"], values.get("events"), values.get("events_data")])
        if unused := sum(f"{ATTACHMENT}{key}" not in said for key in kept):
            options.dropped["attachments that no message and no event names"] += unused
        scores = optional(values, "scores", record, default={})
        if unrated := sum(not any(True for _ in _ratings({key: one})) for key, one in scores.items()):
            options.dropped["scores that are neither a number nor a grade"] += unrated
        _references(messages, values.get("target"))
        meta = {
            "task": about.get("task"), "sample": values.get("id"), "epoch": values.get("epoch"),
            **others(values, SAMPLE), "store": values.get("store") or None,
            "output": others(optional(values, "output", record, default={}), OUTPUT) or None,
        }  # fmt: skip
        native = {
            "id": f"{values.get('id', place)}-{values.get('epoch', 1)}",
            "agent": text_at(about, "model") or text_at(values, "output", "model"),
            "messages": messages,
            "ratings": list(_ratings(scores)),
            "meta": present(meta),
        }
        return from_record(native, default_id=place)

    return dialogue


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
    return present(others(call, CALL)) | tool_call(str(function), arguments, call.get("id"))


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


def _references(messages: list[dict[str, Any]], target: Any) -> None:
    """Give the last reply the sample's targets as references, in place; nothing happens without a target or a reply."""
    targets = [target] if isinstance(target, str) else target if isinstance(target, list) else []
    texts = [one.strip() for one in targets if isinstance(one, str) and one.strip()]
    for message in reversed(messages):
        if texts and message["role"] == "assistant":
            message["references"] = texts
            return


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
                yield rating(dimension, GRADES[value], rater=scorer, scale=(0, 1), **more)
            elif isinstance(value, bool):
                yield rating(dimension, float(value), rater=scorer, scale=(0, 1), **more)
            elif isinstance(value, int | float) and value == value:
                yield rating(dimension, value, rater=scorer, **more)
