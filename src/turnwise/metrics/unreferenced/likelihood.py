"""What a language model thinks of a reply: likelihood, perplexity, and what the context adds to it.

log p(reply | context) prefers fluent and common replies to relevant ones; `pmi`, log p(reply | context) - log
p(reply), takes out what the reply would be worth anywhere, and is the one to use for relevance. Rows are
(log-probability, tokens), so that pooled numbers weigh tokens and not replies, as perplexity is defined.

FED (Mehri and Eskenazi 2020) asks how likely what a pleased or a displeased partner would say next is: `fed` is the
mean log-probability per token of its positive follow-ups minus that of its negative ones. The paper has eighteen
qualities with a list each, and a large DialoGPT; here is one short list of our own for whole replies, and any model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from turnwise.encode import Utterance
from turnwise.metrics import models
from turnwise.metrics.rows import Ratio, quotient
from turnwise.types import Card, Floats, Item, Level, Need, Role, Signature, Turn, digest

PLEASED = (
    "That makes sense, thank you.",
    "Wow, that is really interesting.",
    "Great answer, tell me more.",
    "You are really helpful.",
)
DISPLEASED = (
    "That makes no sense.",
    "That is not what I asked.",
    "You are really boring.",
    "What are you talking about?",
)
_PARTNER: dict[Role, Role] = {"assistant": "user", "user": "assistant"}


@dataclass(frozen=True)
class _Likelihood(Ratio):
    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset()
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "the reply has no token"
    name: ClassVar[str]

    model: str = "smollm2"

    @property
    def signature(self) -> Signature:
        return Signature(self.name, (), (models.language_model(self.model).signature,))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): log p(reply | context) and the reply's tokens."""
        return models.language_model(self.model).score([_given(item) for item in items])


def _given(item: Item) -> Utterance:
    return Utterance(item.reply, item.context, item.role)


class LogLikelihood(_Likelihood):
    name = "loglik"
    card: ClassVar[Card] = Card(
        kind="unreferenced",
        meaning="Log-probability of a reply given its context, per token.",
        range="0 and below",
        limits="Prefers fluent, common and generic replies. A copy of the context is very likely, and so is a loop. "
        "Depends on the model and on how it was taught to chat.",
        citation="Adiwardana et al. 2020, Towards a Human-like Open-Domain Chatbot (perplexity and sensibleness)",
    )


class Perplexity(_Likelihood):
    name = "ppl"
    higher_is_better = False
    card: ClassVar[Card] = Card(
        kind="unreferenced",
        meaning="Perplexity of replies given their contexts: exp of the mean negative log-probability of a token.",
        range="1 and up; lower is better",
        limits="As `loglik`. Of a single short reply it is very noisy; pooled numbers weigh long replies more.",
        citation="Jelinek et al. 1977, Perplexity, a measure of the difficulty of speech recognition tasks",
    )

    def of_sums(self, sums: Floats, /) -> Floats:
        return np.exp(-quotient(sums[..., 0], sums[..., 1]))


class Pmi(_Likelihood):
    """Pointwise mutual information of reply and context, per token."""

    name = "pmi"
    needs = frozenset({"context"})
    card: ClassVar[Card] = Card(
        kind="unreferenced",
        meaning="What the context adds to the reply's log-probability, per token: log p(r|c) - log p(r).",
        range="about 0 for a reply that fits anywhere; above 0 where the context makes it likelier",
        limits="Repeating the context is rewarded most of all. Noisy for replies of one or two words.",
        citation="Li et al. 2016, A Diversity-Promoting Objective Function (MMI); Zhang et al. 2020, DialoGPT",
    )

    def rows(self, items: Sequence[Item], /) -> Floats:
        given = super().rows(items)
        alone = models.language_model(self.model).score(
            [Utterance(item.reply, (), item.role) for item in items]
        )
        rows = np.stack([given[:, 0] - alone[:, 0], given[:, 1]], axis=1)
        rows[[not any(turn.text for turn in item.context) for item in items], 0] = np.nan
        return rows


class PmiTotal(Pmi):
    name = "pmi-total"
    card: ClassVar[Card] = Card(
        kind="unreferenced",
        meaning="What the context adds to a reply's log-probability in all: log p(r|c) - log p(r), mean over replies.",
        range="about 0 for a reply that fits anywhere",
        limits="As `pmi`, and long replies weigh more.",
        citation="Li et al. 2016, A Diversity-Promoting Objective Function (MMI)",
    )

    def rows(self, items: Sequence[Item], /) -> Floats:
        rows = super().rows(items)
        return np.stack([rows[:, 0], np.ones(len(rows))], axis=1)


class Fed(_Likelihood):
    name = "fed"
    unscored = "the reply has no text"
    card: ClassVar[Card] = Card(
        kind="unreferenced",
        meaning="Is a pleased or a displeased partner likelier to speak next? Difference of mean log-probabilities.",
        range="any number; 0 is undecided",
        limits="Our own eight follow-ups stand for FED's lists, and a small model for its large one. It hears the tone "
        "of a reply more than its sense.",
        citation="Mehri and Eskenazi 2020, Unsupervised Evaluation of Interactive Dialog with DialoGPT",
    )

    @property
    def signature(self) -> Signature:
        said = digest(*PLEASED, *DISPLEASED)
        return Signature(self.name, (("said", said),), (models.language_model(self.model).signature,))

    def rows(self, items: Sequence[Item], /) -> Floats:
        followed = [
            Utterance(text, (*item.context, Turn(item.role, item.reply)), _PARTNER.get(item.role, "user"))
            for item in items
            for text in (*PLEASED, *DISPLEASED)
        ]
        scores = models.language_model(self.model).score(followed)
        each = quotient(scores[:, 0], scores[:, 1]).reshape(len(items), 2, len(PLEASED)).mean(axis=2)
        rows = np.stack([each[:, 0] - each[:, 1], np.ones(len(items))], axis=1)
        rows[[not item.reply.strip() for item in items], 0] = np.nan
        return rows
