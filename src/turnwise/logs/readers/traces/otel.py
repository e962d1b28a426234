"""OpenTelemetry's GenAI spans: OTLP JSON (`resourceSpans`), such requests a line, or spans as the SDK prints them.

Three generations of the semantic conventions are read, in this order of preference:

* `gen_ai.input.messages`, `gen_ai.output.messages` and `gen_ai.system_instructions` (since 1.37);
* events `gen_ai.user.message`, `gen_ai.choice` ... on the span, or in OTLP logs (`resourceLogs`) with the span's id;
* `gen_ai.prompt.N.role`, `gen_ai.prompt.N.content`, `gen_ai.completion.N...` (OpenLLMetry).

OpenInference's `llm.input_messages.N.message.role` (Phoenix) is read too. Several outputs of one call are candidates of
one reply in all three conventions: the first is kept, the others are counted. OpenInference does not say whether they
are; there they follow each other, and a note says so. Calls of one `gen_ai.conversation.id`, else of one trace, are
joined to dialogues (`exchanges.py`). Spans that call no model are counted. Where the application did not record
contents, the spans have none, and an error says so. Other attributes and keys of a span are kept beside its reply, in
`call`; those of resources and scopes are counted, and so are events and log records without a message.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from turnwise.errors import DataError, Problem
from turnwise.logs.checks import RuleError, array, each, optional, others, record, required, text, wrong
from turnwise.logs.readers.messages import FURTHER, present
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, raise_data_error, records
from turnwise.logs.readers.traces.exchanges import Call, dialogues, seconds
from turnwise.logs.readers.traces.logged import (
    NAMES,
    Message,
    from_message,
    messages,
    parsed,
    parts_or_text,
)
from turnwise.types import Dialogue

EVENT = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message")
CHOICE = "gen_ai.choice"
NUMBERED = re.compile(r"(?:gen_ai\.)?(prompt|completion)\.(\d+)\.(.+)")
OPEN_INFERENCE = re.compile(r"llm\.(input|output)_messages\.(\d+)\.message\.(.+)")
TOOL_CALL = re.compile(r"(?:message\.)?tool_calls\.(\d+)\.(?:tool_call\.)?(?:function\.)?(name|arguments|id)")
MODELS = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "llm.request.model")
GROUPS = ("gen_ai.conversation.id", "session.id", "traceloop.association.properties.session_id")
CONTENTS = frozenset({"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"})
DETAILS = "gen_ai.client.inference.operation.details"  # an event with the attributes of `CONTENTS`
REPEATED = frozenset({"input.value", "output.value"})
REPEATS = "inputs and outputs as text, which repeat the messages (`input.value`, `output.value`)"
SUCCESSIVE = "several output messages of one call (OpenInference) are read as messages that follow each other"
AROUND = "keys of requests, resources and scopes (`resource`, `scope` and others)"
# Keys that are kept elsewhere in a dialogue.
REQUEST = frozenset({"resourceSpans", "resourceLogs"})
SPAN = frozenset({"traceId", "attributes", "events"})
PRINTED = frozenset({"context", "attributes", "events"})
EVENT_KEYS = frozenset({"name", "attributes"})
ENTRY = frozenset({"spanId", "traceId", "eventName", "body", "attributes"})
WRAPPED = frozenset(
    {"stringValue", "boolValue", "intValue", "doubleValue", "bytesValue", "arrayValue", "kvlistValue"}
)
RESERVED = frozenset({"type", "parts", "data", "lc", "kwargs", "message", "tool_calls", "calls"})
Attributes = dict[str, Any]


def recognises(sample: Sample) -> bool:
    """Whether the first record is an OTLP request, or a span with GenAI or OpenInference attributes."""
    values = sample.first
    if "resourceSpans" in values or "resourceLogs" in values:
        return True
    attributes = values.get("attributes")
    return (
        isinstance(attributes, dict)
        and "context" in values
        and any(key.startswith(("gen_ai.", "llm.")) for key in attributes)
    )


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """The dialogues of all model calls in the file, which are held in memory to be joined; no call with
    messages raises `DataError`.
    """
    options = options or Options()
    spans: list[dict[str, Any]] = []
    events: dict[tuple[str, str], list[tuple[str, Any]]] = {}  # by trace and span
    for value, _, located in records(path):
        with located():
            spans += _spans(record(value))
            _count_around(record(value), options)
            for span, name, body in _logged(record(value), options):
                events.setdefault(span, []).append((name, body))
    here = {key for one in spans for key in _keys(one)}
    if elsewhere := sum(len(several) for key, several in events.items() if key not in here):
        options.dropped["events of spans that are not here"] += elsewhere
    try:
        logged = [[event for key in _keys(span) for event in events.get(key, [])] for span in spans]
        called = [_call(span, mine, options) for span, mine in zip(spans, logged, strict=True)]
        calls = [call for call in called if call is not None]
        if not calls:
            remedy = (
                "the application must capture them: OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY "
                "with OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental; true in older instrumentations"
            )
            raise DataError(Problem(path, None, "", f"has no model call with recorded messages; {remedy}"))
        yield from dialogues(calls, options)
    except RuleError as error:
        raise_data_error(error, path)


def _keys(span: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The keys under which events in logs may belong to a span: with its trace, and without a trace."""
    return (span["trace"], span["id"]), ("", span["id"])


