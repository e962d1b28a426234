"""ParlAI: logs of conversations (`NAME.jsonl`, beside `NAME.metadata`) and tasks in its text format.

A log line has `dialog`, a list of exchanges of `{"id": speaker, "text": ...}`. It does not say who the
agent is: a speaker whose name says that it is a person is the user; else the one who speaks first is. A
task line is `text:...<tab>labels:...<tab>episode_done:True`: the text is the user's, the first label the
reply, the others references.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from turnwise.logs.checks import RuleError, each, name, optional, others, record, required, text, wrong
from turnwise.logs.conversation import beside
from turnwise.logs.files import PIPE
from turnwise.logs.readers.source import Options, begun, json_lines, refuse, whole
from turnwise.types import Dialogue, Role, Turn

PEOPLE = ("human", "user", "person", "worker", "customer")  # in a speaker's name, in lower case
RECORD = frozenset({"id", "dialog", "context"})
ACT = frozenset({"text"})
FIELDS = frozenset({"text", "labels", "eval_labels", "episode_done"})


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    options = options or Options()
    first, numbered = begun(path)
    if not first.startswith(b"{"):
        return _episodes(numbered, path)
    about = _metadata(path, options)

    def dialogue(value: Any, default_id: str) -> Dialogue:
        return _dialogue(value, default_id, about=about, options=options)

    return json_lines(numbered, path, dialogue)


def _metadata(path: str, options: Options) -> dict[str, Any]:
    """What the log's companion says of the whole log, but for the options of the program that wrote it."""
    companion = f"{path.removesuffix('.gz').removesuffix('.jsonl')}.metadata"
    if path == PIPE or not os.path.isfile(companion):
        return {}
    try:
        about = dict(record(whole(companion)))
    except RuleError as error:
        refuse(error, companion)
    if about.pop("opt", None):
        options.dropped["settings of the whole log (`opt`)"] += 1
    return about


def _dialogue(value: Any, default_id: str, *, about: dict[str, Any], options: Options) -> Dialogue:
    values = record(value)
    acts = [act for exchange in required(values, "dialog", each(_exchange)) for act in exchange]
    context = optional(values, "context", _acts, default=())
    heard, given = _with_text(acts), _with_text(context)
    if silent := len(acts) + len(context) - len(heard) - len(given):
        options.dropped["messages without text"] += silent
    if not heard:
        raise wrong(value["dialog"], "one message or more").inside("dialog")
    speakers = list(dict.fromkeys(map(_speaker, heard)))
    people = [speaker for speaker in speakers if any(word in speaker.lower() for word in PEOPLE)]
    users = people if 0 < len(people) < len(speakers) else speakers[:1]
    agents = [speaker for speaker in speakers if speaker not in users]
    return Dialogue(
        id=optional(values, "id", name, default=default_id),
        agent=agents[0] if len(agents) == 1 else "unknown",
        turns=(*(_turn(act, "system") for act in given), *(_turn(act, _role(act, users)) for act in heard)),
        meta=others(values, RECORD) | ({"log": about} if about else {}),
    )


def _exchange(value: Any) -> tuple[dict[str, Any], ...]:
    """The acts of one exchange; some logs have no exchanges but a flat list of acts."""
    return (_act(value),) if isinstance(value, dict) else _acts(value)


def _act(value: Any) -> dict[str, Any]:
    values = record(value)
    optional(values, "text", text, default=None)
    _speaker(values)
    return values


_acts = each(_act)


def _speaker(values: dict[str, Any]) -> str:
    return required(values, "speaker" if "speaker" in values else "id", name)


def _with_text(acts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [act for act in acts if act.get("text") is not None]


def _role(act: dict[str, Any], users: list[str]) -> Role:
    return "user" if _speaker(act) in users else "assistant"


def _turn(act: dict[str, Any], role: Role) -> Turn:
    return Turn(role, act["text"], extra=beside(act, ACT))


def _episodes(numbered: Iterable[tuple[int, bytes]], path: str) -> Iterator[Dialogue]:
    turns: list[Turn] = []
    count = 0
    for number, line in numbered:
        try:
            fields = _fields(line)
            turns += _exchanged(fields)
        except RuleError as error:
            refuse(error, path, number)
        if fields.get("episode_done", "").strip().lower() == "true":
            yield Dialogue(str(count := count + 1), "unknown", tuple(turns))
            turns = []
    if turns:
        yield Dialogue(str(count + 1), "unknown", tuple(turns))


def _fields(line: bytes) -> dict[str, str]:
    try:
        written = line.decode().strip("\r\n")
    except UnicodeDecodeError as error:
        raise RuleError(f"is not UTF-8: {error.reason}") from None
    fields = {}
    for part in written.split("\t"):
        key, colon, value = part.partition(":")
        if not colon:
            raise wrong(part, "name:value between tabs, as in text:...<tab>labels:...")
        fields[key] = value.replace("\\n", "\n")
    return fields


def _exchanged(fields: dict[str, str]) -> list[Turn]:
    labels = fields.get("labels", fields.get("eval_labels", ""))
    reply, *references = labels.split("|")
    turns = [Turn("user", fields["text"])] if fields.get("text") else []
    if reply:
        turns.append(Turn("assistant", reply, references=tuple(references)))
    if not turns:
        raise wrong(fields, "a text or labels")
    return [*turns[:-1], replace(turns[-1], extra=beside(fields, FIELDS))]
