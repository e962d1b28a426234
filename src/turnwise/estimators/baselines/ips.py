"""Importance sampling over whole dialogues, where log-probabilities were logged.

A logged message may have `logprobs`: agent -> log-probability of this reply under that agent. The weight of a
dialogue is the product over its turns of the target's probability over the logging agent's; the value is the
self-normalised weighted mean of the ratings. It is consistent but has a very large variance: with many turns a single
dialogue gets nearly all the weight, which the effective sample size shows.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from turnwise.encode.episodes import leave_out
from turnwise.errors import Refused
from turnwise.estimators.linear.problem import ess
from turnwise.types import Card, Episodes, Estimate, Floats, Signature


@dataclass(frozen=True, slots=True)
class Ips:
    """The estimator `ips`; without `normalised` the weights are not divided by their mean."""

    card: ClassVar[Card] = Card(
        kind="estimator",
        meaning="Mean of the logged ratings, weighted by how likely the target was to say what was said.",
        range="within the logged ratings",
        limits="Needs log-probabilities of the target and the logging agent; its variance grows with every turn.",
        citation="Precup 2000, Eligibility Traces for Off-Policy Policy Evaluation",
    )

    normalised: bool = True

    @property
    def signature(self) -> Signature:
        """The setting `normalised`."""
        return Signature("ips", (("normalised", str(self.normalised)),))

    def estimate(self, episodes: Episodes, target: str, /, *, rng: np.random.Generator) -> Estimate:
        """The weighted mean rating of the dialogues that other agents held.

        Refused unless all of them have a rating and the log-probabilities of both agents, or if every weight is 0.
        """
        episodes = leave_out(episodes, {target})
        logged = _of_loggers(episodes)
        mine = episodes.log_probs.get(target, np.full(len(episodes.user), np.nan))
        ratios = np.add.reduceat(mine - logged, episodes.first[:-1]) if len(mine) else mine
        known = np.isfinite(episodes.reward) & ~np.isnan(ratios)
        if not len(known) or not known.all():
            raise Refused(
                "{missing} of {n} dialogues lack a rating or the log-probabilities of `{agent}` and the agent that "
                "held them; log `logprobs` with each message",
                "no-log-probabilities",
                missing=int(len(known) - known.sum()),
                n=len(known),
                agent=target,
            )
        scaled = np.exp(ratios - ratios.max()) if self.normalised else np.exp(ratios)
        if not scaled.sum() > 0:
            raise Refused(
                "`{agent}` could not have held any of the logged dialogues: every weight is 0",
                "no-weight",
                agent=target,
            )
        w = scaled / scaled.mean() if self.normalised else scaled
        contributions = w * episodes.reward
        diagnostics = {"ess": ess(w), "greatest_ratio": float(w.max())}
        return Estimate(
            value=float(contributions.mean()),
            contributions=contributions,
            level=float(episodes.reward.mean()) if self.normalised else 0.0,
            diagnostics=diagnostics,
        )


def _of_loggers(episodes: Episodes) -> Floats:
    """(n,) log-probability of each logged reply under the agent that gave it; NaN where it was not logged."""
    owner = np.repeat(episodes.agent, np.diff(episodes.first))
    found = np.full(len(owner), np.nan)
    for index, name in enumerate(episodes.agents):
        if name in episodes.log_probs:
            found[owner == index] = episodes.log_probs[name][owner == index]
    return found
