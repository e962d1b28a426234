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


def _mark(key: str) -> int:
    return hash(key) & 0xFFFF_FFFF_FFFF_FFFF or 1


def _place(table: "array[int]", mark: int) -> int:
    """Where `mark` is, or the free place where it belongs."""
    last = len(table) - 1  # the length is a power of two
    place = mark & last
    while table[place] and table[place] != mark:
        place = (place + 1) & last
    return place
