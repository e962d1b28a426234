"""Slack's export: a zip file or a folder with a folder a channel, in it a file a day, and `users.json`.

A thread (messages with the same `thread_ts`) is a dialogue; messages outside threads are a dialogue for each channel
and day, which a note says. Speakers are called by their names. Who is the agent is not in an export: `--roles
'NAME=assistant,*=user'` says it. Files that a message shares are content parts; its other keys are kept beside it.
Notices of the system (joins, topics, ...) and messages without text are counted, and so are the entries of the other
files (profiles of users, lists of channels and of what integrations did).
"""

import os
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from turnwise.errors import DataError, Problem
from turnwise.logs.checks import RuleError, each, optional, record, text
from turnwise.logs.dialogue import from_record, other_entries
from turnwise.logs.files import Packed
from turnwise.logs.readers import speakers
from turnwise.logs.readers.messages import present, text_at
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, decoded, raise_data_error
from turnwise.types import Dialogue

DAY = re.compile(r"(?:.*/)?([^/]+)/(\d{4}-\d\d-\d\d)\.json")
SPOKEN = (
    None,
    "bot_message",
    "file_share",
    "thread_broadcast",
    "me_message",
    "file_comment",
)  # subtypes that people or bots say
MENTION = re.compile(r"<@([UWB][A-Z0-9]+)(?:\|([^>]*))?>")
MESSAGE = frozenset(
    {"type", "text", "ts", "thread_ts", "name", "files"}
)  # kept elsewhere in a dialogue, or no content
USERS = "users.json"
DAILY = "messages outside threads: those of one channel and day are one dialogue"
Message = dict[str, Any]


def recognises(sample: Sample) -> bool:
    """Whether a folder or zip file has `users.json` and a file of a day in a folder of a channel."""
    names = sample.names
    return any(name.endswith(USERS) for name in names) and any(DAY.fullmatch(name) for name in names)


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a thread, and one a channel and day for messages outside threads. Needs `options.roles`."""
    options = options or Options()
    threads = _threads(path, options)
    if not threads:
        raise DataError(Problem(path, None, "", "has no message; expected CHANNEL/YYYY-MM-DD.json"))
    counts = Counter(one["speaker"] for messages in threads.values() for one in messages)
    roles = speakers.roles(counts, options, file=path)
    if any(not one["threaded"] for messages in threads.values() for one in messages):
        options.notes.append(DAILY)
    for identity, messages in threads.items():
        spoken = [one["speaker"] for one in messages if roles[one["speaker"]] == "assistant"]
        agents = list(dict.fromkeys(spoken))
        native = {
            "id": identity,
            "agent": agents[0] if len(agents) == 1 else None,
            "messages": [
                {
                    "role": roles[one["speaker"]],
                    "content": one["content"],
                    "name": one["speaker"],
                    "ts": one["ts"],
                    **one["more"],
                }
                for one in sorted(messages, key=lambda one: float(one["ts"]))
            ],
            "meta": {"channel": messages[0]["channel"]},
        }
        yield from_record(native, default_id=identity)


def _threads(path: str, options: Options) -> dict[str, list[Message]]:
    """Thread, or channel and day -> its messages in the order of the files; a broken file raises `DataError`."""
    threads: dict[str, list[Message]] = {}
    with closing(_Files(path)) as files:
        users = _users(files, options)
        for name in files.names:
            match = DAY.fullmatch(name)
            if match is None:
                _count_entries(files, name, options)
                continue
            try:
                for value in each(record)(files.json(name)):
                    _add(threads, value, match[1], match[2], users, options)
            except RuleError as error:
                raise_data_error(error, f"{path}: {name}")
    return threads


def _count_entries(files: "_Files", name: str, options: Options) -> None:
    """Count as dropped the entries of a file that is no day of a channel and not `users.json`."""
    if name.endswith("/") or name.rsplit("/", 1)[-1] == USERS:
        return
    try:
        found = files.json(name) if name.endswith(".json") else None
    except RuleError as error:
        raise_data_error(error, f"{files.path}: {name}")
    entries = len(found) if isinstance(found, list | dict) else 1
    if entries:
        options.dropped[f"entries of `{name.rsplit('/', 1)[-1]}`"] += entries


class _Files:
    """The files of an export, a zip file or a folder; `names` are sorted paths with `/`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.packed = Packed(path) if zipfile.is_zipfile(path) else None
        if self.packed is not None:
            self.names = sorted(self.packed.names)
        else:
            found = (os.path.join(place, name) for place, _, names in os.walk(path) for name in names)
            self.names = sorted(os.path.relpath(name, path).replace(os.sep, "/") for name in found)

    def close(self) -> None:
        """Close the zip file; nothing happens for a folder."""
        if self.packed is not None:
            self.packed.close()

    def json(self, name: str) -> Any:
        """The decoded content of one file; a text that is not JSON raises `RuleError`."""
        if self.packed is not None:
            return decoded(self.packed.read(name))
        with open(os.path.join(self.path, name), "rb") as file:
            return decoded(file.read())


