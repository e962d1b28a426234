"""What the columns of a table mean: the `--map` of csv, parquet and hf.

A map names a column for each meaning, `id=conv_id,rating:overall[1-5]=score`; a column that already has the
name of a meaning needs no mention. A rating may have its scale in brackets, and numbers for its words after the column:
`rating:thumb=feedback:up=1,down=0`. Without them the words of `labels` have their usual numbers.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import mktime_tz, parsedate_tz
from typing import Any

from turnwise.errors import UsageError, WrongForFile, convert_option
from turnwise.logs.checks import Check, RuleError, T, each, number, required, wrong
from turnwise.logs.labels import number_of
from turnwise.logs.readers.usual_columns import LAYOUT, usual_columns

PLAIN = (
    "id", "role", "content", "turn", "time", "message", "reply_to", "agent", "context", "response", "rater",
    "reference", "messages", "goal",
)  # fmt: skip
NAMED = ("rating", "dialogue-rating", "alternative", "say")  # each with a name: rating:overall, say:user
REPEATED = ("reference", "say")  # meanings that several columns may have, in the order of the map
RATED = ("rating", "dialogue-rating")
LISTED = ("reference", *RATED)  # meanings of which a cell may hold a list
MEANINGS = ", ".join((*PLAIN, *(f"{kind}:NAME{'[LOW-HIGH]' * (kind in RATED)}" for kind in NAMED)))
NUMBER = r"-?\d+(?:\.\d+)?"
SCALE = re.compile(rf"(.+)\[({NUMBER})-({NUMBER})\]")
WORD = re.compile(rf"(?P<word>[^=:]+)=(?P<number>{NUMBER})")  # a word of a rating and its number
FIRST_WORD = re.compile(rf"(?P<column>.+?):{WORD.pattern}")  # a column, and the first of its words

Scale = tuple[float, float]
Words = Mapping[str, float]  # word -> number


def parse(written: str) -> dict[str, tuple[str, ...]]:
    """Meaning -> columns of a `--map`; only `reference` and `say:ROLE` may have several.

    A part that is not MEANING=COLUMN with a known meaning raises `UsageError`.
    """
    columns: dict[str, tuple[str, ...]] = {}
    for meaning, column, _ in _parts(written):
        bare = _bare(meaning)
        taken = next((columns[other][0] for other in columns if _bare(other) == bare), None)
        if taken is not None and meaning.partition(":")[0] not in REPEATED:
            raise UsageError(
                f"{convert_option('--map', f'{meaning}={column}')}: `{bare}` already is the column `{taken}`"
            )
        columns[meaning] = (*columns.get(meaning, ()), column)
    return columns


def words(written: str) -> dict[str, Words]:
    """Meaning -> the numbers of its words, of the ratings in a `--map` that name some."""
    return {meaning: numbers for meaning, _, numbers in _parts(written) if numbers}


def _parts(written: str) -> Iterator[tuple[str, str, Words]]:
    """Each meaning of a `--map` with its column and its words; a part that is neither raises `UsageError`."""
    parts = list(filter(None, written.split(",")))
    while parts:
        part = parts.pop(0)
        meaning, sign, column = (side.strip() for side in part.partition("="))
        if not sign or not column or not _known(meaning):
            raise UsageError(
                f"{convert_option('--map', part)}: expected MEANING=COLUMN, where MEANING is one of {MEANINGS}"
            )
        numbers: dict[str, float] = {}
        first = FIRST_WORD.fullmatch(column) if meaning.partition(":")[0] in RATED else None
        if first is not None:
            column = first["column"]
            numbers[first["word"].strip()] = float(first["number"])
            while parts and (further := WORD.fullmatch(parts[0].strip())) and further["word"] not in PLAIN:
                numbers[further["word"].strip()] = float(further["number"])
                parts.pop(0)
        yield meaning, column, numbers


def _known(meaning: str) -> bool:
    """Whether a meaning is one of `PLAIN`, or a kind of `NAMED` with a name after the colon."""
    kind, colon, label = meaning.partition(":")
    return meaning in PLAIN or bool(kind in NAMED and colon and label)


def _bare(meaning: str) -> str:
    """A meaning without the scale in brackets that a rating may have."""
    kind, colon, label = meaning.partition(":")
    return kind + colon + (scaled(label)[0] if kind in RATED else label)


def scaled(label: str) -> tuple[str, Scale | None]:
    """`overall[1-5]` as the dimension and its scale; the scale is None if there are no brackets.

    Ends that are not in order raise `UsageError`.
    """
    parts = SCALE.fullmatch(label)
    if parts is None:
        return label, None
    low, high = float(parts[2]), float(parts[3])
    if not low < high:
        raise UsageError(f"`{label}`: expected a scale [LOW-HIGH] whose ends are in order")
    return parts[1], (low, high)


@dataclass(frozen=True, slots=True)
class Columns:
    """Meaning -> columns, all of which the table has."""

    meanings: Mapping[str, tuple[str, ...]]
    words: Mapping[str, Words] = field(default_factory=dict)  # rated meaning -> the numbers of its words

    @classmethod
    def fitted(
        cls,
        given: Mapping[str, tuple[str, ...]],
        header: Sequence[str],
        file: str,
        words: Mapping[str, Words] | None = None,
    ) -> "Columns":
        """The given map, and every other column of the header whose own name is a meaning; a given column that
        the header lacks raises `UsageError` about `file`. Where the map does not say what a row is, columns with
        usual names do (`usual_columns`).
        """
        for meaning, columns in given.items():
            for column in columns:
                if column not in header:
                    there = ", ".join(header)
                    option = convert_option("--map", f"{meaning}={column}")
                    found = f"{option}: there is no such column; there are {there}"
                    raise WrongForFile(file, found)
        if not any(meaning in LAYOUT or meaning.startswith("say:") for meaning in given):
            mapped = {column for columns in given.values() for column in columns}
            given = {**usual_columns(name for name in header if name not in mapped), **given}
        taken = {column for columns in given.values() for column in columns}
        said = {_bare(meaning) for meaning in given}
        own = {
            name: (name,) for name in header if name not in taken and _known(name) and _bare(name) not in said
        }
        return cls({**own, **given}, words or {})

    def __contains__(self, meaning: str) -> bool:
        return meaning in self.meanings

    def cells(self, row: Mapping[str, Any], meaning: str, check: Check[T]) -> list[T]:
        """The checked values of a row's cells with this meaning, in the order of the map; empty cells are left out.

        A cell with a list of references or ratings has several values.
        """
        filled = [column for column in self.meanings.get(meaning, ()) if row[column] not in (None, "")]
        several = each(check) if meaning.partition(":")[0] in LISTED else None
        return [
            value
            for column in filled
            for value in (
                required(row, column, several)
                if several is not None and isinstance(row[column], list)
                else (required(row, column, check),)
            )
        ]

    def cell(self, row: Mapping[str, Any], meaning: str, check: Check[T]) -> T | None:
        """The first checked value with this meaning; None if all cells are empty or no column has it."""
        return next(iter(self.cells(row, meaning, check)), None)

    def labelled(self, row: Mapping[str, Any], kind: str, check: Check[T]) -> dict[str, T]:
        """Name -> checked value of the row's cells with a meaning `kind:NAME`; empty cells are left out."""
        found = {}
        for meaning in self.meanings:
            if meaning.startswith(f"{kind}:") and (value := self.cell(row, meaning, check)) is not None:
                found[meaning.partition(":")[2]] = value
        return found

    def ratings(self, row: Mapping[str, Any], kind: str) -> Iterator[tuple[str, float, Scale | None]]:
        """Dimension, value and scale (None if the map has none) of the row's cells with a meaning `kind:NAME`;
        empty cells are left out.
        """
        for meaning in self.meanings:
            if meaning.startswith(f"{kind}:"):
                dimension, scale = scaled(meaning.partition(":")[2])
                numbers = self.words.get(meaning)
                scale = scale or scale_of(numbers)
                for value in self.cells(
                    row, meaning, RatingCheck(scale, numbers, self._instruction(meaning))
                ):
                    yield dimension, value, scale

    def _instruction(self, meaning: str) -> str:
        """How --map gives the numbers of words to a rated meaning."""
        return instruction(meaning, self.meanings[meaning][0])

    def own(self, row: Mapping[str, Any], *meanings: str) -> dict[str, Any]:
        """Column -> cell of the columns that have these meanings; empty cells are left out."""
        columns = [column for meaning in meanings for column in self.meanings.get(meaning, ())]
        return {column: row[column] for column in columns if row[column] not in (None, "")}

    def unmapped(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The cells of columns that have no meaning, without nulls."""
        taken = {column for columns in self.meanings.values() for column in columns}
        return {column: value for column, value in row.items() if column not in taken and value is not None}


def written(value: Any) -> str:
    """A cell as text; a number, as tables may store ids, with up to 15 digits. Other types raise `RuleError`."""
    if isinstance(value, str):
        return value
    if type(value) is int or type(value) is float:
        return f"{value:.15g}"
    raise wrong(value, "a text")


def measured(value: Any) -> float:
    """A cell as a finite number, also from text, as CSV has texts only; else raises `RuleError`."""
    if isinstance(value, str):
        try:
            return number(float(value))
        except ValueError:
            raise wrong(value, "a number") from None
    return number(value)


def moment(value: Any) -> float:
    """A cell as seconds: a number, also as text, as it is; ISO 8601 (`2017-10-31T22:10:47Z`), RFC 2822 and Twitter's
    form (`Tue Oct 31 22:10:47 +0000 2017`) as a Unix time, in UTC if it names no zone. Else raises `RuleError`.
    """
    if not isinstance(value, str):
        return measured(value)
    written_at = value.strip()
    try:
        return number(float(written_at))
    except (ValueError, RuleError):
        pass  # no number
    try:
        at = datetime.fromisoformat(written_at)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except ValueError:
        parts = parsedate_tz(written_at)
    if parts is None:
        raise wrong(value, "a time: ISO 8601, RFC 2822, or seconds")
    try:
        return float(mktime_tz(parts))
    except (ValueError, OverflowError):
        raise wrong(value, "a time: ISO 8601, RFC 2822, or seconds") from None


def scale_of(numbers: Words | None) -> Scale | None:
    """The scale from the smallest to the largest number of words; None without two different numbers."""
    ends = sorted({*numbers.values()}) if numbers else []
    return (ends[0], ends[-1]) if len(ends) > 1 else None


def instruction(meaning: str, column: str) -> str:
    """How --map gives the numbers of words to a rated meaning."""
    return f"{convert_option('--map')} '{meaning}={column}:WORD=1,OTHER=0' says the numbers of words"


@dataclass(frozen=True, slots=True)
class RatingCheck:
    """The check of a value that is a rating: a number that lies on the scale, if there is one; true, false, or a word.

    The words are those of the map, or, if it has none, the usual ones for good (1) and bad (0).
    """

    scale: Scale | None
    words: Words | None
    instruction: str  # for the error about an unknown word

    def __call__(self, cell: Any) -> float:
        value = self._number(cell)
        if self.scale is not None and not self.scale[0] <= value <= self.scale[1]:
            raise wrong(cell, f"a number on the scale {self.scale[0]:g} to {self.scale[1]:g}")
        return value

    def _number(self, cell: Any) -> float:
        """The number of a value without regard to the scale; an unknown word raises `RuleError`."""
        as_word = str(cell).lower() if isinstance(cell, bool) else cell
        if self.words is not None:
            if isinstance(as_word, str) and as_word.strip() in self.words:
                return self.words[as_word.strip()]
            known = ", ".join(self.words)
            if isinstance(as_word, int | float) and f"{as_word:g}" in self.words:
                return self.words[f"{as_word:g}"]
            raise wrong(cell, f"one of {known}; {self.instruction}")
        if not isinstance(as_word, str):
            return number(cell)
        known_number = number_of(as_word)
        if known_number is not None:
            return known_number
        try:
            float(as_word)
        except ValueError:
            raise wrong(cell, f"a number; {self.instruction}") from None
        return measured(cell)
