"""`results.json`: the shape that other programs rely on, written whole or not at all.

There is no time of day in it: the same input gives the same bytes.
"""

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from turnwise.logs.files import atomic
from turnwise.records import Document, plain


def to_json(value: Any) -> bytes:
    """Indented JSON with a final line break; NaN and infinity become null, and keys become text."""
    objects = plain(value) if isinstance(value, Document) else msgspec.to_builtins(value, str_keys=True)
    return msgspec.json.format(msgspec.json.encode(_without_nan(objects)), indent=1) + b"\n"


def _without_nan(value: Any) -> Any:
    """The value with None for each number that is not finite, at any depth; tuples become lists."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(part) for part in value]
    return value


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that replaces `path` only if the block ends without an error; a missing folder is created."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as file:
        yield file


def file_name(name: str) -> str:
    """The name of an estimator or rating as the name of a file: settings may hold paths, and ratings colons."""
    return name.translate({ord(sign): "-" for sign in "/\\:"})


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write the records as JSON Lines, replacing the file only when all are written."""
    encoder = msgspec.json.Encoder()
    with replacing(path) as file:
        file.writelines(encoder.encode(record) + b"\n" for record in records)


def write(path: Path, value: Any) -> None:
    """Write the value as indented JSON, replacing the file only when all is written."""
    with replacing(path) as file:
        file.write(to_json(value))
