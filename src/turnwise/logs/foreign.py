"""What a file is that is not in the native format, and the one command that reads it."""

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Literal

from turnwise.errors import DataError, Problem, UsageError, WrongForFile
from turnwise.extras import require
from turnwise.logs import native
from turnwise.logs.archive import SUFFIXES, members, one_of, unpacked
from turnwise.logs.checks import RuleError, shown
from turnwise.logs.files import PIPE
from turnwise.logs.memory import NamedLines
from turnwise.logs.readers import ALIASES, COLUMN, READERS, recognise
from turnwise.logs.readers.openai import ROLES
from turnwise.logs.readers.sniff import HEAD, Sample, sample, utf16
from turnwise.logs.readers.source import decoded, records
from turnwise.logs.suggestion import json_options, table_options
from turnwise.types import Dialogue

EXPECTED = "expected JSON Lines, one dialogue a line"
ROLE_OPTION = "--roles 'NAME=assistant,*=user'"
Asking = Literal[
    "score", "compare", "meta", "rate", "reliability"
]  # commands that can read other formats by --from
DOCS = "(docs/convert.md)"
NAMED = 8  # keys of a record, or files of a zip file, that a message names
MANY = 20  # lines, each of which would have an error
REASON = 100  # characters of another error that a message repeats
# Forms of the sources that a reader with --map reads; what a map gets wrong is no other format.
MAPPED = {"json": ("json", "jsonl"), "csv": ("table", "text"), "parquet": ("parquet",), "hf": ("folder",)}
JSON_LIST = re.compile(r'\s*\[\s*[\[{"]')  # begins a JSON list, also one that is cut off in its first element


def read_all(paths: Sequence[str], *, command: Asking | None) -> Iterator[Dialogue]:
    """As `native.read_all`, but a file of another format raises a `DataError` that says what it is; `command` as
    in `foreign`.
    """
    for path, dialogues in zip(paths, native.read_each(paths), strict=True):
        is_native = False
        try:
            for dialogue in dialogues:
                is_native = True
                yield dialogue
        except DataError:
            if is_native or (problem := foreign(path, command=command)) is None:
                raise
            raise DataError(problem) from None


def foreign(path: str, *, command: Asking | None = "score") -> Problem | None:
    """A problem that says what a file is and which command reads it, for a file whose first dialogue the native
    reader refuses. None if the file seems to be a native one with an error.

    `command` is the one that was called, if it can read the file without converting it first.
    """
    if isinstance(path, NamedLines):
        return None
    looked = sample(path)
    name = recognise(path)
    if name is None:
        found = _unrecognised(path, looked, command=command)
    elif name == "native" or _is_native(looked, name):
        found = None
    else:
        found = _in_format(path, name, looked, command)
    return None if found is None else Problem(path, None, "", found)


def _is_native(looked: Sample, name: str) -> bool:
    """Whether a file of a format that is nearly the native one is a native file with an error.

    It is one if it is Parquet or JSON Lines with `messages`, unless the first line has a role that only OpenAI has.
    """
    if looked.form == "parquet":
        return name == "parquet" and "messages" in looked.header
    messages = looked.first.get("messages")
    if name not in ("openai", "messages") or looked.form != "jsonl" or messages is None:
        return False
    return not isinstance(messages, list) or not any(
        isinstance(one, dict) and one.get("role") in tuple(ROLES) for one in messages
    )


def _in_format(path: str, name: str, looked: Sample, command: Asking | None, *, what: str = "is") -> str:
    """That a file is in a format, and the commands that read it; `what` comes before `in the format`."""
    reader = READERS[name]
    found = f"{what} in the format {name} ({reader.summary}); read it with: {_command(path, name)}"
    if reader.roles:
        return f"{found}, where NAME is the agent's name in the file"
    if command is None or (
        reader.several and name != "native" and command in ("score", "rate", "reliability")
    ):
        return found
    return f"{found}, or {_directly(path, name, looked, command)}"


def _command(path: str, name: str, option: str = "") -> str:
    """The command that converts a file of the format `name`, with the options that the format needs."""
    words = ["turnwise convert --from", name]
    if READERS[name].roles:
        words.append(ROLE_OPTION)
    if option:
        words.append(option)
    words.append(shlex.quote(path))
    if READERS[name].several and name != "native":
        words.append("OTHER_FILES...")
    return " ".join([*words, "logs.jsonl"])


def _directly(path: str, name: str, looked: Sample, command: Asking) -> str:
    """What `command`, or the one that was rather meant, reads the file with.

    Pairs of `chosen` and `rejected` name no agents, so that only `meta` has a use for them.
    """
    files = shlex.quote(path) + (" OTHER_FILES..." if READERS[name].several else "")
    if command == "compare" and not looked.has("chosen", "rejected"):
        return f"compare directly: turnwise compare --from {name} {files}"
    if command == "rate":
        return f"rate it directly: turnwise rate --from {name} {files}"
    if command == "reliability":
        return f"read it directly: turnwise reliability --from {name} {files}"
    if command == "score":
        return f"score it directly: turnwise score --from {name} {files} -m length"
    level = " --level pair" if READERS[name].preferences else ""
    return f"ask directly: turnwise meta --from {name} {files}{level} -m length"


