"""ChatGPT's data export: `conversations.json`, a list of dialogues, each a tree of messages (`mapping`).

Edits and regenerated replies are branches of the tree. What is read is the branch that was shown last: from
`current_node`, or from the newest leaf, up to the root. Messages of other branches are counted.

A message of the assistant to a tool (`recipient` is `python`, `bio` ... and not `all`) is a tool call whose arguments
are its text. What a tool returns is a tool message, as JSON text where it has no text. Parts that are pictures stay
content parts. What people were not shown (hidden messages, thoughts, profiles, messages without content) is no turn,
and is kept as it is in `meta.hidden_messages`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from turnwise.logs.checks import RuleError, mapping, number, optional, others, record, required, text, wrong
from turnwise.logs.dialogue import from_record, other_entries
from turnwise.logs.readers.messages import as_json, inner, present, text_at, tool_call
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, records
from turnwise.types import ROLES, Dialogue

# Keys that are kept elsewhere in a dialogue.
NODE = frozenset({"id", "message", "parent", "children"})
MESSAGE = frozenset({"author", "content"})
AUTHOR = frozenset({"role", "name"})
CONTENT = frozenset({"content_type", "parts", "text"})
PLAIN = ("text", "multimodal_text")  # types of a content that say no more than its parts
PART = frozenset({"content_type", "asset_pointer"})
RECORD = frozenset({"mapping", "current_node", "id", "conversation_id"})
EVERYONE = "all"  # the recipient of a message that people see
UNSHOWN = (
    "messages that people were not shown (profiles, thoughts, empty ones) are kept in meta.hidden_messages"
)


def recognises(sample: Sample) -> bool:
    """Whether the first record has a `mapping` whose values all have `children`."""
    nodes = sample.first.get("mapping")
    return isinstance(nodes, dict) and all(
        isinstance(one, dict) and "children" in one for one in nodes.values()
    )


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a conversation that has messages; others are counted as dropped."""
    options = options or Options()
    for value, place, located in records(path):
        with located():
            found = _dialogue(record(value), place, options)
        if found is not None:
            yield found


def _dialogue(values: dict[str, Any], place: str, options: Options) -> Dialogue | None:
    """The branch that was shown last as a dialogue; None if it has no messages.

    Messages of other branches are counted as dropped.
    """
    nodes = required(values, "mapping", mapping(record))
    branch = _branch(nodes, values.get("current_node"))
    messages: list[dict[str, Any]] = []
    hidden: list[dict[str, Any]] = []
    for node in branch:
        native, about = _message(node.get("message")), other_entries(node, NODE)
        if native is not None:
            messages.append({**present({"id": node.get("id")}), **about, **native})
        elif node.get("message") is not None or about:
            hidden.append({**about, "message": node.get("message")})
    shown = {id(node) for node in branch}
    for node in nodes.values():
        if id(node) not in shown and (node.get("message") is not None or others(node, NODE)):
            options.dropped["messages of branches that were not shown last"] += 1
    if hidden and UNSHOWN not in options.notes:
        options.notes.append(UNSHOWN)
    if not messages:
        options.dropped["dialogues without a message"] += 1
        return None
    models = {one["model"] for one in messages if "model" in one}
    native = {
        "id": text_at(values, "conversation_id") or text_at(values, "id") or place,
        "agent": models.pop() if len(models) == 1 else None,
        "messages": messages,
        "meta": present(others(values, RECORD)) | ({"hidden_messages": hidden} if hidden else {}),
    }
    return from_record(native, default_id=place)


def _branch(nodes: Mapping[str, dict[str, Any]], current: Any) -> list[dict[str, Any]]:
    """The nodes from the root to `current`, or to the newest leaf if `current` is no node; no leaf, a circle,
    or a parent that is no node raises `RuleError`.
    """
    if not isinstance(current, str) or current not in nodes:
        leaves = [key for key, node in nodes.items() if not node.get("children")]
        if not leaves:
            raise wrong(list(nodes), "a tree of messages with a leaf").inside("mapping")
        current = max(
            leaves,
            key=lambda key: (
                optional(inner(nodes[key], "message") or {}, "create_time", number, default=0.0),
                leaves.index(key),
            ),
        )
    path: list[dict[str, Any]] = []
    seen: set[str] = set()
    step: str | None = current
    while step is not None:
        if step in seen:
            raise RuleError("goes round in a circle; expected a tree").inside(step).inside("mapping")
        seen.add(step)
        path.append(nodes[step])
        parent = optional(nodes[step], "parent", text, default=None)
        if parent is not None and parent not in nodes:
            raise wrong(parent, "the name of a node").inside("parent").inside(step).inside("mapping")
        step = parent
    return path[::-1]


def _message(message: Any) -> dict[str, Any] | None:
    """A node's message as a native one; None if it is hidden, empty, or of an unknown role."""
    if not isinstance(message, dict):
        return None
    role = text_at(message, "author", "role")
    held = optional(message, "content", record, default={})
    content = _content(held, role)
    if (
        role not in ROLES
        or content in ("", [], None)
        or inner(message, "metadata", "is_visually_hidden_from_conversation")
    ):
        return None
    model = text_at(message, "metadata", "model_slug") if role == "assistant" else None
    recipient = text_at(message, "recipient")
    native = {
        **other_entries(message, MESSAGE),
        "role": role,
        "content": content,
        "name": text_at(message, "author", "name"),
        "model": model,
        "author": present(others(message["author"], AUTHOR)) or None,
        "source_content": _source(held, content),
    }
    if role == "assistant" and recipient not in (None, EVERYONE):
        native = present(native)
        return {**native, "content": None, "tool_calls": [tool_call(recipient, content)]}
    return present(native)


def _source(content: Mapping[str, Any], native: Any) -> dict[str, Any] | None:
    """What a message's content says beside its text and parts, with the type of a content that is no plain text; None
    if there is nothing. `native` is what was made of it.
    """
    about = present(others(content, CONTENT))
    if native == as_json(about):  # the result of a tool, as JSON text
        about = {}
    kind = content.get("content_type")
    return ({} if kind in PLAIN else present({"content_type": kind})) | about or None


def _content(content: Mapping[str, Any], role: str | None) -> Any:
    """The text of a message, a list of content parts if some are no text, or None if there is neither.

    What a tool returns in another form is JSON text.
    """
    parts = content.get("parts")
    if isinstance(parts, list):
        if all(isinstance(part, str) for part in parts):
            return "\n".join(parts)
        return [_part(part) for part in parts if part not in ("", None)]
    found = content.get("text")
    if isinstance(found, str):
        return found
    held = present(others(content, CONTENT))
    return as_json(held) if role == "tool" and held else None


def _part(part: Any) -> dict[str, Any]:
    """A part as a content part: text and transcripts as text, pictures and sound with OpenAI's types, anything
    else with its own.
    """
    if isinstance(part, str):
        return {"type": "text", "text": part}
    values = record(part)
    kind = str(values.get("content_type", "unknown"))
    if kind == "audio_transcription" and isinstance(values.get("text"), str):
        return {**others(values, PART), "type": "text", "text": values["text"], "source_type": kind}
    named = "image_url" if "image" in kind else "input_audio" if "audio" in kind else kind
    return {**others(values, PART), "type": named, "source_type": kind, "asset": values.get("asset_pointer")}
