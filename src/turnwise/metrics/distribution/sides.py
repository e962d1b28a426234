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
from zlib import crc32

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
    queries: Floats  # (m,) a mark of each one's query
    data: str  # digest of the group and its texts

    @property
    def alone(self) -> bool:
        """Whether replies are read without their query."""
        return any(space.alone for space in self.spaces)

    def rows(self, items: Sequence[Item]) -> Floats:
        return np.hstack([space.vectors(items) for space in self.spaces])

    def marks(self, items: Sequence[Item]) -> Floats:
        """(n, 2) numbers by which replies and queries are known."""
        return _marks(items, self.spaces[0].reading.last)


def real_sides(items: Iterable[Item], readings: Sequence[Reading], *, fewest: int) -> dict[str, Side]:
    """The real side of each group that has enough real replies; refuses if none has."""
    found: dict[str, Side] = {}
    lacking = {f"a distribution of real replies needs {fewest} or more, and there are 0": 0}
    turns = max(reading.last for reading in readings)
    for group, real in sorted(real_items(items, turns).items()):
        spaces = tuple(Space.of(reading, real) for reading in readings)
        vectors = np.hstack([space.vectors(real) for space in spaces])
        readable = ~np.isnan(vectors).any(axis=1)
        vectors, queries = vectors[readable], _marks(real, readings[0].last)[readable, 1]
        where = f" in group `{group}`" if group else ""
        if reason := _lacking(real, len(vectors), fewest):
            log.warning("no number%s: %s", where, reason)
            lacking[reason] = len(vectors)
            continue
        texts = [turn.text for item in real for turn in item.turns]
        found[group] = Side(group, spaces, vectors, queries, digest(group, *texts))
        if found[group].alone:
            told = "the real replies%s have no context, or all the same: replies are read without their query"
            log.warning(told, where)
    if not found:
        nearest = max(lacking, key=lambda reason: lacking[reason])
        raise TooFewItems(f"{nearest}: give references, replies of the agent `{PERSON}`, or --real FILE")
    return found


def _marks(items: Sequence[Item], turns: int) -> Floats:
    texts = [(item.reply, "\n".join(turn.text for turn in item.context[-turns:])) for item in items]
    marks = [[crc32(text.encode("utf-8", "surrogatepass")) for text in pair] for pair in texts]
    return np.array(marks, dtype=np.float64).reshape(len(items), 2)


def _lacking(real: Sequence[Item], readable: int, fewest: int) -> str:
    """Why these are no distribution; nothing where they are one."""
    if readable < fewest:
        return f"a distribution of real replies needs {fewest} or more, and there are {readable}"
    if len({item.reply for item in real}) < 2:
        return f"all {readable} real replies are the same, and have no distribution"
    return ""


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
