"""Bytes in and out: plain, gzip or a pipe; what is written appears whole or not at all."""

import gzip
import io
import os
import struct
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, BinaryIO, cast

from turnwise.errors import DataError, MissingExtra, Problem, UsageError
from turnwise.logs.memory import NamedLines

PIPE = "-"  # stands for stdin and stdout
BOM = b"\xef\xbb\xbf"  # the byte order mark of UTF-8, with which many programs on Windows begin a text
GZIP = b"\x1f\x8b"  # no JSON text begins so: the first bytes decide, whatever the file is called
PARQUET = b"PAR1"  # the first bytes decide, whatever the file is called
CHUNK = 1 << 16  # bytes that are read at once
ZSTANDARD = 93  # this method of compression in a zip file
LOCAL_HEADER = struct.Struct(
    "<26xHH"
)  # before each member of a zip file: lengths of its name and of extra fields
SPOOL = 1 << 24  # bytes for a pipe that are held in memory before they go to disk

Tap = Callable[[bytes], object]  # is shown the bytes as stored, for a checksum


Advance = Callable[[int], object]  # is called with the number of bytes that were read, for a progress bar
_ADVANCE: ContextVar[Advance | None] = ContextVar("advance", default=None)


@contextmanager
def counting(advance: Advance) -> Iterator[None]:
    """Call `advance` with the bytes, as stored, that the functions of this module read inside the block.

    A context variable, because many readers lie between the command that shows progress and this module.
    """
    token = _ADVANCE.set(advance)
    try:
        yield
    finally:
        _ADVANCE.reset(token)


def count_read(number: int) -> None:
    """Report bytes read to the enclosing `counting` block; does nothing without one."""
    advance = _ADVANCE.get()
    if advance is not None:
        advance(number)


class _Tapped(io.RawIOBase):
    """A raw stream that calls `tap` with every chunk of bytes that is read from it, and counts them."""

    def __init__(self, inner: IO[bytes], tap: Tap | None) -> None:
        self._inner, self._tap = inner, tap

    def readable(self) -> bool:
        """Always True, as `io` asks before it reads."""
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]  # the stub allows any buffer
        """Read up to the length of the buffer into it, show the bytes to `tap`, and return their number; 0 at
        the end.
        """
        chunk = self._inner.read(len(buffer))
        buffer[: len(chunk)] = chunk
        if self._tap is not None:
            self._tap(chunk)
        count_read(len(chunk))
        return len(chunk)


@contextmanager
def opened(path: str, *, tap: Tap | None = None) -> Iterator[BinaryIO]:
    """A stream of the bytes of a file, or of stdin for `-`, unpacked if they are gzip; `tap` sees the bytes as stored.

    A byte order mark of UTF-8 at the beginning is left out. A file that cannot be read, or not to its
    end, raises `DataError`.
    """
    try:
        raw: IO[bytes] = sys.stdin.buffer if path == PIPE else open(path, "rb", 0)  # noqa: SIM115  # closed below
    except OSError as error:
        raise DataError(Problem(path, None, "", f"cannot be read: {error.strerror}")) from None
    try:
        stored = io.BufferedReader(_Tapped(raw, tap), CHUNK)
        packed = stored.peek(2)[:2] == GZIP
        stream = io.BufferedReader(gzip.GzipFile(fileobj=stored), CHUNK) if packed else stored
        if stream.peek(len(BOM)).startswith(BOM):
            stream.read(len(BOM))
        yield cast("BinaryIO", stream)
    except (EOFError, zlib.error, OSError) as error:
        raise DataError(Problem(path, None, "", f"cannot be read to its end: {error}")) from None
    finally:
        if path != PIPE:
            raw.close()


