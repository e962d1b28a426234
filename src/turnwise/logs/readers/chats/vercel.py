"""Messages of Vercel's AI SDK: those of its user interface (`UIMessage`), and those of a model (`ModelMessage`).

A message of the interface has `parts`: text, reasoning, calls of tools with their results (`tool-NAME` with
`toolCallId`, `input` and `output`, or `tool-invocation` of version 4), files, data. Calls become tool calls of the
message, their results tool messages after it, and text after a call is a message of its own. Version 4 has
`toolInvocations` beside `content`. A model's message has parts `tool-call` and `tool-result` in its content. Reasoning,
sources and data stay beside their message.

A file is a list of messages, which is one dialogue, or has a dialogue in each record, under `messages`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from turnwise.logs.checks import others, record, required, text
from turnwise.logs.dialogue import other_entries
from turnwise.logs.readers.chats.message_lists import dialogues, messages_of
from turnwise.logs.readers.messages import as_json, inner, text_at, tool_call
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options
from turnwise.types import Dialogue

CALL, RESULT, INVOCATION = "tool-call", "tool-result", "tool-invocation"
DYNAMIC = "dynamic-tool"  # a call whose tool is named beside it
OF_MODEL = (CALL, RESULT)  # parts of a model's message
MESSAGE = frozenset({"role", "content", "parts", "toolInvocations", "reasoning"})
PLACES = ("step-start",)  # parts that only mark a place
Record = dict[str, Any]


def recognises(sample: Sample) -> bool:
    """Whether the first messages are those of the SDK."""
    return any(_is_message(message) for message in messages_of(sample))


def _is_message(message: Any) -> bool:
    """Whether a message has parts or invocations as the SDK writes them."""
    if not isinstance(message, dict) or "role" not in message:
        return False
    if isinstance(message.get("toolInvocations"), list):
        return True
    if isinstance(message.get("parts"), list) and message["parts"]:
        return all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in message["parts"])
    content = message.get("content")
    return isinstance(content, list) and any(
        isinstance(part, dict) and part.get("type") in OF_MODEL and "toolCallId" in part for part in content
    )


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a record, or one of all messages of the file."""
    given = options or Options()

    def native(messages: Sequence[Any]) -> list[Record]:
        """Messages in native form."""
        return [made for message in messages for made in _native(record(message), given)]

    yield from dialogues(path, given, native)


def _native(message: Record, options: Options) -> Iterator[Record]:
    """One message of the SDK as native messages: itself, the results of its tools, and what it says after them."""
    role = required(message, "role", text)
    kept = other_entries(message, MESSAGE)
    if isinstance(message.get("parts"), list):
        parts = [record(part) for part in message["parts"]]
        if isinstance(message.get("content"), str) and not any(part.get("type") == "text" for part in parts):
            parts.append({"type": "text", "text": message["content"]})
    elif isinstance(message.get("content"), list):
        parts = [record(part) for part in message["content"]]
    else:
        calls = [{"type": INVOCATION, "toolInvocation": one} for one in message.get("toolInvocations") or ()]
        said = message.get("content")
        parts = [*calls, *([{"type": "text", "text": said}] if said or not calls else [])]
    if role == "tool":
        yield from (_result(part) for part in parts)
        return
    pending: list[Record] = []
    made: list[Record] = []
    for part in parts:
        if part.get("type") in PLACES:
            options.dropped["marks of steps"] += 1
        elif _is_call(part) or part.get("type") == RESULT:
            pending.append(part)
        else:
            if pending and part.get("type") == "text":
                made += _said(role, pending, kept if not made else {})
                pending = []
            pending.append(part)
    made += _said(role, pending, kept if not made else {})
    yield from made


def _is_call(part: Record) -> bool:
    """Whether a part is a call of a tool."""
    kind = part.get("type")
    return kind in (CALL, INVOCATION, DYNAMIC) or (
        isinstance(kind, str) and kind.startswith("tool-") and kind != RESULT and "toolCallId" in part
    )


def _said(role: str, parts: Sequence[Record], kept: Record) -> list[Record]:
    """One native message of parts, with the results of its calls after it."""
    content: list[Record] = []
    beside: Record = dict(kept)
    calls, results = [], []
    for part in parts:
        kind = part.get("type")
        if _is_call(part):
            call, result = _call(part)
            calls.append(call)
            results += result
        elif kind == RESULT:
            results.append(_result(part))
        elif kind == "text":
            content.append({"type": "text", "text": required(part, "text", text), **others(part, TEXT)})
        elif kind in ("file", "image"):
            content.append(_file(part))
        else:
            beside.setdefault(str(kind), []).append({key: one for key, one in part.items() if key != "type"})
    texts = [one["text"] for one in content if one["type"] == "text"]
    plain = len(texts) == len(content) and all(one.keys() == {"type", "text"} for one in content)
    message: Record = {"role": role, **beside, "content": "\n".join(texts) if plain else content}
    if calls:
        message["tool_calls"] = calls
        if not content:
            message["content"] = None
    return [message, *results] if content or calls or beside else results


TEXT = frozenset({"type", "text", "state"})


def _call(part: Record) -> tuple[Record, list[Record]]:
    """A call as a native one, and its result, if it is there, as a tool message."""
    held = record(part["toolInvocation"]) if part.get("type") == INVOCATION else part
    name = text_at(held, "toolName") or str(part["type"]).removeprefix("tool-")
    arguments = held["input"] if "input" in held else held.get("args", {})
    call = tool_call(name, arguments, text_at(held, "toolCallId"))
    more = others(held, CALLED)
    failed = held.get("errorText")
    output = failed if failed is not None else held.get("output", held.get("result"))
    if output is None:
        return {**call, **more}, []
    about = {"error": True} if failed is not None else {}
    return {**call, **more}, [_tool_message(held, name, output, about)]


CALLED = frozenset(
    {"type", "toolCallId", "toolName", "state", "input", "args", "output", "result", "errorText"}
)


def _result(part: Record) -> Record:
    """A result of a model's tool message; its value may be inside an object with a type."""
    output = part["output"] if "output" in part else part.get("result")
    kind = inner(output, "type")
    failed = part.get("isError") is True or (isinstance(kind, str) and kind.startswith("error"))
    if isinstance(output, dict) and output.keys() == {"type", "value"}:
        output = output["value"]
    return _tool_message(part, text_at(part, "toolName"), output, {"error": True} if failed else {})


def _tool_message(held: Record, name: str | None, output: Any, about: Record) -> Record:
    """The native message of a tool's output."""
    named = {"name": name} if name else {}
    return {
        "role": "tool",
        "tool_call_id": held.get("toolCallId"),
        **named,
        "content": as_json(output),
        **about,
    }


def _file(part: Record) -> Record:
    """A file or image as OpenAI's part."""
    kind = str(
        part.get("mediaType") or part.get("mimeType") or ("image/*" if part.get("type") == "image" else "")
    )
    address = part.get("url") or part.get("data") or part.get("image")
    more = others(part, frozenset({"type", "url", "data", "image"}))
    if kind.startswith("image") and isinstance(address, str):
        return {"type": "image_url", "image_url": {"url": address}, **more}
    return {"type": "file", "file": {"file_data": address}, **more}
