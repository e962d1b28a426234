"""Partial results of a run, from which it is resumed after an interruption.

Each part is a file in `unfinished/`, written under a temporary name and renamed, so it is complete or absent. Its name
is a digest of everything that determines the numbers (as in `origin`) and of the name of the part, so parts of other
runs are never reused. The executor is not included: a run can be resumed on a cluster. The commit is not included
either, because reading it may be slow; the version identifies the code. The folder is deleted when the results are
written.

A sum over shards is stored as the sum up to some shard, in one file. Shards are added in order, so a resumed run has
exactly the bits of an uninterrupted one. Parts are msgpack with raw arrays, in their memory order, because the last
digit of a matrix product depends on it.
"""

import logging
import shutil
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Literal, Protocol, Self, TypeVar

import msgspec
import numpy as np
from msgspec import structs

from turnwise.errors import UsageError
from turnwise.logs.checksum import sealed, unsealed
from turnwise.logs.files import lock
from turnwise.report import results
from turnwise.run.spec import origin
from turnwise.run.workers.execute import Executor, Shared
from turnwise.settings.groups import Command
from turnwise.types import digest

log = logging.getLogger(__name__)
FOLDER = "unfinished"  # in the output folder
WRITE_INTERVAL_FACTOR = 20  # sums are written again after this multiple of the time that writing them took
_ARRAY_CODE = 1  # msgpack extension code of an array

T = TypeVar("T")
Name = TypeVar("Name", bound=Hashable)


class SupportsAdd(Protocol):
    """Anything that can be summed."""

    def __add__(self, other: Any, /) -> Any: ...


Sum = TypeVar("Sum", bound=SupportsAdd)


class PartialResults:
    """Parts of a run by name. Without a folder nothing is stored; the folder is created with the first part."""

    def __init__(self, folder: Path | None, key: str) -> None:
        self._folder, self._key = None if folder is None else folder / FOLDER, key
        self._lock = (
            _lock_folder(self._folder) if self._folder is not None and self._folder.exists() else None
        )

    @classmethod
    def of(cls, spec: Command, sha256: Mapping[str, str]) -> Self:
        """The partial results of this spec on input files with these digests."""
        return cls(spec.folder, digest(results.to_json(structs.replace(origin(spec, sha256), commit=None))))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder is None or self._lock is None:
            return
        if kind is None:  # the run is complete, and its results are written
            shutil.rmtree(self._folder, ignore_errors=True)
        self._lock.close()

    def get(self, name: str, kind: type[T]) -> T | None:
        """The part of this name, decoded as `kind`; None if it is absent, damaged or of another form."""
        try:
            data = self._path(name).read_bytes() if self._folder is not None else b""
        except FileNotFoundError:
            return None
        payload = unsealed(data)
        if payload is None:
            return None
        try:
            return msgspec.msgpack.decode(payload, type=kind, ext_hook=_decode_array, dec_hook=_unchanged)
        except msgspec.DecodeError:  # written by another version of the code
            return None

    def put(self, name: str, value: object) -> None:
        """Write a part, in place of an earlier one of this name; does nothing without a folder."""
        if self._folder is None:
            return
        if self._lock is None:
            self._lock = _lock_folder(self._folder)
        payload = msgspec.msgpack.encode(value, enc_hook=_encode_array)
        with results.replacing(self._path(name)) as file:
            file.write(sealed(payload))

    def delete(self, name: str) -> None:
        """Delete a part if it exists."""
        if self._folder is not None:
            self._path(name).unlink(missing_ok=True)

    def map_tasks(
        self,
        workers: Executor,
        function: Callable[[Shared, Name], T],
        shared: Shared,
        tasks: Sequence[Name],
        *,
        about: str,
        kind: type[T],
        model: bool = False,
    ) -> Iterator[tuple[Name, T]]:
        """Yield each task with its result, in order; results of an interrupted run are read, not computed.

        `about` and the task name the stored part, `kind` is the type of a result, and `model` tells the workers that
        the function runs a model.
        """
        known = {task: self.get(f"{about} {task!r}", kind) for task in tasks}
        left = [task for task in tasks if known[task] is None]
        if len(left) < len(tasks):
            log.info(
                "%s: %d of %d are reused from an interrupted run", about, len(tasks) - len(left), len(tasks)
            )
        fresh = workers.in_order(function, shared, left, model=model)
        for task in tasks:
            found = known[task]
            if found is None:
                _, found = next(fresh)
                self.put(f"{about} {task!r}", found)
            yield task, found

    def sum_tasks(
        self,
        workers: Executor,
        function: Callable[[Shared, Name], Sum],
        shared: Shared,
        parts: Sequence[Name],
        *,
        about: str,
        nothing: Sum,
        advance: Callable[[int], None],
    ) -> Sum:
        """`nothing` plus the results of all parts, added in order; the function runs a model.

        The sum so far is stored from time to time as the part `about`, and a resumed run starts from it. `advance` is
        called with the number of parts finished since its last call.
        """
        kind: Any = tuple[int, type(nothing)]  # type: ignore[misc]  # the type is known at run time only
        kept: tuple[int, Sum] | None = self.get(about, kind)
        done, total = kept or (0, nothing)
        advance(done)
        written, took = time.monotonic(), 0.0
        for _, part in workers.in_order(function, shared, parts[done:], model=True):
            total, done = total + part, done + 1
            advance(1)
            write_start = time.monotonic()
            if write_start - written >= WRITE_INTERVAL_FACTOR * took or done == len(parts):
                self.put(about, (done, total))
                written = time.monotonic()
                took = written - write_start
        return total

    def _path(self, name: str) -> Path:
        """The file of a part; raises `RuntimeError` without a folder."""
        if self._folder is None:
            raise RuntimeError("nothing is kept without a folder")
        return self._folder / digest(self._key, name)


def content_digest(value: object) -> str:
    """Digest of a value with all its arrays, for the name of a part that was computed from it."""
    return digest(msgspec.msgpack.encode(value, enc_hook=_encode_array))


def _lock_folder(folder: Path) -> BinaryIO:
    """Create and lock the folder until the returned file is closed; raises `UsageError` if it cannot."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / "lock").open("wb")
    except OSError as error:
        raise UsageError(f"cannot write to {folder.parent}: {error.strerror or error}") from None
    lock(file, folder)
    return file


def _encode_array(value: Any) -> Any:
    """Encode an array with its memory order as a msgpack extension, or a numpy scalar as a number, for msgspec.

    Raises `NotImplementedError` for other types.
    """
    if isinstance(value, np.ndarray):
        order: Literal["F", "C"] = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        about = (value.dtype.str, value.shape, order, value.tobytes(order))
        return msgspec.msgpack.Ext(_ARRAY_CODE, msgspec.msgpack.encode(about))
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"a partial result holds {type(value).__name__}, which cannot be written")


def _decode_array(_: int, data: memoryview) -> Any:
    """The inverse of `_encode_array` for arrays; the array is read-only. The first argument is the extension code."""
    dtype, shape, order, raw = msgspec.msgpack.decode(data)
    return np.frombuffer(raw, dtype=dtype).reshape(shape, order=order)


def _unchanged(_: type, value: Any) -> Any:
    """The value as decoded, for types that msgspec does not know, such as arrays."""
    return value
