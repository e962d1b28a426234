"""Tables of numbers, a row for each dialogue or for each reply, that lists are filtered and sorted by.

A row takes about 40 bytes and 4 more for each column. Texts stay in their files.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from turnwise.stats.correlation import midranks

Kind = Literal["metric", "rating", "preference", "spread", "size", "gap"]
Unit = Literal["dialogue", "reply"]
Numbers: TypeAlias = NDArray[np.float32]
Small: TypeAlias = NDArray[np.int32]
Whole: TypeAlias = NDArray[np.int64]
WHOLE = -1  # in `turn`: the whole dialogue; in `sample`: what was logged
UNPAIRED = 0  # in `pair`: nothing to set beside it


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Numbers of a table, one for each row."""

    key: str  # in links: `metric:bleu-4`
    name: str  # on pages: `bleu-4`
    kind: Kind
    values: Numbers  # (n,) NaN where there is none
    lower: bool = False  # whether low is good


@dataclass(slots=True, eq=False)
class Rows:
    """What identifies the rows of a table."""

    dialogue: Small  # (n,) rows of the table of dialogues
    turn: Small  # (n,) places of replies; `WHOLE`
    agent: Small  # (n,) codes of agents
    sample: Small  # (n,) number of the alternative; `WHOLE` for what was logged
    pair: Whole  # (n,) equal for replies to the same context; `UNPAIRED`
    start: Whole  # (n,) where the row's text begins in the searched text
    end: Whole  # (n,) where it ends


class Table:
    """The rows of one unit with their columns."""

    def __init__(self, unit: Unit, rows: Rows) -> None:
        self.unit, self.rows = unit, rows
        self.columns: dict[str, Column] = {}
        self._sorted: dict[str, Numbers] = {}  # column -> its numbers, sorted
        self._gaps: dict[tuple[str, str], Column] = {}
        self._numbered: NDArray[np.bool_] | None = None
        self._paired: tuple[Whole, Whole] | None = None  # pairs in order, and their rows

    def __len__(self) -> int:
        return len(self.rows.dialogue)

    def put(self, key: str, name: str, kind: Kind, values: Numbers, *, lower: bool = False) -> None:
        """Add a column; one without any number is left out."""
        if not np.isnan(values).all():
            self.columns[key] = Column(key, name, kind, values.astype(np.float32), lower)
            self._numbered = None

    def of_kind(self, *kinds: Kind) -> list[Column]:
        """The columns of these kinds, in the order in which they were added."""
        return [column for column in self.columns.values() if column.kind in kinds]

    def numbered(self) -> NDArray[np.bool_]:
        """(n,) whether a row has a score, a rating or a preference; all rows if none has."""
        if self._numbered is None:
            found = np.zeros(len(self), bool)
            for column in self.of_kind("metric", "rating", "preference"):
                found |= ~np.isnan(column.values)
            self._numbered = found if found.any() else ~found
        return self._numbered

    def share_below(self, column: Column, value: float) -> float:
        """The share of the column's numbers below a number, ties as half; .5 for a column of one number."""
        if column.key not in self._sorted:
            self._sorted[column.key] = np.sort(column.values[~np.isnan(column.values)])
        there = self._sorted[column.key]
        below, upto = (np.searchsorted(there, np.float32(value), side) for side in ("left", "right"))
        return float(below + upto) / (2 * len(there))

    def gap(self, metric: str, dimension: str) -> Column:
        """By how much a metric ranks a row above people, among the rows of its agent that have both numbers: from -1
        to 1.

        `metric` and `dimension` are keys of columns. NaN where one of the numbers is missing or the agent has one row
        only.
        """
        if (metric, dimension) not in self._gaps:
            first, second = self.columns[metric], self.columns[dimension]
            both = ~(np.isnan(first.values) | np.isnan(second.values))
            found = np.full(len(self), np.nan, np.float32)
            agents = self.rows.agent[both]
            ranks = [
                _ranks_within(_signed(column.values[both], lower=column.lower), agents)
                for column in (first, second)
            ]
            found[both] = ranks[0] - ranks[1]
            self._gaps[metric, dimension] = Column("gap", f"{first.name} above {second.name}", "gap", found)
        return self._gaps[metric, dimension]

    def beside(self, row: int) -> Whole:
        """The rows with the same context as `row`, itself included, in order; none if it is unpaired."""
        pair = self.rows.pair[row]
        if pair == UNPAIRED:
            return np.empty(0, np.int64)
        if self._paired is None:
            order = np.argsort(self.rows.pair, kind="stable")
            self._paired = self.rows.pair[order], order
        pairs, order = self._paired
        low, high = np.searchsorted(pairs, pair, "left"), np.searchsorted(pairs, pair, "right")
        return order[low:high]

    def pairs(self, first: int, second: int) -> tuple[Whole, Whole]:
        """The rows of two agents (codes) on each context that both have, the first row of each."""
        found = [
            np.flatnonzero((self.rows.agent == code) & (self.rows.pair != UNPAIRED))
            for code in (first, second)
        ]
        firsts = [np.unique(self.rows.pair[rows], return_index=True) for rows in found]
        _, left, right = np.intersect1d(firsts[0][0], firsts[1][0], return_indices=True)
        a, b = found[0][firsts[0][1][left]], found[1][firsts[1][1][right]]
        order = np.argsort(a, kind="stable")
        return a[order], b[order]


def _signed(values: Numbers, *, lower: bool) -> Numbers:
    """The numbers so that more is better."""
    return -values if lower else values


def _ranks_within(values: Numbers, groups: Small) -> Numbers:
    """The rank of each number in its group, from 0 to 1 (ties share the mean); NaN in a group of one."""
    found = np.full(len(values), np.nan, np.float32)
    order = np.argsort(groups, kind="stable")
    firsts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    for rows in np.split(order, firsts[1:]):
        if len(rows) > 1:
            found[rows] = (midranks(values[rows].astype(np.float64)) - 0.5) / len(rows)
    return found


def averaged(rows: Sequence[int] | Whole | Small, values: Sequence[float] | Numbers, n: int) -> Numbers:
    """(n,) the mean of the values of each row; NaN for a row without any."""
    places = np.asarray(rows, np.int64)
    sums = np.bincount(places, np.asarray(values, np.float64), n)
    counts = np.bincount(places, minlength=n)
    with np.errstate(invalid="ignore"):
        found: Numbers = (sums / counts).astype(np.float32)
    return found


def spread(rows: Sequence[int] | Whole | Small, values: Sequence[float] | Numbers, n: int) -> Numbers:
    """(n,) the highest minus the lowest value of each row; NaN for a row with fewer than two."""
    places, numbers = np.asarray(rows, np.int64), np.asarray(values, np.float32)
    high, low = np.full(n, -np.inf, np.float32), np.full(n, np.inf, np.float32)
    np.maximum.at(high, places, numbers)
    np.minimum.at(low, places, numbers)
    several = np.bincount(places, minlength=n) > 1
    found = np.full(n, np.nan, np.float32)
    found[several] = high[several] - low[several]
    return found
