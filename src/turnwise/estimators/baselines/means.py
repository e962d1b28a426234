"""Two baselines: the mean of the logged ratings, and the mean score of the target's decisions on the logged dialogues.

Both are shown with every result. `mean-relabelled` is the reward of ENIGMA's released AirDialogue data: without any
off-policy correction it reaches Pearson .99 on agents that differ only in noise, and it ranks agents in reverse that
differ in how they talk. `mean` with one agent left out is anti-correlated with the truth by construction.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from turnwise.encode.episodes import leave_out
from turnwise.errors import Refused
from turnwise.types import Card, Episodes, Estimate, Signature


@dataclass(frozen=True, slots=True)
class Mean:
    """The estimator `mean`: the same for every target but for the dialogues that it held."""

    card: ClassVar[Card] = Card(
        kind="estimator",
        meaning="Mean rating of the dialogues that others held.",
        range="within the logged ratings",
        limits="Knows nothing of the target; the better the target, the lower is the mean of the others.",
        citation="-",
    )

    @property
    def signature(self) -> Signature:
        """The name alone: there are no settings."""
        return Signature("mean")

    def estimate(self, episodes: Episodes, target: str, /, *, rng: np.random.Generator) -> Estimate:
        """The mean of the ratings of all rated dialogues that the target did not hold; refused if there are none."""
        reward = leave_out(episodes, {target}).reward
        rated = reward[np.isfinite(reward)]
        if not len(rated):
            raise Refused(
                "no dialogue of another agent is rated on `{rating}`; rate some",
                "no-other-rated-on",
                rating=episodes.rating,
            )
        return Estimate(value=float(rated.mean()), contributions=rated, level=float(rated.mean()))


@dataclass(frozen=True, slots=True)
class Relabelled:
    """The estimator `mean-relabelled`: the mean score of the target's own decisions."""

    card: ClassVar[Card] = Card(
        kind="estimator",
        meaning="Mean score of the decision that the target would take at the end of the logged dialogues.",
        range="that of the rating",
        limits="The questions were another agent's: what the target would not have asked still counts for it.",
        citation="Jiang et al. 2021, Towards Automatic Evaluation of Dialog Systems (the released `reward`)",
    )

    @property
    def signature(self) -> Signature:
        """The name alone: there are no settings."""
        return Signature("mean-relabelled")

    def estimate(self, episodes: Episodes, target: str, /, *, rng: np.random.Generator) -> Estimate:
        """The mean over others' dialogues of the mean score of the target's decisions (samples) at the last point.

        Dialogues without a scored decision are left out; refused if none is left. `decided` is the share that is left.
        """
        episodes = leave_out(episodes, {target})
        said = episodes.alternatives.get(target)
        scores = said.relabelled[episodes.first[1:] - 1] if said is not None else np.full((1, 1), np.nan)
        known = np.isfinite(scores)
        decided = known.any(axis=1)
        if not decided.any():
            raise Refused(
                "`{agent}` takes no decision that is scored on `{rating}`: "
                "its last alternatives have neither `outcome` nor `relabelled`",
                "no-decision",
                agent=target,
                rating=episodes.rating,
            )
        found = np.where(known, scores, 0.0)[decided].sum(axis=1) / known[decided].sum(axis=1)
        return Estimate(
            value=float(found.mean()),
            contributions=found,
            diagnostics={"decided": float(decided.mean())},
        )
