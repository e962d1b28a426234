"""Messages as frameworks of agents keep them: LangChain and LangGraph, Pydantic AI, LlamaIndex.

* LangChain: `{"type": "human", "data": {...}}` (`messages_to_dict`), the serialised form with `lc` (`dumpd`), and flat
  `{"type": "human", "content": ...}`, as a graph's state has them;
* Pydantic AI: `{"kind": "request" or "response", "parts": [...]}`, a part of which is a prompt, a text, a call of a
  tool or its result (`part_kind`); the agent is the model;
* LlamaIndex: a role, and `blocks` of texts, images and others (`block_type`).

A file is a list of messages, which is one dialogue, or has a dialogue in each record, under `messages` or the like.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from turnwise.logs.checks import others, record, required, text, wrong
from turnwise.logs.dialogue import other_entries
from turnwise.logs.readers.chats.message_lists import dialogues, holder
from turnwise.logs.readers.messages import as_json, present, text_at, tool_call
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options
from turnwise.logs.readers.traces.logged import from_message
from turnwise.types import Dialogue

LANGCHAIN = ("human", "ai", "system", "tool", "function", "HumanMessageChunk", "AIMessageChunk")
KINDS = ("request", "response")  # of Pydantic AI
PROMPTS = {"system-prompt": "system", "instruction": "system", "user-prompt": "user"}
PART = frozenset({"part_kind", "content"})
CALL = frozenset({"part_kind", "tool_name", "args", "tool_call_id"})
RESULT = frozenset({"part_kind", "tool_name", "content", "tool_call_id"})
Record = dict[str, Any]


def recognises(sample: Sample) -> bool:
    """Whether the first record is a message of a framework, or a list of them, or has such a list."""
    first = sample.records[0] if sample.records else None
    key = holder(first)
    several = first if isinstance(first, list) else [first] if key is None or first is None else first[key]
    return bool(several) and all(map(_is_message, several))


def _is_message(value: Any) -> bool:
    """Whether a value is a message of one of the frameworks."""
    return isinstance(value, dict) and (_is_langchain(value) or _is_pydantic(value) or _is_llama(value))


def _is_langchain(value: Record) -> bool:
    """Whether a value is a message of LangChain, in any of its three forms."""
    if value.get("lc") and isinstance(value.get("kwargs"), dict):
        return "content" in value["kwargs"]
    inside = value.get("data") if isinstance(value.get("data"), dict) else value
    return (
        value.get("type") in LANGCHAIN
        and "role" not in value
        and isinstance(inside, dict)
        and "content" in inside
    )


def _is_pydantic(value: Record) -> bool:
    """Whether a value is a request or a response of Pydantic AI."""
    parts = value.get("parts")
    return (
        value.get("kind") in KINDS
        and isinstance(parts, list)
        and all(isinstance(part, dict) and "part_kind" in part for part in parts)
    )


def _is_llama(value: Record) -> bool:
    """Whether a value is a message of LlamaIndex."""
    blocks = value.get("blocks")
    return (
        "role" in value
        and isinstance(blocks, list)
        and all(isinstance(block, dict) and "block_type" in block for block in blocks)
    )


def _is_one_dialogue(values: Sequence[Any]) -> bool:
    """Whether records are the messages of one dialogue."""
    return bool(values) and all(map(_is_message, values))


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a record, or one of all messages of the file."""
    yield from dialogues(path, options or Options(), _native, whole=_is_one_dialogue, agent=_agent)


def _agent(messages: Sequence[Any]) -> str | None:
    """The one model that the responses of Pydantic AI name; None if there is none, or several."""
    names = {name for message in messages if (name := text_at(message, "model_name"))}
    return names.pop() if len(names) == 1 else None


def _native(messages: Sequence[Any]) -> list[Record]:
    """Messages in native form."""
    return [made for message in messages for made in _each(record(message))]


