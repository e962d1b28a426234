"""From single calls of a model to dialogues: a call that repeats an earlier one continues its dialogue.

A trace has one record a call: the messages that the model was sent, and what it returned. In a chat each call is sent
the whole dialogue so far. So calls of one group (a session, else a trace) are joined in the order of time: a call
whose messages begin with those of an earlier one takes its place, any other begins a dialogue of its own.

Keys that are not known are kept: those of a message beside it, those of an object around messages (`finish_reason`,
`usage`) in a list `logged_with` beside the reply or the last message sent, those of a call in `call` beside its reply.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnwise.logs.checks import RuleError, others, record, wrong
from turnwise.logs.dialogue import TEXT_PARTS, from_record, other_entries
from turnwise.logs.readers.messages import as_json, present, text_at, tool_call
from turnwise.logs.readers.source import Options
from turnwise.types import ROLES, Dialogue

Message = dict[str, Any]
NAMES = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system", "function": "tool",
         "HumanMessage": "user", "AIMessage": "assistant", "SystemMessage": "system", "ToolMessage": "tool",
         "HumanMessageChunk": "user", "AIMessageChunk": "assistant", "FunctionMessage": "tool"}  # fmt: skip
HOLDERS = ("messages", "input", "inputs", "output", "outputs", "generations", "choices", "message", "text")
# Keys that are kept elsewhere in a message.
MESSAGE = frozenset({"role", "content", "parts", "tool_calls", "tool_call_id", "name"})
SERIALISED = frozenset({"lc", "type", "id", "kwargs"})
TEXT = frozenset({"type", "content", "text"})
RESULT = frozenset({"type", "id", "response", "result"})
CALL = frozenset({"id", "type", "name", "arguments", "args", "function"})
FUNCTION = frozenset({"name", "arguments"})
SAME = ("role", "content", "tool_calls", "tool_call_id")  # by which messages of two calls are equal


@dataclass(slots=True)
class Call:
    """One call of a model: what it was sent and what it returned, as native messages."""

    group: str  # session or trace
    time: float
    sent: list[Message]
    returned: list[Message]
    model: str | None = None
    ratings: list[dict[str, Any]] = field(default_factory=list)  # ratings of the returned text
    meta: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)  # what else the trace says of the call


def dialogues(calls: Iterable[Call], options: Options) -> Iterator[Dialogue]:
    """The calls, joined to dialogues, group by group.

    Several dialogues of a group have the ids `GROUP-1`, `GROUP-2` and so on; dialogues without messages are
    counted as dropped.
    """
    groups: dict[str, list[Call]] = {}
    for call in calls:
        groups.setdefault(call.group, []).append(call)
        if call.ratings and not call.returned:
            options.dropped["scores of calls without a reply"] += len(call.ratings)
    for group, several in groups.items():
        drafts: list[_Draft] = []
        for call in sorted(several, key=lambda one: one.time):
            draft = next((one for one in reversed(drafts) if one.goes_on_with(call)), None)
            if draft is None:
                drafts.append(draft := _Draft())
            draft.add(call)
        for number, draft in enumerate(drafts, 1):
            if not draft.messages:
                options.dropped["calls without messages"] += 1
                continue
            identity = group if len(drafts) == 1 else f"{group}-{number}"
            try:
                yield from_record({"id": identity, **draft.record()}, default_id=identity)
            except RuleError as error:
                raise error.inside(identity) from None


class _Draft:
    """A dialogue as its calls come in."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.ratings: list[dict[str, Any]] = []
        self.models: dict[str, None] = {}
        self.meta: dict[str, Any] = {}
        self.calls: list[tuple[int, Call]] = []  # each with the index of its last message

    def goes_on_with(self, call: Call) -> bool:
        """Whether the messages that a call was sent begin with all messages of this dialogue."""
        sent = [_key(one) for one in call.sent]
        said = [_key(one) for one in self.messages]
        return len(sent) >= len(said) and sent[: len(said)] == said

    def add(self, call: Call) -> None:
        """Take the call's messages in place of those before, which keep the keys that only they have; its ratings are
        of its last message, and are left out if it returned none.
        """
        self.messages = _merged(self.messages, [*call.sent, *call.returned])
        last = len(self.messages) - 1
        self.calls.append((last, call))
        self.ratings += [{**one, "turn": last} for one in call.ratings if call.returned]
        if call.model:
            self.models[call.model] = None
        self.meta |= call.meta

    def record(self) -> dict[str, Any]:
        """The dialogue as a native record without an id; the agent is the model if calls name just one, else None."""
        agent = next(iter(self.models)) if len(self.models) == 1 else None
        for last, call in self.calls:
            differing = {key: one for key, one in call.meta.items() if self.meta[key] != one}
            if about := present({**differing, **call.more}):
                message = self.messages[last]
                before = message.get("call", {})
                kept = before if isinstance(before, dict) else {"source_call": before}
                self.messages[last] = {**message, "call": {**kept, **about}}
        return {"agent": agent, "messages": self.messages, "ratings": self.ratings, "meta": self.meta}


