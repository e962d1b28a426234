"""Any JSON or JSON Lines by a map of paths: `--from json --map 'messages=traj,role=author,content=text,id=task_id'`.

A path is keys separated by dots, `info.model`; `name[0]` is an element of a list and `name[*]` all of them. `--each
'results[*]'` says where the records are; without it they are the lines, or the elements of the list.

Where the map names `messages`, each record is a dialogue: `role` and `content` are paths inside a message, all others
paths inside the record, and ratings are of the whole dialogue. Otherwise records are rows of a table (`table.py`): a
message each (`id`, `role`, `content`), or a reply each (`context`, `response`). `--roles` says who is the agent.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from turnwise.errors import DataError, Problem, UsageError
from turnwise.logs.checks import RuleError, each, record, shown, wrong
from turnwise.logs.dialogue import from_record
from turnwise.logs.readers import speakers, table
from turnwise.logs.readers.columns import measured, scaled, written
from turnwise.logs.readers.messages import rating, without
from turnwise.logs.readers.source import Options, raise_data_error, records
from turnwise.types import ROLES, Dialogue, Role

STEP = re.compile(r"([^.\[\]]+)|\[(\d+|\*)\]")
INSIDE = ("role", "content")  # meanings whose paths are inside a message
USUAL: Mapping[str, Role] = {**table.ROLES, **{role: role for role in ROLES}}


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """The dialogues by the map in `options`: records that hold messages if it has `messages`, else rows of a table.

    No map raises `UsageError`.
    """
    options = options or Options()
    if not options.columns:
        raise UsageError(
            f"{path}: the format `json` needs --map, for example "
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
    """The first value at a path, or None."""
    return next(iter(values_at(value, path)), None)


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
        keys = [key for key, _ in _steps(options.each)]
        outside = without(value, keys[: keys.index("")] if "" in keys[1:] else keys)
        if count and isinstance(value, dict) and outside:
            options.dropped["keys outside the records that --each names"] += len(outside)
        for one in values_at(value, options.each):
            number += 1
            yield one, str(number), located
    if options.each is not None and not number:
        raise DataError(Problem(path, None, "", f"has nothing at --each {options.each}"))


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
    """The messages at `path` in a record; raises `RuleError` unless they are a non-empty list of objects."""
    found = value_at(record(value), path)
    if not isinstance(found, list) or not found:
        raise wrong(found, "a list of messages").inside(path)
    return list(each(record)(found))


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
    taken = {inside["role"], inside["content"]}
    messages = []
    for one in _messages(value, paths["messages"]):
        content = value_at(one, inside["content"])
        kept = {key: found for key, found in one.items() if key not in taken and key not in INSIDE}
        messages.append({**kept, "role": roles[_speaker(one, inside["role"])], "content": content})
    agents = list(dict.fromkeys(_speaker(one, inside["role"]) for one in _messages(value, paths["messages"])
                                if options.roles.get(_speaker(one, inside["role"])) == "assistant"))  # fmt: skip
    agent = value_at(value, paths["agent"]) if "agent" in paths else agents[0] if len(agents) == 1 else None
    identity = value_at(value, paths["id"]) if "id" in paths else value.get("id")
    goal = value_at(value, paths["goal"]) if "goal" in paths else None
    left: Any = value
    for path in paths.values():
        left = without(left, [key for key, _ in _steps(path)])
    return {
        "id": place if identity is None else written(identity),
        "agent": None if agent is None else written(agent),
        "messages": messages,
        "ratings": list(_ratings(value, paths)),
        "goal": goal if isinstance(goal, dict) else None if goal is None else {"text": str(goal)},
        "meta": {key: one for key, one in left.items() if key != "id"},
    }


def _ratings(value: dict[str, Any], paths: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The mapped ratings of the dialogue, without those that are null; a value off its scale raises `RuleError`."""
    rater = value_at(value, paths["rater"]) if "rater" in paths else None
    for meaning, path in paths.items():
        kind, _, label = meaning.partition(":")
        found = value_at(value, path)
        if kind in ("rating", "dialogue-rating") and found is not None:
            dimension, scale = scaled(label)
            number = float(found) if isinstance(found, bool) else measured(found)
            if scale is not None and not scale[0] <= number <= scale[1]:
                raise wrong(found, f"a number on the scale {scale[0]:g} to {scale[1]:g}").inside(path)
            yield rating(dimension, number, rater=None if rater is None else written(rater), scale=scale)


def _flat(path: str, options: Options) -> Iterator[Dialogue]:
    """Dialogues of records that are rows of a table; its columns are the paths of the map, beside the keys of
    the record.
    """
    columns = [one for several in options.columns.values() for one in several]

    def rows() -> Iterator[table.Row]:
        """The records as rows, numbered by line or element."""
        for value, place, located in _records(path, options):
            with located():
                values = record(value)
                found = {key: one for key, one in values.items() if key not in columns}
                yield table.Row(
                    int(place), {**found, **{column: value_at(values, column) for column in columns}}
                )

    try:
        yield from table.dialogues(rows(), columns, path, options)
    except RuleError as error:
        raise_data_error(error, path)
