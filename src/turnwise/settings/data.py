"""The types of dialogues as a program has them: paths, records, `Dialogue` objects, or a table of dialogues."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from turnwise.types import Dialogue


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


Data: TypeAlias = (
    str
    | Path
    | Iterable[str]
    | Iterable[Path]
    | Iterable[str | Path]
    | Iterable[Mapping[str, Any]]
    | Iterable[Dialogue]
    | Frame
    | Table
)
MappingLike: TypeAlias = (
    str | Path | Mapping[str, Any]
)  # a file that `convert --save-mapping` writes, or its content
