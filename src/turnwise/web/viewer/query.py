"""What a list shows: the parameters of its address, and the rows that fulfil them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeVar, get_args
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray
from starlette.exceptions import HTTPException

from turnwise.web.viewer.index import Index
from turnwise.web.viewer.table import Column, Numbers, Table, Unit, Whole

Order = Literal["desc", "asc", "abs"]
GAP = "gap"  # the column of ranks by a metric less ranks by people
Parameters = Iterable[tuple[str, str]]
T = TypeVar("T", bound=str)


@dataclass(frozen=True, slots=True)
class Range:
    """Bounds of a column; None does not limit."""

    column: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """What is shown and in which order; the default is every dialogue, in the order of the files."""

    unit: Unit = "dialogue"
    text: str = ""
    agents: tuple[str, ...] = ()  # none: all
    ranges: tuple[Range, ...] = ()
    metric: str = ""  # columns that are compared by rank
    people: str = ""
    apart: float | None = None  # least difference of the two ranks, in either direction
    sort: str = ""  # a column
    order: Order = "desc"
    every: bool = False  # of replies: also those without a score, rating or preference
    columns: tuple[str, ...] = ()  # columns of the list; none: a choice of the page

    @classmethod
    def parse(cls, parameters: Parameters) -> "Query":
        """The query of an address; a value that makes no sense is the error 400."""
        values: dict[str, list[str]] = {}
        for name, value in parameters:
            values.setdefault(name, []).append(value)

        def one(name: str) -> str:
            """The first value of a parameter; "" if it is absent."""
            return values.get(name, [""])[0]

        bounds = [values.get(name, []) for name in ("column", "from", "to")]
        if len({len(part) for part in bounds}) > 1:
            raise HTTPException(400, "A range needs the parameters column, from and to.")
        ranges = (
            Range(name, _number(low), _number(high)) for name, low, high in zip(*bounds, strict=True) if name
        )
        return cls(
            unit=_one_of(one("unit") or "dialogue", get_args(Unit), "unit"),
            text=one("text"),
            agents=tuple(dict.fromkeys(values.get("agent", []))),
            ranges=tuple(two for two in ranges if (two.low, two.high) != (None, None)),
            metric=one("metric"),
            people=one("people"),
            apart=_number(one("apart")),
            sort=one("sort"),
            order=_one_of(one("order") or "desc", get_args(Order), "order"),
            every=one("every") == "yes",
            columns=tuple(dict.fromkeys(values.get("show", []))),
        )

    def parameters(self) -> list[tuple[str, str]]:
        """The parameters of the address; those with their default are left out."""
        plain = [
            ("unit", "" if self.unit == "dialogue" else self.unit),
            ("text", self.text),
            *(("agent", name) for name in self.agents),
        ]
        ranges = [
            pair
            for one in self.ranges
            for pair in (("column", one.column), ("from", _shown(one.low)), ("to", _shown(one.high)))
        ]
        rest = [
            ("metric", self.metric),
            ("people", self.people),
            ("apart", _shown(self.apart)),
            ("sort", self.sort),
            ("order", "" if self.order == "desc" else self.order),
            ("every", "yes" if self.every else ""),
            *(("show", name) for name in self.columns),
        ]
        return [*(pair for pair in plain if pair[1]), *ranges, *(pair for pair in rest if pair[1])]

    def link(self, **more: object) -> str:
        """The parameters as the end of an address, `?` included, with further ones; "" if there are none."""
        further = [(name, str(value)) for name, value in more.items() if value is not None]
        found = urlencode([*further, *self.parameters()])
        return f"?{found}" if found else ""

    def sort_keys(self, values: Numbers) -> Numbers:
        """Keys whose ascending order is the query's order of these values."""
        return {"desc": -values, "asc": values, "abs": -np.abs(values)}[self.order]

    def sorted_by(self, column: str) -> "Query":
        """The query sorted by a column, highest first; lowest first if it was sorted by it so already."""
        again = self.sort == column and self.order == "desc"
        return replace(self, sort=column, order="asc" if again else "desc")


def _number(text: str) -> float | None:
    """The number that a text spells, None for an empty one; the error 400 for anything else."""
    if not text.strip():
        return None
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise HTTPException(400, f"{text[:40]!r} is no number.")
    return found


def _shown(value: float | None) -> str:
    """A bound as text, without needless digits; "" for None."""
    return "" if value is None else f"{value:.10g}"


def _one_of(value: str, choices: tuple[T, ...], name: str) -> T:
    """The value as one of the choices; the error 400 if it is none."""
    for choice in choices:
        if value == choice:
            return choice
    raise HTTPException(400, f"The parameter {name} is one of {', '.join(choices)}.")


def column(table: Table, query: Query, key: str) -> Column:
    """A column of a table, or the gap that the query asks for; the error 400 if there is none of this name."""
    if key == GAP and query.metric and query.people:
        return table.gap(column(table, query, query.metric).key, column(table, query, query.people).key)
    if key not in table.columns:
        unit = "dialogues" if table.unit == "dialogue" else "replies"
        raise HTTPException(400, f"The {unit} here have no column {key[:80]!r}.")
    return table.columns[key]


def in_unit(index: Index, query: Query, unit: Unit) -> Query:
    """The query for the other table, without the columns that this table lacks."""
    there = index.table(unit).columns
    gap = query.metric in there and query.people in there
    return replace(
        query,
        unit=unit,
        ranges=tuple(one for one in query.ranges if one.column in there),
        metric=query.metric if gap else "",
        people=query.people if gap else "",
        sort=query.sort if query.sort in there or (query.sort == GAP and gap) else "",
        columns=tuple(key for key in query.columns if key in there),
    )


def select(index: Index, query: Query) -> Whole:
    """The rows of the query's table that fulfil it, in its order; rows without the number sorted by come last."""
    table = index.table(query.unit)
    rows = np.flatnonzero(kept(index, query))
    if not query.sort:
        return rows
    values = column(table, query, query.sort).values[rows]
    return rows[np.argsort(query.sort_keys(values), kind="stable")]


def kept(index: Index, query: Query) -> NDArray[np.bool_]:
    """(n,) which rows of the query's table fulfil it."""
    table = index.table(query.unit)
    limited = query.unit == "reply" and not query.every
    found = table.numbered().copy() if limited else np.ones(len(table), bool)
    if query.agents:
        codes = [code for name in query.agents if (code := index.agent_code(name)) is not None]
        found &= np.isin(table.rows.agent, codes)
    for one in query.ranges:
        values = column(table, query, one.column).values
        found &= ~np.isnan(values)
        if one.low is not None:
            found &= values >= np.float32(one.low)
        if one.high is not None:
            found &= values <= np.float32(one.high)
    if query.apart is not None and query.metric and query.people:
        found &= np.abs(column(table, query, GAP).values) >= query.apart
    if query.text.strip():
        found &= index.texts.find(query.text, table.rows.start, table.rows.end)
    return found
