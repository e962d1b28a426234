"""Sufficient statistics of the linear estimators: sums over logged dialogues, by the agent that held them.

They can be computed from any chunk of dialogues and added in any order; an agent is left out by leaving out its sums.
Memory is p x p numbers for each agent and target, whatever the number of dialogues.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np

from turnwise.estimators.linear.raw_features import RawFeatures
from turnwise.types import Floats

Sums = TypeVar("Sums", "LoggedSums", "TargetSums")
LENGTHS = 64  # turns; longer dialogues count as dialogues of this length


@dataclass(frozen=True, slots=True)
class LoggedSums:
    """Sums over one agent's dialogues as they were logged; x is a row of `RawFeatures`.

    `reward` is the sum of the ratings; `longest` is no sum but a number of turns.
    """

    dialogues: float
    points: float
    longest: int
    total: Floats  # (p,) sum of x
    xx: Floats  # (p, p) sum of x x'
    xy: Floats  # (p, k) sum of x y', y as in `outcomes`
    yy: Floats  # (k,) sum of y squared
    xr: Floats  # (p,) sum of x times the dialogue's reward
    lengths: Floats  # (LENGTHS,) number of dialogues of 1, 2, ... turns
    last: Floats  # (LENGTHS, p) sum of x at the last turn, by the dialogue's length
    last_reward: Floats  # (p,) sum of x at the last turn times the reward
    reward: float

    def __add__(self, other: "LoggedSums") -> "LoggedSums":
        return _added(self, other)


@dataclass(frozen=True, slots=True)
class TargetSums:
    """Sums over the same dialogues with what a target would have said; x' is its row."""

    xn: Floats  # (p, p) sum of x at a turn times x' at the next
    first: Floats  # (p,) sum of x' at first turns
    mean: Floats  # (p,) sum over dialogues of the mean x' of their turns

    def __add__(self, other: "TargetSums") -> "TargetSums":
        return _added(self, other)


def _added(one: Sums, other: Sums) -> Sums:
    """The field-by-field sum of two statistics; of `longest` the larger."""
    names = [field.name for field in fields(one)]
    pairs = {name: (getattr(one, name), getattr(other, name)) for name in names}
    return type(one)(**{name: max(a, b) if name == "longest" else a + b for name, (a, b) in pairs.items()})


def logged_sums(raw: RawFeatures) -> dict[str, LoggedSums]:
    """Agent -> the sums over the dialogues that it held, all of which must be rated."""
    episodes, rows = raw.episodes, raw.logged
    followed = outcomes(raw)
    lengths = np.diff(episodes.first)
    found = {}
    for index, agent in enumerate(episodes.agents):
        mine = episodes.agent == index
        at = np.repeat(mine, lengths)
        x, y = rows[at], followed[at]
        ends = rows[raw.last[mine]]
        by_length = np.zeros((LENGTHS, x.shape[1]))
        length = np.minimum(lengths[mine], LENGTHS) - 1
        np.add.at(by_length, length, ends)
        reward = episodes.reward[mine]
        found[agent] = LoggedSums(
            dialogues=float(mine.sum()),
            points=float(len(x)),
            longest=int(lengths[mine].max()),
            total=x.sum(axis=0),
            xx=x.T @ x,
            xy=x.T @ y,
            yy=np.sum(y**2, axis=0),
            xr=x.T @ np.repeat(reward, lengths[mine]),
            lengths=np.bincount(length, minlength=LENGTHS).astype(np.float64),
            last=by_length,
            last_reward=ends.T @ reward,
            reward=float(reward.sum()),
        )
    return found


def target_sums(raw: RawFeatures, target: Floats) -> dict[str, TargetSums]:
    """Logging agent -> sums over its dialogues; `target` (n, p) are the rows of what the target would have said."""
    episodes, rows = raw.episodes, raw.logged
    lengths = np.diff(episodes.first)
    later = np.flatnonzero(raw.position > 0)  # points after the first of their dialogue
    owner = np.repeat(episodes.agent, lengths)[later]
    means = np.add.reduceat(target, episodes.first[:-1], axis=0) / lengths[:, None]
    found = {}
    for index, agent in enumerate(episodes.agents):
        at = later[owner == index]
        mine = episodes.agent == index
        found[agent] = TargetSums(
            xn=rows[at - 1].T @ target[at],
            first=target[episodes.first[:-1][mine]].sum(axis=0),
            mean=means[mine].sum(axis=0),
        )
    return found


def outcomes(raw: RawFeatures) -> Floats:
    """(n, k + 2) y, what followed each point: the next user turn, the end (1 or 0), and the reward.

    The user turn is 0 at a last point, the reward at any other.
    """
    users = raw.users
    followed = np.zeros((len(users), users.shape[1] + 2))
    followed[:-1, :-2] = users[1:]
    followed[raw.last, :-2] = 0.0
    followed[raw.last, -2] = 1.0
    followed[raw.last, -1] = raw.episodes.reward
    return followed


def merged(*parts: Mapping[str, Sums]) -> dict[str, Sums]:
    """Agent -> the sum of its sums in several chunks; a chunk may lack an agent."""
    total: dict[str, Sums] = {}
    for part in parts:
        for agent, sums in part.items():
            total[agent] = total[agent] + sums if agent in total else sums
    return total
