"""LiveKit's agents: the history of a session (`session.history.to_dict()`), and a session's report with it.

`items` are messages with content in parts (texts; images and audio as objects), calls of functions, their outputs, and
handovers to other agents, which stay beside the message that follows. A message that was interrupted has
`interrupted: true`.
"""

from collections.abc import Iterator
from typing import Any

from turnwise.logs.checks import each, others, record, required, text
from turnwise.logs.dialogue import from_record, other_entries
from turnwise.logs.readers.messages import as_json, inner, text_at, tool_call
from turnwise.logs.readers.openai import ROLES
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, records
from turnwise.types import Dialogue

TYPES = ("message", "function_call", "function_call_output", "agent_handoff", "agent_config_update")
HOLDERS = (("items",), ("chat_history", "items"), ("history", "items"), ("chat_history",), ("history",))
SAID = frozenset({"type", "role", "content"})
Record = dict[str, Any]


def recognises(sample: Sample) -> bool:
    """Whether the first record has items of a session, of which one is a message with a list as content."""
    found = _holder(sample.first)
    return found is not None and any(
        item.get("type") == "message" and isinstance(item.get("content"), list) for item in found[1]
    )


def _holder(values: Any) -> tuple[tuple[str, ...], list[Record]] | None:
    """The path of the items in a record, and the items; None if there are none."""
    for path in HOLDERS:
        found = inner(values, *path)
        if (
            isinstance(found, list)
            and found
            and all(isinstance(item, dict) and item.get("type") in TYPES for item in found)
        ):
            return path, found
    return None


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a record."""
    for value, place, located in records(path):
        with located():
            values = record(value)
            found = _holder(values)
            items = found[1] if found else required(values, "items", each(record))
            key = found[0][0] if found else "items"
            identity = next(
                (values[name] for name in ("id", "room_id", "job_id", "room") if text_at(values, name)), None
            )
            yield from_record(
                {
                    "id": identity or place,
                    "messages": list(_messages(items)),
                    "meta": others(values, frozenset({key, "id"})),
                },
                default_id=place,
            )


def _messages(items: Any) -> Iterator[Record]:
    """The items as native messages; several calls in a row are calls of one message."""
    calls: list[Record] = []
    beside: Record = {}
    for item in items:
        kind = item["type"]
        if calls and kind != "function_call":
            yield {"role": "assistant", "content": None, "tool_calls": calls}
            calls = []
        if kind == "function_call":
            call = tool_call(
                required(item, "name", text), item.get("arguments") or "{}", text_at(item, "call_id")
            )
            more = others(item, frozenset({"type", "name", "arguments", "call_id", "id"}))
            calls.append({**call, **more, **({"item": item["id"]} if "id" in item else {})})
        elif kind == "function_call_output":
            failed = {"error": True} if item.get("is_error") else {}
            yield {
                "role": "tool", "content": as_json(item.get("output")), "tool_call_id": item.get("call_id"), **failed,
                **other_entries(item, frozenset({"type", "output", "call_id", "is_error"})),
            }  # fmt: skip
        elif kind == "message":
            yield {**_message(item), **beside}
            beside = {}
        else:
            beside.setdefault(kind, []).append({key: one for key, one in item.items() if key != "type"})
    if calls:
        yield {"role": "assistant", "content": None, "tool_calls": calls}
    if beside:
        yield {"role": "system", "content": "", **beside}


def _message(item: Record) -> Record:
    """A message of a session in native form."""
    role = required(item, "role", text)
    parts = [
        {"type": "text", "text": part} if isinstance(part, str) else _part(record(part))
        for part in item["content"]
    ]
    texts = [part["text"] for part in parts if part["type"] == "text"]
    content: Any = "\n".join(texts) if len(texts) == len(parts) else parts
    return {"role": ROLES.get(role, role), "content": content, **other_entries(item, SAID)}


def _part(part: Record) -> Record:
    """A part that is no text: an image, or audio, whose transcript is its text."""
    kind = text_at(part, "type") or "file"
    if kind == "image_content":
        return {
            "type": "image_url",
            "image_url": {"url": part.get("image")},
            **others(part, frozenset({"type", "image"})),
        }
    if kind == "audio_content" and text_at(part, "transcript"):
        return {"type": "text", "text": part["transcript"], "source_type": kind}
    return {**part, "type": kind}
