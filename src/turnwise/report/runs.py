"""Finished runs, read again for a report: `results.json` and what lies beside it."""

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
    name: str  # the folder, as the user called it
    folder: Path
    document: Mapping[str, Any]

    @property
    def command(self) -> str:
        return str(self.document["command"])

    @property
    def results(self) -> Sequence[Record]:
        found: Sequence[Record] = self.document["results"]
        return found

    @property
    def options(self) -> Mapping[str, Any]:
        settings = self.document.get("origin", {}).get("settings", {})
        return settings.get("options") or {}

    def lines(self, name: str) -> Iterator[dict[str, Any]]:
        """The objects of a JSON Lines file of this run; none where it is absent."""
        path = self.folder / name
        if not path.exists():
            return
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                yield _decoded(line, f"{path}:{number}")

    def beside(self, pattern: str) -> Iterator[tuple[Path, Any]]:
        """The JSON files of this run whose path fits, in order."""
        for path in sorted(self.folder.glob(pattern)):
            yield path, _decoded(path.read_bytes(), str(path))


def _decoded(data: bytes, place: str) -> Any:
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise DataError(f"{place}: {error}") from None


def read(path: Path, name: str) -> Run:
    document = _decoded(path.read_bytes(), str(path))
    if not isinstance(document, dict) or not {"schema_version", "command", "results"} <= set(document):
        raise DataError(f"{path} is no result of turnwise: it lacks schema_version, command or results")
    if document["schema_version"] != SCHEMA_VERSION:
        raise DataError(
            f"{path} has schema_version {document['schema_version']}; this turnwise reads {SCHEMA_VERSION}"
        )
    return Run(name, path.parent, document)


def find(paths: Sequence[str]) -> list[Run]:
    """The runs in these folders, or in folders below them; each once."""
    found: dict[Path, Run] = {}
    for given in paths:
        root = Path(given)
        places = [root] if root.is_file() else sorted(root.rglob(RESULTS))
        if not places:
            raise UsageError(
                f"{given} holds no {RESULTS}; `turnwise score DATA -m NAMES -o {given}` would write one"
            )
        for place in places:
            found.setdefault(place.resolve(), read(place, str(place.parent)))
    return list(found.values())
