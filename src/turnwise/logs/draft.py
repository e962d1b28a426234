"""Output that a killed conversion can continue: a draft beside the target, and a journal of the part that is complete.

The draft is `.NAME.draft` and the journal `.NAME.journal`, in the folder of the target. Every few seconds the draft is
synced to disk, and then the journal is replaced by one with the number of dialogues, the length of the draft and its
checksum. A resumed conversion cuts the draft to this length and appends; where the checksum of the draft or of the
journal differs, it begins anew. The draft gets the name of the target when it is complete.

A compressed file is a series of gzip members, each of about `MEMBER` bytes of text. The cuts depend on the text alone,
and the journal is written at cuts only, so a resumed conversion has the bytes of an uninterrupted one.
"""

import contextlib
import gzip
import os
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import msgspec

from turnwise.errors import UsageError
from turnwise.logs.files import PIPE, atomic, lines, locked

INTERVAL = 2.0  # seconds between two journals
MEMBER = 1 << 25  # bytes of text in one gzip member
CHUNK = 1 << 20  # bytes read at once for a checksum


class State(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of the journal: the complete part of the draft, and counts that its dialogues do not hold."""

    key: str  # digest of the input and the options
    dialogues: int = 0
    length: int = 0  # bytes of the draft
    checksum: int = 0  # CRC-32 of these bytes
    dropped: dict[str, int] = {}
    notes: list[str] = []
    redacted: dict[str, int] = {}
    own_checksum: int = 0  # CRC-32 of this journal with 0 here

    def signed(self) -> "State":
        """This state with the checksum of its other fields."""
        plain = msgspec.structs.replace(self, own_checksum=0)
        return msgspec.structs.replace(plain, own_checksum=zlib.crc32(msgspec.json.encode(plain)))


def can_resume(target: str) -> bool:
    """Whether a draft can stand beside the target: not for standard output, devices and named pipes."""
    return target != PIPE and (os.path.isfile(target) or not os.path.exists(target))


class Draft:
    """The file that becomes `target` at the end of the block; resumed if the journal beside it has the same key.

    `done` is what the journal says, with a count of 0 where nothing is resumed. `is_other` says that a journal
    with another key was there, whose draft is discarded. An error deletes draft and journal; an interruption keeps
    them. A file that cannot be written raises `UsageError`.
    """

    def __init__(self, target: str, key: str) -> None:
        self._target = Path(os.path.realpath(target))
        self._shown = target
        self._path = self._target.with_name(f".{self._target.name}.draft")
        self._journal = self._target.with_name(f".{self._target.name}.journal")
        self._packs = target.endswith(".gz")
        self._member: gzip.GzipFile | None = None
        self._member_length = 0
        self._saved = time.monotonic()
        self._file = self._opened()
        found = self._read_journal()
        self.is_other = found is not None and found.key != key
        if found is None or found.key != key or self._checksum(0, 0, found.length) != found.checksum:
            found = State(key)
        self.done = found
        self._summed = found.length, found.checksum
        self._file.truncate(found.length)
        self._file.seek(found.length)

    def _opened(self) -> BinaryIO:
        """The draft, locked; raises `UsageError` if it cannot be written or another conversion has it."""
        while True:
            try:
                file: BinaryIO = self._path.open("r+b" if self._path.exists() else "w+b")
            except FileNotFoundError:
                if self._path.parent.is_dir():  # another conversion has just renamed it
                    continue
                raise UsageError(f"cannot write {self._shown}: No such file or directory") from None
            except OSError as error:
                raise self._cannot_write(error) from None
            if not locked(file):
                file.close()
                raise UsageError(
                    f"{self._shown} is being written by another conversion; wait for it, or give another OUT"
                )
            if _is_at(file, self._path):
                return file
            file.close()  # another conversion ended between opening and locking, and renamed this file

    def _read_journal(self) -> State | None:
        """The journal; None if there is none, or if it is damaged or of an earlier version."""
        try:
            found = msgspec.json.decode(self._journal.read_bytes(), type=State)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None
        return found if found == found.signed() else None

    def _checksum(self, checksum: int, start: int, end: int) -> int | None:
        """The checksum of the draft up to `end`, from that up to `start`; None if the draft is shorter.

        The position in the file is then `end`.
        """
        self._file.seek(start)
        while start < end:
            part = self._file.read(min(CHUNK, end - start))
            if not part:
                return None
            checksum, start = zlib.crc32(part, checksum), start + len(part)
        return checksum

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._end_member()
                self._sync()
                if (
                    os.name == "nt"
                ):  # Windows does not rename open files; elsewhere the lock is held until the end
                    self._file.close()
                self._path.replace(self._target)
                self._journal.unlink(missing_ok=True)
                return
            with contextlib.suppress(OSError):  # the draft is deleted, or cut where the journal says
                self._end_member()
            if issubclass(kind, Exception) or not self._journal.exists():
                if os.name == "nt":
                    self._file.close()
                self._path.unlink(missing_ok=True)
                self._journal.unlink(missing_ok=True)
        except OSError as problem:
            self._path.unlink(missing_ok=True)
            self._journal.unlink(missing_ok=True)
            raise self._cannot_write(problem) from None
        finally:
            with contextlib.suppress(OSError):  # a full disk: what could not be written is reported above
                self._file.close()
        if isinstance(error, OSError):
            raise self._cannot_write(error) from None

    def _cannot_write(self, error: OSError) -> UsageError:
        """The error (not raised) that the target cannot be written."""
        return UsageError(f"cannot write {self._shown}: {error.strerror or error}")

    def written(self) -> Iterator[bytes]:
        """The lines that the draft has from the interrupted conversion."""
        if self.done.dialogues:
            yield from (line for _, line in lines(str(self._path)))

    def write(self, line: bytes) -> None:
        """Append one line; the line end is added."""
        if not self._packs:
            self._file.write(line + b"\n")
            return
        if self._member is None:
            # A time stamp or a name inside the file would make equal content differ.
            self._member = gzip.GzipFile(filename="", mode="wb", fileobj=self._file, mtime=0)
            self._member_length = 0
        self._member.write(line + b"\n")
        self._member_length += len(line) + 1
        if self._member_length >= MEMBER:
            self._end_member()

    @property
    def is_due(self) -> bool:
        """Whether the journal should be written now: it is old enough, and no gzip member is open."""
        return self._member is None and time.monotonic() - self._saved >= INTERVAL

    def save(self, state: State) -> None:
        """Sync the draft to disk and replace the journal; length and checksum in `state` are filled in here."""
        self._sync()
        length = self._file.tell()
        checksum = self._checksum(self._summed[1], self._summed[0], length)
        self._summed = length, checksum or 0
        state = msgspec.structs.replace(state, length=length, checksum=self._summed[1])
        with atomic(self._journal) as file:
            file.write(msgspec.json.encode(state.signed()))
        self._saved = time.monotonic()

    def _end_member(self) -> None:
        """Complete the open gzip member, if there is one."""
        if self._member is not None:
            self._member.close()
            self._member = None

    def _sync(self) -> None:
        """Write what is buffered and sync the draft to disk."""
        self._file.flush()
        os.fsync(self._file.fileno())


def _is_at(file: BinaryIO, path: Path) -> bool:
    """Whether an open file is the one that the path names now."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        return False
