"""Eight hand-crafted features of how an agent talks (See et al. 2019), and their regression on known means.

As in ENIGMA's figure 23: repetition (external, internal, of the partner), specificity, response-relatedness and
questions. A ridge regression is fitted over the logged agents; with `best` only the feature with the highest absolute
correlation with the known means is used. With 16 agents and 8 features neither is a strong baseline.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from turnwise.errors import Refused
from turnwise.estimators.calibration import FEWEST, known_means
from turnwise.types import Card, Episodes, Estimate, Floats, Signature

EIGHT = (
    "repeat-external-2",
    "repeat-external-1",
    "repeat-internal-2",
    "repeat-internal-1",
    "repeat-partner-2",
    "specificity",
    "relatedness",
    "question-rate",
)


@dataclass(frozen=True, slots=True)
class Features:
    """The estimator `features`: a ridge regression of the known means on eight features of how an agent talks."""

    card: ClassVar[Card] = Card(
        kind="estimator",
        meaning="Mean rating predicted from eight hand-crafted features of the target's replies.",
        range="that of the rating; not clipped",
        limits="Knows how an agent talks and not what it achieves; fitted on as many points as there are agents.",
        citation="See et al. 2019, What makes a good conversation? How controllable attributes affect human judgments",
    )
    holds_data: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = EIGHT

    ridge: float = 1.0
    best: bool = False
    numbers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # metric -> agent -> number

    @property
    def signature(self) -> Signature:
        """The settings `ridge` and `best`; the features of the agents are not in it."""
        return Signature("features", (("ridge", str(self.ridge)), ("best", str(self.best))))

    def with_scores(self, numbers: Mapping[str, Mapping[str, float]]) -> "Features":
        """A copy with the features of every agent: metric -> agent -> number."""
        return replace(self, numbers=numbers)

    def estimate(self, episodes: Episodes, target: str, /, *, rng: np.random.Generator) -> Estimate:
        """The mean rating of the target predicted from its features, by a regression over the other agents.

        Refused if fewer than `FEWEST` others have rated dialogues and all features, or if the target has no feature.
        """
        known = {agent: mean for agent, mean in known_means(episodes).items() if agent != target}
        agents = [agent for agent in known if all(agent in column for column in self.numbers.values())]
        usable = [name for name, column in self.numbers.items() if target in column]
        if len(agents) < FEWEST or not usable:
            raise Refused(
                "the hand-crafted features of `{agent}` or of {needed} logged agents are not known",
                "unknown-features",
                agent=target,
                needed=FEWEST,
            )
        rows = np.array([[self.numbers[name][agent] for name in usable] for agent in [*agents, target]])
        means = np.array([known[agent] for agent in agents])
        value = self._predicted(rows, means)
        return Estimate(value=value, contributions=np.array([value]), level=float(means.mean()))

    def _predicted(self, rows: Floats, means: Floats) -> float:
        """The predicted mean rating of the last row's agent, from the features and mean ratings of the other agents.

        `rows` has one row for each agent, `means` one number for each but the last. With `best` only the feature that
        goes best with the means is used, else a ridge regression on all.
        """
        centre, size = rows[:-1].mean(axis=0), rows[:-1].std(axis=0)
        scaled = (rows - centre) / np.where(size > 0, size, np.inf)
        x, y = scaled[:-1], means - means.mean()
        if self.best:
            strength = x.T @ y
            chosen = int(np.argmax(np.abs(strength)))
            return float(means.mean() + scaled[-1, chosen] * strength[chosen] / len(y))
        weights = np.linalg.solve(x.T @ x + self.ridge * np.eye(x.shape[1]), x.T @ y)
        return float(means.mean() + scaled[-1] @ weights)
