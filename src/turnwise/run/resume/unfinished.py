"""What a run has so far, beside the results that it will become: killed at any point, it goes on from there.

Each part is a file in `unfinished/`, put in place by a rename: it is there whole or not at all. Its name is a
digest of all that moves a number (as `origin` tells it) and of what the part is: what another run has left is never
taken for ours. Who does the work is not among that, so a run begun here may be finished on a cluster; nor is the
commit, which git may be too slow to tell: the version says which code it is. When the results are written the folder
goes.

Sums over shards are kept as the sum up to some shard, in one file however many shards there are; as they are added in
the order of the shards, going on from there gives the bits of a run that was not stopped. msgpack with raw arrays, in
the order in which they lay in memory: the last digit of a product hangs on it.
"""

import logging
import shutil
import time
import zlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Literal, Protocol, Self, TypeVar

import msgspec
import numpy as np

from turnwise.errors import UsageError
from turnwise.report import results
from turnwise.run.origin import origin
from turnwise.run.resume.store import lock
from turnwise.run.spec import Spec
from turnwise.run.workers.execute import Executor, Shared
from turnwise.types import digest

log = logging.getLogger(__name__)
FOLDER = "unfinished"
SHARE = 20  # of the time since sums were last written, this part at most goes into writing them again
_CHECK = 4  # bytes of checksum before a part
_ARRAY = 1  # msgpack's code of an array

T = TypeVar("T")
Name = TypeVar("Name", bound=Hashable)


class Adding(Protocol):
    def __add__(self, other: Any, /) -> Any: ...


Sum = TypeVar("Sum", bound=Adding)


class Unfinished:
    """Parts by name. Without a folder nothing is kept; with one, it is made when there is something to keep."""

    def __init__(self, folder: Path | None, key: str) -> None:
        self._folder, self._key = None if folder is None else folder / FOLDER, key
        self._lock = _locked(self._folder) if self._folder is not None and self._folder.exists() else None

    @classmethod
    def of(cls, spec: Spec, sha256: Mapping[str, str]) -> Self:
        told = {name: value for name, value in origin(spec, sha256).items() if name != "commit"}
        return cls(spec.output, digest(results.to_json(told)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder is None or self._lock is None:
            return
        if kind is None:  # all is done, and stands where it belongs
            shutil.rmtree(self._folder, ignore_errors=True)
        self._lock.close()

    def get(self, name: str, kind: type[T]) -> T | None:
        """What was kept under this name; None where nothing was, or nothing whole."""
        try:
            data = self._path(name).read_bytes() if self._folder is not None else b""
        except FileNotFoundError:
            return None
        check, payload = data[:_CHECK], data[_CHECK:]
        if not payload or zlib.crc32(payload).to_bytes(_CHECK, "little") != check:
            return None
        try:
            return msgspec.msgpack.decode(payload, type=kind, ext_hook=_array, dec_hook=_as_it_is)
        except msgspec.DecodeError:  # of another form, as code that is being worked on leaves it
            return None

    def put(self, name: str, value: object) -> None:
        if self._folder is None:
            return
        if self._lock is None:
            self._lock = _locked(self._folder)
        payload = msgspec.msgpack.encode(value, enc_hook=_packed)
        with results.replacing(self._path(name)) as file:
            file.write(zlib.crc32(payload).to_bytes(_CHECK, "little") + payload)

    def forget(self, name: str) -> None:
        if self._folder is not None:
            self._path(name).unlink(missing_ok=True)

    def each(
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
        """Each task with what came of it, now or in an earlier try."""
        known = {task: self.get(f"{about} {task!r}", kind) for task in tasks}
        left = [task for task in tasks if known[task] is None]
        if len(left) < len(tasks):
            log.info("%s: %d of %d are there from an earlier try", about, len(tasks) - len(left), len(tasks))
        fresh = workers.in_order(function, shared, left, model=model)
        for task in tasks:
            found = known[task]
            if found is None:
                _, found = next(fresh)
                self.put(f"{about} {task!r}", found)
            yield task, found

    def total(
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
        """`nothing` plus what comes of each part, in their order, by workers that run a model."""
        kind: Any = tuple[int, type(nothing)]  # type: ignore[misc]  # known when it runs
        kept: tuple[int, Sum] | None = self.get(about, kind)
        done, total = kept or (0, nothing)
        advance(done)
        written, took = time.monotonic(), 0.0
        for _, part in workers.in_order(function, shared, parts[done:], model=True):
            total, done = total + part, done + 1
            advance(1)
            begun = time.monotonic()
            if begun - written >= SHARE * took or done == len(parts):
                self.put(about, (done, total))
                written = time.monotonic()
                took = written - begun
        return total

    def _path(self, name: str) -> Path:
        if self._folder is None:
            raise RuntimeError("nothing is kept without a folder")
        return self._folder / digest(self._key, name)


def fingerprint(value: object) -> str:
    """Of all that `value` holds, arrays to the bit: for the name of a part that was made from it."""
    return digest(msgspec.msgpack.encode(value, enc_hook=_packed))


def _locked(folder: Path) -> BinaryIO:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / "lock").open("wb")
    except OSError as error:
        raise UsageError(f"cannot write to {folder.parent}: {error.strerror or error}") from None
    lock(file, folder)
    return file


def _packed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        order: Literal["F", "C"] = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        about = (value.dtype.str, value.shape, order, value.tobytes(order))
        return msgspec.msgpack.Ext(_ARRAY, msgspec.msgpack.encode(about))
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"a part of a run holds {type(value).__name__}, which has no form on disk")


def _array(_: int, data: memoryview) -> Any:
    dtype, shape, order, raw = msgspec.msgpack.decode(data)
    return np.frombuffer(raw, dtype=dtype).reshape(shape, order=order)


def _as_it_is(_: type, value: Any) -> Any:
    return value
