"""Anthropic's messages: requests `{"system", "messages", ...}` with content blocks, one a line or in a JSON list.

`text` blocks are the text. `tool_use` blocks become tool calls in OpenAI's form and `tool_result` blocks tool messages
of their own, in their order. So do calls of tools that Anthropic's server runs (`server_tool_use`, `mcp_tool_use`) and
their results, which stand inside the assistant's message: what it says after a result is a message of its own. Images
become OpenAI's parts `image_url`, with a data URL or the address; documents stay content parts. `thinking` is kept
beside the message and is no part of the reply. A text block with further keys (`citations`, `cache_control`) stays a
content part, and other keys of messages and blocks are kept beside them. A response object (`{"role": "assistant",
"content": [...]}`) under `response` ends the dialogue, and so does the message of a batch's `result`, whose request is
under `params`; a line of a batch's results alone has no request, and is an error that says so.
"""

from collections.abc import Iterator
from typing import Any

from turnwise.logs.checks import (
    RuleError,
    each,
    name,
    one_of,
    optional,
    others,
    record,
    required,
    text,
    wrong,
)
from turnwise.logs.dialogue import from_record, other_entries
from turnwise.logs.readers.messages import as_json, inner, text_at, tool_call
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, records
from turnwise.types import Dialogue

CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
BLOCKS = CALLS | {"tool_result", "thinking", "redacted_thinking", "document", "image"}
SERVED = "_tool_result"  # ends the type of a result inside the assistant's message: `web_search_tool_result`
RECORD = frozenset({"id", "model", "system", "messages", "response", "tools", "request", "params", "result"})
MESSAGE = frozenset({"role", "content", "type"})  # `type` is "message" in every response
TOOL_USE = frozenset({"type", "id", "name", "input"})
TOOL_RESULT = frozenset({"type", "tool_use_id", "content", "is_error"})
THOUGHT = frozenset({"type", "thinking"})
SOURCE = frozenset({"type", "media_type", "data", "url"})  # keys of an image's source
_role = one_of(("user", "assistant", "system"))
Message = dict[str, Any]


def recognises(sample: Sample) -> bool:
    """Whether the first request has Anthropic's content blocks, or `system` and `max_tokens` beside `messages`."""
    if isinstance(inner(sample.first, "result", "message"), dict) and "custom_id" in sample.first:
        return True
    values = sample.first.get("request", sample.first.get("params", sample.first))
    messages = values.get("messages") if isinstance(values, dict) else None
    if not isinstance(messages, list):
        return False
    blocks = [block for one in messages if isinstance(one, dict) and isinstance(one.get("content"), list)
              for block in one["content"] if isinstance(block, dict)]  # fmt: skip
    special = any(isinstance(kind := block.get("type"), str) and kind in BLOCKS for block in blocks)
    return special or ("system" in values and "max_tokens" in values)


