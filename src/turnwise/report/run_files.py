"""The files of a run that its report reads: in its output folder, or in memory for the figures of a notebook."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import msgspec

from turnwise.report.results import replacing, to_json


class RunFiles(Protocol):
    """Files by their names, which are paths inside the output folder with `/` between parts."""

    def replacing(self, name: str) -> AbstractContextManager[BinaryIO]:
        """A stream whose bytes become the file when the block ends without an error."""
        ...

    def read(self, name: str) -> bytes | None:
        """The bytes of a file; None if there is none."""
        ...

    def names(self, pattern: str) -> list[str]:
        """The names that match a pattern such as `*/pairs.json`, sorted."""
        ...

    def place(self, name: str) -> str:
        """The file as messages name it."""
        ...


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """Files in a folder."""

    folder: Path

    def replacing(self, name: str) -> AbstractContextManager[BinaryIO]:
        """As in `RunFiles`."""
        return replacing(self.folder / name)

    def read(self, name: str) -> bytes | None:
        """As in `RunFiles`."""
        path = self.folder / name
        return path.read_bytes() if path.exists() else None

    def names(self, pattern: str) -> list[str]:
        """As in `RunFiles`."""
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.glob(pattern))

    def place(self, name: str) -> str:
        """As in `RunFiles`."""
        return str(self.folder / name)


@dataclass(frozen=True, slots=True)
class HeldFiles:
    """Files in memory."""

    content: dict[str, bytes] = field(default_factory=dict)

    @contextmanager
    def replacing(self, name: str) -> Iterator[BinaryIO]:
        """As in `RunFiles`."""
        stream = BytesIO()
        yield stream
        self.content[name] = stream.getvalue()

    def read(self, name: str) -> bytes | None:
        """As in `RunFiles`."""
        return self.content.get(name)

    def names(self, pattern: str) -> list[str]:
        """As in `RunFiles`."""
        parts = pattern.count("/")
        return sorted(name for name in self.content if name.count("/") == parts and fnmatch(name, pattern))

    def place(self, name: str) -> str:
        """As in `RunFiles`."""
        return name


def write(files: RunFiles, name: str, value: Any) -> None:
    """Write the value as indented JSON."""
    with files.replacing(name) as stream:
        stream.write(to_json(value))


def write_lines(files: RunFiles, name: str, records: Iterable[Mapping[str, Any]]) -> None:
    """Write the records as JSON Lines."""
    encoder = msgspec.json.Encoder()
    with files.replacing(name) as stream:
        stream.writelines(encoder.encode(record) + b"\n" for record in records)
