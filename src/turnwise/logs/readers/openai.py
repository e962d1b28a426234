"""OpenAI chat files: fine-tuning JSON Lines, or a JSON list, of `{"messages": [...]}`.

The native format is a superset of this one, so only other spellings are rewritten: content in parts, the
roles `developer` and `function`, a refusal in place of content; what a rewritten key was is kept beside it.
Tool calls stay as they are, and so does every key that is not known here.
"""

from collections.abc import Iterator
from typing import Any

from turnwise.logs.checks import each, optional, record, required, text
from turnwise.logs.dialogue import from_record
from turnwise.logs.readers.source import Options, dialogues
from turnwise.types import Dialogue

ROLES = {"developer": "system", "function": "tool"}


def read(path: str, _: Options | None = None) -> Iterator[Dialogue]:
    return dialogues(path, dialogue)


def dialogue(value: Any, default_id: str) -> Dialogue:
    values = dict(record(value))
    values["messages"] = list(required(values, "messages", each(message)))
    if type(values.get("id")) is int:
        values["id"] = str(values["id"])
    if values.get("agent") is None and isinstance(values.get("model"), str):
        values["agent"] = values["model"]
    return from_record(values, default_id=default_id)


def message(value: Any) -> dict[str, Any]:
    """A message in native spelling."""
    values = dict(record(value))
    role = values.get("role")
    if isinstance(role, str) and role in ROLES:
        values |= {"role": ROLES[role], "source_role": role}
    if isinstance(values.get("content"), list):
        parts = required(values, "content", each(_part))
        only_text = (
            len(parts) == 1 and parts[0].keys() == {"type", "text"} and isinstance(parts[0]["text"], str)
        )
        values["content"] = parts[0]["text"] if only_text else list(parts)
    elif values.get("content") is None and values.get("refusal") is not None:
        values["content"] = optional(values, "refusal", text, default=None)
    return values


def _part(value: Any) -> dict[str, Any]:
    """A content part in native spelling: plain strings and refusals are text."""
    if isinstance(value, str):
        return {"type": "text", "text": value}
    values = record(value)
    if required(values, "type", text) == "refusal":
        return {"type": "text", "text": required(values, "refusal", text), "source_type": "refusal"}
    return values
