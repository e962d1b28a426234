"""A dialogue as one input that holds every (state, action) of it: tokens, positions, types and who sees whom.

ENIGMA (Jiang et al. 2021), appendix A.2. The input is e0, a1, a1', e1, a2, a2', ...: the logged dialogue with, at each
point, what others would have said there (any number of them, where the paper has one). A reply stands at the positions
that follow its state, whoever gives it; tokens see their own turn and the logged turns before it, so nothing that comes
later and no other reply to the same state leaks in, and one pass gives the same vectors as encoding each (s, a) alone.
Users are of type 0, agents of type 1.

The paper is silent on marks. As in the released code the first turn begins with the mark that begins an input, and
every turn ends with the separator (and begins with one, for models such as RoBERTa that are used to two in a row).
The released code passes over a dialogue that is too long, which selects the sample. Here its longest turns are cut to
one greatest length at which the dialogue fits; a reply that would go beyond the end is cut there. Both are counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from turnwise.errors import DataError
from turnwise.types import Ints


class Exchange(NamedTuple):
    """One point of a dialogue: what the user said, what was answered, and what others would have answered."""

    user: str | None  # None where the agent speaks unasked
    reply: str
    others: tuple[str, ...] = ()


class Said(NamedTuple):
    """The tokens of one exchange."""

    user: Sequence[int] | None
    reply: Sequence[int]
    others: Sequence[Sequence[int]]


class Marks(NamedTuple):
    """The tokens that stand between turns."""

    start: int
    end: int
    doubled: bool  # whether a turn also begins with the separator


@dataclass(frozen=True, slots=True)
class Script:
    ids: Ints  # (L,)
    position: Ints  # (L,) from 0
    kind: Ints  # (L,) 0 the user's, 1 an agent's
    time: Ints  # (L,) 0 for e0, 1 for a1 and every a1', 2 for e1, ...
    part: Ints  # (L,) which text the token belongs to
    logged: NDArray[np.bool_]  # (L,) whether the token belongs to the logged dialogue
    replies: tuple[
        tuple[int, int], ...
    ]  # where each reply lies: point by point the logged one, then the others
    cut: int  # tokens that did not fit

    def visible(self) -> NDArray[np.bool_]:
        """(L, L): whether the token of a row may look at that of a column."""
        same = self.part[:, None] == self.part[None, :]
        before = self.logged[None, :] & (self.time[None, :] < self.time[:, None])
        return np.asarray(same | before)


class _Part(NamedTuple):
    time: int
    position: int  # of its first token
    tokens: list[int]
    logged: bool


def lay_out(said: Sequence[Said], marks: Marks, *, limit: int) -> Script:
    """The script of one dialogue in at most `limit` positions."""
    turns = [  # of the logged dialogue: (time, tokens)
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
    if said[0].user is None:  # nobody spoke before the agent: the mark stands alone
        parts.append(_Part(0, 0, [marks.start], True))
    begun: dict[int, int] = {}  # time -> position
    for time, tokens in turns:
        begun[time] = place = parts[-1].position + len(parts[-1].tokens) if parts else 0
        before = opening if parts else [marks.start]
        parts.append(_Part(time, place, [*before, *tokens[:greatest], marks.end], True))
    logged = {part.time: part for part in parts}
    replies: list[_Part] = []
    for point, exchange in enumerate(said):
        time = 2 * point + 1
        replies.append(logged[time])
        left = limit - begun[time] - len(opening) - 1
        for tokens in exchange.others:
            cut += max(0, len(tokens) - left)
            replies.append(_Part(time, begun[time], [*opening, *tokens[:left], marks.end], False))
    parts += [reply for reply in replies if not reply.logged]
    return _script(parts, replies, cut)


def _script(parts: Sequence[_Part], replies: Sequence[_Part], cut: int) -> Script:
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
    """The greatest length to which turns may be left so that all of them fit."""
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
