"""A metric as an estimator: its score of what the target would have said. The paper's BLEU and perplexity rows.

A metric is not fitted to ratings, so its score has its own scale. Calibration over the logged agents maps it to the
scale of the rating, and refuses if the metric does not rank them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from turnwise.errors import Refused
from turnwise.types import Card, Episodes, Estimate, Signature


@dataclass(frozen=True, slots=True)
class Ranker:
    """A metric's corpus scores of each agent's replies as estimates, on the metric's own scale."""

    card: ClassVar[Card] = Card(
        kind="estimator",
        meaning="A metric's number of the replies that the target would have given.",
        range="the metric's own; oriented so that higher is better",
        limits="Judges replies, not dialogues; means nothing before calibration.",
        citation="Jiang et al. 2021, Towards Automatic Evaluation of Dialog Systems (tables 1 and 4)",
    )

    holds_data: ClassVar[bool] = True

    metric: str
    scores: Mapping[str, float] = field(default_factory=dict)  # agent -> number, higher is better
    refused: str | None = None  # why the metric could not score any agent

    @property
    def signature(self) -> Signature:
        """The metric's name; its scores are not in it."""
        return Signature("ranker", (("metric", self.metric),))

    def estimate(self, episodes: Episodes, target: str, /, *, rng: np.random.Generator) -> Estimate:
        """The metric's score of the target, as it is; refused if the metric was refused or did not score this agent."""
        if self.refused is not None:
            raise Refused("metric `{metric}`: {why}", "metric-refused", metric=self.metric, why=self.refused)
        if target not in self.scores:
            raise Refused(
                "metric `{metric}` has no number of what `{agent}` would have said",
                "metric-without-number",
                metric=self.metric,
                agent=target,
            )
        value = self.scores[target]
        return Estimate(value=value, contributions=np.array([value]))