def read(path: str, _: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a record."""
    for value, place, located in records(path):
        with located():
            yield dialogue(value, place)


def dialogue(value: Any, place: str) -> Dialogue:
    """A request, and its response if there is one, as a dialogue; `place` is the id of a record without one.

    The system prompt is the first message.
    """
    values = record(value)
    asked = optional(values, "request" if "request" in values else "params", record, default=values)
    result = optional(values, "result", record, default={}) if "custom_id" in values else {}
    if result and asked is values:
        raise RuleError(
            "has a reply without what was asked; join the batch's results with its requests by `custom_id`, so that "
            "each line has both `params` and `result`"
        )
    messages = [one for several in required(asked, "messages", each(_messages)) for one in several]
    if asked.get("system"):
        messages.insert(0, {"role": "system", "content": _prompt(asked["system"])})
    answered = optional(result, "message", record, default=optional(values, "response", record, default=None))
    if answered is not None:
        messages += _messages({"role": "assistant", **answered})
    native = {
        "id": text_at(values, "id") or text_at(values, "custom_id") or place,
        "agent": text_at(asked, "model") or text_at(answered, "model"),
        "messages": messages,
        "meta": others(values, RECORD)
        | ({} if asked is values else {"request": others(asked, RECORD)})
        | ({"result": more} if (more := others(result, frozenset({"message"}))) else {})
        | ({"tools": asked["tools"]} if asked.get("tools") else {}),
    }
    return from_record(native, default_id=place)


def _prompt(value: Any) -> Any:
    """A system prompt: a text, or text blocks as `_joined` gives them."""
    if isinstance(value, str):
        return value
    return _joined(
        [{"type": "text", **block, "text": required(block, "text", text)} for block in each(record)(value)]
    )


def _joined(parts: list[dict[str, Any]]) -> Any:
    """Text parts joined by line ends if they have a text and nothing else; else the parts."""
    plain = all(part.keys() == {"type", "text"} and part["type"] == "text" for part in parts)
    if plain and all(isinstance(part["text"], str) for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def _messages(value: Any) -> list[Message]:
    """One message as native messages: results of tools each as a message of their own, before what the user
    says beside them. A result inside the assistant's message parts what was said before it from what follows. A message
    without text, call or result raises `RuleError`.
    """
    values = record(value)
    role = required(values, "role", _role)
    content = values.get("content")
    more = other_entries(values, MESSAGE)
    if isinstance(content, str):
        return [{"role": role, "content": content, **more}]
    results: list[Message] = []
    said: list[Message] = []
    heard: list[dict[str, Any]] = []  # blocks since the last result
    for block in required(values, "content", each(record)):
        kind = required(block, "type", name)
        if kind == "tool_result":
            results.append(_result(block))
        elif kind.endswith(SERVED):
            said += [*_said(role, heard), _result(block, parts=False)]
            heard = []
        else:
            heard.append(block)
    said += _said(role, heard)
    if not said and not results:
        raise wrong(content, "one text block, tool call or tool result or more").inside("content")
    found = [*results, *said]
    return [*found[:-1], {**more, **found[-1]}]


def _thinking(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """What is kept of thoughts beside a message: their text, and the blocks if one has a signature, encrypted data or
    another key.
    """
    texts = [str(block["thinking"]) for block in blocks if "thinking" in block]
    kept = any(others(block, THOUGHT) for block in blocks)
    return ({"thinking": "\n".join(texts)} if texts else {}) | ({"thinking_blocks": blocks} if kept else {})


def _said(role: str, blocks: list[dict[str, Any]]) -> list[Message]:
    """Blocks without results as a list of one message; of none if they are thoughts only, or if there are none."""
    calls: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    thoughts: list[dict[str, Any]] = []
    for block in blocks:
        kind = block["type"]
        if kind in CALLS:
            call = tool_call(required(block, "name", name), block.get("input") or {}, text_at(block, "id"))
            calls.append({**others(block, TOOL_USE), **call})
        elif kind in ("thinking", "redacted_thinking"):
            thoughts.append(block)
        elif kind == "text":
            parts.append({**block, "text": required(block, "text", text)})
        else:
            parts.append(_part(block))
    if not parts and not calls:
        return []
    message: Message = {"role": role, "content": _joined(parts) if parts else None}
    if calls:
        message["tool_calls"] = calls
    return [message | _thinking(thoughts)]


def _result(block: dict[str, Any], *, parts: bool = True) -> Message:
    """A block of a tool's result as a tool message; text blocks are joined, content with other blocks stays in
    parts, other values become JSON text. Without `parts`, content with other blocks becomes JSON text, too.
    """
    content = block.get("content")
    if isinstance(content, list):
        held = each(record)(content)
        plain = parts or all(one.get("type") == "text" for one in held)
        content = _joined([_part(one) for one in held]) if plain else as_json(content)
    elif content is not None and not isinstance(content, str):
        content = as_json(content)
    native = {"role": "tool", "content": content or "", "tool_call_id": block.get("tool_use_id")}
    return other_entries(block, TOOL_RESULT) | native | ({"is_error": True} if block.get("is_error") else {})


def _part(block: dict[str, Any]) -> dict[str, Any]:
    """A content block as a content part: images and documents in OpenAI's types, others unchanged.

    An image that has neither data nor an address, for example an uploaded file, keeps its source.
    """
    kind = required(block, "type", name)
    if kind == "document":
        return {**block, "type": "file"}
    if kind != "image":
        return block
    source = block.get("source")
    data, address = text_at(source, "data"), text_at(source, "url")
    if data is not None:
        address = f"data:{text_at(source, 'media_type') or 'image/png'};base64,{data}"
    if address is None:
        return {**block, "type": "image_url"}
    kept = others(block, frozenset({"source"}))
    if more := others(record(source), SOURCE):
        kept["source"] = more
    return {**kept, "type": "image_url", "image_url": {"url": address}}
