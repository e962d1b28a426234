"""Sets of ids at 12 to 24 bytes an id, so that a million dialogues cost a few megabytes.

The sets keep 64-bit hashes: two different ids of a million collide with a probability of 3 in 100 million.
"""

from array import array

MASK = 0xFFFF_FFFF_FFFF_FFFF  # 64 bits


class IdSet:
    """A set of strings that keeps only 64-bit hashes, by open addressing; 0 marks a free slot."""

    SLOTS = 2**10  # at first

    def __init__(self) -> None:
        self._table = array("Q", [0]) * self.SLOTS
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: str) -> bool:
        code = _code(key)
        return self._table[_slot(self._table, code)] == code

    def add(self, key: str) -> None:
        """Add an id."""
        code = _code(key)
        slot = _slot(self._table, code)
        if not self._table[slot]:
            self._fill(slot, code)

    def _fill(self, slot: int, code: int) -> None:
        """Put a hash in a free slot, and double the table if it is more than two thirds full."""
        self._table[slot] = code
        self._count += 1
        if 3 * self._count > 2 * len(self._table):
            self._grow()

    def _grow(self) -> None:
        """Double the table and put each hash in its new slot."""
        wider = array("Q", [0]) * (2 * len(self._table))
        for code in self._table:
            if code:
                wider[_slot(wider, code)] = code
        self._table = wider


class FileIds(IdSet):
    """Ids of several files, and the file that had each first, for half as many bytes again."""

    SLOTS = 2**14

    def __init__(self) -> None:
        super().__init__()
        self._files: list[str] = []
        self._number = array("I", [0]) * len(self._table)  # number of the file, at the slot of the id

    def open(self, file: str) -> None:
        """Start a file: ids that are added from now on belong to it."""
        self._files.append(file)

    def add(self, key: str) -> None:
        """Add an id for the file that was opened last; an id that is there keeps its first file."""
        self.first(key)

    def first(self, key: str) -> str | None:
        """Add an id and return None; if it is there already, return the file that had it first."""
        code = _code(key)
        slot = _slot(self._table, code)
        if self._table[slot]:
            return self._files[self._number[slot]]
        self._number[slot] = len(self._files) - 1
        self._fill(slot, code)
        return None

    def _grow(self) -> None:
        """Double the table, and move each hash with the number of its file."""
        wider = array("Q", [0]) * (2 * len(self._table))
        numbers = array("I", [0]) * len(wider)
        for code, number in zip(self._table, self._number, strict=True):
            if code:
                slot = _slot(wider, code)
                wider[slot], numbers[slot] = code, number
        self._table, self._number = wider, numbers


def _code(key: str) -> int:
    """The 64-bit hash of an id, never 0, which marks a free slot."""
    return hash(key) & MASK or 1


def _slot(table: "array[int]", code: int) -> int:
    """The slot that holds `code`, or the free slot where it belongs."""
    last = len(table) - 1  # the length is a power of two
    slot = code & last
    while (held := table[slot]) and held != code:
        slot = (slot + 1) & last
    return slot