def _unrecognised(
    shown: str, looked: Sample, *, command: Asking | None, in_convert: bool = False
) -> str | None:
    """What a file is that no reader recognises, and what reads it; None if nothing can be said of it.

    `shown` is the user's name of the file.

    `in_convert`: the message is for `convert`, which does not expect native files.
    """
    if looked.form == "folder":
        return _folder(shown, looked, command, in_convert=in_convert)
    if looked.form == "zip":
        return _zip(shown, looked, command)
    if (encoding := utf16(looked.path)) is not None:
        return in_utf16(shown, encoding)
    expected = "" if in_convert else f"; {EXPECTED}"
    if looked.form in ("table", "parquet") and looked.header and all(map(COLUMN.fullmatch, looked.header)):
        kind = "parquet" if looked.form == "parquet" else "csv"
        read = _command(shown, kind, table_options(looked.header))
        return f"is a table with the columns {', '.join(looked.header)}{expected}. Say what they are: {read} {DOCS}"
    if looked.form == "values":
        lines = f"jq -c . {shlex.quote(shown)} > lines.jsonl"
        return f"is several JSON values over several lines; expected one value a line, which this writes: {lines}"
    if looked.form == "json" and any(looked.records):
        read = _command(shown, "json", json_options(looked.records[0]))
        return f"is one JSON value{expected}. If it holds dialogues, say where: {read} {DOCS}"
    if looked.form == "jsonl" and looked.first and not any(map(_has_messages, looked.records)):
        read = _command(shown, "json", json_options(looked.first))
        more = ["..."] if len(looked.first) > NAMED else []
        keys = ", ".join([*list(looked.first)[:NAMED], *more])
        return f"has records with the keys {keys}{expected}. If it holds dialogues, say where: {read} {DOCS}"
    return None if in_convert else _no_json(looked)


def _has_messages(record: Any) -> bool:
    """Whether a record has the one key that a native one must have."""
    return isinstance(record, dict) and "messages" in record


def _no_json(looked: Sample) -> str | None:
    """That a file of several lines has no line of JSON at its beginning, and why; None for any other file.

    A file that begins as JSON does must have many lines, since otherwise the error of each is shown.
    """
    lines = [line for line in looked.text.splitlines() if line.strip()]
    if len(looked.text.encode()) >= HEAD:
        lines.pop()  # it is cut off
    is_text = looked.form in ("text", "table")
    if len(lines) < (2 if is_text else MANY) or any(map(_is_object, lines)):
        return None
    if is_text and "\ufffd" in looked.text:
        return f"is neither JSON nor text in UTF-8; {EXPECTED}"
    if is_text:
        named = "If it is in another format, name that with --from (`turnwise ls readers` has all)"
        return f"is text, not JSON; {EXPECTED}. It begins with {shown(lines[0].strip())}. {named}"
    damage = _damage(looked)
    problem = damage.problems[0] if damage is not None else None
    return problem.message if isinstance(problem, Problem) else None


def _is_object(line: str) -> bool:
    """Whether a line is a JSON object by itself."""
    try:
        return isinstance(decoded(line), dict)
    except RuleError:
        return False


def _folder(path: str, looked: Sample, command: Asking | None, *, in_convert: bool) -> str:
    """What a folder of a format that is not known holds: native files, which are given themselves, or others,
    which are converted one by one.
    """
    names = [name for name in looked.names if name.removesuffix(".gz").endswith(SUFFIXES)]
    if not names:
        return f"is a folder without files that may hold dialogues ({', '.join(SUFFIXES)}); {EXPECTED}"
    kinds: dict[tuple[str, str], list[str]] = {}  # folder inside this one, and end of the name -> files
    for name in names:
        kinds.setdefault((os.path.dirname(name), os.path.splitext(name)[1]), []).append(name)
    (place, suffix), alike = max(kinds.items(), key=lambda one: len(one[1]))
    within, first = os.path.join(path, place, ""), os.path.join(path, alike[0])
    if isinstance(next(native.checked(first), None), Problem):
        inside = foreign(first, command=command)
        if inside is not None:
            return f"is a folder; give the files in it. {first} {inside.message}"
    files = f"{shlex.quote(within)}*{suffix}"
    words = f"convert --from native {files} logs.jsonl" if in_convert else f"validate {files}"
    return f"is a folder; give the files in it: turnwise {words}"