def _each(message: Record) -> Iterator[Record]:
    """One message of a framework as native messages."""
    if _is_langchain(message):
        yield from from_message(message, role=None)
    elif _is_pydantic(message):
        yield from _exchange(message)
    elif _is_llama(message):
        yield _blocks(message)
    else:
        raise wrong(message, "a message of LangChain, Pydantic AI or LlamaIndex")


def _exchange(message: Record) -> Iterator[Record]:
    """The parts of a request, a message each, or those of a response as one message; what else it says stays there."""
    about = present(other_entries(message, frozenset({"parts", "kind"})))
    if message["kind"] == "request":
        made = [_asked(part) for part in message["parts"]]
        if made:
            made[-1] = {**about, **made[-1]}
        yield from made
        return
    texts, calls, beside = [], [], dict(about)
    for part in message["parts"]:
        kind = part["part_kind"]
        if kind == "text":
            texts.append(required(part, "content", text))
        elif kind == "tool-call":
            call = tool_call(
                required(part, "tool_name", text), part.get("args") or {}, text_at(part, "tool_call_id")
            )
            calls.append({**present(others(part, CALL)), **call})
        else:
            beside.setdefault(kind, []).append(present(others(part, frozenset({"part_kind"}))))
    called = {"tool_calls": calls} if calls else {}
    yield {
        **beside,
        "role": "assistant",
        "content": "\n".join(texts) if texts or not calls else None,
        **called,
    }


def _asked(part: Record) -> Record:
    """A part of a request as a message: a prompt, the result of a tool, or a retry that is asked for."""
    kind = part["part_kind"]
    content = part.get("content")
    if kind in PROMPTS:
        parts = content if isinstance(content, list) else None
        listed = [
            {"type": "text", "text": one} if isinstance(one, str) else _typed(one) for one in parts or ()
        ]
        said = listed if parts is not None else required(part, "content", text)
        return {"role": PROMPTS[kind], "content": said, **present(other_entries(part, PART))}
    failed = {"error": True} if kind == "retry-prompt" or part.get("outcome") == "failed" else {}
    named = {"name": part["tool_name"]} if text_at(part, "tool_name") else {}
    role = "tool" if named else "user"
    return {
        "role": role, "content": as_json(content), **present({"tool_call_id": part.get("tool_call_id")}), **named,
        **failed, **present(other_entries(part, RESULT)),
    }  # fmt: skip


def _typed(part: Any) -> Record:
    """A part of a prompt that is no text."""
    values = record(part)
    if values.get("kind") == "image-url":
        return {"type": "image_url", "image_url": {"url": values.get("url")}}
    return {**values, "type": str(values.get("kind") or "file")}


def _blocks(message: Record) -> Record:
    """A message of LlamaIndex in native form."""
    parts, calls = [], []
    for block in message["blocks"]:
        kind = block["block_type"]
        rest = present(others(block, frozenset({"block_type"})))
        if kind == "tool_call":
            arguments = rest.get("tool_kwargs") or {}
            calls.append(tool_call(str(rest.get("tool_name")), arguments, text_at(rest, "tool_call_id")))
        elif kind == "text":
            parts.append({"type": "text", "text": required(block, "text", text)})
        else:
            parts.append({**rest, "type": str(kind)})
    extra = message.get("additional_kwargs")
    beside = {"additional_kwargs": extra} if extra else {}
    answered = (
        {"tool_call_id": extra["tool_call_id"]} if isinstance(extra, dict) and "tool_call_id" in extra else {}
    )
    plain = all(part["type"] == "text" for part in parts)
    content: Any = "\n".join(part["text"] for part in parts) if plain else parts
    called = {"tool_calls": calls} if calls else {}
    kept = other_entries(message, frozenset({"role", "blocks", "additional_kwargs", "content"}))
    role = {"chatbot": "assistant", "model": "assistant", "developer": "system"}.get(
        message["role"], message["role"]
    )
    return {
        "role": role,
        "content": None if calls and not parts else content,
        **kept,
        **beside,
        **answered,
        **called,
    }
