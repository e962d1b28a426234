"""Rasa trackers: an object with `sender_id` and `events`, a list of such objects, or JSON Lines of them.

Events `user` and `bot` are messages; every restart or new session (`session_started`, `restart`) begins a dialogue.
Where a tracker has actions `utter_...` but no event `bot`, the texts of the replies are not in the file, and the
actions are counted. Slots that were set stand in `meta.slots`, the intent beside the user's message. Other events are
in `meta.events`, and the state of the tracker is in `meta.tracker` of its last dialogue.
"""

from collections.abc import Iterator
from typing import Any

from turnwise.logs.checks import each, name, optional, others, record, required
from turnwise.logs.dialogue import from_record, other_entries
from turnwise.logs.readers.messages import present, text_at
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, records
from turnwise.types import Dialogue

BREAKS = ("session_started", "restart")
ATTACHED = ("image", "attachment")  # in a bot event's data


SPOKEN = ("user", "bot")  # kinds of events that are messages
EVENT = frozenset({"event", "text"})
TRACKER = frozenset({"sender_id", "events", "latest_input_channel"})


def recognises(sample: Sample) -> bool:
    """Whether the first record has `sender_id` and a list of `events`."""
    events = sample.first.get("events")
    return "sender_id" in sample.first and isinstance(events, list)


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a session, of each tracker, that has messages."""
    options = options or Options()
    for value, place, located in records(path):
        with located():
            yield from _dialogues(record(value), place, options)


def _dialogues(values: dict[str, Any], place: str, options: Options) -> Iterator[Dialogue]:
    """The dialogues of one tracker, one a session that has messages; later ones have the ids `SENDER-2`,
    `SENDER-3` and so on.
    """
    sender = text_at(values, "sender_id") or place
    events = required(values, "events", each(record))
    sessions: list[list[dict[str, Any]]] = [[]]
    for event in events:
        if event.get("event") in BREAKS:
            sessions.append([])
        sessions[-1].append(event)
    number = 0
    for session in sessions:
        messages = [one for event in session if (one := _message(event, options)) is not None]
        spoken = any(one["role"] == "assistant" for one in messages)
        actions = sum(
            str(event.get("name", "")).startswith("utter_")
            for event in session
            if event.get("event") == "action"
        )
        if actions and not spoken:
            options.dropped["replies whose text is not in the tracker (actions `utter_...`)"] += actions
        if not messages:
            if session:
                options.dropped["events of sessions without messages"] += len(session)
            continue
        number += 1
        slots = {
            event["name"]: event.get("value")
            for event in session
            if event.get("event") == "slot" and text_at(event, "name")
        }
        native = {
            "id": sender if number == 1 else f"{sender}-{number}",
            "messages": messages,
            "meta": present(
                {
                    "slots": slots or None,
                    "channel": values.get("latest_input_channel"),
                    "events": [event for event in session if event.get("event") not in SPOKEN] or None,
                    "tracker": others(values, TRACKER) if session is sessions[-1] else None,
                }
            ),
        }
        yield from_record(native, default_id=place)


def _message(event: dict[str, Any], options: Options) -> dict[str, Any] | None:
    """An event of the user or the bot as a native message; None for other events, and for those without text or
    attachment, which are counted as dropped.
    """
    kind = required(event, "event", name)
    if kind not in SPOKEN:
        return None
    said = optional(event, "text", _text, default=None)
    more = {"intent": text_at(event, "parse_data", "intent", "name"), **other_entries(event, EVENT)}
    if kind == "user":
        if said is None:
            options.dropped["user events without text"] += 1
            return None
        return present({"role": "user", "content": said, **more})
    data = optional(event, "data", record, default={})
    parts = [
        {"type": "image_url" if key == "image" else "file", "source": data[key]}
        for key in ATTACHED
        if data.get(key)
    ]
    if said is None and not parts:
        options.dropped["bot events without text"] += 1
        return None
    content: Any = [*([{"type": "text", "text": said}] if said else []), *parts] if parts else said
    return present({"role": "assistant", "content": content, **more})


def _text(value: Any) -> str:
    """The value as text; numbers and other values by `str`."""
    return value if isinstance(value, str) else str(value)