def _zip(shown: str, looked: Sample, command: Asking | None) -> str:
    """What a zip file holds that no reader reads as it is: one file that a reader recognises, or how to unpack it."""
    try:
        with unpacked(looked.path) as folder:
            found = members(folder)
            member = one_of(found, folder, None)
    except DataError as error:
        (problem,) = error.problems
        return problem.message if isinstance(problem, Problem) else problem
    if member is not None:
        what = f"is a zip file with {member.name or 'a folder'}"
        return _in_format(shown, member.reader, looked, command, what=what)
    target = os.path.splitext(shown)[0]
    target = target if target != shown else f"{shown}_files"
    there = (
        ", ".join(f"{one.name} ({one.reader})" for one in found[:NAMED])
        if found
        else "no format is recognised"
    )
    unpack = f"python -m zipfile -e {shlex.quote(shown)} {shlex.quote(target)}"
    return f"is a zip file; {EXPECTED}. Unpack it and give the files in it ({there}): {unpack}"


def recognised(path: str, shown: str) -> str:
    """The name of the reader that recognises a file, which the user calls `shown`; `DataError` if there is no file,
    `UsageError` if no reader recognises it, `MissingExtra` if it is Parquet and that cannot be read here.
    """
    if path == PIPE:
        raise UsageError("the format of standard input is not recognised; name it with --from")
    found = recognise(path)
    if found is not None:
        return found
    if not os.path.exists(path):
        raise DataError(Problem(shown, None, "", "cannot be read: No such file or directory"))
    looked = sample(path)
    if looked.form == "parquet":  # whose columns cannot be seen without the extra
        require("tables", f"reading {shown}, which is Parquet,")
    if (damage := _damage(looked)) is not None:
        raise renamed(damage, path, shown)
    if (message := _unrecognised(shown, looked, command=None, in_convert=True)) is not None:
        raise WrongForFile(shown, message)
    raise WrongForFile(
        shown,
        "the format is not recognised; name it with --from (`turnwise ls readers` has all), or map "
        "its fields with --from json --map 'messages=...,role=...,content=...'",
    )


def renamed(error: UsageError | DataError, path: str, shown: str) -> UsageError | DataError:
    """The error with the user's name of a file or folder in place of the path that was read."""

    def named(problem: Problem | str) -> Problem | str:
        if isinstance(problem, str) or not problem.file.startswith(path):
            return problem
        return replace(problem, file=shown + problem.file.removeprefix(path))

    if isinstance(error, DataError):
        return DataError(*map(named, error.problems))
    if isinstance(error, WrongForFile) and isinstance(problem := named(error.problem), Problem):
        return WrongForFile(problem.file, problem.message)
    return error


def mistaken(
    path: str, name: str, error: UsageError | DataError, *, shown: str, is_mapped: bool
) -> DataError | None:
    """The error that a file, which the user calls `shown`, has another format than `name`, whose reader raised `error`;
    None if it seems to have it.

    `is_mapped` says that there is a --map, so that the error may be one of the map.
    """
    asked = ALIASES.get(name, name)
    looked = sample(path)
    found = recognise(path)
    if asked not in READERS or found == asked or looked.form in ("absent", "empty"):
        return None
    if is_mapped and looked.form in MAPPED.get(asked, ()):
        return None
    if asked == "native" and found is not None and _is_native(looked, found):
        return None
    if found == "native":
        what = "is in the native format: leave out --from"
    elif found is not None:
        what = _in_format(shown, found, looked, None)
    elif asked in MAPPED and looked.form in MAPPED[asked]:
        return None
    else:
        what = _unrecognised(shown, looked, command=None, in_convert=True) or ""
    reason = _reason(error, path)
    cut = reason if len(reason) <= REASON else f"{reason[: REASON - 3]}..."
    return (
        DataError(Problem(shown, None, "", f"cannot be read as {asked} ({cut}); it {what}")) if what else None
    )


def _reason(error: UsageError | DataError, path: str) -> str:
    """Why a file cannot be read, without its name."""
    first = error.problems[0] if isinstance(error, DataError) else getattr(error, "problem", None)
    if not isinstance(first, Problem) or first.file != path:
        return str(error)
    return first.rule if first.line is None else f"line {first.line}: {first.rule}"


def _damage(looked: Sample) -> DataError | None:
    """Why the first records of a file cannot be read: it is empty, cut off, no JSON or in UTF-16; else None."""
    if (encoding := utf16(looked.path)) is not None:
        return DataError(Problem(looked.path, None, "", in_utf16(looked.path, encoding)))
    if looked.form in ("json", "jsonl", "empty") or JSON_LIST.match(looked.text):
        try:
            for _ in islice(records(looked.path), len(looked.records) + 1):
                pass
        except DataError as error:
            return error
    return None


def in_utf16(path: str, encoding: str) -> str:
    """What a message says of a file in UTF-16."""
    how = f"iconv -f {encoding} -t UTF-8 {shlex.quote(path)} > utf8.jsonl"
    return f"is in {encoding}; expected UTF-8, which this writes: {how}"
