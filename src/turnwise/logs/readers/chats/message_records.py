"""Any JSON Lines or JSON list whose records hold a dialogue under `conversation`, `messages`, `dialogue` or the like.

WildChat (`conversation`, `model`, `conversation_hash`), LMSYS-Chat-1M (`conversation`, `conversation_id`), and logs
that a team writes for itself in OpenAI's messages. Everything beside the dialogue goes to `meta`.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from turnwise.logs.checks import others, record, wrong
from turnwise.logs.dialogue import from_record
from turnwise.logs.labels import KEYS
from turnwise.logs.readers.messages import text_at
from turnwise.logs.readers.openai import messages
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, records
from turnwise.types import Dialogue, Role

HOLDERS = ("conversation", "messages", "dialogue", "dialog", "chat", "history")
IDS = ("id", "conversation_id", "conversation_hash", "session_id", "thread_id")
AGENTS = ("agent", "model", "model_name", "bot")


def recognises(sample: Sample) -> bool:
    """Whether the first record has a list of messages under one of the usual keys."""
    return _holder(sample.first) is not None


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a record."""
    options = options or Options()
    skip = options.records_to_skip()
    for value, place, located in islice(records(path), skip, None):
        with located():
            yield dialogue(value, place, options.roles)


def dialogue(value: Any, place: str, roles: Mapping[str, Role] | None = None) -> Dialogue:
    """A record with a list of messages as a dialogue; `place` is the id of a record without one.

    `roles` is what --roles gives to role names.

    A record without such a list raises `RuleError`.
    """
    values = record(value)
    holder = _holder(values)
    if holder is None:
        raise wrong(sorted(values), f"a list of messages under one of {', '.join(HOLDERS)}")
    identity = next(
        (key for key in IDS if isinstance(values.get(key), str | int) and values[key] != ""), None
    )
    agent = next((key for key in AGENTS if text_at(values, key)), None)
    labels = {key: value for key, value in values.items() if key in KEYS}
    native = {
        **labels,
        "id": str(values[identity]) if identity else place,
        "agent": values[agent] if agent else None,
        "messages": messages(values, holder, roles or {}),
        "meta": others(values, frozenset({*labels, *(one for one in (holder, identity, agent) if one)})),
    }
    return from_record(native, default_id=place)


def _holder(values: Any) -> str | None:
    """The first usual key under which a record has a non-empty list of messages with `role`; None if there is none."""
    for key in HOLDERS:
        found = values.get(key) if isinstance(values, dict) else None
        if (
            isinstance(found, list)
            and found
            and all(isinstance(one, dict) and "role" in one for one in found)
        ):
            return key
    return None