def _users(files: _Files, options: Options) -> dict[str, str]:
    """User id -> name, the id itself for a user without one; empty if there is no users.json.

    What else it says of users is counted as dropped.
    """
    for name in files.names:
        if name.rsplit("/", 1)[-1] == USERS:
            try:
                found = each(record)(files.json(name))
            except RuleError as error:
                raise_data_error(error, f"{files.path}: {name}")
            if profiles := sum(bool(one.keys() - {"id", "name"}) for one in found):
                options.dropped["profiles of users (`users.json`)"] += profiles
            return {str(one.get("id")): text_at(one, "name") or str(one.get("id")) for one in found}
    return {}


def _add(
    threads: dict[str, list[Message]],
    values: Message,
    channel: str,
    day: str,
    users: dict[str, str],
    options: Options,
) -> None:
    """Append a message of a channel's day to its thread in `threads`; notices and messages without text are
    counted as dropped, and a message without a time raises `RuleError`.
    """
    kind = values.get("subtype")
    if values.get("type") != "message" or kind not in SPOKEN:
        options.dropped[f"notices of Slack ({kind or values.get('type')})"] += 1
        return
    said = optional(values, "text", text, default="") or _attached(values)
    files = [{"type": "file", "file": one} for one in _shared(values)]
    if not said and not files:
        options.dropped["messages without text"] += 1
        return
    spelled = MENTION.sub(lambda match: f"@{match[2] or users.get(match[1], match[1])}", said)
    parts = [*([{"type": "text", "text": spelled}] if spelled else []), *files]
    user = values.get("user")
    speaker = users.get(str(user)) if user else text_at(values, "username") or text_at(values, "bot_id")
    stamp = text_at(values, "ts")
    if stamp is None or not stamp.replace(".", "", 1).isdecimal():
        raise RuleError("is missing; expected the time of the message").inside("ts")
    thread = text_at(values, "thread_ts")
    identity = f"{channel}/{thread}" if thread else f"{channel}/{day}"
    message = {
        "speaker": speaker or str(user or "unknown"),
        "content": parts if files else spelled,
        "more": other_entries(values, MESSAGE),
        "ts": stamp,
        "channel": channel,
        "threaded": thread is not None,
    }
    threads.setdefault(identity, []).append(message)


def _shared(values: Message) -> list[Message]:
    """The descriptions of files that a message shares; empty if there are none."""
    listed = values.get("files")
    found = listed if isinstance(listed, list) else [values.get("file")] if values.get("upload") else []
    return [one for one in found if isinstance(one, dict)]


def _attached(values: Message) -> str:
    """The texts of attachments, which apps fill in place of the message's text, one a line; empty if there are none."""
    texts = [
        text_at(one, "text") or text_at(one, "fallback")
        for one in values.get("attachments") or ()
        if isinstance(one, dict)
    ]
    return "\n".join(present({str(number): one for number, one in enumerate(texts)}).values())
