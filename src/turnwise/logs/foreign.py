"""What a file is that is not in the native format, and the one command that reads it."""

import os
import re
import shlex
from itertools import islice

from turnwise.errors import DataError, Problem, UsageError
from turnwise.logs import native
from turnwise.logs.files import PIPE
from turnwise.logs.readers import COLUMN, READERS, recognise
from turnwise.logs.readers.openai import ROLES
from turnwise.logs.readers.sniff import Sample, sample, utf16
from turnwise.logs.readers.source import records

SUFFIXES = (".jsonl", ".json", ".parquet", ".csv", ".tsv", ".txt")  # endings of files that may hold dialogues
EXPECTED = "expected JSON Lines, one dialogue a line"
ROLE_OPTION = "--roles 'NAME=assistant,*=user'"
NESTED_MAP = "--map 'messages=...,role=...,content=...'"
TABLE_MAP = "--map 'id=...,role=...,content=...'"
JSON_LIST = re.compile(r'\s*\[\s*[\[{"]')  # begins a JSON list, also one that is cut off in its first element


def foreign(path: str) -> Problem | None:
    """A problem that says what a file is and which command reads it, for a file whose first dialogue the native
    reader refuses. None if the file seems to be a native one with an error.
    """
    looked = sample(path)
    name = recognise(path)
    if name is not None:
        if name == "native" or _is_native(looked, name):
            return None
        found = f"is in the format {name} ({READERS[name].summary}); read it with: {_command(path, name)}"
        if READERS[name].roles:
            found += ", where NAME is the agent's name in the file"
        elif not READERS[name].several:
            found += f", or score it directly: turnwise score --from {name} {shlex.quote(path)} -m length"
    elif looked.form == "folder":
        found = _folder(path, looked)
    elif looked.form == "zip":
        found = _zip(path)
    elif (encoding := utf16(path)) is not None:
        found = in_utf16(path, encoding)
    elif looked.form in ("table", "parquet") and looked.header and all(map(COLUMN.fullmatch, looked.header)):
        kind = "parquet" if looked.form == "parquet" else "csv"
        columns = f"is a table with the columns {', '.join(looked.header)}; {EXPECTED}"
        found = f"{columns}. Say what they are: {_command(path, kind, TABLE_MAP)} (docs/convert.md)"
    elif looked.form == "json" and any(looked.records):
        where = f"is one JSON value; {EXPECTED}. If it holds dialogues, say where"
        found = f"{where}: {_command(path, 'json', NESTED_MAP)} (docs/convert.md)"
    else:
        return None
    return Problem(path, None, "", found)


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


def _command(path: str, name: str, option: str = "") -> str:
    """The command that converts a file of the format `name`, with the options that the format needs."""
    words = ["turnwise convert --from", name]
    if READERS[name].roles:
        words.append(ROLE_OPTION)
    if option:
        words.append(option)
    words.append(shlex.quote(path))
    if READERS[name].several:
        words.append("OTHER_FILES...")
    return " ".join([*words, "logs.jsonl"])


def _folder(path: str, looked: Sample) -> str:
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
    if isinstance(next(native.checked(first), None), Problem) and (inside := foreign(first)) is not None:
        return f"is a folder; give the files in it. {first} {inside.message}"
    return f"is a folder; give the files in it: turnwise validate {shlex.quote(within)}*{suffix}"


def _zip(path: str) -> str:
    """How to unpack a zip file of a format that is not known."""
    target = os.path.splitext(path)[0]
    target = target if target != path else f"{path}_files"
    unpack = f"python -m zipfile -e {shlex.quote(path)} {shlex.quote(target)}"
    return f"is a zip file; {EXPECTED}. Unpack it and give the files in it: {unpack}"


def recognised(path: str) -> str:
    """The name of the reader that recognises a file; `DataError` if there is no file, `UsageError` if no reader
    recognises it.
    """
    if path == PIPE:
        raise UsageError("the format of standard input is not recognised; name it with --from")
    found = recognise(path)
    if found is None and not os.path.exists(path):
        raise DataError(Problem(path, None, "", "cannot be read: No such file or directory"))
    looked = sample(path) if found is None else None
    if looked is not None and looked.form in ("folder", "zip"):
        raise UsageError(str(foreign(path)))
    if looked is not None and (damage := _damage(looked)) is not None:
        raise damage
    if looked is not None and looked.header and all(map(COLUMN.fullmatch, looked.header)):
        kind = "parquet" if looked.form == "parquet" else "csv"
        raise UsageError(
            f"{path}: is a table with the columns {', '.join(looked.header)}; say what they are, for example "
            f"--from {kind} --map 'id=...,role=...,content=...' (a message a row) or --map 'context=...,response=...' "
            "(an item a row)"
        )
    if found is None:
        raise UsageError(
            f"{path}: the format is not recognised; name it with --from (`turnwise ls readers` has all), or map "
            "its fields with --from json --map 'messages=...,role=...,content=...'"
        )
    return found


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
