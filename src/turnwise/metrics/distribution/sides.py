"""The real side of a distance: what people said, group by group.

Of each group it is the distinct (query, reference) pairs; where a group has no reference, the replies of the agent
`human`. With `--real FILE` the caller gives the replies of that file under this name. A group that has no real side
of its own (the data has groups, the file has none) is held against the one without a name.

Pairs are known by a digest and kept in its order: the real side does not depend on the order of the data, and of more
than `MOST` those with the smallest digests are a random sample, found in one pass.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappush, heappushpop

import numpy as np

from turnwise.errors import TooFewItems
from turnwise.metrics.distribution.reading import Reading, Space
from turnwise.types import Floats, Item, Turn, digest

log = logging.getLogger(__name__)
MOST = 20_000  # pairs of a group: each number of a mean or covariance is then known to 1 % of its spread
PERSON = "human"  # the agent that stands for people


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    group: str
    spaces: tuple[Space, ...]  # one a reading
    vectors: Floats  # (m, d), readings side by side
    data: str  # digest of the group and its texts

    @property
    def alone(self) -> bool:
        """Whether replies are read without their query, as no real one has one."""
        return self.spaces[0].alone

    def rows(self, items: Sequence[Item]) -> Floats:
        return np.hstack([space.vectors(items) for space in self.spaces])


def real_sides(items: Iterable[Item], readings: Sequence[Reading], *, fewest: int) -> dict[str, Side]:
    """The real side of each group that has enough real replies; refuses if none has."""
    found: dict[str, Side] = {}
    counts = [0]
    turns = max(reading.last for reading in readings)
    for group, real in sorted(real_items(items, turns).items()):
        spaces = tuple(Space.of(reading, real) for reading in readings)
        vectors = np.hstack([space.vectors(real) for space in spaces])
        vectors = vectors[~np.isnan(vectors).any(axis=1)]
        counts.append(len(vectors))
        where = f" in group `{group}`" if group else ""
        if len(vectors) < fewest:
            log.warning("no number%s: %d real replies, and %d are needed", where, len(vectors), fewest)
            continue
        texts = [turn.text for item in real for turn in item.turns]
        found[group] = Side(group, spaces, vectors, digest(group, *texts))
        if found[group].alone:
            log.warning("no real reply%s has a context: replies are read without their query", where)
    if not found:
        raise TooFewItems(
            f"a distribution of real replies needs {fewest} or more, and there are {max(counts)}: give references, "
            f"replies of the agent `{PERSON}`, or --real FILE"
        )
    return found


def real_items(items: Iterable[Item], turns: int) -> dict[str, list[Item]]:
    """The real replies of each group, each with the last `turns` turns of its context."""
    referred: dict[str, _Pairs] = {}
    spoken: dict[str, _Pairs] = {}
    for item in items:
        for reference in item.references:
            if reference.strip():
                referred.setdefault(item.group, _Pairs()).add(_said(item, reference, turns))
        if item.agent == PERSON and item.reply.strip():
            spoken.setdefault(item.group, _Pairs()).add(_said(item, item.reply, turns))
    return {group: pairs.items for group, pairs in {**spoken, **referred}.items()}


def _said(item: Item, text: str, turns: int) -> Item:
    """The item as if `text` had been replied; of the context only what a query needs is kept."""
    query = tuple(Turn(turn.role, turn.content) for turn in item.context[-turns:])
    return replace(item, turns=(*query, Turn(item.role, text)))


@dataclass(slots=True)
class _Pairs:
    """Different pairs of one group."""

    _by_digest: dict[str, Item] = field(default_factory=dict)
    _largest: list[tuple[int, str]] = field(default_factory=list)  # a heap with the largest digest first

    def add(self, item: Item) -> None:
        name = digest(*(turn.text for turn in item.turns))
        if name in self._by_digest:
            return
        entry = (-int(name, 16), name)
        if len(self._by_digest) < MOST:
            heappush(self._largest, entry)
        else:
            _, out = heappushpop(self._largest, entry)
            if out == name:
                return
            del self._by_digest[out]
        self._by_digest[name] = item

    @property
    def items(self) -> list[Item]:
        return [self._by_digest[name] for name in sorted(self._by_digest)]
