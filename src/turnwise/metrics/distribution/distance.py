"""What FBD, PRD and MMD have in common: a real side for each group, and a number for any set of replies.

A row is the code of the item's group, marks of its reply and of its query, and the vector of the two. By the code
`reduce` finds the real side that these rows belong to; rows of several groups have no common number, and mixing them
is an error. By the marks `check` knows a system that says one thing only, which has no distribution, and `details`
which real replies answer the same.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Generic, TypeVar

import numpy as np

from turnwise.errors import TooFewItems
from turnwise.metrics.distribution import sampling
from turnwise.metrics.distribution.sides import Side
from turnwise.metrics.rows import Resampling, scored
from turnwise.types import Floats, Item, Level, Need, Rows, Signature, digest

FEWEST = 50  # replies on either side; papers/fbd-prd.md shows what fewer do to a ranking
SEED = 0  # of the splits behind floor and limit
HEAD = 3  # columns before a vector: the code of the group, the marks of reply and query
MIXED = "rows of several groups have no common real side: reduce each group by itself"
ALL_THE_SAME = "all replies are the same: they have no distribution"
Real = TypeVar("Real")


class Facts:
    """What holds for every distance between distributions, before and after it has seen real replies."""

    __slots__ = ()

    level: ClassVar[Level] = "system"
    needs: ClassVar[frozenset[Need]] = (
        frozenset()
    )  # a context only where the real side has one: see `unscored`
    resampling: ClassVar[Resampling] = "subsample"  # a repeated vector would be a smaller spread
    unscored: ClassVar[str] = (
        "no context where the real replies have one, nothing to encode, or a group with too few real replies"
    )


@dataclass(frozen=True, eq=False)
class Distance(Facts, ABC, Generic[Real]):
    """A distance from real sides that it has seen; `Real` is what it keeps of one."""

    sides: Mapping[str, Side]  # by group

    @property
    @abstractmethod
    def fewest(self) -> int:
        """Replies that a number needs."""

    @abstractmethod
    def prepare(self, real: Floats, /) -> Real:
        """What of the real vectors (m, d) does not depend on the system."""

    @abstractmethod
    def between(self, generated: Floats, real: Real, /) -> float:
        """The number of the generated vectors (n, d), n at least 2."""

    @cached_property
    def prepared(self) -> dict[str, Real]:
        return {group: self.prepare(side.vectors) for group, side in self.sides.items()}

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 3 + d): the code of the group's real side, the marks of reply and query, and the vector."""
        width = next(iter(self.sides.values())).vectors.shape[1]
        rows = np.full((len(items), HEAD + width), np.nan)
        groups = [item.group if item.group in self.sides else "" for item in items]
        for code, side in enumerate(self.sides.values()):
            if places := [place for place, group in enumerate(groups) if group == side.group]:
                rows[places, 0] = code
                mine = [items[place] for place in places]
                rows[places, 1:HEAD] = side.marks(mine)
                rows[places, HEAD:] = side.rows(mine)
        return rows

    def reduce(self, rows: Rows, /) -> float:
        vectors, side = self._taken(rows)
        return float("nan") if side is None else self.between(vectors, self.prepared[side.group])

    def check(self, rows: Rows, /) -> None:
        """Refuses a number that so few replies cannot support, or one reply said many times."""
        kept = np.asarray(rows[scored(rows)])
        self._check_count(len(kept))
        if len(np.unique(kept[:, 1])) < 2:
            raise TooFewItems(ALL_THE_SAME)

    def details(self, rows: Rows, /) -> dict[str, float]:
        """Beside the number: what people come to against people, what these replies do with as many, and n_real."""
        vectors, side = self._taken(rows)
        if side is None or len(side.vectors) < sampling.FEWEST:
            return {}
        queries = None if side.alone else (np.asarray(rows[scored(rows)])[:, 2], side.queries)
        rng = np.random.default_rng(SEED)
        beside = sampling.beside_people(vectors, side.vectors, self._afresh, queries=queries, rng=rng)
        return {**beside._asdict(), "n_real": len(side.vectors)}

    def _check_count(self, count: int) -> None:
        if count < self.fewest:
            raise TooFewItems(
                f"{count} replies are too few to know their distribution by: {self.fewest} or more are needed"
            )

    def _afresh(self, generated: Floats, real: Floats) -> float:
        """The number of two sets of which neither was prepared."""
        return self.between(generated, self.prepare(real))

    def _taken(self, rows: Rows) -> tuple[Floats, Side | None]:
        """The scored vectors and the real side they belong to; none where a spread has no meaning."""
        kept = np.asarray(rows[scored(rows)])
        if len(kept) < 2:
            return kept[:, HEAD:], None
        if np.ptp(kept[:, 0]):
            raise ValueError(MIXED)
        return kept[:, HEAD:], self._side(kept[0, 0])

    def _side(self, code: float) -> Side:
        return list(self.sides.values())[int(code)]

    def _signed(self, name: str, *settings: tuple[str, str]) -> Signature:
        sides = self.sides.values()
        alone = "+".join(side.group or "all" for side in sides if side.alone)
        without = (("reply-only", alone),) if alone else ()
        real = digest(*(side.data for side in sides))
        readings = tuple(space.reading.signature for space in next(iter(sides)).spaces)
        guard = (("fewest", str(self.fewest)),) if self.fewest != FEWEST else ()
        # 1 had no mark in its rows, and took a query that never varies for one.
        return Signature(name, (*settings, *guard, *without, ("real", real)), readings, version=2)
