"""Gemini's requests: `{"contents": [{"role": "user", "parts": [...]}, ...]}`, one a line, in a JSON list, or in a
batch.

A record is a request, or has it under `request` and what came back under `response`, of which the first of the
`candidates` ends the dialogue; the others are counted. `systemInstruction` is the first message. Calls of functions and
code that Gemini runs become tool calls in OpenAI's form, what they return tool messages of their own, and thoughts are
kept beside the message. Images, sound and files become OpenAI's parts. Keys are read in camel case and in snake case;
keys that are not known are kept.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from turnwise.logs.checks import each, name, one_of, optional, others, record, required, text, wrong
from turnwise.logs.dialogue import from_record, other_entries
from turnwise.logs.readers.messages import FURTHER, as_json, present, text_at, tool_call
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, records
from turnwise.types import Dialogue

SNAKE = re.compile(r"_([a-z])")
# Keys that are kept elsewhere in a dialogue.
RECORD = frozenset({"id", "key", "model", "request", "response", "contents", "systemInstruction"})
ANSWER = frozenset({"candidates", "modelVersion"})
MESSAGE = frozenset({"role", "parts"})
CALL = frozenset({"name", "args", "id"})
RESULT = frozenset({"name", "response", "id"})
CODE = "code_execution"  # the name of the tool that runs code
ROLES = {"user": "user", "model": "assistant", "function": "tool"}
_role = one_of(tuple(ROLES))
Message = dict[str, Any]


def recognises(sample: Sample) -> bool:
    """Whether the first record, or the request in it, has `contents` of parts."""
    values = sample.first.get("request", sample.first)
    said = values.get("contents") if isinstance(values, dict) else None
    return isinstance(said, list) and bool(said) and isinstance(said[0], dict) and "parts" in said[0]


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a record."""
    options = options or Options()
    for value, place, located in records(path):
        with located():
            yield _dialogue(value, place, options)


def _dialogue(value: Any, place: str, options: Options) -> Dialogue:
    """A request, and its response if there is one, as a dialogue; `place` is the id of a record without one."""
    values = _camel(record(value))
    asked = _camel(optional(values, "request", record, default=values))
    contents = required(asked, "contents", each(record))
    if len(contents) == 1:
        contents = ({"role": "user", **contents[0]},)  # the role of a single prompt may be left out
    spoken = required({"contents": list(contents)}, "contents", each(_messages))
    messages = [one for several in spoken for one in several]
    if asked.get("systemInstruction") is not None:
        messages = [*required(asked, "systemInstruction", _prompt), *messages]
    answered = _camel(optional(values, "response", record, default={}))
    candidates = optional(answered, "candidates", each(record), default=())
    if candidates:
        found = _messages({"role": "model", **required(candidates[0], "content", record)})
        about = others(candidates[0], frozenset({"content"}))
        messages += [*found[:-1], {**found[-1], **({"candidate": about} if about else {})}]
        if len(candidates) > 1:
            options.dropped[FURTHER] += len(candidates) - 1
    kept = {
        **others(values, RECORD),
        **({} if asked is values else {"request": others(asked, RECORD)}),
        "response": others(answered, ANSWER),
    }
    native = {
        "id": text_at(values, "id") or text_at(values, "key") or place,
        "agent": text_at(asked, "model") or text_at(values, "model") or text_at(answered, "modelVersion"),
        "messages": messages,
        "meta": {key: one for key, one in kept.items() if one not in ({}, None)},
    }
    return from_record(native, default_id=place)


def _camel(values: Mapping[str, Any]) -> dict[str, Any]:
    """The object with its own keys in camel case; nested keys stay as they are."""
    return {SNAKE.sub(lambda match: match[1].upper(), key): one for key, one in values.items()}


def _prompt(value: Any) -> list[Message]:
    """A system instruction, which may be a text, as messages."""
    if isinstance(value, str):
        return [{"role": "system", "content": value}]
    values = record(value)
    found = _spoken("system", list(required(values, "parts", each(record))))
    return [*found[:-1], {**other_entries(values, frozenset({"parts"})), **found[-1]}] if found else []


