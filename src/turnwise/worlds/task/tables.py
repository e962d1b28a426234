"""What can be found: venue tables as MultiWOZ writes them, from a folder or those that ship.

The tables that ship are of a town that does not exist.
"""

import gzip
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from turnwise.errors import DataError, UsageError
from turnwise.worlds.task.lexicon import Lexicon
from turnwise.worlds.task.schema import ANYTHING, DOMAINS, TIMES, canonical, slot_of

TOWN = "town"  # the tables that ship
UNKNOWN = "?"  # as the published tables write it
CARS = ("red estate", "blue saloon", "grey minivan", "white hatchback", "black limousine", "yellow coupe")
_UNREAD = frozenset({"introduction", "location", "takesbookings", "signature"})


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    domain: str
    values: Mapping[str, str]  # slot -> as it is written
    canon: Mapping[str, str]  # slot -> in one spelling

    def meets(self, slot: str, wanted: str) -> bool:
        there = self.canon.get(slot, UNKNOWN)
        if there == UNKNOWN:  # a table that does not say excludes nothing
            return True
        if slot == "leaveat":
            return there >= wanted
        if slot == "arriveby":
            return there <= wanted
        return there == wanted


class Tables:
    """The rows of each domain, searched by constraints, and the words that the conversation may use."""

    def __init__(
        self,
        rows: Mapping[str, Sequence[Mapping[str, Any]]],
        *,
        name: str = TOWN,
        spoken: Iterable[
            tuple[str, str, str]
        ] = (),  # (domain, slot, value) that users say beside what is there
    ) -> None:
        self.name = name
        self._spoken = tuple(spoken)
        self.rows = {domain: tuple(_row(domain, row) for row in found) for domain, found in rows.items()}
        self.find = lru_cache(maxsize=100_000)(self._search)
        self.values = cache(self._column)
        # A train's number is that of several trains in the published table.
        self._by_name: dict[tuple[str, str], tuple[Row, ...]] = {}
        for domain, found in self.rows.items():
            for row in found:
                key = domain, row.canon[DOMAINS[domain].offer]
                self._by_name[key] = (*self._by_name.get(key, ()), row)
        self._having: dict[tuple[str, str, str], frozenset[int]] = {}
        for domain, found in self.rows.items():
            for slot in DOMAINS[domain].informs:
                for value in {row.canon.get(slot, UNKNOWN) for row in found}:
                    self._having[domain, slot, value] = frozenset(
                        place for place, row in enumerate(found) if row.meets(slot, value)
                    )

    def matching(self, domain: str, constraints: Mapping[str, str]) -> tuple[Row, ...]:
        """The rows that meet every constraint, in the table's order; those on what it does not hold are passed over."""
        known = DOMAINS[domain].informs
        return self.find(
            domain, tuple(sorted((s, v) for s, v in constraints.items() if s in known and v != ANYTHING))
        )

    def _search(self, domain: str, constraints: tuple[tuple[str, str], ...]) -> tuple[Row, ...]:
        rows = self.rows[domain]
        left: frozenset[int] | range = range(len(rows))
        for slot, value in constraints:
            having = self._having.get((domain, slot, value))
            if having is None or slot in TIMES:
                having = frozenset(place for place in left if rows[place].meets(slot, value))
            left = having.intersection(left)
        return tuple(rows[place] for place in sorted(left))

    def called(self, domain: str, name: str) -> tuple[Row, ...]:
        return self._by_name.get((domain, name), ())

    def _column(self, domain: str, slot: str) -> tuple[str, ...]:
        """The different values of a column, as they are written."""
        found = {row.canon.get(slot, UNKNOWN): row.values.get(slot, UNKNOWN) for row in self.rows[domain]}
        return tuple(found[key] for key in sorted(found) if key != UNKNOWN)

    def knows(self, domain: str, name: str) -> bool:
        """Whether somebody may speak of such a place."""
        return (domain, name) in self._by_name or (domain, name) in self._sought

    @cached_property
    def _sought(self) -> frozenset[tuple[str, str]]:
        return frozenset(
            (domain, canonical(slot, value)) for domain, slot, value in self._spoken if slot == "name"
        )

    @cached_property
    def lexicon(self) -> Lexicon:
        held = (
            (domain, slot, value)
            for domain, found in self.rows.items()
            for row in found
            for slot, value in row.values.items()
        )
        return Lexicon((*held, *(("taxi", "type", car) for car in CARS), *self._spoken))


def _row(domain: str, raw: Mapping[str, Any]) -> Row:
    # A full stop within a value would be read as the end of a sentence.
    values = {
        slot_of(column): value.replace(". ", " ")
        for column, value in raw.items()
        if isinstance(value, str) and value
    }
    if domain != "train":
        values.pop("id", None)  # a number that no one says
    offer = DOMAINS[domain].offer
    if offer not in values:
        raise DataError(f"a row of the table of `{domain}` has no `{offer}`: {dict(raw)!r}")
    kept = {slot: value for slot, value in values.items() if slot not in _UNREAD}
    canon = {s: v if v == UNKNOWN else canonical(s, v) or UNKNOWN for s, v in kept.items()}
    return Row(domain, kept, canon)


def read(db: str | None, spoken: Iterable[tuple[str, str, str]] = ()) -> Tables:
    """The tables of a folder; without one those that ship."""
    return Tables(_folder(db or TOWN), name=db or TOWN, spoken=spoken)


@cache
def _folder(db: str) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    if db == TOWN:
        folder = Path(str(files("turnwise") / "data" / "task" / TOWN))
    else:
        folder = Path(db)
        if not folder.is_dir():
            raise UsageError(f"--db {db}: there is no such folder; without --db a made-up town serves")
    rows = {name: _rows(folder, domain.table) for name, domain in DOMAINS.items() if domain.table}
    for name, found in rows.items():
        if not found:
            raise DataError(f"{folder}: the table of `{name}` is empty, and nothing could be found in it")
    return rows


def _rows(folder: Path, table: str) -> list[Mapping[str, Any]]:
    plain = folder / table
    packed = plain.with_name(f"{table}.gz")
    if plain.is_file():
        data = plain.read_bytes()
    elif packed.is_file():
        data = gzip.decompress(packed.read_bytes())
    else:
        raise UsageError(f"--db {folder}: there is no table `{table}` in it, plain or with .gz")
    try:
        return list(msgspec.json.decode(data, type=list[dict[str, Any]]))
    except msgspec.DecodeError as error:
        raise DataError(f"{plain}: {error}") from None
