"""Reads finished runs for a report: `results.json` and the other files of the output folder."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from turnwise.errors import DataError, UsageError
from turnwise.records import SCHEMA_VERSION, Document, Record
from turnwise.report.documents import decoded, document_type
from turnwise.report.run_files import RunFiles, StoredFiles

RESULTS = "results.json"
KEYS = frozenset({"schema_version", "command", "results"})  # that every results.json has

AnyDocument = TypeVar("AnyDocument", bound=Document, covariant=True)
Content = TypeVar("Content")


@dataclass(frozen=True, slots=True)
class RunOf(Generic[AnyDocument]):
    """A finished run: its files and the document in results.json."""

    name: str  # the folder as given by the user
    files: RunFiles
    document: AnyDocument

    @property
    def folder(self) -> Path:
        """The output folder; a run whose files are in memory has none, and raises `TypeError`."""
        if not isinstance(self.files, StoredFiles):
            raise TypeError(f"the files of `{self.name}` are in memory")
        return self.files.folder

    @property
    def command(self) -> str:
        """The command that made the run, such as `score`."""
        return self.document.command

    @property
    def results(self) -> Sequence[Record]:
        """The results, of whatever command."""
        return self.document.results

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the command that made the run."""
        return self.document.origin.settings.options

    @property
    def first_reason(self) -> str:
        """The reason of the first record that has one, or `too little was measured`."""
        return next((one.reason for one in self.results if one.reason), "too little was measured")

    def lines(self, name: str, kind: type[Content]) -> Iterator[Content]:
        """Yield the objects of a JSON Lines file of this run, each as this type; none if the file is absent.

        Raises `DataError` with the line number for a bad line.
        """
        decoder = msgspec.json.Decoder(kind)
        for number, line in enumerate(BytesIO(self.files.read(name) or b""), start=1):
            yield _decode(line, decoder, f"{self.files.place(name)}:{number}")

    def json_files(self, pattern: str, kind: type[Content]) -> Iterator[tuple[PurePosixPath, Content]]:
        """Yield name and content of the JSON files of this run that match the glob pattern, sorted by name.

        Raises `DataError` for a file that is not JSON of this type.
        """
        decoder = msgspec.json.Decoder(kind)
        for name in self.files.names(pattern):
            yield PurePosixPath(name), _decode(self.files.read(name) or b"", decoder, self.files.place(name))


Run: TypeAlias = RunOf[Document]  # of whatever command


def _decode(data: bytes, decoder: msgspec.json.Decoder[Content], place: str) -> Content:
    """The decoded JSON; raises `DataError` that names `place`."""
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{place}: {error}") from None


def read_run(path: Path, name: str) -> Run:
    """Read a results.json of the run `name`; raises `DataError` if it is not one of this schema version."""
    data = path.read_bytes()
    try:
        return RunOf(name, StoredFiles(path.parent), decoded(data))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(_problem(path, data) or f"{path}: {error}") from None


def _problem(path: Path, data: bytes) -> str | None:
    """What is wrong with a results.json as a whole; None if it is only a part of it."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(found, dict) or not found.keys() >= KEYS:
        return f"{path} is not a result of turnwise: it lacks schema_version, command or results"
    if found["schema_version"] != SCHEMA_VERSION:
        return f"{path} has schema_version {found['schema_version']}; this turnwise reads {SCHEMA_VERSION}"
    if document_type(str(found["command"])) is None:
        return f"{path} has results of `{found['command']}`, which this turnwise does not know"
    return None


def find_runs(paths: Sequence[str]) -> list[Run]:
    """The runs in these folders (or results.json files) and their subfolders, each once, in order.

    Raises `UsageError` for a folder without any.
    """
    found: dict[Path, Run] = {}
    for given in paths:
        root = Path(given)
        places = [root] if root.is_file() else sorted(root.rglob(f"*{RESULTS}"))
        places = [
            one for one in places if one == root or one.name == RESULTS or one.name.endswith(f".{RESULTS}")
        ]
        if not places:
            raise UsageError(
                f"{given} holds no {RESULTS}; `turnwise score DATA -m NAMES -o {given}` would write one"
            )
        for place in places:
            found.setdefault(place.resolve(), read_run(place, str(place.parent)))
    return list(found.values())
