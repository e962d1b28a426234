"""What the readers of other formats share: JSON values with their places, and what could not be kept."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import Any, NoReturn

import ijson
import msgspec

from turnwise.errors import DataError, Problem
from turnwise.logs.checks import RuleError, array, record, required, shown
from turnwise.logs.files import BOM, PIPE, content, counting, lines, opened
from turnwise.logs.memory import NamedLines
from turnwise.types import Dialogue, Role

LARGE = 1 << 26  # bytes of a JSON list above which its elements are read one by one
EXCERPT = 24  # bytes shown of a text that is not JSON
# A pair of surrogates, one alone, or any other escape: a backslash that is itself escaped begins none.
ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)

_decode = msgspec.json.Decoder().decode


@dataclass(slots=True)
class AlreadyWritten:
    """The dialogues of a source that an interrupted conversion has written already."""

    left: int = 0  # dialogues that are still to be passed over
    dropped: Mapping[str, int] = field(default_factory=dict)  # what was not kept of them


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may say about a source, and two fields that the reader fills: `dropped` and `notes`."""

    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # --map: meaning -> columns
    words: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # --map: rating -> word -> number
    split: str | None = None  # what separates the turns of a context that is one text
    dropped: Counter[str] = field(default_factory=Counter)  # what could not be kept -> how often
    roles: Mapping[str, Role] = field(default_factory=dict)  # --roles: speaker -> role; `*`: all others
    agent: str | None = None  # --agent: the agent's name where the records have none
    each: str | None = None  # --each: where the records are inside the file
    more: tuple[
        str, ...
    ] = ()  # further files of the same source; always empty for a reader of another package
    notes: list[str] = field(default_factory=list)  # what the reader took for granted, for the user to check
    shown: str = ""  # the user's name of the source, where that is not its path
    already: AlreadyWritten = field(default_factory=AlreadyWritten)  # by an interrupted conversion

    def records_to_skip(self, at_most: int | None = None) -> int:
        """How many dialogues an interrupted conversion has written, for a reader in which a dialogue is a record.

        The reader skips them without building them, and what was dropped from them is added to `dropped`. A reader
        that does not call this yields all dialogues, and `convert` passes over the first ones. `at_most` is the
        number of records in one of several parts, which are read one after another.
        """
        skipped = self.already.left if at_most is None else min(at_most, self.already.left)
        self.already.left -= skipped
        if skipped:
            self.dropped.update(self.already.dropped)
            self.already.dropped = {}
        return skipped


Build = Callable[[Any, str], Dialogue]  # from a decoded record, and the id it has if it names none


def decoded(data: bytes | str) -> Any:
    """The value of a JSON text in UTF-8, with or without a byte order mark; anything else and too deep nesting
    raise `RuleError`.
    """
    try:
        stored = data.encode() if isinstance(data, str) else data
    except UnicodeEncodeError as error:
        raise RuleError(f"cannot be UTF-8: {error.reason} at character {error.start}") from None
    try:
        return _decode(stored.removeprefix(BOM))
    except RecursionError:
        raise RuleError("is nested too deeply to be read") from None
    except (UnicodeError, msgspec.DecodeError) as error:
        raise RuleError(_malformed(stored, str(error))) from None


