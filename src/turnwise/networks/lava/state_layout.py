"""The input of a policy beside the words, as bits: belief state and database; and the goal, for a critic.

A slot has two bits in the belief state: whether it has a value, and whether any value will do. The database bits come
with the corpus (`meta.db_pointer`: how many venues match the state, and whether a booking succeeded). The goal has one
bit for every constraint, request and booking; where a dialogue has no goal, it is derived from its last state, as the
paper allows. Only critics see the goal: a policy does not know what its user wants.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.errors import DataError
from turnwise.logs.dialogue import POINTER
from turnwise.types import Dialogue

Bits = NDArray[np.float32]
_PARTS = ("info", "reqt", "book")
_ANY = re.compile(r"any|not mentioned|none|(do|does)(n'?t| ?n'?t| not) ?(care|matter)", re.IGNORECASE)


@dataclass(frozen=True)
class StateLayout:
    """Which bit stands for which slot and wish, and the number of database bits, from the training dialogues."""

    slots: tuple[tuple[str, str], ...]  # domain, slot
    wishes: tuple[tuple[str, str, str], ...]  # domain, part of the goal, slot
    pointer: int  # number of database bits; 0 if the corpus has none

    @classmethod
    def learn(cls, dialogues: Sequence[Dialogue]) -> "StateLayout":
        """All slots, wishes and the number of database bits of these dialogues; a `DataError` without states."""
        states = (turn.state for dialogue in dialogues for turn in dialogue.turns if turn.state)
        slots = sorted({slot for state in states for slot, _ in _filled(state)})
        wishes = sorted({wish for dialogue in dialogues for wish in _wishes(dialogue)})
        widths = {len(bits) for dialogue in dialogues for bits in dialogue.meta.get(POINTER, ("",))}
        if not slots:
            raise DataError("no dialogue has a `state`: a latent policy reads the belief state of each turn")
        if len(widths) > 1:
            raise DataError(
                f"`meta.{POINTER}` has {' and '.join(map(str, sorted(widths)))} bits; expected one number"
            )
        return cls(tuple(slots), tuple(wishes), widths.pop())

    @property
    def width(self) -> int:
        """The number of bits of a state: two for each slot, and those of the database."""
        return 2 * len(self.slots) + self.pointer

    def bits(self, state: Mapping[str, Any] | None, pointer: str) -> Bits:
        """(width,) the bits of a state; unknown slots are ignored. `pointer` are the database bits as 0 and 1.

        Raises `DataError` if their number is not that of the training dialogues.
        """
        if len(pointer) != self.pointer:
            raise DataError(
                f"the database has {len(pointer)} bits here, and the model was trained with {self.pointer}"
            )
        found = np.zeros(self.width, dtype=np.float32)
        for slot, value in _filled(state or {}):
            if slot in self._slots:
                found[2 * self._slots[slot] + bool(_ANY.fullmatch(value.strip()))] = 1.0
        found[2 * len(self.slots) :] = [float(bit) for bit in pointer]
        return found

    def is_foreign(self, state: Mapping[str, Any]) -> bool:
        """Whether the state has filled slots and none of them is known: another task, or other slot names."""
        said = [slot for slot, _ in _filled(state)]
        return bool(said) and not any(slot in self._slots for slot in said)

    def goal(self, dialogue: Dialogue) -> Bits:
        """(wishes,) the bits of a dialogue's goal, or of its last state without a goal; unknown wishes are ignored."""
        found = np.zeros(len(self.wishes), dtype=np.float32)
        found[[self._wishes[wish] for wish in _wishes(dialogue) if wish in self._wishes]] = 1.0
        return found

    @cached_property
    def _slots(self) -> dict[tuple[str, str], int]:
        """(domain, slot) -> its index in `slots`."""
        return {slot: index for index, slot in enumerate(self.slots)}

    @cached_property
    def _wishes(self) -> dict[tuple[str, str, str], int]:
        """Wish -> its index in `wishes`."""
        return {wish: index for index, wish in enumerate(self.wishes)}


def _filled(state: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], str]]:
    """((domain, slot), value) of each slot that has a value."""
    for domain, slots in state.items():
        if isinstance(slots, Mapping):
            yield from (((domain, slot), str(value)) for slot, value in slots.items() if value)


def _wishes(dialogue: Dialogue) -> set[tuple[str, str, str]]:
    """(domain, part, slot) of each constraint, request and booking of the goal.

    Without a goal, the slots of the last state.
    """
    if dialogue.goal:
        parts = (
            (domain, part, wanted[part])
            for domain, wanted in dialogue.goal.items()
            if isinstance(wanted, Mapping)
            for part in _PARTS
            if part in wanted
        )
        return {(domain, part, slot) for domain, part, slots in parts for slot in slots}
    last = next((turn.state for turn in reversed(dialogue.turns) if turn.state), {})
    return {(domain, "info", slot) for (domain, slot), _ in _filled(last)}
