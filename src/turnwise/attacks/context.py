"""Where a strategy must answer: real contexts with what a person said there."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from turnwise.errors import Refused, counted
from turnwise.types import Item, Turn

FEWEST = 20  # contexts a half: with fewer no gain over people could be shown


@dataclass(frozen=True, slots=True)
class Context:
    item: Item  # the person's reply in its context

    @property
    def turns(self) -> tuple[Turn, ...]:
        return self.item.turns[:-1]

    @property
    def human(self) -> str:
        return self.item.reply

    @property
    def last(self) -> str:
        """What the reply answers."""
        return self.turns[-1].text if self.turns else ""

    @property
    def whole(self) -> str:
        return " ".join(turn.text for turn in self.turns)

    def answered(self, reply: str) -> Item:
        """The item in which `reply` stands in the person's place.

        What the person said is the reference, for metrics that have one and a corpus that has none.
        """
        references = self.item.references or (self.human,)
        said = Turn(self.item.turns[-1].role, reply, references=references)
        return replace(self.item, turns=(*self.turns, said))


def contexts(items: Iterable[Item], count: int, rng: np.random.Generator) -> list[Context]:
    """Up to `count` contexts at random, one a cluster as long as there are enough of them."""
    by_cluster: dict[str, list[Item]] = {}
    for item in items:
        if item.missing is None and item.reply.strip() and any(turn.text for turn in item.context):
            by_cluster.setdefault(item.cluster, []).append(item)
    clusters = list(by_cluster.values())
    rng.shuffle(clusters)
    found: list[Item] = []
    for cluster in clusters:
        rng.shuffle(cluster)
    while len(found) < count and clusters:
        found += [cluster.pop() for cluster in clusters]
        clusters = [cluster for cluster in clusters if cluster]
    return [Context(item) for item in found[:count]]


def halves(chosen: Sequence[Context]) -> tuple[list[Context], list[Context]]:
    """Contexts to search on, and contexts to judge on; a dialogue is in one half only."""
    order = {
        cluster: place for place, cluster in enumerate(dict.fromkeys(one.item.cluster for one in chosen))
    }
    sides: tuple[list[Context], list[Context]] = ([], [])
    for one in chosen:
        sides[order[one.item.cluster] % 2].append(one)
    if min(map(len, sides)) < FEWEST:
        raise Refused(
            f"an attack needs {2 * FEWEST} contexts with a person's reply, {FEWEST} to search on and {FEWEST} to "
            f"judge on; there are {counted(len(chosen), 'context')} of {counted(len(order), 'dialogue')}"
        )
    return sides
