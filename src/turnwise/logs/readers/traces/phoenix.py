"""Phoenix's exports of spans: records with `attributes.llm.input_messages` and `context.trace_id` (JSON or JSON Lines).

This is what `get_spans_dataframe().to_json(orient="records")` writes, with a column a key, or with nested objects.
Messages have OpenInference's keys, `message.role` and `message.content`. Calls of one `session.id`, else of one
trace, are joined to dialogues (`exchanges.py`); spans of other kinds than LLM are counted. OTLP files of Phoenix are
read by `otel`. Other keys of a span are kept beside its reply, in `call`.
"""

from collections.abc import Iterator
from typing import Any

from turnwise.logs.checks import RuleError, others, record
from turnwise.logs.readers.messages import present, text_at, without
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, raise_data_error, records
from turnwise.logs.readers.traces.exchanges import Call, dialogues, seconds
from turnwise.logs.readers.traces.logged import Message, from_message, parsed
from turnwise.logs.readers.traces.otel import SUCCESSIVE
from turnwise.types import Dialogue

INPUT, OUTPUT = "llm.input_messages", "llm.output_messages"
KEPT = (INPUT, OUTPUT, "session.id", "llm.model_name")  # elsewhere in a dialogue
REPEATED = ("input.value", "output.value")
REPEATS = "inputs and outputs as text, which repeat the messages (`input.value`, `output.value`)"


def recognises(sample: Sample) -> bool:
    """Whether the first record has input or output messages of a model."""
    return any(_at(sample.first, key) is not None for key in (INPUT, OUTPUT))


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """The dialogues of all model calls in the file, which are held in memory to be joined; other spans are
    counted as dropped.
    """
    options = options or Options()
    calls: list[Call] = []
    for value, place, located in records(path):
        with located():
            values = record(value)
            sent, returned = (
                _messages(_at(values, key), role) for key, role in ((INPUT, None), (OUTPUT, "assistant"))
            )
            if not sent and not returned:
                options.dropped["spans that are no model call"] += 1
                continue
            if len(returned) > 1 and SUCCESSIVE not in options.notes:
                options.notes.append(SUCCESSIVE)
            trace = str(values.get("context.trace_id") or text_at(values, "context", "trace_id") or place)
            session = _at(values, "session.id")
            model = _at(values, "llm.model_name")
            calls.append(
                Call(
                    str(session or trace),
                    seconds(values.get("start_time")),
                    sent,
                    returned,
                    str(model) if model else None,
                    meta={"trace": trace},
                    more=_left(values, options),
                )
            )
    try:
        yield from dialogues(calls, options)
    except RuleError as error:
        raise_data_error(error, path)


def _left(values: dict[str, Any], options: Options) -> dict[str, Any]:
    """What is kept of a span beside its messages; texts that repeat them are counted as dropped."""
    if any(_at(values, key) is not None for key in REPEATED):
        options.dropped[REPEATS] += 1
    keys = (*KEPT, *REPEATED)
    left = others(values, frozenset({"context.trace_id", *(f"attributes.{key}" for key in keys)}))
    left = without(left, ["context", "trace_id"])
    for key in keys:
        left = without(without(left, ["attributes", key]), ["attributes", *key.split(".")])
    return present(left)


def _at(values: Any, key: str) -> Any:
    """An attribute: a column `attributes.KEY`, or inside `attributes` by its whole or its nested key; None if
    it is nowhere.
    """
    if not isinstance(values, dict):
        return None
    for found in (
        values.get(f"attributes.{key}"),
        (values.get("attributes") or {}).get(key) if isinstance(values.get("attributes"), dict) else None,
    ):
        if found is not None:
            return found
    nested: Any = values.get("attributes")
    for step in key.split("."):
        nested = nested.get(step) if isinstance(nested, dict) else None
    return nested


def _messages(value: Any, role: str | None) -> list[Message]:
    """A list of OpenInference messages, or its JSON text, in native form; anything else gives none.

    `role` None: each message must name its role.
    """
    found = parsed(value)
    if not isinstance(found, list):
        return []
    return [native for one in found for native in from_message(_plain(record(one)), role=role)]


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """An OpenInference message with its flat keys without their prefixes, or what its `message` holds."""
    inner = values.get("message")
    if isinstance(inner, dict):
        return {**others(values, frozenset({"message"})), **inner}
    found = {key.removeprefix("message."): one for key, one in values.items()}
    calls = parsed(found.get("tool_calls"))
    if isinstance(calls, list):
        found["tool_calls"] = [_call(record(one)) for one in calls]
    return found


def _call(values: dict[str, Any]) -> dict[str, Any]:
    """An OpenInference tool call as `id`, `name` and `arguments`, or what its `tool_call` holds."""
    inner = values.get("tool_call")
    if isinstance(inner, dict):
        return {**others(values, frozenset({"tool_call"})), **inner}
    flat = {key.removeprefix("tool_call.").removeprefix("function."): one for key, one in values.items()}
    return {**flat, "id": flat.get("id"), "name": flat.get("name"), "arguments": flat.get("arguments")}
