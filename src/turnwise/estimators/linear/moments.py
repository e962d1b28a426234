"""Sums over logged dialogues, one of each for every agent that held them: all that linear estimators need.

They are taken from any chunk of dialogues and added, in any order; leaving an agent out is leaving its sums out.
Memory is p x p numbers for an agent and a target, however many dialogues there are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np

from turnwise.estimators.linear.points import Points
from turnwise.types import Floats

Sums = TypeVar("Sums", "Logged", "Instead")
LENGTHS = 64  # turns: longer dialogues are counted as of this length where lengths matter


@dataclass(frozen=True, slots=True)
class Logged:
    """Of one agent's dialogues as they were logged; x is a row of `Points`."""

    dialogues: float
    points: float
    longest: int
    total: Floats  # (p,) of x
    xx: Floats  # (p, p) of x x'
    xy: Floats  # (p, k) of x and what followed: the next user turn, whether it was the end, the end's reward
    yy: Floats  # (k,) squares of what followed
    xr: Floats  # (p,) of x at any turn times the dialogue's reward
    lengths: Floats  # (LENGTHS,) dialogues of 1, 2, ... turns
    last: Floats  # (LENGTHS, p) of x at the last turn, by the dialogue's length
    last_reward: Floats  # (p,) of x at the last turn times the reward
    reward: float

    def __add__(self, other: "Logged") -> "Logged":
        return _added(self, other)


@dataclass(frozen=True, slots=True)
class Instead:
    """Of the same dialogues and what a target would have said."""

    xn: Floats  # (p, p) of x at a turn and the target's at the next
    first: Floats  # (p,) of the target's at first turns
    mean: Floats  # (p,) of the target's, mean over a dialogue's turns

    def __add__(self, other: "Instead") -> "Instead":
        return _added(self, other)


def _added(one: Sums, other: Sums) -> Sums:
    names = [field.name for field in fields(one)]
    pairs = {name: (getattr(one, name), getattr(other, name)) for name in names}
    return type(one)(**{name: max(a, b) if name == "longest" else a + b for name, (a, b) in pairs.items()})


def logged(points: Points) -> dict[str, Logged]:
    """Agent -> sums of its dialogues."""
    episodes, rows = points.episodes, points.logged
    followed = outcomes(points)
    lengths = np.diff(episodes.first)
    found = {}
    for place, agent in enumerate(episodes.agents):
        mine = episodes.agent == place
        at = np.repeat(mine, lengths)
        x, y = rows[at], followed[at]
        ends = rows[points.last[mine]]
        by_length = np.zeros((LENGTHS, x.shape[1]))
        length = np.minimum(lengths[mine], LENGTHS) - 1
        np.add.at(by_length, length, ends)
        reward = episodes.reward[mine]
        found[agent] = Logged(
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


def instead(points: Points, target: Floats) -> dict[str, Instead]:
    """Agent -> sums of its dialogues with (n, p) `target`, the rows of what the target would have said."""
    episodes, rows = points.episodes, points.logged
    lengths = np.diff(episodes.first)
    follows = np.flatnonzero(points.place > 0)  # points that have one before them
    owner = np.repeat(episodes.agent, lengths)[follows]
    means = np.add.reduceat(target, episodes.first[:-1], axis=0) / lengths[:, None]
    found = {}
    for place, agent in enumerate(episodes.agents):
        at = follows[owner == place]
        mine = episodes.agent == place
        found[agent] = Instead(
            xn=rows[at - 1].T @ target[at],
            first=target[episodes.first[:-1][mine]].sum(axis=0),
            mean=means[mine].sum(axis=0),
        )
    return found


def outcomes(points: Points) -> Floats:
    """(n, k + 2) what followed each point: the next user turn (0 at the end), the end, the end's reward."""
    users = points.users
    followed = np.zeros((len(users), users.shape[1] + 2))
    followed[:-1, :-2] = users[1:]
    followed[points.last, :-2] = 0.0
    followed[points.last, -2] = 1.0
    followed[points.last, -1] = points.episodes.reward
    return followed


def merged(*parts: Mapping[str, Sums]) -> dict[str, Sums]:
    """The sums of several chunks."""
    total: dict[str, Sums] = {}
    for part in parts:
        for agent, sums in part.items():
            total[agent] = total[agent] + sums if agent in total else sums
    return total
