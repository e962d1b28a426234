"""What FBD, PRD and MMD share: the real replies of each group, and a number for any set of replies.

A row is the code of the item's group, hashes of its reply and its query, and the vector of the pair. `reduce` uses the
code to find the real replies that the rows are compared with; rows of several groups cannot be compared with one set,
so mixing them is an error. `check` uses the hashes to refuse an agent that always gives the same reply, because it has
no distribution. `details` uses them to find real replies to the same query.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Generic, TypeVar

import numpy as np

from turnwise.errors import TooFewItems
from turnwise.metrics.distribution import sampling
from turnwise.metrics.distribution.pair_encoding import PairEncoding, Way
from turnwise.metrics.distribution.real_replies import RealReplies
from turnwise.metrics.rows import Resampling, scored
from turnwise.types import Floats, Item, Level, Need, Rows, Signature, digest

FEWEST = 50  # replies needed on either side; papers/fbd-prd.md shows what fewer do to a ranking
SEED = 0  # seed of the splits for `floor`, `thinned` and `at_infinity`
HEADER = 3  # columns before the vector: code of the group, hash of the reply, hash of the query
MIXED_GROUPS = "rows of several groups are compared with different real replies: reduce each group separately"
ALL_THE_SAME = "all replies are the same: they have no distribution", "all-the-same"
Prepared = TypeVar("Prepared")


class DistanceAttributes:
    """The class attributes of every distribution metric, before and after `fit`."""

    __slots__ = ()

    level: ClassVar[Level] = "system"
    needs: ClassVar[frozenset[Need]] = frozenset()  # a context is needed only if the real replies have one
    resampling: ClassVar[Resampling] = "subsample"  # repeated vectors of a bootstrap would reduce the spread
    unscored: ClassVar[str] = (
        "no context where the real replies have one, nothing to encode, or a group with too few real replies"
    )


@dataclass(frozen=True, slots=True)
class EncodingSettings:
    """The settings of every distribution metric that say how pairs of query and reply are encoded."""

    model: str = "minilm"
    layer: int | None = None
    pooling: str | None = None
    way: Way = "product"
    turns: int = 1

    @property
    def encoding(self) -> PairEncoding:
        """The pair encoding with these settings."""
        return PairEncoding(self.model, self.way, self.turns, self.layer, self.pooling)


@dataclass(frozen=True, eq=False)
class Distance(DistanceAttributes, ABC, Generic[Prepared]):
    """A distribution metric fitted to real replies; `Prepared` is what it computes once from a set of them."""

    real: Mapping[str, RealReplies]  # by group

    @property
    @abstractmethod
    def fewest(self) -> int:
        """The smallest number of replies that get a score."""

    @abstractmethod
    def prepare(self, real: Floats, /) -> Prepared:
        """The part of the computation that depends only on the real vectors (m, d)."""

    @abstractmethod
    def between(self, generated: Floats, real: Prepared, /) -> float:
        """The score of the generated vectors (n, d), n at least 2, against the real ones."""

    @cached_property
    def prepared(self) -> dict[str, Prepared]:
        """What `prepare` computes from the real replies of each group."""
        return {group: self.prepare(real.vectors) for group, real in self.real.items()}

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 3 + d): the code of the group's real replies, the hashes of reply and query, and the vector.

        An item whose group has no real replies of its own uses those of the unnamed group; without them its row is NaN.
        The vector of an item that cannot be encoded is NaN too.
        """
        width = next(iter(self.real.values())).vectors.shape[1]
        rows = np.full((len(items), HEADER + width), np.nan)
        groups = [item.group if item.group in self.real else "" for item in items]
        for code, real in enumerate(self.real.values()):
            if indices := [index for index, group in enumerate(groups) if group == real.group]:
                members = [items[index] for index in indices]
                rows[indices, 0] = code
                rows[indices, 1:HEADER] = real.text_hashes(members)
                rows[indices, HEADER:] = real.encode(members)
        return rows

    def reduce(self, rows: Rows, /) -> float:
        """The score of the scored rows against the real replies of their group; NaN for fewer than two rows.

        Rows of several groups are a `ValueError`.
        """
        vectors, real = self._scored_vectors(rows)
        return float("nan") if real is None else self.between(vectors, self.prepared[real.group])

    def check(self, rows: Rows, /) -> None:
        """Raise `TooFewItems` if fewer than `fewest` rows are scored or all their replies are the same."""
        kept = np.asarray(rows[scored(rows)])
        self._check_count(len(kept))
        if len(np.unique(kept[:, 1])) < 2:
            raise TooFewItems(*ALL_THE_SAME)

    def details(self, rows: Rows, /) -> dict[str, float]:
        """Diagnostics beside the score: `floor` and `thinned` (see `sampling`) and the number of real replies.

        Empty for fewer than two rows or fewer than four real replies.
        """
        vectors, real = self._scored_vectors(rows)
        if real is None or len(real.vectors) < sampling.MIN_REAL:
            return {}
        queries = None if real.reply_only else (np.asarray(rows[scored(rows)])[:, 2], real.queries)
        rng = np.random.default_rng(SEED)
        distances = sampling.equal_size_distances(
            vectors, real.vectors, self._distance, queries=queries, rng=rng
        )
        return {**distances._asdict(), "n_real": len(real.vectors)}

    def _check_count(self, count: int) -> None:
        """Raise `TooFewItems` if there are fewer than `fewest` replies."""
        if count < self.fewest:
            raise TooFewItems(
                "{n} replies are too few to estimate their distribution: {needed} or more are needed",
                "too-few-replies",
                n=count,
                needed=self.fewest,
            )

    def _distance(self, generated: Floats, real: Floats) -> float:
        """The score of two sets of vectors, without use of `prepared`."""
        return self.between(generated, self.prepare(real))

    def _scored_vectors(self, rows: Rows) -> tuple[Floats, RealReplies | None]:
        """The vectors of the scored rows, and the real replies of their group.

        With fewer than two rows, None takes the place of the real replies. Rows of several groups are a `ValueError`.
        """
        kept = np.asarray(rows[scored(rows)])
        if len(kept) < 2:
            return kept[:, HEADER:], None
        if np.ptp(kept[:, 0]):
            raise ValueError(MIXED_GROUPS)
        return kept[:, HEADER:], self._real_of_code(kept[0, 0])

    def _real_of_code(self, code: float) -> RealReplies:
        """The real replies of the group with this code, which is its position in `real`."""
        return list(self.real.values())[int(code)]

    def _signature(self, name: str, *settings: tuple[str, str]) -> Signature:
        """The signature with the metric's own settings, the encodings and a digest of the real replies."""
        real = self.real.values()
        groups = "+".join(each.group or "all" for each in real if each.reply_only)
        reply_only = (("reply-only", groups),) if groups else ()
        data = digest(*(each.data for each in real))
        encodings = tuple(each.encoding.signature for each in next(iter(real)).encodings)
        fewest = (("fewest", str(self.fewest)),) if self.fewest != FEWEST else ()
        # Version 1 had no hashes in its rows, and used a query that is always the same.
        return Signature(name, (*settings, *fewest, *reply_only, ("real", data)), encodings, version=2)
