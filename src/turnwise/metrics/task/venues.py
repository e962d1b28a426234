"""Search in the venue tables of a task (restaurants, hotels, trains ...)."""

import gzip
import zlib
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import msgspec
from rapidfuzz import fuzz

from turnwise.errors import DataError
from turnwise.metrics.task.ontology import Ontology
from turnwise.metrics.task.tables import NoTables, tables_folder
from turnwise.types import digest

# Values with at least this partial ratio (rapidfuzz, 0-100) count as equal in slots that allow it:
# `saint johns college` equals `saint john's college, cambridge`.
SIMILAR = 90


class Venues:
    """The venue tables of an ontology's domains, which can be searched by constraints."""

    def __init__(self, folder: Path, ontology: Ontology) -> None:
        self.ontology = ontology
        read = {
            name: _rows(folder, domain.table) for name, domain in ontology.domains.items() if domain.table
        }
        self.fingerprint = digest(*(data for _, data in read.values()))
        self._entries: dict[str, list[tuple[str, dict[str, str]]]] = {}
        for name, (rows, _) in read.items():
            key = ontology.domains[name].key
            if not rows:
                raise DataError(f"{folder}: the table of `{name}` is empty, and nothing could be found in it")
            if without_key := [row for row in rows if key not in row]:
                raise DataError(
                    f"{folder}: a row of the table of `{name}` has no `{key}`: {without_key[0]!r}"
                )
            self._entries[name] = [(str(row[key]), self._entry(row)) for row in rows]
        self._found = lru_cache(maxsize=100_000)(self._search)

    def __contains__(self, domain: str) -> bool:
        return domain in self._entries

    def find(self, domain: str, constraints: Mapping[str, str]) -> frozenset[str]:
        """The keys of the venues that meet every constraint; a venue without a value for a slot meets it.

        Slots and values must be normalised. The domain must have a table.
        """
        return self._found(domain, tuple(sorted(constraints.items())))

    def _entry(self, row: Mapping[str, Any]) -> dict[str, str]:
        """A row of a table with normalised slots and values, without values that are not text."""
        columns = ((self.ontology.slot(column), value) for column, value in row.items())
        return {slot: self.ontology.value(slot, value) for slot, value in columns if isinstance(value, str)}

    def _search(self, domain: str, constraints: tuple[tuple[str, str], ...]) -> frozenset[str]:
        """`find` without the cache."""
        return frozenset(
            key
            for key, entry in self._entries[domain]
            if all(self._meets(slot, wanted, entry.get(slot, "?")) for slot, wanted in constraints)
        )

    def _meets(self, slot: str, wanted: str, value: str) -> bool:
        """Whether a venue's value of a slot meets the wanted one; `?` is an unknown value, which meets all.

        Some slots are met by a later time (`from`), an earlier one (`until`) or a similar spelling (`near`), others by
        an equal value only.
        """
        if value == wanted or value == "?":
            return True
        if slot in self.ontology.slots["from"]:
            return value >= wanted
        if slot in self.ontology.slots["until"]:
            return value <= wanted
        return slot in self.ontology.slots["near"] and fuzz.partial_ratio(wanted, value) >= SIMILAR


def _rows(folder: Path, table: str | None) -> tuple[list[dict[str, Any]], bytes]:
    """The rows of a table, plain or gzipped JSON, and the bytes of the JSON; raises `NoTables` or `DataError`."""
    plain = folder / str(table)
    packed = plain.with_name(plain.name + ".gz")
    if plain.is_file():
        data = plain.read_bytes()
    elif packed.is_file():
        try:
            data = gzip.decompress(packed.read_bytes())
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(f"{packed}: {error}") from None
    else:
        raise NoTables(f" `{table}` in {folder}")
    try:
        return msgspec.json.decode(data, type=list[dict[str, Any]]), data
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{plain}: {error}") from None


def load(db: str | None, ontology: Ontology) -> Venues:
    """The venue tables in the folder that `db` names (see `tables_folder`), read once."""
    return _read_tables(tables_folder(db), ontology)


@cache
def _read_tables(folder: Path, ontology: Ontology) -> Venues:
    """The venue tables in a folder, read once for each folder and ontology."""
    return Venues(folder, ontology)