def lines(path: str, *, tap: Tap | None = None) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not blank, with their numbers from 1 and their line ends; `tap` and `-` as
    in `opened`. Lines in memory may lack their line ends.
    """
    if isinstance(path, NamedLines):
        for number, line in enumerate(path.lines, 1):
            if tap is not None:
                tap(_ended(line))
            if not line.isspace():
                yield number, line
        return
    with opened(path, tap=tap) as stream:
        for number, line in enumerate(stream, 1):
            if not line.isspace():
                yield number, line


def _ended(line: bytes) -> bytes:
    """The line with its line end."""
    return line if line.endswith(b"\n") else line + b"\n"


def is_parquet(path: str) -> bool:
    """Whether a regular file begins with the mark of Parquet; False for lines in memory, stdin, pipes and files that
    cannot be read.
    """
    if isinstance(path, NamedLines) or not os.path.isfile(path):  # what is read from a pipe is gone
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(PARQUET)) == PARQUET
    except OSError:  # whoever reads it says so
        return False


def stored(path: str) -> Iterator[bytes]:
    """The bytes of a file as they are stored (gzip is not unpacked), in chunks of up to 64 KiB; `DataError` if it
    cannot be read. Each of the lines in memory ends with a line end.
    """
    if isinstance(path, NamedLines):
        yield from map(_ended, path.lines)
        return
    try:
        with open(path, "rb") as file:
            yield from iter(lambda: file.read(CHUNK), b"")
    except OSError as error:
        raise DataError(Problem(path, None, "", f"cannot be read: {error.strerror}")) from None


def content(path: str) -> bytes:
    """All bytes of a file, or of stdin for `-`, unpacked if they are gzip; `DataError` if they cannot be read."""
    with opened(path) as stream:
        return stream.read()


class Packed:
    """The members of a zip file; a file that is broken or encrypted raises `DataError`.

    `names` are all members in the order of the file.
    """

    # What the library raises for damaged bytes, unknown methods, encrypted members and members without a name.
    BROKEN = (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, EOFError, OSError, ValueError,
              KeyError, IndexError, struct.error)  # fmt: skip

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._file = zipfile.ZipFile(path)
        except self.BROKEN as error:
            raise self._problem(error) from None
        self.names = self._file.namelist()

    def __enter__(self) -> "Packed":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the zip file."""
        self._file.close()

    def read(self, name: str) -> bytes:
        """The unpacked bytes of one member; `DataError` if it is damaged, encrypted or absent."""
        try:
            about = self._file.getinfo(name)
            count_read(about.compress_size)
            return self._zstandard(about) if about.compress_type == ZSTANDARD else self._file.read(name)
        except self.BROKEN as error:
            raise self._problem(error, name) from None

    def _zstandard(self, about: zipfile.ZipInfo) -> bytes:
        """The bytes of a member that is compressed with Zstandard, which Python's own module does not read.

        Without the package `zstandard` it raises `MissingExtra`; damaged bytes raise `ValueError`.
        """
        try:
            import zstandard
        except ImportError:
            raise MissingExtra(
                f"reading {self.path}, which is compressed with Zstandard,", "tables"
            ) from None
        with open(self.path, "rb") as file:
            file.seek(about.header_offset)
            header = file.read(LOCAL_HEADER.size)
            name_length, extra_length = LOCAL_HEADER.unpack(header)
            file.seek(name_length + extra_length, os.SEEK_CUR)
            packed = file.read(about.compress_size)
        try:
            found = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from None
        if len(found) != about.file_size or zlib.crc32(found) != about.CRC:
            raise ValueError("the checksum is wrong")
        return found

    def _problem(self, error: Exception, name: str = "") -> DataError:
        """The error (not raised) that the file, or its member `name`, cannot be unpacked."""
        inside = f"{name} in it" if name else "the zip file"
        return DataError(
            Problem(self.path, None, "", f"cannot be unpacked: {inside} is damaged or encrypted ({error})")
        )


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A stream whose bytes replace `path` only if the block ends without an error; gzip if the name ends in `.gz`.

    `-` is stdout. A file that cannot be written raises `UsageError`.
    """
    try:
        with _destination(path) as raw:
            if path.endswith(".gz"):
                # A time stamp inside the file would make equal content differ.
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                    yield cast("BinaryIO", packed)
            else:
                yield raw
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


@contextmanager
def _destination(path: str) -> Iterator[BinaryIO]:
    """The stream behind `replacing`: a buffer that goes to stdout at the end for `-`, a device or named pipe
    itself, or else a draft that replaces the file.
    """
    if path == PIPE:
        with tempfile.SpooledTemporaryFile(SPOOL) as spool:
            yield cast("BinaryIO", spool)
            spool.seek(0)
            for chunk in iter(lambda: spool.read(CHUNK), b""):
                sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
    elif os.path.exists(path) and not os.path.isfile(path):
        # A device or a named pipe has no content to protect, and must not be replaced by a file.
        with open(path, "wb") as device:
            yield device
    else:
        with atomic(Path(os.path.realpath(path))) as file:
            yield file


@contextmanager
def atomic(path: Path) -> Iterator[BinaryIO]:
    """A file that gets its name only when it is complete and on the disk; after an error the draft is deleted
    and a file of that name stays as it was. Drafts of this file that killed processes left are deleted.
    """
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    _delete_orphans(path)
    try:
        with draft.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _delete_orphans(path: Path) -> None:
    """Delete the drafts of a file whose processes have ended. Not on Windows, where asking for a process ends it."""
    if os.name == "nt":
        return
    for name in os.listdir(path.parent):
        owner = name.removeprefix(f"{path.name}.").removesuffix(".tmp")
        if name == f"{path.name}.{owner}.tmp" and owner.isdecimal() and not _is_running(int(owner)):
            path.with_name(name).unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    """Whether there is a process with this number on this machine."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is another user's, or the number is none of a process
        return True
    return True


def lock(file: BinaryIO, path: Path) -> None:
    """Lock the file for this process; if another run has it, close it and raise `UsageError`. No lock on Windows."""
    if not locked(file):
        file.close()
        raise UsageError(f"{path.parent} is in use by another run; give this one its own -o")


def locked(file: BinaryIO) -> bool:
    """Lock the file for this process; False if another one has it. True on Windows, which opens files exclusively."""
    with suppress(ImportError):  # Windows has no fcntl
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
