"""Dialogues as a program has them: files, records, `Dialogue` objects or the rows of a table."""

import math
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Protocol, TypeAlias

import msgspec

from turnwise.errors import DataError, Problem, UsageError, counted
from turnwise.library.arguments import UNCHECKED, Names, split_names
from turnwise.library.file_agents import FileAgents, agents_of_files
from turnwise.library.reading import MappingLike, Reading, reading
from turnwise.logs.dialogue import UNNAMED
from turnwise.logs.items.items import ItemChoice, Selection
from turnwise.types import Dialogue, Role

NAME = "dialogues.jsonl"  # of the file that dialogues in memory are written to
PIPE = "-"
OF_CONVERT = ("--roles", "--map", "--each", "--split")  # options that other commands do not have
REQUIRED = "messages"  # the one key that a record of the native format must have
_EXPECTED = (
    "data must be a path, a list of paths, dialogues as dicts or `Dialogue` objects, a pandas or polars DataFrame, or "
    "a Hugging Face Dataset (docs/format.md has the keys of a dialogue)"
)


class Frame(Protocol):
    """A pandas or polars DataFrame whose columns are keys of the native format."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""
        ...


class Table(Protocol):
    """A Hugging Face Dataset whose columns are keys of the native format."""

    @property
    def column_names(self) -> Any:
        """The names of the columns."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


Data: TypeAlias = Annotated[
    str
    | Path
    | Iterable[str]
    | Iterable[Path]
    | Iterable[str | Path]
    | Iterable[Mapping[str, Any]]
    | Iterable[Dialogue]
    | Frame
    | Table,
    UNCHECKED,
]


Where = Mapping[str, str] | Sequence[tuple[str, str]]  # key -> the value that a dialogue must have there


@dataclass(frozen=True, slots=True)
class Files:
    """The paths of files that hold the data, and the user's names of those that are temporary."""

    paths: tuple[str, ...]
    names: Mapping[str, str] = field(default_factory=dict)  # path -> name
    native: bool = False  # whether they were written here, in the native format
    shared_agent: str | None = None  # the agent of all records, which the files' names replace


@contextmanager
def files(
    data: Data,
    *,
    reader: str | None = None,
    mapping: MappingLike | None = None,
    agent: str | None = None,
    name_files: bool = False,
) -> Iterator[Files]:
    """The data as files of the native format, for the time of the block.

    What is in memory, on standard input (`-`) or in another format (`reader`, `mapping`) is in a temporary file
    until then. `agent` names the agent of records that name none. With `name_files`, each of several files with such
    records gives them its name; and where all records of all files name the same agent, the files' names replace it.
    Errors name the user's files.
    """
    with _files(data) as stored, _native(stored, reading(reader, mapping), agent) as found:
        named: FileAgents | None = None
        if agent:
            named = FileAgents(dict.fromkeys(found.paths, agent), UNNAMED)
        elif name_files and len(set(found.paths)) == len(
            found.paths
        ):  # the command refuses a file given twice
            named = agents_of_files({path: found.names.get(path, path) for path in found.paths})
        if named is None:
            yield found
            return
        with TemporaryDirectory() as folder, _rewritten(found, named, Path(folder)) as held:
            yield replace(held, shared_agent=None if named.replaced == UNNAMED else named.replaced)


@contextmanager
def _files(data: Data) -> Iterator[Files]:
    """The data as files, in the format and with the agents that it has."""
    given = _collected(data)
    found = _paths(given)
    if found is None:
        with TemporaryDirectory() as folder:
            path = Path(folder) / NAME
            path.write_bytes(b"".join(_lines(given)))
            with _renamed(str(path), NAME) as held:
                yield replace(held, native=True)
    elif PIPE in found:
        if found.count(PIPE) > 1:
            raise UsageError("`-` is given twice, and standard input can be read once")
        with TemporaryDirectory() as folder:
            path = Path(folder) / "stdin"
            with path.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
            with _renamed(str(path), PIPE) as held:
                yield Files(tuple(str(path) if one == PIPE else one for one in found), held.names)
    else:
        yield Files(found)


