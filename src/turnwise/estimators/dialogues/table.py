"""The dialogues of rated agents and of a target as one table of standardised features.

Vectors are reduced to principal components, and features are scaled, over the rated agents' dialogues with every agent
counted equally. Ratings play no part in this, and every rated agent's dialogues are in it, also when the agent is left
out of a regression: so it is treated as an agent whose dialogues are known and whose ratings are not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.encoder import TextEncoder
from turnwise.encode.sides import sides
from turnwise.estimators.dialogues.counts import counts
from turnwise.estimators.refusal import ROUNDING
from turnwise.types import Dialogue, Floats, Ints

COMPONENTS = 24  # of each kind of vector
CLIPPED = 3.0  # deviations at which a feature is cut off
# Groups of features -> the blocks that they consist of. Chosen among five such tables on ji2022 (papers/unrated.md).
GROUPS: Mapping[str, tuple[str, ...]] = {
    "surface": ("user counts", "agent counts", "flow"),
    "user": ("user counts", "user words", "last user words"),
    "agent": ("agent counts", "agent words"),
}
# What the blocks are about, for a reader.
IN_WORDS: Mapping[str, str] = {
    "user counts": "how its users react (lengths, questions, thanks, complaints)",
    "user words": "what its users say",
    "last user words": "what its users say at the end",
    "agent counts": "how it talks (lengths, questions, repetitions)",
    "agent words": "what it says",
    "flow": "how its replies and its users' turns follow one another",
}


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """What n dialogues look like before they are standardised; vectors only with an encoder."""

    counted: Mapping[str, Floats]  # block -> (n, k)
    vectors: Mapping[str, Floats]  # block -> (n, d)
    first: Floats | None  # (n, d) vectors of the user's first turns

    @classmethod
    def of(cls, dialogues: Sequence[Dialogue], encoder: TextEncoder | None) -> "Blocks":
        """The blocks of the dialogues, in order."""
        of_user, of_agent = counts(dialogues)
        counted = {"user counts": of_user, "agent counts": of_agent}
        if encoder is None:
            return cls(counted, {}, None)
        found = sides([one.turns for one in dialogues], encoder)
        vectors = {"user words": found.user, "last user words": found.last, "agent words": found.agent}
        return cls(counted | {"flow": found.flow}, vectors, found.first)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Dialogues with their agents, ratings and standardised features."""

    agents: tuple[str, ...]
    agent: Ints  # (n,) indices of `agents`
    reward: Floats  # (n,) NaN for a dialogue without a rating
    features: Floats  # (n, D)
    blocks: Mapping[str, tuple[int, ...]]  # block -> its columns of `features`
    groups: Mapping[str, tuple[int, ...]]  # group of blocks -> its columns
    scores: Mapping[str, tuple[int, ...]]  # score of a metric, or estimate of another road -> its column
    opening: Floats | None = None  # (n, k) standardised components of the user's first turn
    missing: tuple[str, ...] = field(default=())  # scores that an agent has none of


def table(
    agents: tuple[str, ...],
    agent: Ints,
    reward: Floats,
    blocks: Blocks,
    scores: Mapping[str, Floats] | None = None,
) -> Table:
    """The table of (n,) dialogues; agents with a reward are the rated ones, over which features are scaled.

    `scores` are (n,) each, NaN where a dialogue has none; a score that an agent has for no dialogue is left out.
    """
    rated = np.isin(agent, np.unique(agent[np.isfinite(reward)]))
    if not rated.any():
        # Nothing can be estimated then; the caller says so.
        rated = np.ones(len(agent), dtype=np.bool_)
    weights = np.where(rated, 1.0 / np.bincount(agent, minlength=len(agents))[agent], 0.0)
    weights = weights / weights.sum()
    parts = {name: _scaled(values, weights) for name, values in blocks.counted.items()}
    parts |= {name: _scaled(_components(values, weights), weights) for name, values in blocks.vectors.items()}
    columns: dict[str, tuple[int, ...]] = {}
    width = 0
    for name, values in parts.items():
        columns[name] = tuple(range(width, width + values.shape[1]))
        width += values.shape[1]
    groups = {
        name: tuple(column for block in blocks_of for column in columns.get(block, ()))
        for name, blocks_of in GROUPS.items()
        if name == "surface" or blocks.vectors
    }
    kept, missing = {}, []
    for name, score in (scores or {}).items():
        filled = _filled(score, agent, len(agents))
        if filled is None:
            missing.append(name)
            continue
        parts[name] = _scaled(filled[:, None], weights)
        kept[name] = (width,)
        width += 1
    opening = None if blocks.first is None else _scaled(_components(blocks.first, weights), weights)
    return Table(
        agents, agent, reward, np.hstack(list(parts.values())), columns, groups, kept, opening, tuple(missing)
    )


def _filled(score: Floats, agent: Ints, n_agents: int) -> Floats | None:
    """(n,) the score with an agent's mean where a dialogue has none; None if an agent has none at all."""
    there = np.isfinite(score)
    counted = np.bincount(agent, weights=there, minlength=n_agents)
    held = np.bincount(agent, minlength=n_agents) > 0
    if np.any(held & (counted == 0)):
        return None
    means = np.bincount(agent, weights=np.where(there, score, 0.0), minlength=n_agents) / np.maximum(
        counted, 1
    )
    return np.where(there, score, means[agent])


def _scaled(values: Floats, weights: Floats) -> Floats:
    """Columns with weighted mean 0 and variance 1, cut off at `CLIPPED`; 0 where a column does not vary."""
    middle = weights @ values
    deviation = np.sqrt(weights @ (values - middle) ** 2)
    varies: NDArray[np.bool_] = deviation > 1e-9 * np.maximum(1.0, np.abs(middle))
    found: Floats = np.clip((values - middle) / np.where(varies, deviation, np.inf), -CLIPPED, CLIPPED)
    return found


def _components(values: Floats, weights: Floats) -> Floats:
    """(n, `COMPONENTS`) the coordinates on the first principal components of the weighted vectors; 0 on those that
    rounding left.
    """
    middle = weights @ values
    away = values - middle
    squares, directions = np.linalg.eigh((away * weights[:, None]).T @ away)
    varying = np.where(squares > ROUNDING**2 * squares[-1], directions, 0.0)
    found: Floats = away @ varying[:, ::-1][:, :COMPONENTS]
    return found
