"""Metrics that count faults: a row has the number of faults of a dialogue, and of what could have been faulty.

The number of an agent is the share of faults, pooled over its dialogues. What was found, and where, is written to
items.jsonl.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from turnwise.metrics.rows import Ratio
from turnwise.types import Card, Floats, Item, Level, Need, Signature

SHOWN = 5  # faults that the reason of an item names


class Fault(NamedTuple):
    """One fault: the message that it is in, and what is wrong."""

    turn: int
    what: str


class Inspection(NamedTuple):
    """The faults of a dialogue, among this many things that could have been faulty."""

    total: int
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class Faults(Ratio):
    """The share of faults in whole dialogues."""

    level: ClassVar[Level] = "dialogue"
    needs: ClassVar[frozenset[Need]] = frozenset({"dialogue"})
    higher_is_better: ClassVar[bool] = False
    span: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unscored: ClassVar[str] = "no tool call"
    card: ClassVar[Card]
    name: ClassVar[str]

    @property
    def signature(self) -> Signature:
        """The name alone."""
        return Signature(self.name)

    @abstractmethod
    def inspect(self, item: Item, /) -> Inspection:
        """The faults of a dialogue."""

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): the number of faults, and of what could have been faulty.

        NaN where that is nothing, and for an item that is a reply and no whole dialogue.
        """
        rows = np.full((len(items), 2), np.nan)
        for at, item in enumerate(items):
            found = self.inspect(item)
            if item.turn is None and found.total:
                rows[at] = len(found.faults), found.total
        return rows

    def explanations(self, items: Sequence[Item], /) -> list[Mapping[str, Any] | None]:
        """The faults of each dialogue that has some."""
        found: list[Mapping[str, Any] | None] = []
        for item in items:
            faults = self.inspect(item).faults
            more = [f"and {len(faults) - SHOWN} more"] if len(faults) > SHOWN else []
            reason = "; ".join([*(f"message {one.turn}: {one.what}" for one in faults[:SHOWN]), *more])
            listed = [{"turn": one.turn, "what": one.what} for one in faults]
            found.append({"reason": reason, "faults": listed} if faults else None)
        return found