@contextmanager
def _native(stored: Files, said: Reading | None, agent: str | None) -> Iterator[Files]:
    """The files in the native format: converted as is `said`; as they are if nothing is, or if they are from memory."""
    if said is None or stored.native:
        yield stored
        return
    with TemporaryDirectory() as folder, _converted(stored, said, agent, Path(folder)) as held:
        yield held


@contextmanager
def _converted(stored: Files, said: Reading, agent: str | None, folder: Path) -> Iterator[Files]:
    """Native files in `folder`, one for each of the files of another format, under the names of the originals; one
    file in all for a format of several files.
    """
    from turnwise.logs.conversion import convert
    from turnwise.logs.readers import find

    paths, reader = stored.paths, said.reader
    together = reader is not None and reader != "native" and find(reader).several
    names = {}
    shown = [stored.names.get(path, path) for path in paths]
    each = list(zip(paths, shown, _stems(shown), strict=True))
    for path, name, stem in each[:1] if together else each:
        target = folder / f"{stem}.jsonl"
        try:
            convert(reader, path, str(target), said.options(agent=agent, more=paths[1:] if together else ()))
        except (UsageError, DataError) as error:
            if (option := next((one for one in OF_CONVERT if one in str(error)), None)) is None:
                raise
            raise UsageError(
                f"{str(error).replace(path, name)} ({option} is an option of `turnwise convert`: convert the file "
                "first, or give --mapping FILE.toml, which `turnwise convert --save-mapping FILE.toml` writes)"
            ) from None
        more = len(paths) - 1 if together else 0
        names[str(target)] = f"{name} and {counted(more, 'more file')}" if more else name
    with _all_renamed(names) as held:
        yield held


@contextmanager
def _rewritten(found: Files, agents: FileAgents, folder: Path) -> Iterator[Files]:
    """Copies in `folder` of the files that have an agent, with this agent in place of the name that it replaces."""
    from turnwise.logs.native import read, write

    names = {}
    all_shown = [found.names.get(path, path) for path in found.paths]
    for path, shown, stem in zip(found.paths, all_shown, _stems(all_shown), strict=True):
        if path not in agents.names:
            names[path] = shown
            continue
        target, name = str(folder / f"{stem}.jsonl"), agents.names[path]
        # The prefix that a line without an id gets where the copies are read together.
        dialogues = read(path, prefix=f"{stem}:" if len(all_shown) > 1 else "")
        write(
            (replace(one, agent=name) if one.agent == agents.replaced else one for one in dialogues), target
        )
        names[target] = shown
    with _all_renamed(names) as held:
        yield held


def _stems(names: Sequence[str]) -> list[str]:
    """A distinct name for the copy of each file, without its ending: `bot`, and `new-bot` of `new/bot.jsonl` where
    several files are called so. Ids that the copies share have it as a prefix.
    """
    plain = [Path(name.removesuffix(".gz")) for name in names]
    count = Counter(path.stem for path in plain)
    long = [
        path.stem if count[path.stem] == 1 else "-".join([*path.parent.parts, path.stem]).strip("./-")
        for path in plain
    ]
    return [
        stem.replace("/", "-") if long.count(stem) == 1 else f"{stem.replace('/', '-')}-{number}"
        for number, stem in enumerate(long, 1)
    ]


@contextmanager
def _all_renamed(names: Mapping[str, str]) -> Iterator[Files]:
    """A context in which messages call temporary files by the user's names for them; `names` is path -> name."""
    with ExitStack() as stack:
        for path, name in names.items():
            stack.enter_context(_renamed(path, name))
        yield Files(tuple(names), names)


@contextmanager
def _renamed(path: str, name: str) -> Iterator[Files]:
    """A temporary file under the user's name for it: in a `DataError` of the block, the name replaces the path."""
    try:
        yield Files((path,), {path: name})
    except DataError as error:
        raise DataError(*(_with_name(problem, path, name) for problem in error.problems)) from None


