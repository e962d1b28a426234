"""Dialogues as a program has them: files, records, `Dialogue` objects or the rows of a table."""

import math
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from turnwise.errors import DataError, UsageError, convert_options, counted
from turnwise.library.file_agents import FileAgents, agents_of_files
from turnwise.library.reading import Reading, reading
from turnwise.logs.dialogue import UNNAMED
from turnwise.logs.files import PIPE, is_parquet, opened
from turnwise.logs.items.keys import agent_by
from turnwise.logs.memory import NamedLines, Repeated
from turnwise.logs.native import dump, id_prefixes, read
from turnwise.settings.data import Data, MappingLike
from turnwise.types import Dialogue

NAME = "dialogues.jsonl"  # how messages and results call dialogues in memory
REQUIRED = "messages"  # the one key that a record of the native format must have
TABLES = ("csv", "parquet", "hf")  # formats whose rows are records, when they are in memory
LOOKED_AT = 3  # records by which the format is recognised
_EXPECTED = (
    "data must be a path, a list of paths, dialogues as dicts or `Dialogue` objects, a pandas or polars DataFrame, or "
    "a Hugging Face Dataset (docs/format.md has the keys of a dialogue)"
)


@dataclass(frozen=True, slots=True)
class Files:
    """The data as paths, or as names of lines in memory."""

    paths: tuple[str, ...]
    shared_agent: str | None = None  # the agent of all records, which the files' names replace


@contextmanager
def files(
    data: Data,
    *,
    reader: str | None = None,
    mapping: MappingLike | None = None,
    agent: str | None = None,
    agent_key: Sequence[str] = (),
    name_files: bool = False,
) -> Iterator[Files]:
    """The data as files of the native format, for the time of the block.

    What is in memory, on standard input (`-`) or in another format (`reader`, `mapping`) is read under its name by
    `NamedLines`. `agent` names the agent of records that name none. With `agent_key`, the values of these keys are the
    names of all agents, in every file. With `name_files`, each of several files with such
    records gives them its name; and where all records of all files name the same agent, the files' names replace it.
    """
    with _stored(data) as stored:
        paths: tuple[str, ...]
        said = reading(reader, mapping)
        paths = (
            (_in_memory(stored, said, agent),)
            if isinstance(stored, NamedLines)
            else _native(stored, said, agent)
        )
        named: FileAgents | None = None
        if agent:
            named = FileAgents(dict.fromkeys(paths, agent), UNNAMED)
        # The command refuses a file given twice.
        elif name_files and not agent_key and len(set(paths)) == len(paths):
            named = agents_of_files(paths)
        if agent_key:
            yield Files(_by_key(paths, tuple(agent_key)))
        elif named is None:
            yield Files(paths)
        else:
            replaced = None if named.replaced == UNNAMED else named.replaced
            yield Files(_with_agents(paths, named), shared_agent=replaced)


@contextmanager
def _stored(data: Data) -> Iterator[NamedLines | tuple[tuple[str, str], ...]]:
    """What is in memory as lines; else the files as pairs of the user's name and the path, which differ for
    standard input: it can be read once, so that it is copied to a file for the time of the block.
    """
    given = _collected(data)
    paths = _paths(given)
    if paths is None:
        yield NamedLines(NAME, Repeated(_lines(given)))
    elif PIPE not in paths:
        yield tuple((path, path) for path in paths)
    elif paths.count(PIPE) > 1:
        raise UsageError("`-` is given twice, and standard input can be read once")
    else:
        with TemporaryDirectory() as folder:
            copy = Path(folder) / "stdin"
            with copy.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
            yield tuple((path, str(copy) if path == PIPE else path) for path in paths)


def sources(data: Data, said: Reading) -> tuple[tuple[str, ...], str | None]:
    """The paths that data is, or its lines in memory; and the format, which is known of what is in memory."""
    given = _collected(data)
    paths = _paths(given)
    if paths is not None:
        return paths, said.reader
    lines = NamedLines(NAME, Repeated(_lines(given)))
    as_said = _reading_of(lines, said)
    return (lines,), "native" if as_said is None else as_said.reader


def _in_memory(stored: NamedLines, said: Reading | None, agent: str | None) -> NamedLines:
    """The lines of what is in memory in the native format: as they are, or converted."""
    as_said = _reading_of(stored, said)
    if as_said is None:
        return stored
    return NamedLines(stored, Repeated(partial(_converted, str(stored), stored, as_said, agent)))


