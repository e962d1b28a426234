"""The native format: JSON Lines, one dialogue a line, a superset of the OpenAI chat format.

Only `messages` is required. What is unknown is kept and written again, at record, message and rating level;
what is known and null counts as absent. docs/format.md has every key with its rule. A Parquet file with these keys
as columns is read as if its rows were lines.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from turnwise.errors import DataError, Problem
from turnwise.logs import typed
from turnwise.logs.checks import RuleError, shown
from turnwise.logs.dialogue import as_record, from_record
from turnwise.logs.files import Tap, is_parquet, lines, replacing
from turnwise.logs.ids import FileIds
from turnwise.logs.readers import parquet
from turnwise.logs.readers.source import Options, decoded, raise_data_error
from turnwise.logs.readers.speakers import renamed
from turnwise.types import Dialogue, Role

_encode = msgspec.json.Encoder().encode


APART = ", or --by file, which keeps files apart"  # advice for commands that have this option


class SharedId(Problem):
    """An id that a dialogue of another file has, too."""


def read(
    path: str, options: Options | None = None, *, prefix: str = "", apart: bool = False
) -> Iterator[Dialogue]:
    """The dialogues of a file, one at a time; the first bad line raises `DataError`.

    `prefix` and `apart` are those of `checked`. The files of `options.more` are read after it, and ids must differ.
    """
    if options is not None and options.more:
        yield from _merged((path, *options.more), options.roles)
        return
    skip, roles = (0, None) if options is None else (options.records_to_skip(), options.roles)
    for found in checked(path, prefix=prefix, apart=apart, skip=skip, roles=roles):
        if isinstance(found, Problem):
            raise DataError(found)
        yield found


def _merged(paths: Sequence[str], roles: Mapping[str, Role]) -> Iterator[Dialogue]:
    """The dialogues of files that become one file; the first problem raises `DataError`."""
    ids, prefixes = FileIds(), id_prefixes(paths)
    for path in paths:
        for found in checked(path, ids=ids, prefix=prefixes[path], roles=roles):
            if isinstance(found, Problem):
                raise DataError(Problem(found.file, found.line, found.path, found.message))
            yield found


def read_each(paths: Sequence[str], *, apart: bool = False) -> Iterator[Iterator[Dialogue]]:
    """An iterator of dialogues for each of the files that are read together, in order; `apart`: ids need only
    differ inside a file, and get the file's name as a prefix.
    """
    prefixes = id_prefixes(paths)
    return (read(path, prefix=prefixes[path], apart=apart) for path in paths)


def read_all(paths: Sequence[str], *, apart: bool = False) -> Iterator[Dialogue]:
    """The dialogues of files that are read together, file by file; `apart` as in `read_each`."""
    return chain.from_iterable(read_each(paths, apart=apart))


def id_prefixes(paths: Sequence[str]) -> dict[str, str]:
    """The prefix of the line number that is the id of a line without one, for each of the files read together.

    A single file has no prefix. Line 1 of `a.jsonl` is `a:1` beside other files; where files are read apart, every
    id has the prefix.
    """
    return {path: "" if len(paths) == 1 else f"{name}:" for path, name in file_names(paths).items()}


def own_id(identity: str, prefix: str, *, apart: bool = False) -> str:
    """The id, or the line number, that a dialogue has in its own file: `7` for `a:7` of `a.jsonl`.

    `prefix` is the file's, and `apart` says that every id of the file has it, not only those of lines without an id.
    """
    own = identity.removeprefix(prefix)
    return own if apart or own.isdigit() else identity


def file_names(paths: Sequence[str]) -> dict[str, str]:
    """Path -> short name: `a` for `x/a.jsonl.gz`; where several files have the same short name, their paths."""
    stems = {path: Path(path.removesuffix(".gz")).stem for path in paths}
    count = Counter(stems.values())
    return {path: stem if count[stem] == 1 else str(path) for path, stem in stems.items()}


def problems(path: str) -> Iterator[Problem]:
    """What is wrong in a file, one problem a bad line; none for a valid file."""
    return (found for found in checked(path) if isinstance(found, Problem))


def checked(
    path: str,
    *,
    tap: Tap | None = None,
    ids: FileIds | None = None,
    prefix: str = "",
    apart: bool = False,
    skip: int = 0,
    roles: Mapping[str, Role] | None = None,
) -> Iterator[Dialogue | Problem]:
    """Each line's dialogue, or the problem that it has; an id that was there before, a file that cannot be read
    and a file without a line are problems, too. `tap` is shown the bytes as stored. `ids` holds the ids of the
    files that are read before this one and together with it. `prefix` stands before the number of a line
    without an id, and before every id where files are kept `apart`. The first `skip` lines are not parsed.
    `roles` is what --roles gives to role names.
    """
    ids = FileIds() if ids is None else ids
    name = str(path)
    ids.open(name)
    empty = True
    try:
        found_in = parquet.native_rows if is_parquet(path) else lines
        for line_number, line in found_in(path, tap=tap):
            empty = False
            if skip:
                skip -= 1
                continue
            try:
                dialogue = parse(
                    line, file=name, line_number=line_number, prefix=prefix, apart=apart, roles=roles
                )
            except DataError as error:
                yield from _problems(error)
                continue
            there = ids.first(dialogue.id)
            if there is not None:
                found = f"is {shown(dialogue.id)}, which is in {there} already; expected ids that differ"
                if there == name:
                    yield Problem(name, line_number, "$.id", found)
                else:
                    yield SharedId(name, line_number, "$.id", found, APART)
            else:
                yield dialogue
    except DataError as error:  # the file is absent or incomplete, or cannot be converted
        if not all(isinstance(problem, Problem) for problem in error.problems):
            raise
        yield from _problems(error)
        return
    if empty:
        yield Problem(name, None, "", "has no dialogue; expected one JSON object a line")


def _problems(error: DataError) -> Iterator[Problem]:
    """The problems of an error that have a place in a file; plain messages are left out."""
    return (problem for problem in error.problems if isinstance(problem, Problem))


def parse(
    line: bytes | str | dict[str, Any],
    *,
    file: str,
    line_number: int,
    prefix: str = "",
    apart: bool = False,
    roles: Mapping[str, Role] | None = None,
) -> Dialogue:
    """The dialogue of one line or of one Parquet row; `DataError` says which rule it breaks.

    `file` and `line_number` are for the error; the number is also the id of a line without one, after `prefix`.
    With `apart` the prefix is before every id. `roles` is what --roles gives to role names.
    """
    if not isinstance(line, dict) and not roles:
        found = typed.read(line, line_number, prefix=prefix, apart=apart)
        if found is not None:
            return found
    try:
        record = parquet.native_record(line) if isinstance(line, dict) else decoded(line)
        if roles and isinstance(record, dict) and isinstance(record.get("messages"), list):
            record = {**record, "messages": [renamed(one, roles) for one in record["messages"]]}
        if apart:
            return from_record(record, default_id=str(line_number), before=prefix)
        return from_record(record, default_id=f"{prefix}{line_number}")
    except RuleError as error:
        raise_data_error(error, file, line_number)


def dump(dialogue: Dialogue) -> bytes:
    """The JSON line of a dialogue, without the line end; what JSON cannot hold raises `DataError`."""
    try:
        return _encode(as_record(dialogue))
    except (RuleError, UnicodeEncodeError, RecursionError) as error:
        raise DataError(f"dialogue {dialogue.id!r} cannot be written as JSON: {error}") from None


def write(dialogues: Iterable[Dialogue], path: str) -> int:
    """Write a native file (gzip if its name ends in .gz), whole or not at all, and return how many dialogues it has."""
    count = 0
    with replacing(path) as stream:
        for count, dialogue in enumerate(dialogues, 1):  # noqa: B007  # the count is what is returned
            stream.write(dump(dialogue))
            stream.write(b"\n")
    return count
