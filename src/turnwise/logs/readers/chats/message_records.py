"""Any JSON Lines or JSON list whose records hold a dialogue under `conversation`, `messages`, `dialogue` or the like.

WildChat (`conversation`, `model`, `conversation_hash`), LMSYS-Chat-1M (`conversation`, `conversation_id`), logs that a
team writes for itself in OpenAI's messages, lists of messages, and one list of messages, as Pipecat and most chat
programs keep it. Everything beside the dialogue goes to `meta`.
"""

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any

from turnwise.logs.checks import record, wrong
from turnwise.logs.dialogue import from_record
from turnwise.logs.readers.chats import message_lists
from turnwise.logs.readers.openai import messages
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, records
from turnwise.types import Dialogue, Role


def recognises(sample: Sample) -> bool:
    """Whether the first record has, or is, a list of messages, or the records are messages of one dialogue."""
    found = message_lists.messages_of(sample)
    return bool(found) and all(isinstance(one, dict) and "role" in one for one in found)


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a record, or one of all messages of the file."""
    options = options or Options()
    several = records(path)
    ahead = list(islice(several, 3))
    if message_lists.is_one_dialogue([value for value, _, _ in ahead]):
        _, _, located = ahead[0]
        with located():
            said = [record(value) for value, _, _ in [*ahead, *several]]
            yield dialogue({"messages": said}, "1", options.roles)
        return
    skip = options.records_to_skip()
    for value, place, located in islice(chain(ahead, several), skip, None):
        with located():
            yield dialogue(value, place, options.roles)


def dialogue(value: Any, place: str, roles: Mapping[str, Role] | None = None) -> Dialogue:
    """A record with a list of messages as a dialogue; `place` is the id of a record without one.

    `roles` is what --roles gives to role names.

    A record without such a list raises `RuleError`.
    """
    values = record({"messages": value} if isinstance(value, list) else value)
    key = message_lists.holder(values)
    if key is None or not all("role" in message for message in values[key]):
        raise wrong(sorted(values), f"a list of messages under one of {', '.join(message_lists.HOLDERS)}")
    return from_record(
        message_lists.of_record(values, key, messages(values, key, roles or {}), place), default_id=place
    )
