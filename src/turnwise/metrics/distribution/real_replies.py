"""The replies by people that a distribution metric compares with, for each group of items.

They are the distinct (query, reference) pairs of the group. A group without references uses the replies of the agent
`human`; with `--real FILE` the caller passes the replies of that file under this name. A group without real replies of
its own (the data has groups, the file has none) is compared with those of the unnamed group.

Pairs are identified by a digest and sorted by it, so the result does not depend on the order of the data. Of more than
`MAX_PAIRS` pairs we keep those with the smallest digests, which is a random sample found in one pass.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappush, heappushpop
from operator import itemgetter
from zlib import crc32

import numpy as np

from turnwise.errors import TooFewItems
from turnwise.metrics.distribution.pair_encoding import FittedPairEncoding, PairEncoding
from turnwise.types import Floats, Item, Turn, digest

log = logging.getLogger(__name__)
# Pairs kept for a group; then every entry of the mean and covariance has a standard error of about 1 % of its spread.
MAX_PAIRS = 20_000
HUMAN = "human"  # the agent whose replies count as replies by people
TOO_FEW = "a distribution of real replies needs {needed} or more, and there are {n}", "too-few-real-replies"
EQUAL = "all {n} real replies are the same, and have no distribution", "equal-real-replies"
GIVE_MORE = ": give references, replies of the agent `{human}`, or {--real:FILE}"


@dataclass(frozen=True, slots=True, eq=False)
class RealReplies:
    """The encoded replies by people of one group."""

    group: str
    encodings: tuple[FittedPairEncoding, ...]
    vectors: Floats  # (m, d), the vectors of all encodings side by side
    queries: Floats  # (m,) a hash of each pair's query
    data: str  # digest of the group and its texts

    @property
    def reply_only(self) -> bool:
        """Whether an encoding encodes replies without their query."""
        return any(encoding.reply_only for encoding in self.encodings)

    def encode(self, items: Sequence[Item]) -> Floats:
        """(n, d) the vectors of other replies, with the encodings that were fitted to these.

        NaN for a reply that cannot be encoded.
        """
        return np.hstack([encoding.vectors(items) for encoding in self.encodings])

    def text_hashes(self, items: Sequence[Item]) -> Floats:
        """(n, 2) a hash of each reply and one of its query."""
        return _text_hashes(items, self.encodings[0].encoding.max_turns)


def real_replies(
    items: Iterable[Item], encodings: Sequence[PairEncoding], *, fewest: int
) -> dict[str, RealReplies]:
    """The encoded real replies of each group that has at least `fewest`; raises `TooFewItems` if no group has.

    A group with fewer replies, or with only equal ones, is left out with a warning in the log.
    """
    groups: dict[str, RealReplies] = {}
    refused = [(0, TooFewItems(*TOO_FEW, n=0, needed=fewest))]  # number of replies, and why they are unused
    turns = max(encoding.max_turns for encoding in encodings)
    for group, real in sorted(real_items(items, turns).items()):
        fitted = tuple(FittedPairEncoding.fit(encoding, real) for encoding in encodings)
        vectors = np.hstack([encoding.vectors(real) for encoding in fitted])
        encodable = ~np.isnan(vectors).any(axis=1)
        vectors = vectors[encodable]
        queries = _text_hashes(real, encodings[0].max_turns)[encodable, 1]
        where = f" in group `{group}`" if group else ""
        if error := _refusal(real, len(vectors), fewest):
            log.warning("no score%s: %s", where, error)
            refused.append((len(vectors), error))
            continue
        texts = [turn.text for item in real for turn in item.turns]
        groups[group] = RealReplies(group, fitted, vectors, queries, digest(group, *texts))
        if groups[group].reply_only:
            message = (
                "the real replies%s have no context, or all the same: replies are encoded without their query"
            )
            log.warning(message, where)
    if not groups:
        reason = max(refused, key=itemgetter(0))[1].reason
        raise TooFewItems(reason.words + GIVE_MORE, reason.code, **reason.fields, human=HUMAN)
    return groups


def _text_hashes(items: Sequence[Item], turns: int) -> Floats:
    """(n, 2) CRC-32 of each reply and of the last `turns` turns of its context."""
    texts = [(item.reply, "\n".join(turn.text for turn in item.context[-turns:])) for item in items]
    hashes = [[crc32(text.encode("utf-8", "surrogatepass")) for text in pair] for pair in texts]
    return np.array(hashes, dtype=np.float64).reshape(len(items), 2)


def _refusal(real: Sequence[Item], encodable: int, fewest: int) -> TooFewItems | None:
    """The error (not raised) that these replies are no distribution: too few can be encoded, or all are equal.

    None if they are one.
    """
    if encodable < fewest:
        return TooFewItems(*TOO_FEW, n=encodable, needed=fewest)
    if len({item.reply for item in real}) < 2:
        return TooFewItems(*EQUAL, n=encodable)
    return None


def real_items(items: Iterable[Item], turns: int) -> dict[str, list[Item]]:
    """The real replies of each group, each with the last `turns` turns of its context, sorted by digest.

    They are the different (context, reference) pairs of the group or, without a reference, the different replies of the
    agent `human`; blank texts are left out, and at most 20,000 pairs are kept.
    """
    references: dict[str, _DistinctPairs] = {}
    by_human: dict[str, _DistinctPairs] = {}
    for item in items:
        for reference in item.references:
            if reference.strip():
                references.setdefault(item.group, _DistinctPairs()).add(_with_reply(item, reference, turns))
        if item.agent == HUMAN and item.reply.strip():
            by_human.setdefault(item.group, _DistinctPairs()).add(_with_reply(item, item.reply, turns))
    return {group: pairs.items for group, pairs in {**by_human, **references}.items()}


def _with_reply(item: Item, text: str, turns: int) -> Item:
    """The item with `text` as its reply and only the last `turns` turns of its context."""
    query = tuple(Turn(turn.role, turn.content) for turn in item.context[-turns:])
    return replace(item, turns=(*query, Turn(item.role, text)))


@dataclass(slots=True)
class _DistinctPairs:
    """The distinct pairs of one group; of more than `MAX_PAIRS` those with the smallest digests."""

    _by_digest: dict[str, Item] = field(default_factory=dict)
    _largest: list[tuple[int, str]] = field(default_factory=list)  # a heap with the largest digest first

    def add(self, item: Item) -> None:
        """Add an item, unless its texts are known or `MAX_PAIRS` items with smaller digests are kept."""
        name = digest(*(turn.text for turn in item.turns))
        if name in self._by_digest:
            return
        entry = (-int(name, 16), name)
        if len(self._by_digest) < MAX_PAIRS:
            heappush(self._largest, entry)
        else:
            _, dropped = heappushpop(self._largest, entry)
            if dropped == name:
                return
            del self._by_digest[dropped]
        self._by_digest[name] = item

    @property
    def items(self) -> list[Item]:
        """The kept items, sorted by digest."""
        return [self._by_digest[name] for name in sorted(self._by_digest)]
