"""ParlAI's files: chat logs, model chats with ratings, self-chats, task-oriented logs, and tasks in its text format.

A log has one dialogue a line (or one dialogue in a file, pretty-printed) with `dialog`: a list of exchanges, or a flat
list, of acts `{"id": speaker, "text": ...}`. Roles follow from the speakers' names:

* `context` holds personas and topics: a system message;
* a whole name that means a person (human, user, person, worker, customer, turker, with or without a number, and
  ParlAI's own `localHuman` and `human_evaluator`) is the user;
* the one remaining speaker is the agent, and its name is the agent's name, unless the name is that of a persona;
* `NAME_1` and `NAME_2` without a person are a self-chat: the first takes the user's place.

Any other set of speakers is an error that asks for `--roles`. In a task-oriented log the texts begin with `USER:`,
`SYSTEM:`, `APICALL:`, `APIRESP:`, `APIS:` and `GOAL:`, which decide instead: calls and results become tool calls and
tool messages, the goal becomes the dialogue's goal, and empty calls and results, which only fill their places, are
counted. A dialogue in which only some texts begin so is an error, unless `--roles` says that it is a chat.

A model chat has `final_rating` (a rating of the dialogue) and marks of problems (ratings of turns, 1 if marked). A
task in the text format is `text:...<tab>labels:...<tab>episode_done:True`: the text is the user's, the first label
the reply, the others references.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from turnwise.errors import convert_option
from turnwise.logs.checks import RuleError, each, name, optional, others, record, required, shown, text, wrong
from turnwise.logs.dialogue import JUDGED, from_record, other_entries
from turnwise.logs.files import PIPE
from turnwise.logs.readers import speakers
from turnwise.logs.readers.messages import ALTERNATING, inner, text_at, tool_call
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import (
    Options,
    decoded,
    first_line_and_lines,
    json_lines,
    raise_data_error,
    read_json,
)
from turnwise.types import Dialogue, Direction, Rating, Role, Turn, item_id

# Whole names of people. A part of a name means nothing: `customer_service_bot` and `personachat_blender` are bots.
PERSON = re.compile(
    r"(?:(?:local[ _-]?)?human|human[ _-]evaluator|user|person|worker|customer|turker)(?:[ _-]?\d+)?",
    re.IGNORECASE,
)
PERSONA = re.compile(r"(?:.*[ _-])?personas?", re.IGNORECASE)  # describes a speaker and is none
CONTEXT = "context"  # the speaker of personas and topics
RECORD = frozenset({"id", "dialog", "context"})
ACT = frozenset({"text"})
MARKED = frozenset({"text", "problem_data", "final_rating"})
FIELDS = frozenset({"text", "labels", "eval_labels", "episode_done"})
# A text of a task-oriented log with its prefix.
PREFIX = re.compile(r"(USER|SYSTEM|APICALL|APIRESP|APIS|GOAL): ?(.*)", re.DOTALL)
ALL_GOOD = "none_all_good"  # the mark that a turn has no problem
SIDE = re.compile(r"(.+)_([12])")  # name of a speaker in a self-chat: the model and its side

Act = dict[str, Any]


def recognises(sample: Sample) -> bool:
    """Whether the first record has a `dialog` of acts and no `reward`, or the first line is `text:...` with
    `labels:`.
    """
    dialog = sample.first.get("dialog")
    if isinstance(dialog, list) and dialog and "reward" not in sample.first:
        act = dialog[0][0] if isinstance(dialog[0], list) and dialog[0] else dialog[0]
        if _is_image_chat(sample.first):
            return True
        return isinstance(act, dict) and "text" in act and ("id" in act or "speaker" in act)
    line = sample.text.partition("\n")[0]
    return sample.form in ("text", "table") and line.startswith("text:") and "\tlabels:" in line


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a record of a log, or one an episode of a task in the text format."""
    options = options or Options()
    first, numbered = first_line_and_lines(path)
    if not first.startswith((b"{", b"[")):
        return _episodes(numbered, path)
    about = _metadata(path, options)

    def dialogue(value: Any, default_id: str) -> Dialogue:
        """One record of this log as a dialogue."""
        if _is_image_chat(value):
            return _image_chat(value, default_id, options)
        return _dialogue(value, default_id, about=about, options=options, file=path)

    if not _is_whole_line(first):
        return _single(b"".join(line for _, line in numbered), path, dialogue)
    return json_lines(numbered, path, dialogue)


