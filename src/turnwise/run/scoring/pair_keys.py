"""Which key would pair more items of two agents than their contexts do: a key of `meta`, or the dialogues' own ids.

The number of pairs is counted on the scored items, which `compare` holds in memory anyway: a pass over the values of
`meta`.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from turnwise.logs.items.items import OWN_ID, reply_of
from turnwise.meta.compare import MIN_PAIRED_SHARE
from turnwise.types import Item


class PairKey(NamedTuple):
    """A key for --pair, and how many pairs it makes."""

    key: str
    pairs: int


def better_pair_key(
    items: Iterable[Item],
    agents: tuple[str, str],
    group: str,
    own_id: Callable[[str], str] = str,
    *,
    scored: Collection[str] | None = None,
) -> PairKey | None:
    """The key that makes the most pairs of the two agents' items of a group; None if no key is better.

    A key is better if it makes more pairs than the items' own, and one for at least half of the items of each agent: a
    key with few values, such as the name of a corpus, pairs items that have nothing in common. Every item must have
    the key, of other agents too, since --pair fails otherwise. Values that are lists or objects are left out. Only
    items whose ids are in `scored` count as pairs; None stands for all.

    `own_id` gives the id that a dialogue has in its own file. Two files have the same line numbers whatever they hold,
    so `id` is a key only if most items with the same context have the same id too, or where no two have the same
    context, if ids are no numbers.
    """
    there = list(items)
    lengths = Counter(item.dialogue for item in there)
    known = there if scored is None else [one for one in there if one.id in scored]
    sides = [[one for one in known if one.agent == agent and one.group == group] for agent in agents]
    found = len({one.pair for one in sides[0]} & {one.pair for one in sides[1]})
    needed = MIN_PAIRED_SHARE * max(map(len, sides))
    best = None
    for key in _shared_keys(there):
        ours, theirs = ({_pair(item, key, lengths) for item in side} for side in sides)
        count = len(ours & theirs)
        if count > found and count >= needed:
            best, found = PairKey(f"meta.{key}", count), count
    by_id = _pairs_by_id(there, sides, own_id)
    return PairKey(OWN_ID, by_id) if by_id > found and by_id >= needed else best


def _pairs_by_id(items: Sequence[Item], sides: Sequence[Sequence[Item]], own_id: Callable[[str], str]) -> int:
    """How many pairs --pair id makes of two agents' items; 0 where nothing says that equal ids belong together."""
    turns: dict[str, list[int | None]] = {}
    for item in items:
        judged = turns.setdefault(item.dialogue, [])
        if item.turn not in judged[-1:]:  # agents of --as speak at the same turn
            judged.append(item.turn)

    def paired_by(item: Item) -> str:
        """As `--pair id`."""
        own = own_id(item.dialogue)
        return own if item.turn is None else reply_of(own, turns[item.dialogue].index(item.turn))

    contexts = [{item.pair: own_id(item.dialogue) for item in side} for side in sides]
    same = contexts[0].keys() & contexts[1].keys()
    agree = sum(contexts[0][pair] == contexts[1][pair] for pair in same)
    named = any(not own.isdigit() for own in contexts[0].values())
    if agree < MIN_PAIRED_SHARE * len(same) or not (same or named):
        return 0
    ours, theirs = ({paired_by(item) for item in side} for side in sides)
    return len(ours & theirs)


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
