"""Reads finished runs for a report: `results.json` and the other files of the output folder."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from turnwise.errors import DataError, UsageError
from turnwise.report.figure import Record
from turnwise.report.results import SCHEMA_VERSION

RESULTS = "results.json"


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: its folder and the document in results.json."""

    name: str  # the folder as given by the user
    folder: Path
    document: Mapping[str, Any]

    @property
    def command(self) -> str:
        """The command that made the run, such as `score`."""
        return str(self.document["command"])

    @property
    def results(self) -> Sequence[Record]:
        """The records of the findings in results.json."""
        found: Sequence[Record] = self.document["results"]
        return found

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the command that made the run; empty if the document has none."""
        settings = self.document.get("origin", {}).get("settings", {})
        return settings.get("options") or {}

    @property
    def first_reason(self) -> str:
        """The reason of the first record that has one, or `too little was measured`."""
        said = (record["reason"] for record in self.results if record.get("reason"))
        return str(next(said, "too little was measured"))

    @property
    def rewarded_by_task(self) -> bool:
        """Whether an `ope` run estimates the return of a task reward, and not a rating by people."""
        known = self.document.get("known", ())
        raw = any(record.get("kind") for record in self.results)
        return self.command == "ope" and (raw or any(one.get("of") == "return" for one in known))

    def lines(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the objects of a JSON Lines file of this run; none if the file is absent.

        Raises `DataError` with the line number for a bad line.
        """
        path = self.folder / name
        if not path.exists():
            return
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                yield _decode(line, f"{path}:{number}")

    def json_files(self, pattern: str) -> Iterator[tuple[Path, Any]]:
        """Yield path and content of the JSON files in this run's folder that match the glob pattern, sorted by path.

        Raises `DataError` for a file that is not JSON.
        """
        for path in sorted(self.folder.glob(pattern)):
            yield path, _decode(path.read_bytes(), str(path))


def _decode(data: bytes, place: str) -> Any:
    """The decoded JSON; raises `DataError` that names `place`."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{place}: {error}") from None


def read_run(path: Path, name: str) -> Run:
    """Read a results.json of the run `name`; raises `DataError` if it is not one of this schema version."""
    document = _decode(path.read_bytes(), str(path))
    if not isinstance(document, dict) or not {"schema_version", "command", "results"} <= set(document):
        raise DataError(f"{path} is not a result of turnwise: it lacks schema_version, command or results")
    if document["schema_version"] != SCHEMA_VERSION:
        raise DataError(
            f"{path} has schema_version {document['schema_version']}; this turnwise reads {SCHEMA_VERSION}"
        )
    return Run(name, path.parent, document)


def find_runs(paths: Sequence[str]) -> list[Run]:
    """The runs in these folders (or results.json files) and their subfolders, each once, in order.

    Raises `UsageError` for a folder without any.
    """
    found: dict[Path, Run] = {}
    for given in paths:
        root = Path(given)
        places = [root] if root.is_file() else sorted(root.rglob(RESULTS))
        if not places:
            raise UsageError(
                f"{given} holds no {RESULTS}; `turnwise score DATA -m NAMES -o {given}` would write one"
            )
        for place in places:
            found.setdefault(place.resolve(), read_run(place, str(place.parent)))
    return list(found.values())