def _is_image_chat(values: Any) -> bool:
    """Whether a record is one of Image-Chat: an image, and a dialogue of pairs of a personality and a text."""
    dialog = inner(values, "dialog")
    return (
        text_at(values, "image_hash") is not None
        and isinstance(dialog, list)
        and bool(dialog)
        and all(
            isinstance(said, list) and len(said) == 2 and all(isinstance(one, str) for one in said)
            for said in dialog
        )
    )


def _image_chat(values: dict[str, Any], default_id: str, options: Options) -> Dialogue:
    """A record of Image-Chat: people with personalities talk about an image; roles alternate from the end."""
    said = values["dialog"]
    if ALTERNATING not in options.notes:
        options.notes.append(ALTERNATING)
    messages: list[dict[str, Any]] = []
    for place, (personality, text_) in enumerate(said):
        is_reply = (len(said) - place) % 2 == 1
        judged = {} if place == len(said) - 1 or not is_reply else {JUDGED: False}
        role = "assistant" if is_reply else "user"
        messages.append({"role": role, "content": text_, "personality": personality, **judged})
    meta = others(values, frozenset({"dialog"}))
    return from_record({"agent": "human", "messages": messages, "meta": meta}, default_id=default_id)


def _is_whole_line(line: bytes) -> bool:
    """Whether the file is JSON Lines by its first line; a broken line counts, too, unless it ends with an open
    bracket.
    """
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return not line.rstrip().endswith((b"{", b"["))  # a bad line of JSON Lines is named as such
    return True


def _single(content: bytes, path: str, build: Any) -> Iterator[Dialogue]:
    """The dialogues of a file that is one JSON value: a dialogue, or a list of them, numbered from 1."""
    try:
        value = decoded(content)
        for number, one in enumerate(value if isinstance(value, list) else [value], 1):
            yield build(one, str(number))
    except RuleError as error:
        raise_data_error(error, path)


def _metadata(path: str, options: Options) -> dict[str, Any]:
    """What the log's companion file `.metadata` says of the whole log; empty if there is none.

    The options of the program that wrote it are counted as dropped.
    """
    companion = f"{path.removesuffix('.gz').removesuffix('.jsonl')}.metadata"
    if path == PIPE or not os.path.isfile(companion):
        return {}
    try:
        about = dict(record(read_json(companion)))
    except RuleError as error:
        raise_data_error(error, companion)
    if about.pop("opt", None):
        options.dropped["settings of the whole log (`opt`)"] += 1
    return about


def _dialogue(value: Any, default_id: str, *, about: dict[str, Any], options: Options, file: str) -> Dialogue:
    """One record of a log as a dialogue; `about` goes to `meta.log`.

    Messages without text are counted as dropped, and a record without any text raises `RuleError`.
    """
    values = record(value)
    acts = [act for exchange in required(values, "dialog", each(_exchange)) for act in exchange]
    context = optional(values, "context", _acts, default=())
    heard, given = _with_text(acts), _with_text(context)
    if silent := len(acts) + len(context) - len(heard) - len(given):
        options.dropped["messages without text"] += silent
    if not heard:
        raise wrong(value["dialog"], "one message or more").inside("dialog")
    identity = optional(values, "id", name, default=default_id)
    meta = others(values, RECORD) | ({"log": about} if about else {})
    plain = [act["text"] for act in heard if not PREFIX.match(act["text"])]
    if not plain:
        return _task_oriented(heard, given, identity, meta, options)
    if len(plain) < len(heard) and not options.roles:
        raise RuleError(
            f"has {len(heard) - len(plain)} of {len(heard)} texts that begin with USER:, SYSTEM:, APICALL:, APIRESP:, "
            f"APIS: or GOAL:, as in a task-oriented log, and others that do not, such as {shown(plain[0])}; "
            f"correct the log, or give {convert_option('--roles')} to read it as a chat"
        )
    roles = _roles(heard, options, file)
    spoken = list(dict.fromkeys(speaker for speaker in map(_speaker, heard) if roles[speaker] == "assistant"))
    turns = (*(_turn(act, "system") for act in given), *(_turn(act, roles[_speaker(act)]) for act in heard))
    return Dialogue(
        id=identity,
        agent=text_at(inner(values, "task_description"), "model_nickname") or _agent(spoken),
        turns=turns,
        ratings=tuple(_ratings(values, heard, identity, first=len(given), options=options)),
        meta=meta,
    )


