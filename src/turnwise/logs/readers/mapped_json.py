"""Any JSON or JSON Lines by a map of paths: `--from json --map 'messages=traj,role=author,content=text,id=task_id'`.

A path is keys separated by dots, `info.model`; `name[0]` is an element of a list and `name[*]` all of them. `--each
'results[*]'` says where the records are; without it they are the lines, or the elements of the list.

Where the map names `messages`, each record is a dialogue: `role` and `content` are paths inside a message, all others
paths inside the record; a rating in the record is one of the dialogue, a rating in a message is one of the turn
(`mapped_ratings`). A path that leads nowhere in the whole file is an error. Several values of a content are its parts,
several of a rating are ratings, with a rater each if there are as many; several ids, agents or roles are an error.
Otherwise records are rows of a table (`table.py`): a message each (`id`, `role`, `content`), or a reply each
(`context`, `response`).
`--roles` says who is the agent.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from turnwise.errors import DataError, Problem, WrongForFile, convert_option
from turnwise.logs.checks import RuleError, each, record, shown, wrong
from turnwise.logs.dialogue import from_record, other_entries
from turnwise.logs.readers import speakers, table
from turnwise.logs.readers.columns import LISTED, written
from turnwise.logs.readers.mapped_paths import MappedPaths
from turnwise.logs.readers.mapped_ratings import MappedRatings
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, is_large, raise_data_error, records
from turnwise.logs.readers.usual_columns import LAYOUT, described, usual_columns
from turnwise.logs.readers.value_paths import outside, steps_of, value_at, values_at, without_paths
from turnwise.types import ROLES, Dialogue, Role

INSIDE = ("role", "content")  # meanings whose paths are inside a message
USUAL: Mapping[str, Role] = {**table.ROLES, **{role: role for role in ROLES}}


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """The dialogues by the map in `options`: records that hold messages if it has `messages`, else rows of a table.

    No map raises `UsageError`.
    """
    options = options or Options()
    if "messages" in options.columns:
        return _nested(path, options)
    if not any(meaning in LAYOUT or meaning.startswith("say:") for meaning in options.columns):
        options = _with_usual_columns(path, options)
    return _flat(path, options)


def recognises(sample: Sample) -> bool:
    """Whether the first record is a row whose keys have usual names."""
    return sample.form in ("json", "jsonl") and bool(usual_columns(_cells(sample.first)))


def _cells(values: Mapping[str, Any]) -> list[str]:
    """The keys of a record whose values may be cells of a table: no objects."""
    return [key for key, value in values.items() if not isinstance(value, dict)]


def _with_usual_columns(path: str, options: Options) -> Options:
    """The options with the columns that the first record names; `UsageError` if its keys do not say what they are."""
    first = next((value for value, _, _ in _records(path, options, count=False)), None)
    mapped = {column for columns in options.columns.values() for column in columns}
    keys = [key for key in _cells(first if isinstance(first, dict) else {}) if key not in mapped]
    usual = usual_columns(keys)
    if not usual:
        raise WrongForFile(
            path,
            f"the format `json` needs {convert_option('--map')}, for example "
            "--map 'messages=messages,role=role,content=content,id=id'",
        )
    options.notes.append(f"keys are read by their names: {described(usual)}")
    return replace(options, columns={**usual, **options.columns})


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
        if count and (beside := outside(value, steps_of(options.each))):
            options.dropped["values outside the records that --each names"] += beside
        for one in values_at(value, options.each):
            number += 1
            yield one, str(number), located
    if options.each is not None and not number:
        raise DataError(Problem(path, None, "", f"has nothing at {convert_option('--each', options.each)}"))


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
    ratings = MappedRatings.of(options, paths["messages"])
    matched = MappedPaths(dict(paths))
    for value, place, located in _records(path, options):
        with located():
            values = record(value)
            messages = _messages(values, paths["messages"])
            matched.see(values)
            matched.note(values)
            for message in messages:
                matched.see(message, _in_messages(ratings, paths))
            matched.records += 1
            native = _native(values, place, paths, inside, roles, options, ratings)
            yield from_record(native, default_id=place)
    matched.check(path)


def _in_messages(ratings: MappedRatings, paths: Mapping[str, str]) -> dict[str, str]:
    """Meaning -> path inside a message, of the ratings and raters that messages may have."""
    rater = {"rater": paths["rater"]} if "rater" in paths else {}
    return {**ratings.in_messages, **rater}


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
    ratings: MappedRatings,
) -> dict[str, Any]:
    """One record in native form.

    `paths` are the paths in the record, `inside` those of role and content in a message, and `roles` the role
    of each speaker. Without a mapped agent, the only speaker that `--roles` names as the assistant is the
    agent.
    """
    messages = []
    agents: dict[str, None] = {}
    said = _messages(value, paths["messages"])
    made = list(ratings.found(value, said))
    of_turns = {ratings.in_messages[one.meaning] for one, rated in made if "turn" in rated}
    for one in said:
        speaker = _speaker(one, inside["role"])
        kept = without_paths(one, [*inside.values(), *of_turns])
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
        "ratings": [rated for _, rated in made],
        "goal": goal if isinstance(goal, dict) else None if goal is None else {"text": str(goal)},
        "meta": without_paths(value, [*paths.values(), *(["id"] if "id" not in paths else [])]),
    }


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

    matched = MappedPaths({meaning: several[0] for meaning, several in options.columns.items()})

    def rows() -> Iterator[table.Row]:
        """The records as rows, numbered by line or element."""
        for value, place, located in _records(path, options):
            with located():
                values = record(value)
                matched.see(values)
                matched.note(values)
                matched.records += 1
                cells = {column: cell(values, column) for column in columns}
                yield table.Row(int(place), {**without_paths(values, columns), **cells})

    try:
        yield from table.dialogues(rows(), columns, path, options, again=rows if is_large(path) else None)
        matched.check(path)
    except RuleError as error:
        raise_data_error(error, path)