def _messages(value: Any) -> list[Message]:
    """One content as native messages; other keys go to the last of its own role. No parts raise `RuleError`."""
    values = record(value)
    role = ROLES[required(values, "role", _role)]
    parts = required(values, "parts", each(record))
    if not parts:
        raise wrong([], "one part or more").inside("parts")
    found = _spoken(role, list(parts))
    own = [place for place, one in enumerate(found) if one["role"] == role] or [len(found) - 1]
    found[own[-1]] = {**other_entries(values, MESSAGE), **found[own[-1]]}
    return found


def _spoken(role: str, parts: list[Message]) -> list[Message]:
    """Parts as messages of a role, in their order; each result of a function or of code is a tool message."""
    found: list[Message] = []
    held: list[Message] = []
    for part in map(_camel, parts):
        result = _result(part)
        if result is None:
            held.append(part)
            continue
        found += _said(role, held)
        found.append(result)
        held = []
    return [*found, *_said(role, held)]


def _result(part: Message) -> Message | None:
    """What a function or code returned as a tool message; None for other parts."""
    if isinstance(part.get("functionResponse"), dict):
        held = part["functionResponse"]
        more = others(held, RESULT) | others(part, frozenset({"functionResponse"}))
        said = {
            "content": as_json(held.get("response")),
            "name": held.get("name"),
            "tool_call_id": held.get("id"),
        }
        return {**other_entries(more, frozenset()), "role": "tool", **present(said)}
    if isinstance(part.get("codeExecutionResult"), dict):
        held = part["codeExecutionResult"]
        more = others(held, frozenset({"output"})) | others(part, frozenset({"codeExecutionResult"}))
        return {
            **other_entries(more, frozenset()),
            "role": "tool",
            "content": str(held.get("output", "")),
            "name": CODE,
        }
    return None


def _said(role: str, parts: list[Message]) -> list[Message]:
    """Parts without results as a list of one message; of none if there are none. Thoughts alone have an empty text."""
    calls: list[Message] = []
    content: list[Message] = []
    thoughts: list[Message] = []
    for part in parts:
        if part.get("thought") is True:
            thoughts.append(part)
        elif isinstance(part.get("functionCall"), dict):
            held = part["functionCall"]
            call = tool_call(required(held, "name", name), held.get("args") or {}, text_at(held, "id"))
            calls.append({**others(held, CALL), **others(part, frozenset({"functionCall"})), **call})
        elif isinstance(part.get("executableCode"), dict):
            more = others(part, frozenset({"executableCode"}))
            calls.append({**more, **tool_call(CODE, part["executableCode"])})
        else:
            content.append(_part(part))
    if not parts:
        return []
    plain = all(part.keys() == {"type", "text"} for part in content)
    said = "\n".join(part["text"] for part in content) if plain else content
    native: Message = {"role": role, "content": said if content else None if calls else ""}
    return [native | ({"tool_calls": calls} if calls else {}) | ({"thoughts": thoughts} if thoughts else {})]


def _part(part: Message) -> Message:
    """A part as a content part: text, data and files in OpenAI's types, others under the name of their key."""
    if "text" in part:
        return {**part, "type": "text", "text": required(part, "text", text)}
    for key in ("inlineData", "fileData"):
        if isinstance(part.get(key), dict):
            held = _camel(part[key])
            kind = str(held.get("mimeType") or "")
            more = {**others(part, frozenset({key})), "source": held}
            if kind.startswith("image/"):
                address = held.get("fileUri") or f"data:{kind};base64,{held.get('data')}"
                more["source"] = others(held, frozenset({"data", "fileUri"}))
                return {**more, "type": "image_url", "image_url": {"url": address}}
            return {**more, "type": "input_audio" if kind.startswith("audio/") else "file"}
    return {
        "type": next(iter(part), "unknown"),
        **{f"source_{key}" if key == "type" else key: one for key, one in part.items()},
    }