def _roles(heard: Sequence[Act], options: Options, file: str) -> dict[str, Role]:
    """The role of each speaker, from `--roles` or from the names, with a note for a self-chat; an unknown one
    raises `UsageError`.
    """
    counts = Counter(map(_speaker, heard))
    known: dict[str, Role] = {}
    for speaker in counts:
        if speaker == CONTEXT:
            known[speaker] = "system"
        elif PERSON.fullmatch(speaker):
            known[speaker] = "user"
    rest = [speaker for speaker in counts if speaker not in known]
    if "user" in known.values() and len(rest) == 1 and not PERSONA.fullmatch(rest[0]):
        known[rest[0]] = "assistant"
    elif (sides := _self_chat(rest)) and "user" not in known.values():
        known |= {sides[0]: "user", sides[1]: "assistant"}
        note = f"self-chat: `{sides[0]}` is read as the user, `{sides[1]}` as the agent"
        if note not in options.notes and not options.roles:
            options.notes.append(note)
    return speakers.roles(counts, options, file=file, known=known)


def _self_chat(names: Sequence[str]) -> tuple[str, str] | None:
    """The names of the first and second side if there are just `NAME_1` and `NAME_2`; else None."""
    sides = {match[2]: (match[1], name) for name in names if (match := SIDE.fullmatch(name))}
    if len(names) == 2 and len(sides) == 2 and sides["1"][0] == sides["2"][0]:
        return sides["1"][1], sides["2"][1]
    return None


def _agent(names: Sequence[str]) -> str:
    """The one name, without `_1` or `_2`; `unknown` if there are none or several."""
    if len(names) != 1:
        return "unknown"
    side = SIDE.fullmatch(names[0])
    return side[1] if side else names[0]


def _ratings(
    values: Act, heard: Sequence[Act], identity: str, *, first: int, options: Options
) -> Iterator[Rating]:
    """Marks of problems as ratings of turns, and the rating of the whole dialogue; `first` is the index of the
    turn of `heard[0]`.
    """
    workers = values.get("workers")
    rater = workers[0] if isinstance(workers, list) and workers and isinstance(workers[0], str) else None
    for index, act in enumerate(heard, first):
        marks = optional(act, "problem_data", record, default={})
        for dimension, marked in marks.items():
            if isinstance(marked, bool):
                good: Direction = "higher" if dimension == ALL_GOOD else "lower"
                item = item_id(identity, index)
                yield Rating(item, dimension, float(marked), rater, index, (0.0, 1.0), direction=good)
            else:
                options.dropped["marks of problems that are neither true nor false"] += 1
        final = act.get("final_rating")
        if final is not None:
            try:
                value = float(final)
            except (TypeError, ValueError, OverflowError):  # the last: an integer beyond every float
                raise wrong(final, "a number").inside("final_rating") from None
            yield Rating(
                identity, "final_rating", value, rater, scale=(1.0, 5.0) if 1 <= value <= 5 else None
            )


def _task_oriented(
    heard: Sequence[Act], given: Sequence[Act], identity: str, meta: dict[str, Any], options: Options
) -> Dialogue:
    """The dialogue of a log whose texts say by a prefix what they are; empty calls, results and descriptions
    are counted as dropped.
    """
    turns = [_turn(act, "system") for act in given]
    goal: dict[str, Any] | None = None
    agents: list[str] = []
    for act in heard:
        match = PREFIX.match(act["text"])
        kind, said = (match[1], match[2].strip()) if match else ("", "")
        extra = other_entries({key: one for key, one in act.items() if key != "prefix_stripped_text"}, ACT)
        if not said and kind in ("APICALL", "APIRESP", "APIS", "GOAL"):
            options.dropped["empty calls, results and descriptions, which fill a place"] += 1
        elif kind == "GOAL":
            goal = {"text": said}
        elif kind == "APICALL":
            turns.append(Turn("assistant", None, extra={**extra, "tool_calls": [_call(said)]}))
        else:
            role: Role = {"USER": "user", "SYSTEM": "assistant", "APIRESP": "tool", "APIS": "system"}[kind]  # type: ignore[assignment]
            turns.append(Turn(role, said, extra=extra))
            if role == "assistant":
                agents.append(_speaker(act))
    if not turns:
        raise wrong([act["text"] for act in heard], "one message or more").inside("dialog")
    return Dialogue(identity, _agent(list(dict.fromkeys(agents))), tuple(turns), goal=goal, meta=meta)


