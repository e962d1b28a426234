"""When there is no answer to give: too little experience, or a target unlike everything that was logged.

How far a target's replies lie from the logged ones is measured as for `nearest`: one less the cosine with the most
similar logged reply, on average. The logged agents, each left out, say what is usual; a target that lies more than
twice as far as the farthest of them is not one of a kind with the agents that calibrate its estimate.
"""

from dataclasses import dataclass

import numpy as np

from turnwise.encode.episodes import leave_out
from turnwise.errors import Refused, counted
from turnwise.estimators.baselines.nearest import neighbours
from turnwise.estimators.calibration import FEWEST
from turnwise.types import Episodes

DIALOGUES = (
    30  # rated, of all other agents together: fewer do not know even the mean to .2 standard deviations
)
SLACK = (
    0.25  # of distance: two questions in one breath lie .12 from either; texts that share nothing .7 and more
)


@dataclass(frozen=True, slots=True)
class Reach:
    """How a target's replies lie to the logged replies of others."""

    overlap: float  # share of them that were logged word by word, delexicalised
    distance: float  # 0 to 2: one less the cosine with the nearest logged reply, mean


def check_enough(agents: int, rated: int) -> None:
    """Raises where other agents, or the rated dialogues that they held, are too few to say anything."""
    if agents < FEWEST:
        raise Refused(
            f"{counted(agents, 'other agent')} with rated dialogues, and calibration needs {FEWEST}; log more agents"
        )
    if rated < DIALOGUES:
        raise Refused(
            f"{counted(rated, 'rated dialogue')} of other agents, and {DIALOGUES} are needed; rate more dialogues"
        )


def reach(episodes: Episodes, target: str, model: str) -> Reach:
    episodes = leave_out(episodes, {target})
    known = np.unique(episodes.logged.text)
    said = episodes.alternatives[target].text
    there = said >= 0
    _, similar = neighbours(episodes, target, known, model)
    share = there / np.maximum(there.sum(axis=1, keepdims=True), 1) / max(len(there), 1)
    overlap = float(np.sum(share * np.isin(said, known)))
    return Reach(overlap, 1.0 - float(np.sum(share * np.where(there, similar[said], 0.0))))


def check_reach(target: str, mine: Reach, others: list[Reach]) -> None:
    """Raises where the target talks unlike any of the agents that calibrate it."""
    usual = max(other.distance for other in others)
    if mine.distance > 2 * usual + SLACK:
        raise Refused(
            f"`{target}` says what nobody logged says: its replies lie {mine.distance:.2f} from the nearest logged "
            f"ones, other agents' at most {usual:.2f}; log agents that talk like it, or rate some of its dialogues"
        )
