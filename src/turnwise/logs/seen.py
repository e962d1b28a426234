"""A set of ids at 12 to 24 bytes an id, so that a million conversations cost a few megabytes.

Kept are 64-bit hashes: two different ids of a million collide with a chance of 3 in 100 million.
"""

from array import array


class Seen:
    """Open addressing over 64-bit hashes; 0 marks a free place."""

    def __init__(self) -> None:
        self._table = array("Q", [0]) * 1024
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: str) -> bool:
        mark = _mark(key)
        return self._table[_place(self._table, mark)] == mark

    def add(self, key: str) -> None:
        mark = _mark(key)
        place = _place(self._table, mark)
        self._count += self._table[place] != mark
        self._table[place] = mark
        if 3 * self._count > 2 * len(self._table):
            self._grow()

    def _grow(self) -> None:
        wider = array("Q", [0]) * (2 * len(self._table))
        for mark in self._table:
            if mark:
                wider[_place(wider, mark)] = mark
        self._table = wider


class SeenIn(Seen):
    """Ids of several files and the file that had each first, for half as many bytes again."""

    def __init__(self) -> None:
        super().__init__()
        self._files: list[str] = []
        self._number = array("I", [0]) * len(self._table)  # of the file, at the place of the id

    def open(self, file: str) -> None:
        """Ids that are added from now on are this file's."""
        self._files.append(file)

    def add(self, key: str) -> None:
        super().add(key)
        self._number[_place(self._table, _mark(key))] = len(self._files) - 1

    def file(self, key: str) -> str | None:
        mark = _mark(key)
        place = _place(self._table, mark)
        return self._files[self._number[place]] if self._table[place] == mark else None

    def _grow(self) -> None:
        before = self._table
        super()._grow()
        wider = array("I", [0]) * len(self._table)
        for mark, number in zip(before, self._number, strict=True):
            if mark:
                wider[_place(self._table, mark)] = number
        self._number = wider


def _mark(key: str) -> int:
    return hash(key) & 0xFFFF_FFFF_FFFF_FFFF or 1


def _place(table: "array[int]", mark: int) -> int:
    """Where `mark` is, or the free place where it belongs."""
    last = len(table) - 1  # the length is a power of two
    place = mark & last
    while table[place] and table[place] != mark:
        place = (place + 1) & last
    return place