def _merged(before: list[Message], after: list[Message]) -> list[Message]:
    """The later messages, the first of which are equal to those before and take over the keys that they lack."""
    return [{**old, **new} for old, new in zip(before, after, strict=False)] + after[len(before) :]


def split_repeated(sent: list[Message], returned: list[Message]) -> tuple[list[Message], list[Message]]:
    """What was sent and what is new, where an output repeats its input, also with earlier messages before it.

    Where the output does not hold the input, both are as they were.
    """
    asked, said = [_key(one) for one in sent], [_key(one) for one in returned]
    for end in range(len(said), len(asked) - 1, -1) if asked else ():
        if said[end - len(asked) : end] == asked:
            start = end - len(asked)
            return [*returned[:start], *_merged(sent, returned[start:end])], returned[end:]
    return sent, returned


def _key(message: Message) -> tuple[Any, ...]:
    """What of a message must be equal for two messages to be the same.

    An application may send back `""` for a content that was null, and arguments of a tool in another JSON spelling.
    """
    calls = [
        (call.get("id"), call["function"].get("name"), parsed(call["function"].get("arguments")))
        for call in message.get("tool_calls", ())
    ]
    content = message.get("content") or ""
    if isinstance(content, list) and all(
        isinstance(part, dict) and part.get("type") in TEXT_PARTS and isinstance(part.get("text"), str)
        for part in content
    ):
        content = "\n".join(part["text"] for part in content)
    found = {**message, "content": content, "tool_calls": calls}
    return tuple(as_json(found.get(key)) for key in SAME)


def seconds(value: Any) -> float:
    """A time as a number to sort by: a number or digits as they are (in any unit), ISO 8601 as a Unix time; 0
    for anything else.
    """
    if isinstance(value, str) and not value.isdecimal():
        try:
            return datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError):
            return 0.0
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0


def parsed(value: Any) -> Any:
    """The value of a text that is a JSON object or list; any other value unchanged."""
    if isinstance(value, str) and value[:1] in "[{":
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def parts_or_text(value: Any) -> Any:
    """A content that is JSON text of a non-empty list of typed parts as that list; any other content unchanged."""
    found = parsed(value)
    is_parts = (
        isinstance(found, list) and found and all(isinstance(one, dict) and "type" in one for one in found)
    )
    return found if is_parts else value


def messages(value: Any, *, role: str, listed: bool = False) -> list[Message]:
    """What a tool logs as the input or output of a call, as native messages; nothing gives none.

    A bare text, and an object that is no message, have the given role. A message in a list (`listed`) that was
    sent (`role` "user") must name its role; what a model returned is the assistant's.
    """
    if isinstance(value, str):
        held = parsed(value)
        if not _holds_messages(held):
            return [{"role": role, "content": value}] if value else []
        value = held
    if value is None:
        return []
    if isinstance(value, list):
        return [one for inner in value for one in messages(inner, role=role, listed=True)]
    values = record(value)
    if _is_message(values):
        return [message(values, role=None if listed and role == "user" else role)]
    holder = _holder(values)
    if holder is not None:
        found = messages(values[holder], role=role, listed=listed)
        return _logged_with(found, present(others(values, frozenset({holder}))), role=role)
    if listed:
        raise wrong(values, "a message with role and content")
    return [{"role": role, "content": as_json(values)}]


def _logged_with(found: list[Message], more: Mapping[str, Any], *, role: str) -> list[Message]:
    """The messages, of which the first that was returned, or the last that was sent, has `more` in `logged_with`.

    A `text` that repeats the message's content is left out.
    """
    index = 0 if role == "assistant" else len(found) - 1
    if not found:
        return found
    about = {key: one for key, one in more.items() if key != "text" or one != found[index].get("content")}
    if about:
        before = found[index].get("logged_with", [])
        kept = before if isinstance(before, list) else [before]
        found[index] = {**found[index], "logged_with": [*kept, about]}
    return found


def _holds_messages(value: Any) -> bool:
    """Whether a value is a message or an object that holds some, or a non-empty list of only these."""
    if isinstance(value, list):
        return bool(value) and all(map(_holds_messages, value))
    return isinstance(value, dict) and (_is_message(value) or _holder(value) is not None)