def _reading_of(stored: NamedLines, said: Reading | None) -> Reading | None:
    """How lines in memory are read: None, as they are, if they hold `messages` and nothing is said of them; else as is
    said, or in the format that the first records have.
    """
    from turnwise.logs.readers import recognise_records
    from turnwise.logs.readers.source import decoded

    first = [decoded(line) for line in islice(stored.lines, LOOKED_AT)]
    keys = first[0] if first and isinstance(first[0], dict) else {}
    if said is None or said == Reading():
        if REQUIRED in keys:
            return None
        said = Reading(reader=recognise_records(first))
    elif said.reader in (None, *TABLES):
        said = replace(
            said, reader="native" if REQUIRED in keys and "messages" not in said.columns else "json"
        )
    if said.reader is None:
        raise _unknown_columns(list(keys))
    return said


def _native(stored: Sequence[tuple[str, str]], said: Reading | None, agent: str | None) -> tuple[str, ...]:
    """The files in the native format: converted as is `said`; as they are if nothing is."""
    if said is None:
        return tuple(
            path if name == path else NamedLines(name, Repeated(partial(_raw, path))) for name, path in stored
        )
    from turnwise.logs.readers import find

    together = said.reader is not None and said.reader != "native" and find(said.reader).several
    if together and len(stored) > 1:
        (name, path), *others = stored
        more = tuple(path for _, path in others)
        shown = f"{name} and {counted(len(more), 'more file')}"
        return (NamedLines(shown, Repeated(partial(_converted, name, path, said, agent, more))),)
    return tuple(
        NamedLines(name, Repeated(partial(_converted, name, path, said, agent))) for name, path in stored
    )


def _raw(path: str) -> Iterator[bytes]:
    """The lines of a native file, with blank ones; a row of Parquet is one line."""
    if is_parquet(path):
        from turnwise.logs.readers.parquet import native_record, native_rows

        yield from (_encoded(native_record(row)) for _, row in native_rows(path))
        return
    with opened(path) as stream:
        yield from stream


def _converted(
    name: str, path: str, said: Reading, agent: str | None, more: tuple[str, ...] = ()
) -> Iterator[bytes]:
    """The native lines of a file of another format, and of `more` that belong to it; errors have the user's name."""
    from turnwise.logs.conversion import native_lines

    try:
        with convert_options() as named:
            options = replace(said.options(agent=agent, more=more), shown=name)
            yield from native_lines(said.reader, path, options)
    except (UsageError, DataError) as error:
        if named:
            raise UsageError(
                f"{error} ({named[0]} is an option of `turnwise convert`: convert the file "
                "first, or give --mapping FILE.toml, which `turnwise convert --save-mapping FILE.toml` writes)"
            ) from None
        raise


def _with_agents(paths: Sequence[str], agents: FileAgents) -> tuple[str, ...]:
    """The files, in which those that have an agent get its name in place of the one that it replaces."""
    prefixes = id_prefixes(paths)
    return tuple(
        NamedLines(path, Repeated(partial(_renamed, path, prefixes[path], agents)))
        if path in agents.names
        else path
        for path in paths
    )


def _renamed(path: str, prefix: str, agents: FileAgents) -> Iterator[bytes]:
    """The lines of a file with its agent; a line without an id gets the one that it has beside the other files."""
    name = agents.names[path]
    for dialogue in read(path, prefix=prefix):
        yield dump(replace(dialogue, agent=name) if dialogue.agent == agents.replaced else dialogue)


def _by_key(paths: Sequence[str], keys: tuple[str, ...]) -> tuple[str, ...]:
    """The files, in which the values of the keys are the names of agents."""
    prefixes = id_prefixes(paths)
    return tuple(NamedLines(path, Repeated(partial(_keyed, path, prefixes[path], keys))) for path in paths)


def _keyed(path: str, prefix: str, keys: tuple[str, ...]) -> Iterator[bytes]:
    """The lines of a file with agents by these keys, and ids as `_renamed` has them."""
    for dialogue in read(path, prefix=prefix):
        yield dump(replace(dialogue, agent=agent_by(dialogue, keys)))