def _with_name(problem: Problem | str, path: str, name: str) -> Problem | str:
    """The problem with the user's name in place of the path of the temporary file."""
    if isinstance(problem, str):
        return problem.replace(path, name)
    file = name if problem.file == path else problem.file
    return replace(problem, file=file, message=problem.message.replace(path, name))


def _collected(data: Any) -> Any:
    """The data, with what can be iterated only once as a list; no element raises `UsageError`.

    Paths and tables are unchanged.
    """
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


def _lines(data: Any) -> Iterator[bytes]:
    """The data as lines of the native format; anything but dialogues or a table raises `UsageError`."""
    if hasattr(data, "columns"):
        yield from map(_encoded, _records(_rows(data), list(data.columns)))
        return
    if hasattr(data, "column_names"):
        yield from map(_encoded, _records(data, list(data.column_names)))
        return
    if not isinstance(data, list):
        raise UsageError(f"{_EXPECTED}, not {_kind(data)}")
    if all(isinstance(one, Mapping) for one in data):
        yield from (_encoded(one) for one in data)
    elif all(isinstance(one, Dialogue) for one in data):
        from turnwise.logs.native import dump

        yield from (dump(one) + b"\n" for one in data)
    else:
        odd = next((one for one in data if not isinstance(one, Mapping | Dialogue | str | Path)), data[-1])
        raise UsageError(f"{_EXPECTED}, not a list with {_kind(odd)}")


def _kind(value: object) -> str:
    """`a` and the name of the value's type."""
    return f"a {type(value).__name__}"


def _encoded(record: Mapping[str, Any]) -> bytes:
    """A record as a JSON line with its line end, NaN as null; what msgspec cannot encode raises `DataError`."""
    try:
        return msgspec.json.encode(dict(record)) + b"\n"
    except (TypeError, UnicodeEncodeError) as error:
        raise DataError(f"a dialogue cannot be written as JSON: {error}") from None


def _rows(frame: Any) -> Iterator[Mapping[str, Any]]:
    """The rows of a polars or pandas DataFrame as dicts, column -> cell; the index of a pandas frame is left out."""
    if hasattr(frame, "iter_rows"):
        yield from frame.iter_rows(named=True)
        return
    names = list(frame.columns)
    for row in frame.itertuples(index=False, name=None):
        yield dict(zip(names, row, strict=True))


def _records(rows: Iterable[Mapping[str, Any]], columns: list[Any]) -> Iterator[dict[str, Any]]:
    """The rows of a table as native records, without empty cells; a table without `messages` raises
    `UsageError`, and a broken row `DataError`.
    """
    from turnwise.logs.checks import RuleError
    from turnwise.logs.readers.parquet import native_record

    if REQUIRED not in columns:
        there = ", ".join(f"`{name}`" for name in columns) or "none"
        raise UsageError(
            f"the table has no column `{REQUIRED}`, which holds the turns of a dialogue; its columns are {there}. "
            "`turnwise.convert` reads tables of another shape from a file"
        )
    for number, row in enumerate(rows, 1):
        try:
            yield native_record({str(name): _plain(value) for name, value in row.items()})
        except RuleError as error:
            raise DataError(f"row {number}: {error.path} {error.message}") from None


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
    return value


def selected(
    *,
    items: ItemChoice | None,
    role: Role,
    where: Where | None,
    by: Names | None,
    pair: str | None,
    cluster: str | None,
    limit: int | None,
    as_agents: Names = (),
    dimension: str | None = None,
) -> Selection:
    """The selection that these keywords describe; `dimension` "all" selects no dimension."""
    return Selection(
        items=items,
        dimension=None if dimension == "all" else dimension,
        role=role,
        pair=pair,
        cluster=cluster,
        by=by if by is None or isinstance(by, str) else ",".join(by),
        where=pairs(where),
        limit=limit,
        as_agents=split_names(as_agents),
    )


def pairs(where: Where | None) -> tuple[tuple[str, str], ...]:
    """Conditions or other mappings as pairs of key and value; none for None."""
    found = where.items() if isinstance(where, Mapping) else where or ()
    return tuple((key, value) for key, value in found)