def _is_message(values: Message) -> bool:
    """Whether an object has a role, or a content in one of the usual spellings."""
    return isinstance(values.get("role"), str) or bool({"content", "parts", "data", "lc"} & values.keys())


def _holder(values: Message) -> str | None:
    """The first usual key under which an object has a text, a list or an object; None if there is none."""
    return next((key for key in HOLDERS if isinstance(values.get(key), str | list | dict)), None)


def message(values: Message, *, role: str | None) -> Message:
    """One message in any of the usual spellings: OpenAI's, LangChain's, OpenTelemetry's parts.

    `role` is the role of a message that names none; None where it must name one. A missing or unknown role
    raises `RuleError`. Without content and calls it has an empty text.
    """
    if values.get("lc") and isinstance(values.get("kwargs"), dict):  # LangChain's serialised form
        kind = values["id"][-1] if isinstance(values.get("id"), list) and values["id"] else ""
        return message({"type": kind, **others(values, SERIALISED), **values["kwargs"]}, role=role)
    if isinstance(values.get("data"), dict) and "role" not in values:  # {"type": "human", "data": {...}}
        around = others(values, frozenset({"data", "type"}))
        return message({**around, **values["data"], "type": values.get("type")}, role=role)
    if isinstance(values.get("message"), dict) and "content" not in values:
        return message({**others(values, frozenset({"message"})), **values["message"]}, role=role)
    named = values.get("role") or values.get("type") or role
    if named is None:
        raise RuleError("is missing").inside("role")
    said = str(named)
    native_role = NAMES.get(said, said)
    if native_role not in ROLES:
        raise wrong(said, f"a role, one of {', '.join(ROLES)}").inside("role")
    known = MESSAGE if values.get("role") else MESSAGE | {"type"}
    native: Message = {"role": native_role, "content": values.get("content")}
    calls = list(values.get("tool_calls") or ())
    if isinstance(values.get("parts"), list):
        _parts(native, values["parts"], calls)
    elif isinstance(native["content"], dict):
        native["content"] = as_json(native["content"])
    elif isinstance(native["content"], list):
        native["content"] = [
            {"type": "text", "text": one} if isinstance(one, str) else one for one in native["content"]
        ]
    if calls:
        native["tool_calls"] = [_call(one) for one in calls]
    for key in ("tool_call_id", "name"):
        if text_at(values, key):
            native[key] = values[key]
    if native["content"] is None and not calls:
        native["content"] = ""
    return {**present(other_entries(values, known)), **native}


def _parts(native: Message, parts: list[Any], calls: list[Any]) -> None:
    """Set the content of `native` from OpenTelemetry's parts, and append calls of tools to `calls`.

    A result of a tool makes it a tool message; parts of unknown types stay parts.
    """
    found: list[dict[str, Any]] = []
    for part in parts:
        values = record(part)
        kind = values.get("type")
        if kind == "tool_call":
            calls.append(values)
        elif kind == "tool_call_response":
            native["role"] = "tool"
            native["tool_call_id"] = values.get("id")
            answer = values.get("response", values.get("result"))
            said = answer if isinstance(answer, str) else as_json(answer)
            found.append({**others(values, RESULT), "type": "text", "text": said})
        elif kind == "text":
            said = str(values.get("content", values.get("text", "")))
            found.append({**others(values, TEXT), "type": "text", "text": said})
        elif kind == "reasoning":
            native.setdefault("reasoning", values.get("content"))
            if native["reasoning"] != values.get("content") or others(values, TEXT):
                native.setdefault("reasoning_parts", []).append(values)
        else:
            found.append({**values, "type": str(kind or "unknown")})
    only_text = all(one.keys() == {"type", "text"} for one in found)
    native["content"] = ("\n".join(one["text"] for one in found) if only_text else found) if found else None


def _call(value: Any) -> dict[str, Any]:
    """A tool call of any spelling in OpenAI's form."""
    values = record(value)
    more = present(others(values, CALL))
    if isinstance(values.get("function"), dict):
        function = values["function"]
        call = tool_call(str(function.get("name")), function.get("arguments") or {}, text_at(values, "id"))
        call["function"] = {**present(others(function, FUNCTION)), **call["function"]}
        return {**more, **call}
    arguments = values.get("arguments", values.get("args", {}))
    call = tool_call(
        str(values.get("name")), arguments if arguments is not None else {}, text_at(values, "id")
    )
    return {**more, **present(call)}
