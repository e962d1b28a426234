"""The searched text of all dialogues, case-folded, so that a search reads it once; a long one is in a temporary file.

The text of a dialogue is its id and its messages with their tool calls, each closed by a NUL, which no search term
holds. There are about as many bytes as the messages have.
"""

import mmap
import re
from collections.abc import Iterator, Sequence
from tempfile import TemporaryFile
from typing import IO

import numpy as np
from numpy.typing import NDArray

from turnwise.types import Turn
from turnwise.web.pages.tool_calls import called
from turnwise.web.viewer.table import Whole

SEPARATOR, CLOSE = "\0", b"\0"
HELD = 1 << 24  # bytes that are held in memory; with more, all are in a file
BUFFER = 1 << 20  # bytes that are gathered for the file before they are written
_TERM = re.compile(r'"([^"]+)"|(\S+)')


def terms(query: str) -> list[str]:
    """The words of a query, and what is in quotation marks as one; each once, without NUL."""
    found = (match[1] or match[2].strip('"') for match in _TERM.finditer(query.replace("\0", " ")))
    return list(dict.fromkeys(term for term in found if term))


def mark(query: str) -> re.Pattern[str] | None:
    """A pattern for what a query finds, for marking it in a text; None for an empty query."""
    words = sorted(terms(query), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words)), re.IGNORECASE) if words else None


def turn_text(turn: Turn) -> str:
    """What is searched of a message: its text, and the names and arguments of its tool calls."""
    if not turn.extra:
        return turn.content or ""
    calls = [f"{name} {arguments}" for name, arguments in map(called, turn.tool_calls)]
    return "\n".join([turn.text, *calls]) if calls else turn.text


class TextWriter:
    """Writes the searched text."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._gathered = bytearray()
        self._written = 0

    @property
    def place(self) -> int:
        """Where the next text will begin."""
        return self._written + len(self._gathered)

    def add(self, texts: Sequence[str]) -> list[int]:
        """Add texts, one after the other; returns where each ends."""
        joined = SEPARATOR.join(texts)
        if joined.count(SEPARATOR) != len(texts) - 1:
            joined = SEPARATOR.join(text.replace(SEPARATOR, " ") for text in texts)
        data = joined.casefold().encode("utf-8", "replace")
        place = self.place - 1
        ends = [place := place + 1 + len(part) for part in data.split(CLOSE)]
        self._gathered += data
        self._gathered += CLOSE
        if len(self._gathered) > (HELD if self._file is None else BUFFER):
            self._flush()
        return ends

    def _flush(self) -> None:
        """Write what is gathered."""
        if self._file is None:
            self._file = TemporaryFile(prefix="turnwise-view-")  # noqa: SIM115  # closed by `Texts`
        self._file.write(self._gathered)
        self._file.flush()
        self._written += len(self._gathered)
        self._gathered.clear()

    def close(self) -> None:
        """Close the file, which deletes it."""
        if self._file is not None:
            self._file.close()

    def finish(self) -> "Texts":
        """All that was added, ready to be searched."""
        if self._file is None:
            return Texts(bytes(self._gathered))
        self._flush()
        return Texts(mmap.mmap(self._file.fileno(), self._written, access=mmap.ACCESS_READ), self._file)


class Texts:
    """The text of all dialogues; `close` deletes the file that it is in, if it is in one."""

    def __init__(self, content: bytes | mmap.mmap, file: IO[bytes] | None = None) -> None:
        self._bytes, self._file = content, file

    def close(self) -> None:
        """Close the file, which deletes it."""
        if isinstance(self._bytes, mmap.mmap):
            self._bytes.close()
        if self._file is not None:
            self._file.close()

    def find(self, query: str, start: Whole, end: Whole) -> NDArray[np.bool_]:
        """(n,) which of these ranges hold every term of the query; all for a query without a term.

        The ranges must be in order and may touch, but not overlap.
        """
        found = np.ones(len(start), bool)
        for term in terms(query):
            mine = np.zeros(len(start), bool)
            mine[list(self._ranges(term, start, end))] = True
            found &= mine
        return found

    def _ranges(self, term: str, start: Whole, end: Whole) -> Iterator[int]:
        """The places of the ranges that hold a term, each once."""
        pattern = re.compile(re.escape(term.casefold().encode("utf-8", "replace")))
        at = 0
        while match := pattern.search(self._bytes, at):
            place = int(np.searchsorted(start, match.start(), "right")) - 1
            if place >= 0 and match.end() <= end[place]:
                yield place
                at = int(end[place])
            elif place + 1 < len(start):
                at = int(
                    start[place + 1]
                )  # the term is between two ranges, in the text of another kind of turn
            else:
                return
