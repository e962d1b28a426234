"""Which key of `meta` would pair more items of two agents than their contexts do.

The number of pairs is counted on all items, which `compare` holds in memory anyway: a pass over the values of `meta`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from turnwise.meta.compare import MIN_PAIRED_SHARE
from turnwise.types import Item


class PairKey(NamedTuple):
    """A key for --pair, and how many pairs it makes."""

    key: str
    pairs: int


def better_pair_key(items: Iterable[Item], agents: tuple[str, str], group: str) -> PairKey | None:
    """The key of `meta` that makes the most pairs of the two agents' items of a group; None if no key is better.

    A key is better if it makes more pairs than the items' own, and one for at least half of the items of each agent: a
    key with few values, such as the name of a corpus, pairs items that have nothing in common. Every item must have
    the key, of other agents too, since --pair fails otherwise. Values that are lists or objects are left out.
    """
    there = list(items)
    lengths = Counter(item.dialogue for item in there)
    sides = [[one for one in there if one.agent == agent and one.group == group] for agent in agents]
    found = len({one.pair for one in sides[0]} & {one.pair for one in sides[1]})
    needed = MIN_PAIRED_SHARE * max(map(len, sides))
    best = None
    for key in _shared_keys(there):
        ours, theirs = ({_pair(item, key, lengths) for item in side} for side in sides)
        count = len(ours & theirs)
        if count > found and count >= needed:
            best, found = PairKey(f"meta.{key}", count), count
    return best


def _shared_keys(items: Sequence[Item]) -> list[str]:
    """The keys of `meta` that have a text or a whole number in every item, in order."""
    keys = list(items[0].meta) if items else []
    return [key for key in keys if all(_is_name(item.meta.get(key)) for item in items)]


def _is_name(value: object) -> bool:
    """Whether a value can name what two items have in common."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def _pair(item: Item, key: str, lengths: Counter[str]) -> tuple[str, int | None]:
    """What --pair pairs an item by: the value and, if several turns of its dialogue are scored, its position."""
    return str(item.meta[key]), item.turn if lengths[item.dialogue] > 1 else None
