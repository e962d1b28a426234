"""Venue tables in MultiWOZ's format, from a folder or from the package.

The tables of the package describe a town that does not exist.
"""

import gzip
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from turnwise.errors import DataError, UsageError, setting
from turnwise.worlds.task.lexicon import Lexicon
from turnwise.worlds.task.schema import ANYTHING, DOMAINS, TIMES, canonical, slot_of

TOWN = "town"  # name of the tables of the package
UNKNOWN = "?"  # an unknown value in the published tables
# Cars of taxis, which have no table.
CARS = ("red estate", "blue saloon", "grey minivan", "white hatchback", "black limousine", "yellow coupe")
# Columns that are ignored.
_IGNORED_COLUMNS = frozenset({"introduction", "location", "takesbookings", "signature"})


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One venue or train: slot -> value as in the table, and slot -> value in canonical spelling."""

    domain: str
    values: Mapping[str, str]  # slot -> value as in the table
    canon: Mapping[str, str]  # slot -> value in canonical spelling

    def meets(self, slot: str, wanted: str) -> bool:
        """Whether the row meets a constraint; unknown values meet any.

        A train must leave at the wanted time or later, and arrive at it or earlier.
        """
        value = self.canon.get(slot, UNKNOWN)
        if value == UNKNOWN:
            return True
        if slot == "leaveat":
            return value >= wanted
        if slot == "arriveby":
            return value <= wanted
        return value == wanted


class Tables:
    """The rows of each domain with search by constraints, and the lexicon of their values."""

    def __init__(
        self,
        rows: Mapping[str, Sequence[Mapping[str, Any]]],
        *,
        name: str = TOWN,
        mentioned: Iterable[
            tuple[str, str, str]
        ] = (),  # further (domain, slot, value) that users may mention
    ) -> None:
        self.name = name
        self._mentioned = tuple(mentioned)
        self.rows = {
            domain: tuple(_parse_row(domain, row) for row in found) for domain, found in rows.items()
        }
        self.find = lru_cache(maxsize=100_000)(self._search)
        self.values = cache(self._distinct_values)
        # Names are not unique: several trains of the published table share a number.
        self._by_name: dict[tuple[str, str], tuple[Row, ...]] = {}
        for domain, found in self.rows.items():
            for row in found:
                key = domain, row.canon[DOMAINS[domain].offer]
                self._by_name[key] = (*self._by_name.get(key, ()), row)
        self._index: dict[tuple[str, str, str], frozenset[int]] = {}
        for domain, found in self.rows.items():
            for slot in DOMAINS[domain].informs:
                for value in {row.canon.get(slot, UNKNOWN) for row in found}:
                    self._index[domain, slot, value] = frozenset(
                        index for index, row in enumerate(found) if row.meets(slot, value)
                    )

    def matching(self, domain: str, constraints: Mapping[str, str]) -> tuple[Row, ...]:
        """The rows that meet every constraint (values in canonical spelling), in the table's order.

        `dontcare` and slots by which the domain is not searched are ignored.
        """
        known = DOMAINS[domain].informs
        return self.find(
            domain, tuple(sorted((s, v) for s, v in constraints.items() if s in known and v != ANYTHING))
        )

    def _search(self, domain: str, constraints: tuple[tuple[str, str], ...]) -> tuple[Row, ...]:
        """The rows that meet every constraint, from the index where it has the value."""
        rows = self.rows[domain]
        left: frozenset[int] | range = range(len(rows))
        for slot, value in constraints:
            matches = self._index.get((domain, slot, value))
            if matches is None or slot in TIMES:
                matches = frozenset(index for index in left if rows[index].meets(slot, value))
            left = matches.intersection(left)
        return tuple(rows[index] for index in sorted(left))

    def rows_named(self, domain: str, name: str) -> tuple[Row, ...]:
        """The rows with this name (of a train: number) in canonical spelling; empty if there are none."""
        return self._by_name.get((domain, name), ())

    def _distinct_values(self, domain: str, slot: str) -> tuple[str, ...]:
        """The distinct known values of a slot, spelled as in the table, sorted by canonical spelling."""
        found = {row.canon.get(slot, UNKNOWN): row.values.get(slot, UNKNOWN) for row in self.rows[domain]}
        return tuple(found[key] for key in sorted(found) if key != UNKNOWN)

    def is_known_name(self, domain: str, name: str) -> bool:
        """Whether `name`, in canonical spelling, is the name of a venue of `domain` in the tables or in a goal."""
        return (domain, name) in self._by_name or (domain, name) in self._names_in_goals

    @cached_property
    def _names_in_goals(self) -> frozenset[tuple[str, str]]:
        """The (domain, name) pairs that goals mention."""
        return frozenset(
            (domain, canonical(slot, value)) for domain, slot, value in self._mentioned if slot == "name"
        )

    @cached_property
    def lexicon(self) -> Lexicon:
        """The lexicon of all values in the tables, the cars, and the values of the goals."""
        values = (
            (domain, slot, value)
            for domain, found in self.rows.items()
            for row in found
            for slot, value in row.values.items()
        )
        return Lexicon((*values, *(("taxi", "type", car) for car in CARS), *self._mentioned))


def _parse_row(domain: str, raw: Mapping[str, Any]) -> Row:
    """A row from one object of a table file; raises `DataError` if it has no name (a train: no number)."""
    # A full stop within a value would be parsed as the end of a sentence.
    values = {
        slot_of(column): value.replace(". ", " ")
        for column, value in raw.items()
        if isinstance(value, str) and value
    }
    if domain != "train":
        values.pop("id", None)  # an internal number that users do not mention
    offer = DOMAINS[domain].offer
    if offer not in values:
        raise DataError(f"a row of the table of `{domain}` has no `{offer}`: {dict(raw)!r}")
    kept = {slot: value for slot, value in values.items() if slot not in _IGNORED_COLUMNS}
    canon = {s: v if v == UNKNOWN else canonical(s, v) or UNKNOWN for s, v in kept.items()}
    return Row(domain, kept, canon)


def read_tables(db: str | None, mentioned: Iterable[tuple[str, str, str]] = ()) -> Tables:
    """Read the tables of the folder `db`; None or `town`: those of the package.

    `mentioned` has further (domain, slot, value) that users may mention.
    """
    return Tables(_read_folder(db or TOWN), name=db or TOWN, mentioned=mentioned)


@cache
def _read_folder(db: str) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """The objects of every table file, by domain; raises an error for a missing folder or table or an empty table."""
    if db == TOWN:
        folder = Path(str(files("turnwise") / "data" / "task" / TOWN))
    else:
        folder = Path(db)
        if not folder.is_dir():
            raise UsageError(
                f"{setting('--db', db)}: there is no such folder; without {setting('--db')} the tables "
                "of a made-up town are used"
            )
    rows = {name: _read_table(folder, domain.table) for name, domain in DOMAINS.items() if domain.table}
    for name, found in rows.items():
        if not found:
            raise DataError(f"{folder}: the table of `{name}` is empty, so no search could succeed")
    return rows


def _read_table(folder: Path, table: str) -> list[Mapping[str, Any]]:
    """The objects of one table file, plain or else gzipped; raises `UsageError` if there is neither.

    Raises `DataError` if the file is not a JSON list of objects.
    """
    plain = folder / table
    packed = plain.with_name(f"{table}.gz")
    if plain.is_file():
        data = plain.read_bytes()
    elif packed.is_file():
        try:
            data = gzip.decompress(packed.read_bytes())
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(f"{packed}: {error}") from None
    else:
        raise UsageError(f"{setting('--db', folder)}: it has no table `{table}` or `{table}.gz`")
    try:
        return list(msgspec.json.decode(data, type=list[dict[str, Any]]))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{plain}: {error}") from None