def _malformed(data: bytes, complaint: str) -> str:
    """What is wrong with a text that cannot be decoded, and where; `complaint` is the decoder's message."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return f"is not UTF-8: {error.reason} at byte {error.start}"
    lone = next((match for match in ESCAPE.finditer(data) if match["lone"]), None)
    if lone and b'"' in data[lone.end() :]:  # else the text broke off inside a pair
        half = f"{lone[0].decode()} at byte {lone.start()}"
        return f"has half a character, the surrogate {half} without the other half; expected both"
    place = re.search(r"\(byte (\d+)\)", complaint)
    near = data[int(place[1]) :][:EXCERPT].decode(errors="ignore") if place else ""
    return f"is not JSON: {complaint}" + (f", near {shown(near)}" if near else "")


def raise_data_error(error: RuleError, file: str, line: int | None = None) -> NoReturn:
    """Raise a `DataError` with the file, the line, and the path and message of `error`."""
    path = error.path if error.steps else ""
    raise DataError(Problem(file, line, path, error.message, error.advice)) from None


def read_json(path: str) -> Any:
    """The value of a file that is one JSON text; a text that is not JSON raises `DataError`."""
    try:
        return decoded(content(path))
    except RuleError as error:
        raise_data_error(error, path)


def first_line_and_lines(path: str) -> tuple[bytes, Iterator[tuple[int, bytes]]]:
    """The first line that is not blank, without leading space, and all such lines with their numbers from 1,
    the first one included; an empty file raises `DataError`.
    """
    numbered = lines(path)
    first = next(numbered, None)
    if first is None:
        raise DataError(Problem(path, None, "", "is empty; expected dialogues"))
    return first[1].lstrip(), chain([first], numbered)


def dialogues(path: str, build: Build, *, skip: int = 0) -> Iterator[Dialogue]:
    """The dialogues that `build` makes of the lines of JSON Lines, or of the elements of one JSON list; errors
    name the place. The first `skip` records are passed over.
    """
    if _is_large_list(path):
        try:
            yield from build_each(islice(enumerate(_elements(path)), skip, None), build)
        except RuleError as error:
            raise_data_error(error, path)
        return
    first, numbered = first_line_and_lines(path)
    try:
        if first.startswith(b"["):
            values = decoded(b"".join(line for _, line in numbered))
            yield from build_each(islice(enumerate(values), skip, None), build)
        else:
            yield from json_lines(islice(numbered, skip, None), path, build)
    except RuleError as error:
        raise_data_error(error, path)


def records(path: str) -> Iterator[tuple[Any, str, Callable[[], AbstractContextManager[None]]]]:
    """Each JSON value of JSON Lines, of a JSON list or of a file that is one: the value, its number as text,
    and its place. The number is the line, or the element of the list, from 1. The place is a function that
    returns a context manager, which turns a `RuleError` into a `DataError` with file and line or index.

    Lines, and elements of a list in a large file, are read one by one.
    """
    if _is_large_list(path):
        for index, one in enumerate(_elements(path)):
            yield one, str(index + 1), partial(placed, path, None, index)
        return
    first, numbered = first_line_and_lines(path)
    ahead = list(islice(numbered, 2))
    numbered = chain(ahead, numbered)
    # A list, or one object over several lines: then neither of the first two lines is a JSON value.
    if first.startswith(b"[") or not any(_is_json(line) for _, line in ahead):
        try:
            value = decoded(b"".join(line for _, line in numbered))
        except RuleError as error:
            raise_data_error(error, path)
        if isinstance(value, list):
            for index, one in enumerate(value):
                yield one, str(index + 1), partial(placed, path, None, index)
        else:
            yield value, "1", partial(placed, path, None, None)
    else:
        for number, line in numbered:
            try:
                value = decoded(line)
            except RuleError as error:
                raise_data_error(error, path, number)
            yield value, str(number), partial(placed, path, number, None)


def is_large(path: str) -> bool:
    """Whether a file is not held in memory: 64 MiB or more as stored. False for stdin, which cannot be read twice."""
    if isinstance(path, NamedLines):
        return False
    return path != PIPE and os.path.isfile(path) and os.path.getsize(path) >= LARGE


def _is_large_list(path: str) -> bool:
    """Whether a file is one JSON list that is not held in memory."""
    if not is_large(path):
        return False
    with opened(path) as stream:
        return stream.read(64).lstrip().startswith(b"[")


def listed(path: str, *keys: str) -> tuple[dict[str, Any], Iterator[Any] | None]:
    """What a file that is one JSON object holds: the object without the list at `keys`, one inside another, and the
    elements of this list, or None if there is nothing there.

    Elements of a large file are read one by one, after a first pass for the rest. A text that is not JSON raises
    `DataError`; another value in place of an object or of the list raises `RuleError`.
    """
    if is_large(path):
        place = ".".join(keys)
        return _without_list(path, place), _elements(path, f"{place}.item")
    rest = inner = dict(record(read_json(path)))
    for depth, key in enumerate(keys[:-1]):
        try:
            inner[key] = inner = dict(required(inner, key, record))
        except RuleError as error:
            raise _inside(error, keys[:depth]) from None
    found = inner.pop(keys[-1], None)
    try:
        return rest, None if found is None else iter(array(found))
    except RuleError as error:
        raise _inside(error, keys) from None


def _inside(error: RuleError, keys: Iterable[str]) -> RuleError:
    """The error with the steps `keys`, the outermost first, around its own."""
    for key in reversed(tuple(keys)):
        error.inside(key)
    return error


def _without_list(path: str, place: str) -> dict[str, Any]:
    """The object that a file is, without the value at a place such as `results.results`.

    The bytes that this reads are not counted for the progress bar.
    """
    builder = ijson.ObjectBuilder()
    above, _, last = place.rpartition(".")
    with counting(lambda _: None), opened(path) as stream, _decoding(path):
        for prefix, event, value in ijson.parse(stream, use_float=True):
            is_key = event == "map_key" and (prefix, value) == (above, last)
            if not is_key and prefix != place and not prefix.startswith(f"{place}."):
                builder.event(event, value)
    return record(builder.value)


def _elements(path: str, prefix: str = "item") -> Iterator[Any]:
    """The elements of a file's JSON list, decoded one by one; text that is not JSON raises `DataError`."""
    with opened(path) as stream, _decoding(path):
        yield from ijson.items(stream, prefix, use_float=True)


@contextmanager
def _decoding(path: str) -> Iterator[None]:
    """Turn an error about text that is not JSON into a `DataError`."""
    try:
        yield
    except (ijson.JSONError, UnicodeError) as error:
        raise DataError(Problem(path, None, "", f"is not JSON: {error}")) from None


def _is_json(line: bytes) -> bool:
    """Whether a line is a JSON value by itself."""
    try:
        decoded(line)
    except RuleError:
        return False
    return True


@contextmanager
def placed(path: str, line: int | None, index: int | None) -> Iterator[None]:
    """Turn a `RuleError` of the block into a `DataError` with the file and the line or index."""
    try:
        yield
    except RuleError as error:
        raise_data_error(error if index is None else error.inside(index), path, line)


def json_lines(numbered: Iterable[tuple[int, bytes]], path: str, build: Build) -> Iterator[Dialogue]:
    """The dialogue that `build` makes of each line; an error names the line."""
    for number, line in numbered:
        try:
            yield build(decoded(line), str(number))
        except RuleError as error:
            raise_data_error(error, path, number)


def build_each(values: Iterable[tuple[int | str, Any]], build: Build, *above: str) -> Iterator[Dialogue]:
    """The dialogue that `build` makes of each value, given with its index or key.

    `build` gets the key, or the number from 1. A `RuleError` gets this step and the steps `above`.
    """
    for step, value in values:
        try:
            yield build(value, str(step + 1) if isinstance(step, int) else step)
        except RuleError as error:
            for outer in (step, *reversed(above)):
                error.inside(outer)
            raise
