"""A dialogue as vectors of its two sides: what the user says, how the dialogue ends, what the agent says, and how
neighbouring turns are related.

Each different text is encoded once. A side without a text has zeros. `flow` are cosines of neighbouring turns, so it
says whether the two speak about the same things, whether the agent repeats itself, and whether the user does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.encode.encoder import TextEncoder
from turnwise.types import Floats, Turn

LAST = 3  # turns at the end of a dialogue
FLOW = (
    "reply to user, mean",
    "reply to user, least",
    "user to reply, mean",
    "user to reply, least",
    "user to own last turn",
    "agent to own last turn",
    "agent to its nearest turn",
    "user to its nearest turn",
)


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Vectors of n dialogues; d is the length of a sentence vector."""

    user: Floats  # (n, d) mean of the user's turns
    last: Floats  # (n, d) mean of the user's last three turns
    first: Floats  # (n, d) the user's first turn
    agent: Floats  # (n, d) mean of the agent's turns
    flow: Floats  # (n, 8) cosines, see `FLOW`; 0 where there are none


def said(turns: Sequence[Turn], role: str) -> list[str]:
    """The texts of one side in order, without blank ones."""
    return [turn.text for turn in turns if turn.role == role and turn.text.strip()]


def sides(dialogues: Sequence[Sequence[Turn]], encoder: TextEncoder) -> Sides:
    """The vectors of the dialogues, given by their turns, in order."""
    spoken = [[(turn.role == "user", turn.text) for turn in turns if _spoken(turn)] for turns in dialogues]
    texts = list(dict.fromkeys(text for turns in spoken for _, text in turns))
    width = encoder.dimension
    vectors = np.zeros((len(texts) + 1, width))
    if texts:
        vectors[:-1] = np.nan_to_num(encoder.encode(texts).astype(np.float64))
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(norms > 0, norms, 1.0)
    code = {text: index for index, text in enumerate(texts)}
    n = len(dialogues)
    parts = {name: np.zeros((n, width)) for name in ("user", "last", "first", "agent")}
    flow = np.zeros((n, len(FLOW)))
    for row, turns in enumerate(spoken):
        is_user = np.array([by_user for by_user, _ in turns], dtype=np.bool_)
        codes = np.array([code[text] for _, text in turns], dtype=np.int64)
        of_user, of_agent = codes[is_user], codes[~is_user]
        if len(of_user):
            parts["user"][row] = unit[of_user].mean(axis=0)
            parts["last"][row] = unit[of_user[-LAST:]].mean(axis=0)
            parts["first"][row] = unit[of_user[0]]
        if len(of_agent):
            parts["agent"][row] = unit[of_agent].mean(axis=0)
        if len(codes) > 1:
            flow[row] = _flow(unit[codes], is_user)
    return Sides(**parts, flow=flow)


def _spoken(turn: Turn) -> bool:
    """Whether the turn is one of the two sides and has a text."""
    return turn.role in ("user", "assistant") and bool(turn.text.strip())


def _flow(unit: Floats, is_user: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Floats:
    """(8,) the cosines of one dialogue of two turns or more; `unit` are its turns' vectors at unit length."""
    next_to = np.einsum("td,td->t", unit[:-1], unit[1:])
    replies = next_to[is_user[:-1] & ~is_user[1:]]
    answers = next_to[~is_user[:-1] & is_user[1:]]
    found = [*_mean_and_least(replies), *_mean_and_least(answers)]
    nearest = []
    for mine in (unit[is_user], unit[~is_user]):
        if len(mine) < 2:
            found.append(0.0)
            nearest.append(0.0)
            continue
        alike = mine @ mine.T
        found.append(float(np.mean(np.diagonal(alike, 1))))
        np.fill_diagonal(alike, -1.0)
        nearest.append(float(alike.max(axis=1).mean()))
    return np.array([*found, nearest[1], nearest[0]])


def _mean_and_least(cosines: Floats) -> tuple[float, float]:
    """The mean and the least of some cosines; zeros without any."""
    return (float(cosines.mean()), float(cosines.min())) if len(cosines) else (0.0, 0.0)
