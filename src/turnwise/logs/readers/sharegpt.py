"""ShareGPT files: JSON Lines, or a JSON list, of `{"conversations": [{"from": ..., "value": ...}]}`.

A `function_call` is an assistant message without content, beside which the call stands as it was written.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from turnwise.logs.checks import each, name, optional, others, record, required, text, wrong
from turnwise.logs.dialogue import other_entries
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, dialogues
from turnwise.logs.readers.speakers import OTHERS
from turnwise.types import Dialogue, Role, Turn

SPEAKERS: dict[str, Role] = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "model": "assistant",
    "function_call": "assistant",
    "system": "system",
    "tool": "tool",
    "observation": "tool",
    "function_response": "tool",
}
RECORD = frozenset({"id", "conversations", "system", "model"})
TURN = frozenset({"from", "value"})


def recognises(sample: Sample) -> bool:
    """Whether the first record has `conversations` of `from` and `value`."""
    said = sample.first.get("conversations")
    return (
        isinstance(said, list)
        and bool(said)
        and isinstance(said[0], dict)
        and {"from", "value"} <= said[0].keys()
    )


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a record."""
    options = options or Options()
    return dialogues(path, partial(dialogue, roles=options.roles), skip=options.records_to_skip())


def dialogue(value: Any, default_id: str, roles: Mapping[str, Role] | None = None) -> Dialogue:
    """One record as a dialogue; no messages raises `RuleError`.

    `roles` is what --roles gives to speakers.
    """
    values = record(value)
    prompt = optional(values, "system", text, default="")
    turns = required(values, "conversations", each(partial(_turn, roles=roles or {})))
    if not turns:
        raise wrong([], "one message or more").inside("conversations")
    identity = values.get("id")
    return Dialogue(
        id=str(identity) if type(identity) is int else optional(values, "id", name, default=default_id),
        agent=optional(values, "model", name, default="unknown"),
        turns=((Turn("system", prompt),) if prompt else ()) + turns,
        meta=others(values, RECORD),
    )


def _turn(value: Any, roles: Mapping[str, Role]) -> Turn:
    """One message; a speaker who is unknown, also to `roles`, raises `RuleError`."""
    values = record(value)
    speaker = required(values, "from", text)
    given = roles.get(speaker) or (None if speaker in SPEAKERS else roles.get(OTHERS))
    role = given or SPEAKERS.get(speaker)
    if role is None:
        raise wrong(speaker, f"one of {', '.join(SPEAKERS)}; or give its role with --roles").inside("from")
    said = required(values, "value", text)
    extra = other_entries(values, TURN) | ({"source_role": speaker} if given else {})
    if speaker == "function_call" and said:
        return Turn(role, None, extra={**extra, "function_call": said})
    return Turn(role, said, extra=extra)
