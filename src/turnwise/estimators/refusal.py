"""When an estimate is refused: too few logged dialogues, ratings that are all equal, a target unlike everything that
was logged, or an estimate outside the scale.

The distance of a target's replies from the logged ones is measured as for `nearest`: 1 minus the cosine with the most
similar logged reply, on average. The distances of the logged agents, each left out in turn, are the reference. A target
at more than twice the largest of these distances is too different from the agents that calibrate its estimate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.encode.episodes import leave_out
from turnwise.errors import Refused
from turnwise.estimators.baselines.nearest import neighbours
from turnwise.estimators.calibration import FEWEST
from turnwise.estimators.outside import Distance, distance
from turnwise.estimators.vectors import vectors
from turnwise.types import Episodes

# Smallest number of rated dialogues of all other agents: with fewer the mean has a standard error above .18 deviations.
DIALOGUES = 30
# Distance that is added to the limit: a reply that joins two logged ones is .12 from each, unrelated texts .7 and more.
SLACK = 0.25
# Share of the scale's width by which an estimate may lie outside the scale; beyond it the estimator extrapolates.
OUTSIDE = 0.1
# Least share of an interval that lies on the scale. What is clipped from [-.6, .002] looks like certainty of 0: on
# ratings of usr_persona such an interval was given where the mean was .47 (papers/enigma-real.md).
INSIDE = 0.1
POINTS = 400  # points at which the replies of agents are compared
COMPONENTS = 24  # principal components of the vectors of replies
ROUNDING = 1e-6  # deviation, in that of the first component, below which a component is what rounding left


@dataclass(frozen=True, slots=True)
class Reach:
    """How close a target's replies are to the logged replies of other agents.

    `overlap` is the share that was logged verbatim, `distance` the mean of 1 minus the cosine with the nearest logged
    reply.
    """

    overlap: float  # share of its replies that were logged verbatim, after delexicalisation
    distance: float  # 0 to 2: mean of 1 minus the cosine with the nearest logged reply


def check_enough(agents: int, rated: int) -> None:
    """Raise `Refused` with fewer than `FEWEST` other agents, or fewer than `DIALOGUES` rated dialogues of theirs."""
    if agents < FEWEST:
        raise Refused(
            "{n:#other agent} with rated dialogues, and calibration needs {needed}; log more agents",
            "too-few-other-agents",
            n=agents,
            needed=FEWEST,
        )
    if rated < DIALOGUES:
        raise Refused(
            "{n:#rated dialogue} of other agents, and {needed} are needed; rate more dialogues",
            "too-few-rated",
            n=rated,
            needed=DIALOGUES,
        )


def check_ratings_differ(episodes: Episodes) -> None:
    """Raise `Refused` if all rated dialogues have the same rating, from which nothing can be learned about replies."""
    rated = episodes.reward[np.isfinite(episodes.reward)]
    if len(rated) and np.ptp(rated) == 0:
        raise Refused(
            "all {n:#rated dialogue} of other agents have the same rating, {rating:g}: nothing shows how ratings "
            "depend on what is said; rate dialogues that differ in quality",
            "same-ratings",
            n=len(rated),
            rating=float(rated[0]),
        )


def check_on_scale(low: float, high: float, scale: tuple[float, float]) -> None:
    """Raise `Refused` if an interval, or an estimate that is both of its ends, lies clearly or nearly all outside."""
    margin = OUTSIDE * (scale[1] - scale[0])
    inside = min(high, scale[1]) - max(low, scale[0])
    hardly = low < high and inside < INSIDE * (high - low)
    if hardly or high < scale[0] - margin or low > scale[1] + margin:
        where, code = (
            ("{low:.3g}", "outside-scale")
            if low == high
            else ("{low:.3g} to {high:.3g}", "interval-outside-scale")
        )
        raise Refused(
            f"the estimate lies outside the scale {{scale}} ({where}): the estimator extrapolates beyond what was "
            "logged; log agents that talk like the target, or rate some of its dialogues",
            code,
            scale=f"{scale[0]:g} to {scale[1]:g}",
            low=float(low),
            high=float(high),
        )


def check_replies(episodes: Episodes, target: str) -> None:
    """Raise `Refused` without episodes of other agents, or without a reply of the target at one of their points.

    `episodes` are those that may estimate the target, without its own.
    """
    if not len(episodes.dialogues):
        raise Refused(
            "0 rated dialogues of other agents, from which it could be estimated; log other agents",
            "nothing-of-others",
        )
    said = episodes.alternatives.get(target)
    if said is None or not (said.text >= 0).any():
        raise Refused(
            "no dialogue of another agent has a reply of `{agent}`; `turnwise respond` adds what it would have said",
            "no-reply-of-target",
            agent=target,
        )


def measured_reach(episodes: Episodes, target: str, model: str) -> Reach:
    """How close the replies of `target` are to those logged by other agents, in the vectors of encoder `model`.

    The target's own dialogues are left out. Every point counts equally, and the samples of a point share its weight.
    """
    episodes = leave_out(episodes, {target})
    known = np.unique(episodes.logged.text)
    said = episodes.alternatives[target].text
    there = said >= 0
    _, similar = neighbours(episodes, target, known, model)
    share = there / np.maximum(there.sum(axis=1, keepdims=True), 1) / max(len(there), 1)
    overlap = float(np.sum(share * np.isin(said, known)))
    return Reach(overlap, 1.0 - float(np.sum(share * np.where(there, similar[said], 0.0))))


def measured_distance(episodes: Episodes, target: str, known: Sequence[str], model: str) -> Distance | None:
    """How far what the target says lies from what the agents `known` say at the same points, in sentence vectors.

    Up to `POINTS` points are compared, in which all have a reply; None with fewer than `FEWEST` agents, or fewer than
    `DIALOGUES` such points, or if the known agents all say the same.
    """
    speakers = [target, *(name for name in known if name != target and name in episodes.alternatives)]
    said = np.stack([episodes.alternatives[name].text[:, 0] for name in speakers])
    points = np.flatnonzero((said >= 0).all(axis=0))
    if len(speakers) <= FEWEST or len(points) < DIALOGUES:
        return None
    points = points[:: -(-len(points) // POINTS)]
    table = vectors(episodes.texts, model)[said[:, points]]  # (speakers, points, d)
    table = table - table[1:].mean(axis=(0, 1))
    flat = table.reshape(-1, table.shape[-1])
    others = table[1:].reshape(-1, table.shape[-1])
    _, directions = np.linalg.eigh(others.T @ others)
    parts = flat @ directions[:, ::-1][:, :COMPONENTS]
    deviation = parts[len(points) :].std(axis=0)
    varies = deviation > ROUNDING * deviation.max()  # the others may say too little to span all components
    if not varies.any():
        return None
    scaled = parts[:, varies] / deviation[varies]
    agent = np.repeat(np.arange(len(speakers), dtype=np.int64), len(points))
    return distance("what it says", scaled, agent, range(1, len(speakers)), 0)


def check_reach(target: str, mine: Reach, others: list[Reach]) -> None:
    """Raise `Refused` if the target is farther away than twice the largest distance of `others`, plus `SLACK`."""
    usual = max(other.distance for other in others)
    if mine.distance > 2 * usual + SLACK:
        raise Refused(
            "`{agent}` says what nobody logged says: its replies lie {distance:.2f} from the nearest logged ones, "
            "other agents' at most {usual:.2f}; log agents that talk like it, or rate some of its dialogues",
            "unlike-logged",
            agent=target,
            distance=float(mine.distance),
            usual=float(usual),
        )
