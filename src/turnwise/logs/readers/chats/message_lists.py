"""Files in which a dialogue is a list of messages: under a key of each record, each element of a list, or the file.

What a message is differs between formats; where the lists are does not.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from turnwise.logs.checks import others, record
from turnwise.logs.dialogue import from_record
from turnwise.logs.labels import KEYS
from turnwise.logs.readers.messages import text_at
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, records
from turnwise.logs.readers.usual_columns import is_conversation
from turnwise.types import Dialogue

HOLDERS = ("messages", "conversation", "dialogue", "dialog", "chat", "history", "chat_history", "items")
IDS = ("id", "conversation_id", "conversation_hash", "session_id", "thread_id", "chat_id", "chatId")
AGENTS = ("agent", "model", "model_name", "bot")
Messages = Sequence[Any]


def holder(values: Any) -> str | None:
    """The first usual key under which a record has a list of objects; None if there is none."""
    for key in HOLDERS:
        found = values.get(key) if isinstance(values, dict) else None
        if isinstance(found, list) and found and all(isinstance(one, dict) for one in found):
            return key
    return None


def messages_of(sample: Sample) -> Messages:
    """The messages of the first dialogue of a file, as they are; none for a file without a list of messages."""
    first = sample.records[0] if sample.records else None
    if isinstance(first, list):
        return first
    if is_one_dialogue(sample.records):
        return sample.records
    key = holder(first)
    found: Messages = () if key is None or first is None else first[key]
    return found


def is_one_dialogue(values: Sequence[Any]) -> bool:
    """Whether records are messages themselves, those of one dialogue: each has a role, and none says of which dialogue
    it is one.
    """
    if not values or not all(isinstance(one, dict) and isinstance(one.get("role"), str) for one in values):
        return False
    if any(is_conversation(key) for one in values for key in one):
        return False
    ids = [one["id"] for one in values if one.get("id") is not None]
    said = any(key in one for one in values for key in ("content", "parts"))
    return said and len(ids) == len({*map(str, ids)}) and not any(holder(one) for one in values)


def unnamed(messages: Messages) -> str | None:
    """No agent: most formats name none in their messages."""
    return None


def dialogues(
    path: str,
    options: Options,
    native: Callable[[Messages], list[dict[str, Any]]],
    *,
    whole: Callable[[Sequence[Any]], bool] = is_one_dialogue,
    agent: Callable[[Messages], str | None] = unnamed,
) -> Iterator[Dialogue]:
    """The dialogues of a file, whose messages `native` brings into native form.

    `whole` says of the first records whether they are messages of one dialogue, and `agent` whom messages name.
    """
    several = records(path)
    ahead = list(islice(several, 3))
    if whole([value for value, _, _ in ahead]):
        _, _, located = ahead[0]
        with located():
            messages = [record(value) for value, _, _ in chain(ahead, several)]
            yield from_record({"agent": agent(messages), "messages": native(messages)}, default_id="1")
        return
    for value, place, located in chain(ahead, several):
        with located():
            listed = isinstance(value, list)
            values = {"messages": value} if listed else record(value)
            key = holder(values) or "messages"
            held = values.get(key) or ()
            made = of_record(values, key, native(held), place)
            yield from_record({**made, "agent": made["agent"] or agent(held)}, default_id=place)


def of_record(
    values: Mapping[str, Any], key: str, messages: list[dict[str, Any]], place: str
) -> dict[str, Any]:
    """The native record of one that holds messages under `key`: its id and agent, and everything else in `meta`."""
    labels = {name: value for name, value in values.items() if name in KEYS}
    identity = next(
        (name for name in IDS if isinstance(values.get(name), str | int) and values[name] != ""), None
    )
    agent = next((name for name in AGENTS if text_at(values, name)), None)
    known = frozenset({*labels, *(name for name in (key, identity, agent, "tools") if name)})
    tools = {"tools": values["tools"]} if isinstance(values.get("tools"), list) else {}
    return {
        **labels,
        **tools,
        "id": str(values[identity]) if identity else place,
        "agent": values[agent] if agent else None,
        "messages": messages,
        "meta": others(values, known if tools else known - {"tools"}),
    }
