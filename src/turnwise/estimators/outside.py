"""Whether an agent lies outside what was seen: tests of one more agent against the rated ones.

Each test compares the target with the n rated agents, each of which is measured as if it were the new one. If the
target is an agent like the others, a test refuses it with probability `FALSE_ALARM`; that of all dialogues, on the road
of dialogues, with 1/n.

The distance of an agent is that of its mean features from the mean of the rated agents, block by block: how the users
talk, how the agent talks, how turns are related. The ratio of squared distances is taken to be F distributed, with the
effective number of dimensions in which the rated agents differ: (sum of eigenvalues)^2 / sum of their squares.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.errors import Refused
from turnwise.types import Floats, Ints

FALSE_ALARM = 0.02
LEAST = 1e-4  # mean squared distance, in variances of single dialogues, that counts as none
# Distance of the users' first turns, in deviations of single dialogues, below which users count as alike.
ALIKE = 0.25


@dataclass(frozen=True, slots=True)
class Distance:
    """How far an agent lies from the rated ones in one block of features, in deviations of single dialogues."""

    block: str
    target: float
    usual: float  # root mean square of the rated agents, each left out
    p: float  # probability that one more agent like the others lies as far away


def one_more(values: Floats, *, chance: float) -> float:
    """The value above which one more of the same kind lies with this probability, by Student's prediction interval."""
    from scipy.special import stdtrit

    n = len(values)
    spread = float(values.std(ddof=1)) * np.sqrt(1 + 1 / n)
    return float(values.mean() + stdtrit(n - 1, 1 - chance) * spread)


def distance(block: str, features: Floats, agent: Ints, known: Sequence[int], target: int) -> Distance:
    """The distance of the target by the means of (n, D) standardised features; `agent` are the indices of n dialogues.

    An agent's mean has a sampling error, which adds to its distance the more the fewer dialogues it has; what is
    expected of that is subtracted.
    """
    from scipy.special import fdtrc

    means, errors = {}, {}
    for index in (*known, target):
        mine = features[agent == index]
        means[index] = mine.mean(axis=0)
        errors[index] = mine.var(axis=0) / max(len(mine) - 1, 1)

    def squared(index: int) -> float:
        """The mean squared distance of an agent from the rated ones without itself, as of one more agent."""
        others = [other for other in known if other != index]
        gap = means[index] - np.mean([means[other] for other in others], axis=0)
        expected = errors[index] + np.sum([errors[other] for other in others], axis=0) / len(others) ** 2
        return max(float(np.mean(gap**2 - expected)), LEAST) / (1 + 1 / len(others))

    usual = float(np.mean([squared(index) for index in known]))
    mine = squared(target)
    away = np.array([means[index] for index in known])
    values = np.linalg.svd(away - away.mean(axis=0), compute_uv=False) ** 2
    dimensions = float(values.sum() ** 2 / max(float(np.sum(values**2)), 1e-300)) if values.any() else 1.0
    p = float(fdtrc(dimensions, dimensions * (len(known) - 1), mine / usual))
    return Distance(block, float(np.sqrt(mine)), float(np.sqrt(usual)), p)


def distances(
    blocks: Mapping[str, Sequence[int]], features: Floats, agent: Ints, known: Sequence[int], target: int
) -> tuple[Distance, ...]:
    """The distance in each block of columns, the least probable first."""
    found = [
        distance(name, features[:, list(columns)], agent, known, target) for name, columns in blocks.items()
    ]
    return tuple(sorted(found, key=lambda one: one.p))


def check_inside(target: str, found: Sequence[Distance], false_alarm: float = FALSE_ALARM) -> None:
    """Raise `Refused` if the target's dialogues are unlike those of all rated agents in some block."""
    if not found:
        return
    worst = found[0]
    if worst.p * len(found) < false_alarm:
        raise Refused(
            "the dialogues of `{agent}` are unlike those of the rated agents in {block}: {distance:.2f} deviations "
            "away, "
            "where the rated agents are {usual:.2f} from one another (p {p:.4f}); rate some of its dialogues, or "
            "dialogues of agents like it",
            "dialogues-outside",
            agent=target,
            block=worst.block,
            distance=worst.target,
            usual=worst.usual,
            p=worst.p,
        )


def check_users(target: str, found: Distance) -> None:
    """Raise `Refused` if the target's users open their dialogues otherwise than those of all rated agents."""
    if found.p < FALSE_ALARM and found.target > ALIKE:
        raise Refused(
            "the users of `{agent}` are others than those of the rated agents, or have other tasks: what they say "
            "first "
            "is {distance:.2f} deviations away, where the rated agents' users are {usual:.2f} from one another "
            "(p {p:.4f}); take dialogues of the same users and tasks",
            "other-users",
            agent=target,
            distance=found.target,
            usual=found.usual,
            p=found.p,
        )


def check_range(target: str, value: float, known: Floats) -> None:
    """Raise `Refused` if the estimate lies farther from the rated agents' means than one more agent like them would."""
    high = one_more(known, chance=FALSE_ALARM / 2)
    low = -one_more(-known, chance=FALSE_ALARM / 2)
    if not low <= value <= high:
        raise Refused(
            "the estimate of `{agent}`, {value:.3g}, lies outside what was seen: the rated agents have {least:.3g} to "
            "{most:.3g}, and one more like them would have {low:.3g} to {high:.3g} in 98 % of cases; rate some of its "
            "dialogues, or dialogues of agents like it",
            "estimate-outside",
            agent=target,
            value=value,
            least=float(known.min()),
            most=float(known.max()),
            low=low,
            high=high,
        )
