"""Any JSON or JSON Lines by a map of paths: `--from json --map 'messages=traj,role=author,content=text,id=task_id'`.

A path is keys separated by dots, `info.model`; `name[0]` is an element of a list and `name[*]` all of them. `--each
'results[*]'` says where the records are; without it they are the lines, or the elements of the list.

Where the map names `messages`, each record is a dialogue: `role` and `content` are paths inside a message, all others
paths inside the record, and ratings are of the whole dialogue. Several values of a content are its parts, several of a
rating are ratings, with a rater each if there are as many; several ids, agents or roles are an error. Otherwise records
are rows of a table (`table.py`): a message each (`id`, `role`, `content`), or a reply each (`context`, `response`).
`--roles` says who is the agent.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from turnwise.errors import DataError, Problem, UsageError, convert_option
from turnwise.logs.checks import RuleError, each, record, shown, wrong
from turnwise.logs.dialogue import from_record, other_entries
from turnwise.logs.readers import speakers, table
from turnwise.logs.readers.columns import LISTED, measured, scaled, written
from turnwise.logs.readers.messages import rating
from turnwise.logs.readers.source import Options, is_large, raise_data_error, records
from turnwise.types import ROLES, Dialogue, Role

STEP = re.compile(r"([^.\[\]]+)|\[(\d+|\*)\]")
NOTHING = object()  # in place of a value of which nothing is left
INSIDE = ("role", "content")  # meanings whose paths are inside a message
USUAL: Mapping[str, Role] = {**table.ROLES, **{role: role for role in ROLES}}


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """The dialogues by the map in `options`: records that hold messages if it has `messages`, else rows of a table.

    No map raises `UsageError`.
    """
    options = options or Options()
    if not options.columns:
        raise UsageError(
            f"{path}: the format `json` needs {convert_option('--map')}, for example "
            "--map 'messages=messages,role=role,content=content,id=id'"
        )
    if "messages" in options.columns:
        return _nested(path, options)
    return _flat(path, options)


def values_at(value: Any, path: str) -> list[Any]:
    """All values at a path such as `results[*].log`, in order; empty if the path leads nowhere.

    A text that is no path raises `UsageError`.
    """
    found = [value]
    for key, place in _steps(path):
        if key:
            found = [one[key] for one in found if isinstance(one, dict) and key in one]
        elif place == "*":
            found = [inner for one in found if isinstance(one, list) for inner in one]
        else:
            found = [one[int(place)] for one in found if isinstance(one, list) and int(place) < len(one)]
    return found


def value_at(value: Any, path: str) -> Any:
    """The one value at a path, or None if there is none; several raise `RuleError`."""
    found = values_at(value, path)
    if len(found) > 1:
        raise RuleError(f"has {len(found)} values; expected one").inside(path)
    return found[0] if found else None


def _steps(path: str) -> list[tuple[str, str]]:
    """A path as pairs (key, index), one of which is empty; `*` is all elements. Anything else raises `UsageError`."""
    steps = STEP.findall(path)
    if not steps or "".join(key or f"[{place}]" for key, place in steps) != path.replace(".", ""):
        raise UsageError(f"`{path}` is no path; write keys with dots, [0] or [*], for example results[*].log")
    return steps


def _records(path: str, options: Options, *, count: bool = True) -> Iterator[tuple[Any, str, Any]]:
    """Each record, its number as text, and a function that returns the context manager which gives errors their place.

    With `--each` records are the values there, numbered from 1; none there raises `DataError`. What is outside them is
    counted as dropped if `count` says so.
    """
    number = 0
    for value, place, located in records(path):
        if options.each is None:
            yield value, place, located
            continue
        if count and (outside := _outside(value, _steps(options.each))):
            options.dropped["values outside the records that --each names"] += outside
        for one in values_at(value, options.each):
            number += 1
            yield one, str(number), located
    if options.each is not None and not number:
        raise DataError(Problem(path, None, "", f"has nothing at {convert_option('--each', options.each)}"))


def without_paths(value: dict[str, Any], paths: Iterable[str]) -> dict[str, Any]:
    """An object without what is at the paths, and without objects and lists that have nothing else."""
    left: Any = value
    for path in paths:
        left = _without(left, _steps(path))
    return {} if left is NOTHING else left


def _without(value: Any, steps: list[tuple[str, str]]) -> Any:
    """A value without what the steps lead to; `NOTHING` if nothing else is in it."""
    if not steps or value is NOTHING:
        return NOTHING
    (key, place), rest = steps[0], steps[1:]
    if key:
        if not isinstance(value, dict) or key not in value:
            return value
        inner = _without(value[key], rest)
        left = {name: inner if name == key else one for name, one in value.items()}
        return {name: one for name, one in left.items() if one is not NOTHING} or NOTHING
    if not isinstance(value, list):
        return value
    chosen = range(len(value)) if place == "*" else [int(place)]
    found = [_without(one, rest) if index in chosen else one for index, one in enumerate(value)]
    return (
        NOTHING if all(one is NOTHING for one in found) else [{} if one is NOTHING else one for one in found]
    )


def _outside(value: Any, steps: list[tuple[str, str]]) -> int:
    """How many keys and elements stand beside the way of the steps; a value in which a step leads nowhere is one."""
    if not steps:
        return 0
    (key, place), rest = steps[0], steps[1:]
    if key:
        if not isinstance(value, dict):
            return value is not None
        return len(value.keys() - {key}) + (_outside(value[key], rest) if key in value else 0)
    if not isinstance(value, list):
        return value is not None
    if place == "*":
        return sum(_outside(one, rest) for one in value)
    there = value[int(place) : int(place) + 1]
    return len(value) - len(there) + sum(_outside(one, rest) for one in there)


def _nested(path: str, options: Options) -> Iterator[Dialogue]:
    """Dialogues of records that hold their messages.

    The file is read twice, since the roles of all speakers must be known first.
    """
    paths = {meaning: several[0] for meaning, several in options.columns.items()}
    inside = {meaning: paths.pop(meaning, meaning) for meaning in INSIDE}
    counts: Counter[str] = Counter()
    for value, _, located in _records(path, options, count=False):
        with located():
            counts.update(_speaker(one, inside["role"]) for one in _messages(value, paths["messages"]))
    usual = {name: USUAL[name.strip().lower()] for name in counts if name.strip().lower() in USUAL}
    roles = speakers.roles(counts, options, file=path, known=usual)
    for value, place, located in _records(path, options):
        with located():
            yield from_record(_native(record(value), place, paths, inside, roles, options), default_id=place)


def _messages(value: Any, path: str) -> list[dict[str, Any]]:
    """The messages at `path` in a record, of several lists those of all; raises `RuleError` unless there are some and
    all are objects.
    """
    found = values_at(record(value), path)
    listed = [one for several in found for one in (several if isinstance(several, list) else [several])]
    if not listed:
        raise wrong(found[0] if found else None, "a list of messages").inside(path)
    try:
        return list(each(record)(listed))
    except RuleError as error:
        raise error.inside(path) from None


def _content(message: dict[str, Any], path: str) -> Any:
    """The content of a message: one value as it is; several values, or a list, as content parts."""
    found = values_at(message, path)
    if not found:
        return None
    several = found[0] if len(found) == 1 else found
    if not isinstance(several, list):
        return several
    return [{"type": "text", "text": one} if isinstance(one, str) else one for one in several]


def _speaker(message: dict[str, Any], path: str) -> str:
    """The speaker of a message, as text; a missing one raises `RuleError`."""
    found = value_at(message, path)
    if found is None:
        raise RuleError(f"is missing in {shown(message)}").inside(path)
    return written(found)


def _native(
    value: dict[str, Any],
    place: str,
    paths: Mapping[str, str],
    inside: Mapping[str, str],
    roles: Mapping[str, Role],
    options: Options,
) -> dict[str, Any]:
    """One record in native form.

    `paths` are the paths in the record, `inside` those of role and content in a message, and `roles` the role
    of each speaker. Without a mapped agent, the only speaker that `--roles` names as the assistant is the
    agent.
    """
    messages = []
    agents: dict[str, None] = {}
    for one in _messages(value, paths["messages"]):
        speaker = _speaker(one, inside["role"])
        kept = without_paths(one, inside.values())
        native = {
            **other_entries(kept, frozenset()),
            "role": roles[speaker],
            "content": _content(one, inside["content"]),
        }
        if speaker in options.roles or speaker.strip().lower() not in USUAL:
            native.setdefault("speaker" if "name" in native else "name", speaker)
        if options.roles.get(speaker) == "assistant":
            agents[speaker] = None
        messages.append(native)
    only = next(iter(agents)) if len(agents) == 1 else None
    agent = value_at(value, paths["agent"]) if "agent" in paths else only
    identity = value_at(value, paths.get("id", "id"))
    goal = value_at(value, paths["goal"]) if "goal" in paths else None
    return {
        "id": place if identity is None else written(identity),
        "agent": None if agent is None else written(agent),
        "messages": messages,
        "ratings": list(_ratings(value, paths)),
        "goal": goal if isinstance(goal, dict) else None if goal is None else {"text": str(goal)},
        "meta": without_paths(value, [*paths.values(), *(["id"] if "id" not in paths else [])]),
    }


def _ratings(value: dict[str, Any], paths: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The mapped ratings of the dialogue, without those that are null; a value off its scale raises `RuleError`."""
    raters = [written(one) for one in values_at(value, paths["rater"])] if "rater" in paths else []
    for meaning, path in paths.items():
        kind, _, label = meaning.partition(":")
        found = values_at(value, path) if kind in ("rating", "dialogue-rating") else []
        if len(raters) > 1 and len(raters) != len(found) and found:
            raise RuleError(f"has {len(found)} values, and there are {len(raters)} raters").inside(path)
        named = raters if len(raters) > 1 else [next(iter(raters), None)] * len(found)
        for one, rater in zip(found, named, strict=True) if found else ():
            if one is None:
                continue
            dimension, scale = scaled(label)
            number = float(one) if isinstance(one, bool) else measured(one)
            if scale is not None and not scale[0] <= number <= scale[1]:
                raise wrong(one, f"a number on the scale {scale[0]:g} to {scale[1]:g}").inside(path)
            yield rating(dimension, number, rater=rater, scale=scale)


def _flat(path: str, options: Options) -> Iterator[Dialogue]:
    """Dialogues of records that are rows of a table; its columns are the paths of the map, beside the keys of
    the record.
    """
    columns = [one for several in options.columns.values() for one in several]
    lists = {
        column
        for meaning, several in options.columns.items()
        for column in several
        if meaning.partition(":")[0] in (*LISTED, "context")
    }

    def cell(values: dict[str, Any], column: str) -> Any:
        """The value at a path; several as a list where the meaning may have several."""
        found = values_at(values, column)
        return found if column in lists and len(found) > 1 else value_at(values, column)

    def rows() -> Iterator[table.Row]:
        """The records as rows, numbered by line or element."""
        for value, place, located in _records(path, options):
            with located():
                values = record(value)
                cells = {column: cell(values, column) for column in columns}
                yield table.Row(int(place), {**without_paths(values, columns), **cells})

    try:
        yield from table.dialogues(rows(), columns, path, options, again=rows if is_large(path) else None)
    except RuleError as error:
        raise_data_error(error, path)
