"""Which format a file has: a look at its beginning, and each reader's own test of what it sees.

A reader's module may have a function `recognises(sample) -> bool`. Readers are asked in the order of the registry, in
which those of special formats come before those of general ones.
"""

import csv
import gzip
import os
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import ijson
import msgspec

from turnwise.errors import DataError
from turnwise.logs.files import BOM, GZIP, PARQUET, Packed

# `values` is several JSON values that are not one a line, as `jq .` writes them.
Form = Literal["folder", "zip", "json", "jsonl", "values", "table", "parquet", "text", "empty", "absent"]
HEAD = 1 << 16  # bytes of a file that are looked at, unless it is one JSON value
LARGE = 1 << 26  # bytes of a JSON object of which only the beginning is decoded
BEGIN = 1 << 22  # bytes of such a beginning
RECORDS = 3  # JSON records that a sample holds
ZIP = b"PK\x03\x04"
_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class Sample:
    """The beginning of a source, decoded as far as that is possible."""

    path: str
    form: Form
    text: str = ""  # the first characters of a file
    records: tuple[Any, ...] = ()  # the first JSON values: lines, or elements of a list
    is_list: bool = False  # whether the records are elements of one JSON list
    header: tuple[str, ...] = ()  # columns of a table
    names: tuple[str, ...] = ()  # members of a folder or a zip file

    @property
    def first(self) -> Mapping[str, Any]:
        """The first record if it is an object, else an empty mapping."""
        return self.records[0] if self.records and isinstance(self.records[0], dict) else {}

    def has(self, *keys: str) -> bool:
        """Whether the first record has all of these keys."""
        return all(key in self.first for key in keys)


def sample(path: str) -> Sample:
    """The form of a file, a folder or a zip file and what its beginning holds; of a file, no more than the
    first records are read. A path that is neither file nor folder is `absent`.
    """
    if os.path.isdir(path):
        return Sample(path, "folder", names=tuple(_members(path)))
    if not os.path.isfile(path):
        return Sample(path, "absent")
    with open(path, "rb") as file:
        begin = file.read(4)
    if begin == PARQUET:
        return Sample(path, "parquet", header=_parquet_columns(path))
    if begin == ZIP:
        try:
            with Packed(path) as packed:
                return Sample(path, "zip", names=tuple(packed.names))
        except DataError:  # whoever reads the file says what is wrong with it
            return Sample(path, "zip")
    head = _head(path)
    text = head.decode("utf-8-sig", errors="replace")
    stripped = text.lstrip()
    if not stripped:
        return Sample(path, "empty")
    if stripped[0] in "[{":
        found = _json(path, text, stripped)
        # `[31/12/2024, 09:15:02] Ann: hi` begins as a JSON list does, and all that can be decoded of it is a number.
        is_json = stripped[0] == "{" or not all(isinstance(one, int | float) for one in found.records)
        return found if is_json else Sample(path, "text", text)
    header = _header(text)
    return Sample(path, "table" if len(header) > 1 else "text", text, header=header)


def utf16(path: str) -> str | None:
    """The encoding of a file that is JSON text in UTF-16, as iconv calls it; None for any other file or folder."""
    head = _head(path)[:HEAD] if os.path.isfile(path) else b""
    if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        text = head[: len(head) // 2 * 2].decode("utf-16", errors="replace")
        return "UTF-16" if text.lstrip()[:1] in ("[", "{") else None
    if head[:2] in (b"{\0", b"[\0"):
        return "UTF-16LE"
    return "UTF-16BE" if head[:2] in (b"\0{", b"\0[") else None


def _head(path: str) -> bytes:
    """The first 64 KiB, unpacked if they are gzip; empty if they cannot be unpacked."""
    with open(path, "rb") as stored:
        packed = stored.read(2) == GZIP
    with gzip.open(path) if packed else open(path, "rb") as stream:
        try:
            return stream.read(HEAD)
        except (OSError, EOFError):
            return b""


def _json(path: str, text: str, stripped: str) -> Sample:
    """The sample of a JSON text: JSON Lines if the first line is a whole object, else one value."""
    first_line, _, rest = stripped.partition("\n")
    if stripped[0] == "{":
        try:
            _decode(first_line)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            pass  # a line that is cut, or a value over several lines
        else:
            if rest.strip() or len(first_line) < HEAD:
                return Sample(path, "jsonl", text, tuple(_lines(stripped)))
    if stripped[0] == "[":
        return Sample(path, "json", text, tuple(_values(path, "item")), is_list=True)
    found = tuple(_values(path, ""))
    return Sample(path, "values" if len(found) > 1 else "json", text, found)


def _lines(stripped: str) -> Iterator[Any]:
    """The values of the first three lines, up to the first that is not JSON."""
    for line in stripped.splitlines()[:RECORDS]:
        try:
            yield _decode(line)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return


def _values(path: str, prefix: str) -> Iterator[Any]:
    """The first three elements of a JSON list, or JSON values one after another, by the prefix of ijson; a broken
    file has what comes before the break, and so has a large object.
    """
    with open(path, "rb") as stored:
        packed = stored.read(2) == GZIP
    with gzip.open(path) if packed else open(path, "rb") as stream:
        try:
            if stream.peek(len(BOM)).startswith(BOM):
                stream.read(len(BOM))
            several = not prefix
            if several and os.path.getsize(path) >= LARGE:
                yield _beginning(stream.read(BEGIN))
                return
            found = ijson.items(stream, prefix, use_float=True, multiple_values=several)
            for number, value in enumerate(found):
                yield value
                if number + 1 == RECORDS:
                    return
        except (ijson.JSONError, UnicodeError, OSError, EOFError):
            return


def _beginning(begin: bytes) -> Any:
    """What the first bytes of a JSON object say of it; None if they say nothing."""
    builder = ijson.ObjectBuilder()
    try:
        for event, value in ijson.basic_parse(begin, use_float=True):
            builder.event(event, value)
    except (ijson.JSONError, UnicodeError):  # the bytes end inside the object
        pass
    return getattr(builder, "value", None)


def _header(text: str) -> tuple[str, ...]:
    """The cells of the first line by the delimiter that `csv` finds; empty if it finds none."""
    line = text.partition("\n")[0].strip("\r")
    try:
        delimiter = csv.Sniffer().sniff(line, delimiters=",;\t|").delimiter
        return tuple(next(csv.reader([line], delimiter=delimiter), []))
    except csv.Error:
        return ()


def _members(folder: str) -> Iterator[str]:
    """Sorted paths of files inside a folder, at most two folders down."""
    for place, folders, names in os.walk(folder):
        inner = os.path.relpath(place, folder)
        depth = 0 if inner == "." else inner.count(os.sep) + 1
        if depth >= 2:
            folders.clear()
        folders.sort()
        for name in sorted(names):
            yield name if inner == "." else f"{inner}/{name}".replace(os.sep, "/")


def _parquet_columns(path: str) -> tuple[str, ...]:
    """The columns of a Parquet file; empty without polars or if the file cannot be read."""
    try:
        import polars
        from polars.exceptions import PolarsError
    except ImportError:
        return ()
    try:
        return tuple(polars.read_parquet_schema(path))
    except (PolarsError, OSError):  # whoever reads the file says what is wrong with it
        return ()
