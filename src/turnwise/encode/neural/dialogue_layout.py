"""A dialogue as one encoder input with every (state, action): tokens, positions, types and the attention mask.

ENIGMA (Jiang et al. 2021), appendix A.2. The input is e0, a1, a1', e1, a2, a2', ...: the logged dialogue with, at each
point, the alternatives (any number of them, where the paper has one). A reply has the positions after its state,
whoever gives it. Tokens attend to their own turn and to the logged turns before it, not to later turns or to other
replies to the same state, so one pass gives the same vectors as encoding each (s, a) alone. Users have token type 0,
agents 1.

The paper does not describe special tokens. As in the released code the first turn begins with the model's start token,
and every turn ends with the separator (and begins with one, for models such as RoBERTa that use two in a row). The
released code skips a dialogue that is too long, which biases the sample. Here its longest turns are cut to the largest
common length at which the dialogue fits; a reply that would go beyond the end is cut there. Both are counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from turnwise.errors import DataError
from turnwise.types import Ints


class Exchange(NamedTuple):
    """One point of a dialogue: the user's turn, the logged reply and the alternatives."""

    user: str | None  # None if the agent begins
    reply: str
    others: tuple[str, ...] = ()


class ExchangeTokens(NamedTuple):
    """The token ids of one exchange; `user` is None if the agent begins."""

    user: Sequence[int] | None
    reply: Sequence[int]
    others: Sequence[Sequence[int]]


class Marks(NamedTuple):
    """The special tokens between turns."""

    start: int
    end: int
    doubled: bool  # whether a turn also begins with the separator


@dataclass(frozen=True, slots=True)
class Script:
    """A dialogue with its alternatives as L tokens: position, type and turn of each, and the spans of the replies."""

    ids: Ints  # (L,)
    position: Ints  # (L,) from 0
    kind: Ints  # (L,) token type: 0 the user's, 1 an agent's
    time: Ints  # (L,) 0 for e0, 1 for a1 and every a1', 2 for e1, ...
    part: Ints  # (L,) index of the text that the token belongs to
    logged: NDArray[np.bool_]  # (L,) whether the token belongs to the logged dialogue
    replies: tuple[tuple[int, int], ...]  # span of each reply: at each point the logged one, then the others
    cut: int  # number of tokens that did not fit

    def visible(self) -> NDArray[np.bool_]:
        """(L, L) attention mask: whether the token of a row attends to that of a column."""
        same = self.part[:, None] == self.part[None, :]
        before = self.logged[None, :] & (self.time[None, :] < self.time[:, None])
        return np.asarray(same | before)


class _Part(NamedTuple):
    """One turn or alternative in the script."""

    time: int
    position: int  # position of its first token
    tokens: list[int]
    logged: bool


def lay_out(said: Sequence[ExchangeTokens], marks: Marks, *, limit: int) -> Script:
    """The script of one dialogue in at most `limit` positions; a `DataError` if even one token a turn does not fit."""
    turns = [  # turns of the logged dialogue: (time, tokens)
        (2 * point + agent, tokens)
        for point, exchange in enumerate(said)
        for agent, tokens in enumerate((exchange.user, exchange.reply))
        if tokens is not None
    ]
    opening = [marks.end] if marks.doubled else []
    room = limit - 1 - (len(opening) + 1) * len(turns)
    greatest = _greatest([len(tokens) for _, tokens in turns], room)
    cut = sum(max(0, len(tokens) - greatest) for _, tokens in turns)

    parts: list[_Part] = []
    if said[0].user is None:  # the agent begins: the start token stands alone
        parts.append(_Part(0, 0, [marks.start], True))
    started: dict[int, int] = {}  # time -> position
    for time, tokens in turns:
        started[time] = position = parts[-1].position + len(parts[-1].tokens) if parts else 0
        before = opening if parts else [marks.start]
        parts.append(_Part(time, position, [*before, *tokens[:greatest], marks.end], True))
    logged = {part.time: part for part in parts}
    replies: list[_Part] = []
    for point, exchange in enumerate(said):
        time = 2 * point + 1
        replies.append(logged[time])
        left = limit - started[time] - len(opening) - 1
        for tokens in exchange.others:
            cut += max(0, len(tokens) - left)
            replies.append(_Part(time, started[time], [*opening, *tokens[:left], marks.end], False))
    parts += [reply for reply in replies if not reply.logged]
    return _script(parts, replies, cut)


def _script(parts: Sequence[_Part], replies: Sequence[_Part], cut: int) -> Script:
    """The script with these parts in order; `replies` are parts too, and give the spans."""
    lengths = np.array([len(part.tokens) for part in parts])
    ends = np.cumsum(lengths)
    span = {id(part): (int(end) - len(part.tokens), int(end)) for part, end in zip(parts, ends, strict=True)}
    time = np.repeat([part.time for part in parts], lengths)
    return Script(
        ids=np.concatenate([part.tokens for part in parts]),
        position=np.concatenate([part.position + np.arange(len(part.tokens)) for part in parts]),
        kind=time % 2,
        time=time,
        part=np.repeat(np.arange(len(parts)), lengths),
        logged=np.repeat([part.logged for part in parts], lengths),
        replies=tuple(span[id(reply)] for reply in replies),
        cut=cut,
    )


def _greatest(lengths: Sequence[int], room: int) -> int:
    """The largest length to which turns can be cut so that their total is at most `room`.

    Raises a `DataError` if even one token a turn does not fit.
    """
    if room < len(lengths):
        raise DataError(f"a dialogue of {len(lengths)} turns does not fit into the positions of this model")
    low, high = 1, max(1, *lengths)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(length, middle) for length in lengths) <= room:
            low = middle
        else:
            high = middle - 1
    return low
