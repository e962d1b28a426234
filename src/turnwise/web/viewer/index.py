"""The dialogues of some files: where each is, and tables of numbers about them and their replies.

A dialogue is read from its file when it is asked for. Ids need only differ inside a file.
"""

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import BinaryIO

import numpy as np

from turnwise.errors import TurnwiseError
from turnwise.logs import native
from turnwise.types import Dialogue
from turnwise.web.viewer.log_file import LogFile
from turnwise.web.viewer.table import WHOLE, Small, Table, Unit, Whole
from turnwise.web.viewer.texts import Texts


class Changed(TurnwiseError):
    """A file has changed since it was read."""


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where each dialogue is."""

    file: Small  # (n,)
    line: Whole  # (n,) from 1
    offset: Whole  # (n,) of its first byte
    length: Whole  # (n,) in bytes
    code: Whole  # (n,) hash of file and id


class Index:
    """The dialogues of some files: tables of numbers, and each dialogue when it is asked for."""

    def __init__(
        self,
        files: Sequence[LogFile],
        places: Places,
        agents: Sequence[str],
        texts: Texts,
        dialogues: Table,
        replies: Table,
    ) -> None:
        self.files, self.agents, self.texts = tuple(files), tuple(agents), texts
        self.dialogues, self.replies = dialogues, replies
        self._places = places
        self._by_code = np.argsort(places.code, kind="stable")
        self._codes = places.code[self._by_code]
        # (n + 1,) the replies of dialogue i are the rows from first[i] to first[i + 1] of their table
        self._first = np.searchsorted(replies.rows.dialogue, np.arange(len(dialogues) + 1, dtype=np.int32))
        self._lock = threading.Lock()
        self._open = [file.open() for file in files]
        self._stamps = [_stamp(file) for file in self._open]
        self._numbers = {file.name: number for number, file in enumerate(files)}
        self._agent_codes = {name: code for code, name in enumerate(agents)}

    def __len__(self) -> int:
        """The number of dialogues."""
        return len(self.dialogues)

    def close(self) -> None:
        """Close the files and delete the searched text."""
        for file in self._open:
            file.close()
        self.texts.close()

    def table(self, unit: Unit) -> Table:
        """The table with one row for each dialogue, or for each reply."""
        return self.dialogues if unit == "dialogue" else self.replies

    def agent_code(self, name: str) -> int | None:
        """The code of an agent; None if no dialogue has it."""
        return self._agent_codes.get(name)

    def file_of(self, row: int) -> LogFile:
        """The file of a dialogue."""
        return self.files[int(self._places.file[row])]

    def n_turns(self, row: int) -> int:
        """The number of messages of a dialogue."""
        return int(self.dialogues.columns["size:turns"].values[row])

    def place(self, unit: Unit, row: int) -> tuple[int, int | None]:
        """The dialogue (its row) and the turn of a row; None for a whole dialogue."""
        about = self.table(unit).rows
        turn = int(about.turn[row])
        return int(about.dialogue[row]), None if turn == WHOLE else turn

    def find(self, dialogue: str, *, file: int | str | None = None) -> int | None:
        """The row of the dialogue with this id, in the file with this number or name, else in any; None if there is
        none.
        """
        if isinstance(file, str):
            if file not in self._numbers:
                return None
            file = self._numbers[file]
        for number in range(len(self.files)) if file is None else (file,):
            code = hash((number, dialogue))
            place = int(np.searchsorted(self._codes, code))
            if place < len(self._codes) and self._codes[place] == code:
                return int(self._by_code[place])
        return None

    def dialogue(self, row: int) -> Dialogue:
        """The dialogue of a row, read from its file; `Changed` if the file is not what it was."""
        number = int(self._places.file[row])
        stream, file = self._open[number], self.files[number]
        if _stamp(stream) != self._stamps[number]:
            raise Changed(f"{file.shown} has changed since it was read; start the viewer again")
        with self._lock:
            stream.seek(int(self._places.offset[row]))
            line = stream.read(int(self._places.length[row]))
        return native.parse(line, file=file.shown, line_number=int(self._places.line[row]))

    def replies_of(self, row: int) -> range:
        """The rows of the replies of a dialogue."""
        return range(int(self._first[row]), int(self._first[row + 1]))


def _stamp(file: BinaryIO) -> tuple[int, int] | None:
    """Size and time of change of an open file; None for one in memory."""
    if isinstance(file, BytesIO):
        return None
    found = os.fstat(file.fileno())
    return found.st_size, found.st_mtime_ns