def _spans(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Spans with plain attributes, of an OTLP request or as the SDK prints them: `id`, `trace`, `start`,
    `attributes`, `events` and `more`.
    """
    if "context" in values and "attributes" in values:
        context = record(values["context"])
        yield {
            "id": str(context.get("span_id", "")).removeprefix("0x"),
            "trace": str(context.get("trace_id", "")).removeprefix("0x"),
            "start": str(values.get("start_time", "")),
            "attributes": dict(optional(values, "attributes", record, default={})),
            "events": [
                (str(one.get("name")), _event(one))
                for one in optional(values, "events", each(record), default=())
            ],
            "more": {**others(values, PRINTED), "context": others(context, frozenset({"trace_id"}))},
        }
        return
    for resource in optional(values, "resourceSpans", each(record), default=()):
        for scope in optional(resource, "scopeSpans", each(record), default=()):
            for span in optional(scope, "spans", each(record), default=()):
                yield {
                    "id": str(span.get("spanId", "")),
                    "trace": str(span.get("traceId", "")),
                    "start": str(span.get("startTimeUnixNano", "")),
                    "attributes": optional(span, "attributes", _attributes, default={}),
                    "events": [
                        (str(one.get("name")), _event(one))
                        for one in optional(span, "events", each(record), default=())
                    ],
                    "more": others(span, SPAN),
                }


def _event(values: dict[str, Any]) -> Attributes:
    """The attributes of an event of a span, and its other keys beside them."""
    return {**others(values, EVENT_KEYS), **optional(values, "attributes", _attributes, default={})}


def _count_around(values: dict[str, Any], options: Options) -> None:
    """Count as dropped what an OTLP request says of resources and scopes, and keys that its values are wrapped with."""
    if "context" in values and "attributes" in values:
        return
    lost = len(others(values, REQUEST))
    for outer, inner, held in (
        ("resourceSpans", "scopeSpans", "spans"),
        ("resourceLogs", "scopeLogs", "logRecords"),
    ):
        for resource in optional(values, outer, each(record), default=()):
            lost += len(others(resource, frozenset({inner})))
            for scope in optional(resource, inner, each(record), default=()):
                lost += len(others(scope, frozenset({held})))
    if lost:
        options.dropped[AROUND] += lost
    if odd := _wrapped_with(values):
        options.dropped["keys beside the values of attributes"] += odd


def _wrapped_with(value: Any) -> int:
    """How many keys stand beside OTLP's keys and values of attributes, in all objects inside a value."""
    if isinstance(value, list):
        return sum(map(_wrapped_with, value))
    if not isinstance(value, dict):
        return 0
    odd = len(value.keys() - {"key", "value"}) if {"key", "value"} <= value.keys() else 0
    if WRAPPED & value.keys():
        odd += len(value) - 1
        inner = value.get("arrayValue", value.get("kvlistValue"))
        odd += len(inner.keys() - {"values"}) if isinstance(inner, dict) else 0
    return odd + sum(map(_wrapped_with, value.values()))


def _logged(values: dict[str, Any], options: Options) -> Iterator[tuple[tuple[str, str], str, Any]]:
    """Trace and span, name and body of each named event in OTLP logs, with its attributes and other keys in the body;
    other log records are counted as dropped.
    """
    for resource in optional(values, "resourceLogs", each(record), default=()):
        for scope in optional(resource, "scopeLogs", each(record), default=()):
            for entry in optional(scope, "logRecords", each(record), default=()):
                attributes = optional(entry, "attributes", _attributes, default={})
                name = entry.get("eventName") or attributes.get("event.name")
                if isinstance(name, str):
                    body = _any(entry.get("body"))  # the exporter writes {} for an event without a body
                    more = {**others(entry, ENTRY), **others(attributes, frozenset({"event.name"}))}
                    held = body if isinstance(body, dict) else {} if body is None else {"content": body}
                    span = str(entry.get("traceId") or ""), str(entry.get("spanId") or "")
                    yield span, name, {**more, **held}
                else:
                    options.dropped["log records without the name of an event"] += 1


def _attributes(listed: Any) -> Attributes:
    """OTLP's list of keys and values as a dict; a dict is returned unchanged, and anything else raises `RuleError`."""
    if isinstance(listed, dict):
        return listed
    return {required(one, "key", text): _any(one.get("value")) for one in each(record)(listed)}


def _any(value: Any) -> Any:
    """OTLP's AnyValue as a plain value; a value that is not wrapped is returned unchanged, and a wrapped null
    or an empty wrapper is None.
    """
    if not isinstance(value, dict):
        return value
    if "arrayValue" in value:
        return [_any(one) for one in _listed(value, "arrayValue")]
    if "kvlistValue" in value:
        return _attributes(_listed(value, "kvlistValue"))
    if "intValue" in value:
        return optional(value, "intValue", _integer, default=None)
    return next((one for key, one in value.items() if key.endswith("Value")), None)


def _listed(value: dict[str, Any], key: str) -> list[Any]:
    """The `values` inside the object at `key`; empty if either is absent."""
    return optional(optional(value, key, record, default={}), "values", array, default=[])


def _integer(value: Any) -> int:
    """A whole number, which OTLP writes as a text; anything else raises `RuleError`."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise wrong(value, "an integer") from None


def _call(span: dict[str, Any], logged: list[tuple[str, Any]], options: Options) -> Call | None:
    """A span as a call, `logged` are its events in logs; None if it has no messages, which is counted as dropped."""
    attributes: Attributes = span["attributes"]
    events = [*span["events"], *logged]
    sent, returned = _messages(attributes, events, options)
    if not sent and not returned:
        about = (
            "model calls without recorded messages" if _is_call(attributes) else "spans that call no model"
        )
        options.dropped[about] += 1
        return None
    group = next((str(attributes[key]) for key in GROUPS if attributes.get(key)), span["trace"])
    model = next((str(attributes[key]) for key in MODELS if attributes.get(key)), None)
    if unread := sum(not _has_message(name) for name, _ in events):
        options.dropped["events of spans that hold no message"] += unread
    if REPEATED & attributes.keys():
        options.dropped[REPEATS] += 1
    kept = {
        key: one
        for key, one in attributes.items()
        if key not in CONTENTS | REPEATED
        and not NUMBERED.fullmatch(key)
        and not OPEN_INFERENCE.fullmatch(key)
    }
    more = present({**span["more"], "attributes": kept or None})
    return Call(
        group, seconds(span["start"]), sent, returned, model, meta={"trace": span["trace"]}, more=more
    )


def _has_message(event: str) -> bool:
    """Whether an event of this name holds messages."""
    return bool(EVENT.fullmatch(event)) or event in (CHOICE, DETAILS)


def _is_call(attributes: Mapping[str, Any]) -> bool:
    """Whether a span names a model."""
    return any(key in attributes for key in MODELS)


def _messages(
    attributes: Attributes, events: list[tuple[str, Any]], options: Options
) -> tuple[list[Message], list[Message]]:
    """What was sent and what was returned: from message attributes, else from events, else from numbered attributes."""
    if "gen_ai.input.messages" in attributes or "gen_ai.output.messages" in attributes:
        system = parsed(attributes.get("gen_ai.system_instructions"))
        instructions = (
            from_message({"role": "system", "parts": system}, role="system")
            if isinstance(system, list)
            else messages(system, role="system", notes=options.notes)
        )
        sent = messages(attributes.get("gen_ai.input.messages"), role="user", notes=options.notes)
        outputs = parsed(attributes.get("gen_ai.output.messages"))
        kept = _first_candidate(outputs, options) if isinstance(outputs, list) else outputs
        return [*instructions, *sent], messages(kept, role="assistant", notes=options.notes)
    from_events = _from_events(events, options)
    if any(from_events):
        return from_events
    return _numbered(attributes, options)


def _first_candidate(outputs: list[Any], options: Options) -> list[Any]:
    """The first of the outputs of one call, all of which are the assistant's; the others are counted as dropped.

    Outputs of several roles are no candidates, and are all returned.
    """
    named = [str(one.get("role", "assistant")) if isinstance(one, dict) else "" for one in outputs]
    if len(outputs) < 2 or any(NAMES.get(role, role) != "assistant" for role in named):
        return outputs
    options.dropped[FURTHER] += len(outputs) - 1
    return outputs[:1]


def _from_events(events: list[tuple[str, Any]], options: Options) -> tuple[list[Message], list[Message]]:
    """What was sent and what was returned, from events in their order; both empty if no event is known.

    Of choices with different `index` the first is kept, and the others are counted as dropped.
    """
    sent: list[Message] = []
    returned: list[Message] = []
    kept: Any = None  # the index of the first choice
    for name, body in events:
        values = _body(body)
        match = EVENT.fullmatch(name)
        if match:
            asked = {
                **others(values, frozenset({"id"})),
                "role": values.get("role") or match[1],
                "tool_call_id": values.get("id"),
            }
            sent += from_message(asked, role=match[1])
        elif name == CHOICE:
            index = values.get("index")
            kept = index if kept is None else kept
            if index != kept:
                options.dropped[FURTHER] += 1
                continue
            inner = values.get("message")
            around = others(values, frozenset({"message"}))
            returned += from_message(
                {**around, **inner} if isinstance(inner, dict) else values, role="assistant"
            )
        elif name == DETAILS:
            more = _messages(values, [], options)
            sent += more[0]
            returned += more[1]
            if (about := others(values, CONTENTS)) and (said := more[1] or more[0]):
                said[-1]["event"] = about  # the same object as in `sent` or `returned`
    return sent, returned


def _body(body: Any) -> dict[str, Any]:
    """The content of an event: its body, or the attribute `gen_ai.event.content` that holds it as JSON."""
    values = body if isinstance(body, dict) else {"content": body}
    held = parsed(values.get("gen_ai.event.content"))
    found = (
        {**others(values, frozenset({"gen_ai.event.content"})), **held}
        if isinstance(held, dict)
        else {key: parsed(one) if key == "message" else one for key, one in values.items()}
    )
    if isinstance(found.get("tool_calls"), str):
        found = {**found, "tool_calls": parsed(found["tool_calls"])}
    return found


def _numbered(attributes: Attributes, options: Options) -> tuple[list[Message], list[Message]]:
    """What was sent and what was returned, from attributes such as `gen_ai.prompt.0.content`, in the order of
    the numbers. Completions are candidates of one reply: those after the first are counted as dropped.
    """
    found: dict[str, dict[int, dict[str, Any]]] = {"sent": {}, "returned": {}}
    for key, value in attributes.items():
        match = NUMBERED.fullmatch(key) or OPEN_INFERENCE.fullmatch(key)
        if match is None:
            continue
        side = "sent" if match[1] in ("prompt", "input") else "returned"
        one = found[side].setdefault(int(match[2]), {})
        call = TOOL_CALL.fullmatch(match[3])
        if call:
            one.setdefault("calls", {}).setdefault(int(call[1]), {})[call[2]] = value
        elif match[3] in ("role", "content", "tool_call_id", "name"):
            one[match[3]] = parts_or_text(value) if match[3] == "content" else value
        else:
            one[f"source_{match[3]}" if match[3] in RESERVED else match[3]] = value
    outputs = found["returned"]
    if len(outputs) > 1 and any(NUMBERED.fullmatch(key) for key in attributes):
        options.dropped[FURTHER] += len(outputs) - 1
        found["returned"] = dict([min(outputs.items())])
    elif len(outputs) > 1 and SUCCESSIVE not in options.notes:
        options.notes.append(SUCCESSIVE)
    sides = []
    for side, role in (("sent", None), ("returned", "assistant")):
        several: list[Message] = []
        for _, one in sorted(found[side].items()):
            calls = [call for _, call in sorted(one.pop("calls", {}).items())]
            several += from_message({**one, "tool_calls": calls}, role=role)
        sides.append(several)
    return sides[0], sides[1]