def _call(said: str) -> dict[str, Any]:
    """`api_name = FindContact ; contact_name = Helen` as a tool call; without `api_name` the tool is `unknown`."""
    arguments = {}
    for part in said.split(" ; "):
        key, _, value = part.partition(" = ")
        arguments[key.strip()] = value.strip()
    return tool_call(arguments.pop("api_name", "unknown"), arguments)


def _exchange(value: Any) -> tuple[Act, ...]:
    """The acts of one exchange; a single act, as in logs with a flat list, is an exchange of one."""
    return (_act(value),) if isinstance(value, dict) else _acts(value)


def _act(value: Any) -> Act:
    """The act, unchanged, after a check that its text is a string or absent and that it names its speaker."""
    values = record(value)
    optional(values, "text", text, default=None)
    _speaker(values)
    return values


_acts = each(_act)


def _speaker(values: Act) -> str:
    """The name of the speaker: `speaker`, or `id` if there is none."""
    return required(values, "speaker" if "speaker" in values else "id", name)


def _with_text(acts: Iterable[Act]) -> list[Act]:
    """The acts that have a text, which may be empty."""
    return [act for act in acts if act.get("text") is not None]


def _turn(act: Act, role: Role) -> Turn:
    """An act as a turn, with its other keys beside it except ratings."""
    return Turn(role, act["text"], extra=other_entries(act, MARKED))


def _episodes(numbered: Iterable[tuple[int, bytes]], path: str) -> Iterator[Dialogue]:
    """The dialogues of a task in the text format, numbered from 1; an unfinished last episode is one, too."""
    turns: list[Turn] = []
    count = 0
    for number, line in numbered:
        try:
            fields = _fields(line)
            turns += _exchanged(fields)
        except RuleError as error:
            raise_data_error(error, path, number)
        if fields.get("episode_done", "").strip().lower() == "true":
            yield Dialogue(str(count := count + 1), "unknown", tuple(turns))
            turns = []
    if turns:
        yield Dialogue(str(count + 1), "unknown", tuple(turns))


def _fields(line: bytes) -> dict[str, str]:
    """Name -> value of a line as it is written; a part without a colon raises `RuleError`."""
    try:
        written = line.decode().strip("\r\n")
    except UnicodeDecodeError as error:
        raise RuleError(f"is not UTF-8: {error.reason}") from None
    fields = {}
    for part in written.split("\t"):
        key, colon, value = part.partition(":")
        if not colon:
            raise wrong(part, "name:value between tabs, as in text:...<tab>labels:...")
        fields[key] = value
    return fields


def _unescaped(text: str) -> str:
    """A value with the line ends, tabs and bars for which ParlAI writes `\\n`, `\\t` and `__PIPE__`."""
    return text.replace("\\n", "\n").replace("\\t", "\t").replace("__PIPE__", "|")


def _exchanged(fields: dict[str, str]) -> list[Turn]:
    """The turns of a line: the user's text, and the first label as the reply with the others as references.

    Either may be absent, but not both.
    """
    labels = fields.get("labels", fields.get("eval_labels", ""))
    reply, *references = map(_unescaped, labels.split("|"))
    turns = [Turn("user", _unescaped(fields["text"]))] if fields.get("text") else []
    if labels:
        turns.append(Turn("assistant", reply, references=tuple(filter(None, references))))
    if not turns:
        raise wrong(fields, "a text or labels")
    more = {key: _unescaped(one) for key, one in fields.items()}
    return [*turns[:-1], replace(turns[-1], extra=other_entries(more, FIELDS))]