def _collected(data: Any) -> Any:
    """The data, with what can be iterated only once as a list; no element raises `UsageError`.

    Paths and tables are unchanged.
    """
    if hasattr(data, "collect"):
        return data.collect()  # a lazy frame, whose columns polars does not like to be asked for
    is_table = hasattr(data, "columns") or hasattr(data, "column_names")
    if isinstance(data, str | Path | Mapping) or is_table or not isinstance(data, Iterable):
        return data
    given = list(data)
    if not given:
        raise UsageError("data is empty: there is no dialogue in it")
    return given


def _paths(data: Any) -> tuple[str, ...] | None:
    """The paths that the data is; None if it is no path and no list of paths only."""
    if isinstance(data, str | Path):
        return (str(data),)
    if isinstance(data, list) and all(isinstance(one, str | Path) for one in data):
        return tuple(str(one) for one in data)
    return None


def _lines(data: Any) -> Callable[[], Iterator[bytes]]:
    """A function that makes lines of the data, in the native format if it has `messages`; anything but dialogues,
    records or a table raises `UsageError`.
    """
    if hasattr(data, "columns") or hasattr(data, "column_names"):
        # Of a table of Arrow, `columns` are the values.
        if REQUIRED in list(data.column_names if hasattr(data, "column_names") else data.columns):
            return lambda: map(_encoded, _records(_rows(data)))
        return lambda: (
            _encoded({str(name): _plain(value) for name, value in row.items()}) for row in _rows(data)
        )
    if not isinstance(data, list):
        raise UsageError(f"{_EXPECTED}, not {_kind(data)}")
    if all(isinstance(one, Mapping) for one in data):
        return lambda: (_encoded(_plain(record)) for record in data)
    if all(isinstance(one, Dialogue) for one in data):
        return lambda: map(dump, data)
    odd = next((one for one in data if not isinstance(one, Mapping | Dialogue | str | Path)), data[-1])
    raise UsageError(f"{_EXPECTED}, not a list with {_kind(odd)}")


def _kind(value: object) -> str:
    """`a` and the name of the value's type."""
    return f"a {type(value).__name__}"


def _encoded(record: Mapping[str, Any]) -> bytes:
    """A record as a JSON line with its line end, NaN as null; what msgspec cannot encode raises `DataError`."""
    try:
        return msgspec.json.encode(dict(record))
    except (TypeError, UnicodeEncodeError) as error:
        raise DataError(f"a dialogue cannot be written as JSON: {error}") from None


def _rows(frame: Any) -> Iterator[Mapping[str, Any]]:
    """The rows of a DataFrame or Dataset as dicts, column -> cell; the index of a pandas frame is left out."""
    if hasattr(frame, "to_batches"):
        for batch in frame.to_batches():
            yield from batch.to_pylist()
        return
    if not hasattr(frame, "columns"):
        yield from frame
        return
    if hasattr(frame, "iter_rows"):
        yield from frame.iter_rows(named=True)
        return
    names = list(frame.columns)
    for row in frame.itertuples(index=False, name=None):
        yield dict(zip(names, row, strict=True))


def _unknown_columns(columns: list[Any]) -> UsageError:
    """The error (not raised) that a table has no column `messages`, and no columns that say what its rows are."""
    from turnwise.logs.suggestion import table_options

    there = ", ".join(f"`{name}`" for name in columns) or "none"
    suggested = table_options(map(str, columns)).removeprefix("--map ").strip("'")
    return UsageError(
        f"the data has no column `{REQUIRED}`, which holds the turns of a dialogue; its columns are {there}. Say what "
        f"they are: mapping={{'map': '{suggested}'}} (docs/convert.md)"
    )


def _records(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows of a table as native records, without empty cells; a broken row raises `DataError`."""
    from turnwise.logs.checks import RuleError
    from turnwise.logs.readers.parquet import native_record

    for number, row in enumerate(rows, 1):
        try:
            yield native_record({str(name): _plain(value) for name, value in row.items()})
        except RuleError as error:
            raise DataError(f"row {number}: {error.path} {error.message}{error.advice}") from None


def _plain(value: Any) -> Any:
    """A cell in the types of JSON, at any depth: arrays become lists, and NaN and pandas' missing values become
    None.
    """
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if hasattr(value, "tolist"):  # a numpy array or scalar
        return _plain(value.tolist())
    if (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, date):
        return value.isoformat()
    return value
