"""Lines of the native format that are in no file: of records in memory, or made from a file of another format."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

KEPT = 1 << 26  # bytes of lines that are kept after the first pass


class NamedLines(str):
    """A name under which native lines are read as from a file; it stands wherever a path of dialogues stands.

    `lines` can be iterated more than once. Pickling it stores all lines.
    """

    lines: Iterable[bytes]

    def __new__(cls, name: str, lines: Iterable[bytes]) -> "NamedLines":
        """The name with its lines."""
        made = super().__new__(cls, name)
        made.lines = lines
        return made

    def __reduce__(self) -> tuple[type["NamedLines"], tuple[str, tuple[bytes, ...]]]:
        """As `pickle` asks: the name and the lines themselves, because a worker cannot make them."""
        return NamedLines, (str(self), tuple(self.lines))


class Repeated:
    """Lines that are made anew for each pass, or kept after the first one if all of them together are small."""

    def __init__(self, make: Callable[[], Iterator[bytes]]) -> None:
        self._make = make
        self._kept: tuple[bytes, ...] | None = None

    def __iter__(self) -> Iterator[bytes]:
        if self._kept is not None:
            yield from self._kept
            return
        lines: list[bytes] = []
        size = 0
        for line in self._make():
            size += len(line)
            if size <= KEPT:
                lines.append(line)
            yield line
        if size <= KEPT:
            self._kept = tuple(lines)


def is_file(path: str) -> bool:
    """Whether a path is a regular file; lines in memory may have the name of one."""
    return not isinstance(path, NamedLines) and Path(path).is_file()


def is_folder(path: str) -> bool:
    """Whether a path is a folder that is read as it is; lines in memory may have the name of a converted folder."""
    return not isinstance(path, NamedLines) and Path(path).is_dir()
