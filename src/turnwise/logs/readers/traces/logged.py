"""What tools log as the input or output of a model call, in the usual spellings, as native messages.

Read are OpenAI's messages, LangChain's (also serialised), and messages with OpenTelemetry's `parts`, in lists, in
objects that hold them (`messages`, `generations`, `choices`) and as JSON text. In a message with parts every result of
a tool is a tool message of its own, and everything else keeps the message's role.

Keys that are not known are kept: those of a message beside it, those of an object around messages (`finish_reason`,
`usage`) in a list `logged_with` beside the reply or the last message sent.
"""

import json
from collections.abc import Mapping
from typing import Any

from turnwise.logs.checks import RuleError, others, record, wrong
from turnwise.logs.dialogue import other_entries
from turnwise.logs.readers.messages import as_json, present, text_at, tool_call
from turnwise.types import ROLES

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


def parsed(value: Any) -> Any:
    """The value of a text that is a JSON object or list; any other value unchanged."""
    if isinstance(value, str) and value[:1] in "[{":
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def parts_or_text(value: Any) -> Any:
    """A content that is JSON text of a non-empty list of typed parts as that list; any other content unchanged."""
    found = parsed(value)
    is_parts = (
        isinstance(found, list) and found and all(isinstance(one, dict) and "type" in one for one in found)
    )
    return found if is_parts else value


def messages(value: Any, *, role: str, notes: list[str], listed: bool = False) -> list[Message]:
    """What a tool logs as the input or output of a call, as native messages; nothing gives none.

    A bare text, and an object that is no message, have the given role; of an object that is no message `notes` says how
    it was read. A message in a list (`listed`) that was sent (`role` "user") must name its role; what a model returned
    is the assistant's.
    """
    if isinstance(value, str):
        held = parsed(value)
        if not _holds_messages(held):
            return [{"role": role, "content": value}] if value else []
        value = held
    if value is None:
        return []
    if isinstance(value, list):
        return [one for inner in value for one in messages(inner, role=role, notes=notes, listed=True)]
    values = record(value)
    if _is_message(values):
        return from_message(values, role=None if listed and role == "user" else role)
    holder = _holder(values)
    if holder is not None:
        found = messages(values[holder], role=role, notes=notes, listed=listed)
        return _logged_with(found, present(others(values, frozenset({holder}))), role=role)
    if listed:
        raise wrong(values, "a message with role and content")
    return _from_object(values, role=role, notes=notes)


def _from_object(values: Message, *, role: str, notes: list[str]) -> list[Message]:
    """An object without messages as one message: the only text in it, with the rest in `logged_with`, else its JSON."""
    about = f"calls whose {'output' if role == 'assistant' else 'input'} is an object without messages"
    texts = [key for key, one in values.items() if isinstance(one, str) and one.strip()]
    if len(texts) == 1:
        note = f"{about}: `{texts[0]}`, the only text in it, is read as the text"
        said = [{"role": role, "content": values[texts[0]]}]
        found = _logged_with(said, others(values, frozenset(texts)), role=role)
    else:
        note = f"{about}: its JSON is read as the text"
        found = [{"role": role, "content": as_json(values)}]
    if note not in notes:
        notes.append(note)
    return found


def _logged_with(found: list[Message], more: Mapping[str, Any], *, role: str) -> list[Message]:
    """The messages, of which the first that was returned, or the last that was sent, has `more` in `logged_with`.

    A `text` that repeats the message's content is left out.
    """
    place = 0 if role == "assistant" else len(found) - 1
    if not found:
        return found
    about = {key: one for key, one in more.items() if key != "text" or one != found[place].get("content")}
    if about:
        before = found[place].get("logged_with", [])
        kept = before if isinstance(before, list) else [before]
        found[place] = {**found[place], "logged_with": [*kept, about]}
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


