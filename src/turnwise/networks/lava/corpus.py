"""Delexicalised dialogues as tensors with one row for each system turn."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from turnwise.errors import DataError, TooFewItems
from turnwise.logs.dialogue import POINTER
from turnwise.networks.hred.encoder import padded
from turnwise.networks.lava.state_layout import StateLayout
from turnwise.networks.lava.words import Words
from turnwise.types import Dialogue

_FEWEST = 10  # smallest number of dialogues


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """n system turns of N dialogues, on one device."""

    user: Tensor  # (n, u) words of the user's last turn
    state: Tensor  # (n, b) belief state and database
    reply: Tensor  # (n, r) words of the logged reply, the end mark last
    goal: Tensor  # (N, g)
    turns: Tensor  # (N, t) rows of each dialogue; -1 after its end

    @property
    def there(self) -> Tensor:
        """(N, t): whether a dialogue has such a turn."""
        return self.turns >= 0

    def to(self, device: str) -> "Corpus":
        """A copy on this device."""
        moved = {name: getattr(self, name).to(device) for name in ("user", "state", "reply", "goal", "turns")}
        return replace(self, **moved)


def reply_positions(dialogue: Dialogue) -> list[int]:
    """Positions of the turns to learn from: replies of the system directly after a user's turn, both with a text."""
    pairs = enumerate(zip(dialogue.turns, dialogue.turns[1:], strict=False), start=1)
    return [
        position
        for position, (before, turn) in pairs
        if turn.role == "assistant" and before.role == "user" and turn.text.strip() and before.text.strip()
    ]


def database_bits(dialogue: Dialogue, index: int) -> str:
    """The database bits at the user's turn before this position; "" if the dialogue has none.

    Raises `DataError` if it has bits, but too few.
    """
    bits: Sequence[str] = dialogue.meta.get(POINTER, ())
    number = sum(turn.role == "user" for turn in dialogue.turns[:index]) - 1
    if not bits:
        return ""
    if number >= len(bits):
        raise DataError(f"dialogue {dialogue.id}: `meta.{POINTER}` has no bits for user turn {number + 1}")
    return str(bits[number])


def corpus(dialogues: Sequence[Dialogue], words: Words, layout: StateLayout, *, longest: int) -> Corpus:
    """The dialogues as tensors on the CPU; turns are cut at `longest` words. `TooFewItems` without dialogues."""
    if not dialogues:
        raise TooFewItems("there is no dialogue in which a system replies to a user", "no-dialogue")
    positions = [reply_positions(dialogue) for dialogue in dialogues]
    flat = [(dialogue, index) for dialogue, mine in zip(dialogues, positions, strict=True) for index in mine]
    cpu = torch.device("cpu")
    states = [
        layout.bits(dialogue.turns[index].state, database_bits(dialogue, index)) for dialogue, index in flat
    ]
    ends = np.cumsum([0, *map(len, positions)])
    turns = np.full((len(dialogues), max(map(len, positions))), -1, dtype=np.int64)
    for row, first, mine in zip(turns, ends, positions, strict=False):
        row[: len(mine)] = np.arange(first, first + len(mine))
    return Corpus(
        user=padded([words.encode(d.turns[index - 1].text, longest=longest) for d, index in flat], cpu),
        state=torch.as_tensor(np.stack(states)),
        reply=padded([words.encode(d.turns[index].text, longest=longest) for d, index in flat], cpu),
        goal=torch.as_tensor(np.stack([layout.goal(dialogue) for dialogue in dialogues])),
        turns=torch.as_tensor(turns),
    )


def usable(dialogues: Sequence[Dialogue]) -> list[Dialogue]:
    """Dialogues with a system that replies to a user; `TooFewItems` if there are fewer than ten."""
    found = [dialogue for dialogue in dialogues if reply_positions(dialogue)]
    if len(found) < _FEWEST:
        raise TooFewItems(
            "training needs {needed} dialogues in which a system replies to a user, and there are {n}",
            "too-few-dialogues-to-train",
            n=len(found),
            needed=_FEWEST,
        )
    return found
