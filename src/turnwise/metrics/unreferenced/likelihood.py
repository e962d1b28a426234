"""Metrics from the probabilities of a language model: likelihood, perplexity, mutual information with the context, FED.

log p(reply | context) (`loglik`, `ppl`) prefers fluent and common replies to relevant ones. `pmi` is log p(reply |
context) - log p(reply): it subtracts the probability of the reply in any context, and is the one to use for relevance.
Rows are (log-probability, number of tokens), so a pooled score weighs tokens, not replies, as perplexity is defined.

FED (Mehri and Eskenazi 2020) uses the probability of what a satisfied or dissatisfied partner would say next: `fed` is
the mean log-probability per token of positive follow-ups minus that of negative ones. Above 0, the positive ones are
more probable. The paper has eighteen dimensions with a list of follow-ups each, and a large DialoGPT; here there is one
short list of our own for overall quality, and any model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from turnwise.encode import TextInContext
from turnwise.metrics import models
from turnwise.metrics.rows import Ratio, quotient
from turnwise.types import Card, Floats, Item, Level, Need, Role, Signature, Turn, digest

POSITIVE_FOLLOW_UPS = (
    "That makes sense, thank you.",
    "Wow, that is really interesting.",
    "Great answer, tell me more.",
    "You are really helpful.",
)
NEGATIVE_FOLLOW_UPS = (
    "That makes no sense.",
    "That is not what I asked.",
    "You are really boring.",
    "What are you talking about?",
)
_PARTNER: dict[Role, Role] = {"assistant": "user", "user": "assistant"}


@dataclass(frozen=True)
class _Likelihood(Ratio):
    """A metric from a language model's log-probability of the reply."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset()
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "the reply has no token"
    name: ClassVar[str]

    model: str = "smollm2"

    @property
    def signature(self) -> Signature:
        """Only the signature of the language model."""
        return Signature(self.name, (), (models.language_model(self.model).signature,))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): natural log p(reply | context), NaN without tokens, and the number of the reply's tokens."""
        texts = [TextInContext(item.reply, item.context, item.role) for item in items]
        return models.language_model(self.model).score(texts)


class LogLikelihood(_Likelihood):
    """`loglik`: log-probability of the reply given its context, per token."""

    name = "loglik"
    card: ClassVar[Card] = Card(
        kind="unreferenced",
        meaning="Log-probability of a reply given its context, per token.",
        range="0 and below",
        limits="Prefers fluent, common and generic replies. A copy of the context is very probable, and so is a loop. "
        "Depends on the model and on its chat training.",
        citation="Adiwardana et al. 2020, Towards a Human-like Open-Domain Chatbot (perplexity and sensibleness)",
    )


class Perplexity(_Likelihood):
    """`ppl`: exp of the mean negative log-probability of a token."""

    name = "ppl"
    higher_is_better = False
    card: ClassVar[Card] = Card(
        kind="unreferenced",
        meaning="Perplexity of replies given their contexts: exp of the mean negative log-probability of a token.",
        range="1 and up; lower is better",
        limits="As `loglik`. Very noisy for a single short reply; pooled scores give long replies more weight.",
        citation="Jelinek et al. 1977, Perplexity, a measure of the difficulty of speech recognition tasks",
    )

    def of_sums(self, sums: Floats, /) -> Floats:
        """exp(-log-probability / tokens), 1 or more; NaN without tokens."""
        return np.exp(-quotient(sums[..., 0], sums[..., 1]))


class Pmi(_Likelihood):
    """Pointwise mutual information of reply and context, per token."""

    name = "pmi"
    needs = frozenset({"context"})
    card: ClassVar[Card] = Card(
        kind="unreferenced",
        meaning="Increase of the reply's log-probability by the context, per token: log p(r|c) - log p(r).",
        range="about 0 for a reply that fits any context; above 0 if the context makes it more probable",
        limits="Repeating the context scores highest. Noisy for replies of one or two words.",
        citation="Li et al. 2016, A Diversity-Promoting Objective Function (MMI); Zhang et al. 2020, DialoGPT",
    )

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): log p(reply | context) - log p(reply), and the number of the reply's tokens.

        NaN without a context or tokens.
        """
        given = super().rows(items)
        alone = models.language_model(self.model).score(
            [TextInContext(item.reply, (), item.role) for item in items]
        )
        rows = np.stack([given[:, 0] - alone[:, 0], given[:, 1]], axis=1)
        rows[[not any(turn.text for turn in item.context) for item in items], 0] = np.nan
        return rows


class PmiTotal(Pmi):
    """Pointwise mutual information of reply and context, summed over the reply's tokens."""

    name = "pmi-total"
    card: ClassVar[Card] = Card(
        kind="unreferenced",
        meaning="Increase of the reply's log-probability by the context: log p(r|c) - log p(r); mean over replies.",
        range="about 0 for a reply that fits any context",
        limits="As `pmi`, and long replies have more weight.",
        citation="Li et al. 2016, A Diversity-Promoting Objective Function (MMI)",
    )

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): log p(reply | context) - log p(reply), and 1; NaN without a context."""
        rows = super().rows(items)
        return np.stack([rows[:, 0], np.ones(len(rows))], axis=1)


class Fed(_Likelihood):
    """`fed`: mean log-probability of positive follow-ups minus that of negative ones."""

    name = "fed"
    unscored = "the reply has no text"
    card: ClassVar[Card] = Card(
        kind="unreferenced",
        meaning="Mean log-probability of positive follow-ups by the partner minus that of negative ones.",
        range="any number; at 0 both are equally probable",
        limits="Uses our own eight follow-ups instead of FED's lists, and a small model instead of its large one. It "
        "depends more on the tone of a reply than on its content.",
        citation="Mehri and Eskenazi 2020, Unsupervised Evaluation of Interactive Dialog with DialoGPT",
    )

    @property
    def signature(self) -> Signature:
        """A digest of the follow-ups and the signature of the language model."""
        said = digest(*POSITIVE_FOLLOW_UPS, *NEGATIVE_FOLLOW_UPS)
        return Signature(self.name, (("said", said),), (models.language_model(self.model).signature,))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): difference of the mean log-probabilities per token, and 1; NaN for an empty reply."""
        follow_ups = [
            TextInContext(text, (*item.context, Turn(item.role, item.reply)), _PARTNER.get(item.role, "user"))
            for item in items
            for text in (*POSITIVE_FOLLOW_UPS, *NEGATIVE_FOLLOW_UPS)
        ]
        scores = models.language_model(self.model).score(follow_ups)
        per_token = quotient(scores[:, 0], scores[:, 1]).reshape(len(items), 2, len(POSITIVE_FOLLOW_UPS))
        positive, negative = per_token.mean(axis=2).T
        rows = np.stack([positive - negative, np.ones(len(items))], axis=1)
        rows[[not item.reply.strip() for item in items], 0] = np.nan
        return rows