def from_message(values: Message, *, role: str | None) -> list[Message]:
    """One message in any of the usual spellings: OpenAI's, LangChain's, OpenTelemetry's parts.

    Several if results of tools stand beside other parts. `role` is the role of a message that names none; None where it
    must name one. A missing or unknown role raises `RuleError`. Without content and calls it has an empty text.
    """
    if values.get("lc") and isinstance(values.get("kwargs"), dict):  # LangChain's serialised form
        kind = values["id"][-1] if isinstance(values.get("id"), list) and values["id"] else ""
        return from_message({"type": kind, **others(values, SERIALISED), **values["kwargs"]}, role=role)
    if isinstance(values.get("data"), dict) and "role" not in values:  # {"type": "human", "data": {...}}
        around = others(values, frozenset({"data", "type"}))
        return from_message({**around, **values["data"], "type": values.get("type")}, role=role)
    if isinstance(values.get("message"), dict) and "content" not in values:
        return from_message({**others(values, frozenset({"message"})), **values["message"]}, role=role)
    named = values.get("role") or values.get("type") or role
    if named is None:
        raise RuleError("is missing").inside("role")
    said = str(named)
    native_role = NAMES.get(said, said)
    if native_role not in ROLES:
        raise wrong(said, f"a role, one of {', '.join(ROLES)}").inside("role")
    known = MESSAGE if values.get("role") else MESSAGE | {"type"}
    calls = list(values.get("tool_calls") or ())
    if isinstance(values.get("parts"), list):
        found = _of_parts(native_role, values["parts"], calls)
    else:
        found = [_with_calls({"role": native_role, "content": _content(values.get("content"))}, calls)]
    about = present(other_entries(values, known))
    about |= {key: values[key] for key in ("tool_call_id", "name") if text_at(values, key)}
    own = [place for place, one in enumerate(found) if one["role"] == native_role] or [len(found) - 1]
    found[own[-1]] = {**about, **found[own[-1]]}
    return found


def _content(content: Any) -> Any:
    """A content in native form: an object as JSON text, and texts in a list as text parts."""
    if isinstance(content, dict):
        return as_json(content)
    if isinstance(content, list):
        return [{"type": "text", "text": one} if isinstance(one, str) else one for one in content]
    return content


def _with_calls(native: Message, calls: list[Any]) -> Message:
    """The message with its tool calls; one without content and calls has an empty text."""
    if calls:
        return {**native, "tool_calls": [_call(one) for one in calls]}
    return {**native, "content": ""} if native["content"] is None else native


def _of_parts(role: str, parts: list[Any], calls: list[Any]) -> list[Message]:
    """The messages of OpenTelemetry's parts, in their order: each result of a tool as a tool message, and what stands
    between results as a message of this role; `calls` belong to the last such message.
    """
    found: list[Message] = []
    held: list[dict[str, Any]] = []
    for part in parts:
        values = record(part)
        if values.get("type") == "tool_call_response":
            if held:
                found.append(_said(role, held, []))
            found.append(_result(values))
            held = []
        else:
            held.append(values)
    if held or calls or not found:
        found.append(_said(role, held, calls))
    return found


def _result(values: Message) -> Message:
    """A part with the result of a tool as a tool message; a part with further keys stays a content part."""
    answer = values.get("response", values.get("result"))
    said = answer if isinstance(answer, str) else as_json(answer)
    more = others(values, RESULT)
    content = [{**more, "type": "text", "text": said}] if more else said
    return present({"role": "tool", "content": content, "tool_call_id": values.get("id")})


def _said(role: str, parts: list[dict[str, Any]], calls: list[Any]) -> Message:
    """Parts without results of tools as one message: calls become tool calls after `calls`, thoughts are kept beside
    it, and parts of unknown types stay parts.
    """
    native: Message = {"role": role}
    found: list[dict[str, Any]] = []
    called = list(calls)
    for values in parts:
        kind = values.get("type")
        if kind == "tool_call":
            called.append(values)
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
    return _with_calls(native, called)


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
