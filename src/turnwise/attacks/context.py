"""Contexts of an attack: real contexts with the reply that a person gave."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from turnwise.errors import Refused
from turnwise.metrics.words import words
from turnwise.types import Item, Turn

MIN_CONTEXTS = 20  # for the search and for the test each; with fewer no gain over people could be significant
RARE_SHARE = 0.03  # share of the contexts up to which a word is called rare


@dataclass(frozen=True, slots=True)
class Context:
    """A context, as an item whose reply is a person's; its rare words are filled in by `with_rare_words`."""

    item: Item
    rare_words: tuple[str, ...] = ()

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns before the person's reply."""
        return self.item.turns[:-1]

    @property
    def human(self) -> str:
        """The text of the person's reply."""
        return self.item.reply

    @property
    def last_turn(self) -> str:
        """The text of the turn that the reply responds to; "" without turns."""
        return self.turns[-1].text if self.turns else ""

    @property
    def full_text(self) -> str:
        """The texts of all turns of the context, without the reply, joined by spaces."""
        return " ".join(turn.text for turn in self.turns)

    def with_reply(self, reply: str) -> Item:
        """The item with `reply` instead of the person's reply.

        The person's reply becomes the reference where the corpus has no references.
        """
        references = self.item.references or (self.human,)
        said = Turn(self.item.turns[-1].role, reply, references=references)
        return replace(self.item, turns=(*self.turns, said))


def sample_contexts(items: Iterable[Item], count: int, rng: np.random.Generator) -> list[Context]:
    """Up to `count` random contexts: one of each cluster first, then second ones, and so on.

    Items without a reply, without a context with text, or with something missing are left out. The order of the items
    does not matter.
    """
    by_cluster: dict[str, list[Item]] = {}
    for item in items:
        if item.missing is None and item.reply.strip() and any(turn.text for turn in item.context):
            by_cluster.setdefault(item.cluster, []).append(item)
    clusters = [sorted(mine, key=lambda item: item.id) for _, mine in sorted(by_cluster.items())]
    rng.shuffle(clusters)
    found: list[Item] = []
    for cluster in clusters:
        rng.shuffle(cluster)
    while len(found) < count and clusters:
        found += [cluster.pop() for cluster in clusters]
        clusters = [cluster for cluster in clusters if cluster]
    return [Context(item) for item in found[:count]]


def with_rare_words(
    known: Sequence[Context], contexts: Sequence[Context], share: float = RARE_SHARE
) -> list[Context]:
    """The contexts with their rare words: distinct words that at most this share of the `known` contexts has.

    A word of one known context only is always rare; one that none has is too.
    """
    counts = Counter(word for one in known for word in set(words(one.full_text)))
    most = max(1.0, share * len(known))
    return [
        replace(
            one,
            rare_words=tuple(word for word in dict.fromkeys(words(one.full_text)) if counts[word] <= most),
        )
        for one in contexts
    ]


def split_contexts(chosen: Sequence[Context]) -> tuple[list[Context], list[Context]]:
    """Contexts for the search and contexts for the test; clusters (dialogues) alternate between the two.

    Raises `Refused` if one half has fewer than `MIN_CONTEXTS`.
    """
    order = {
        cluster: index for index, cluster in enumerate(dict.fromkeys(one.item.cluster for one in chosen))
    }
    sides: tuple[list[Context], list[Context]] = ([], [])
    for one in chosen:
        sides[order[one.item.cluster] % 2].append(one)
    if min(map(len, sides)) < MIN_CONTEXTS:
        raise Refused(
            "an attack needs {needed} contexts with a person's reply, {half} for the search and {half} for the test, "
            "of different dialogues; there are {contexts:#context} of {dialogues:#dialogue}, which give {searched} and "
            "{tested}",
            "too-few-contexts",
            needed=2 * MIN_CONTEXTS,
            half=MIN_CONTEXTS,
            contexts=len(chosen),
            dialogues=len(order),
            searched=len(sides[0]),
            tested=len(sides[1]),
        )
    return sides
