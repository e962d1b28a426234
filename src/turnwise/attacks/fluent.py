"""Fluent frauds: replies sampled from a language model and chosen by the metric.

Three kinds are tried. A sampled sentence that scores well in contexts other than its own fits everywhere as far as the
metric can tell; such sentences are tested as fixed replies. Where a metric rewards noise, the best of several samples
in a context beats a person although each single sample is ordinary (best of n). And a beam search continues the
beginnings of the best samples with new samples, so that the metric chooses the parts of a reply one after the other;
whole replies are scored, because metrics are not made for parts of one.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from turnwise.attacks.context import Context
from turnwise.attacks.policy import Policy, SampledReplies
from turnwise.attacks.search import Search
from turnwise.attacks.strategy import Candidate, strategy
from turnwise.attacks.target import ENDED, Target
from turnwise.attacks.templates import escape_braces
from turnwise.types import Floats, Ints

if TYPE_CHECKING:
    from turnwise.agents.language_model import LanguageModelAgent

BATCH = 32  # replies that are sampled at once
POOL = 120  # distinct sampled sentences that are tried as fixed replies
FIRST_CONTEXTS = 4  # contexts in which all of them are scored; the better half in twice as many, and so on
MAX_FIXED = 3  # of them that are tested
BEAM = 2  # replies of a context whose beginnings are continued
ROUNDS = 2  # of continuing: a third of the reply is kept in the first, two thirds in the second


def fluent_candidates(
    agent: "LanguageModelAgent",
    target: Target,
    search_on: Sequence[Context],
    test_on: Sequence[Context],
    *,
    samples: int,
    seed: int,
    report: Callable[[str], None] = lambda _: None,
) -> list[Candidate]:
    """The best sampled sentences as fixed replies, the best of `samples` replies in each context, and beam search.

    The calls of the metric come on top of the target's budget, which grows by them. Where the metric stops responding,
    the candidates so far are returned.
    """
    policy = Policy(agent)
    generator = torch.Generator().manual_seed(seed)
    found: list[Candidate] = []
    try:
        found += _fixed_replies(policy, target, search_on, generator, seed)
        report(f"samples: {len(found)} sampled sentences are tested as fixed replies")
        for one in _best_of_and_beam(policy, target, test_on, samples, generator):
            found.append(one)  # also if the metric stops responding before the next one
    except ENDED as error:
        report(f"stopped while sampling: {error}")
    return found


def _fixed_replies(
    policy: Policy, target: Target, contexts: Sequence[Context], generator: torch.Generator, seed: int
) -> list[Candidate]:
    """The sampled sentences with the highest gains over people when they are given in every context."""
    repeats = -(-POOL // len(contexts))
    sampled = [text for _ in range(repeats) for text in sample_texts(policy, contexts, generator)]
    pool = list(dict.fromkeys(escape_braces(text) for text in sampled if text))[:POOL]
    # Halving scores about as many replies in each round, until all contexts are used.
    rounds = int(np.ceil(np.log2(max(2, len(contexts) / FIRST_CONTEXTS)))) + 1
    target.budget += rounds * POOL * FIRST_CONTEXTS
    search = Search(target, contexts, np.random.default_rng(seed), calls=target.budget)
    best = search.successive_halving(pool, FIRST_CONTEXTS, MAX_FIXED)
    return [strategy(text).candidate for text in best]


def _best_of_and_beam(
    policy: Policy, target: Target, contexts: Sequence[Context], samples: int, generator: torch.Generator
) -> Iterator[Candidate]:
    """Yield the candidates whose reply in each context is the best of `samples`, and the best of a beam search."""
    name = policy.agent.label.partition("@")[0]
    target.budget += samples * len(contexts) * (1 + ROUNDS)
    tried = _Tried(policy, target, contexts, generator)
    for _ in range(samples):
        tried.sample()
    about = f"the best of {samples} replies that {name} samples, chosen by the metric"
    yield tried.best(f"best of {samples}", about)
    for number in range(1, ROUNDS + 1):
        order = tried.order()
        for at in range(samples):
            tried.sample(
                beginnings=tried.beginnings(order[at % min(BEAM, len(order))], number / (ROUNDS + 1))
            )
    about = f"the best reply of a beam search with {name}: it goes on with what the metric scores best"
    yield tried.best(f"beam of {samples}", about)


class _Tried:
    """Sampled replies to the same contexts with their scores: one row for each time that all contexts were sampled."""

    def __init__(
        self, policy: Policy, target: Target, contexts: Sequence[Context], generator: torch.Generator
    ) -> None:
        self.policy, self.target, self.contexts, self.generator = policy, target, contexts, generator
        self.replies: list[SampledReplies] = []
        self.scores: list[Floats] = []

    def sample(self, beginnings: torch.Tensor | None = None) -> None:
        """Sample and score one more reply in each context."""
        made = sample(self.policy, self.contexts, self.generator, beginnings)
        scores = self.target.scores(list(zip(self.contexts, made.texts, strict=True)))
        self.replies.append(made)
        self.scores.append(np.nan_to_num(scores, nan=-np.inf))

    def order(self) -> Ints:
        """(rows, contexts) the rows in which the replies to each context are, the highest score first."""
        return np.argsort(-np.array(self.scores), axis=0, kind="stable")

    def beginnings(self, rows: Ints, share: float) -> torch.Tensor:
        """(contexts, t) this share of the tokens of the replies in these rows, one for each context; -1 after them."""
        tokens = torch.stack([self.replies[row].tokens[at] for at, row in enumerate(rows.tolist())])
        own = (tokens >= 0).sum(dim=1)
        kept = torch.arange(tokens.shape[1], device=tokens.device) < (own * share).long()[:, None]
        return torch.where(kept, tokens, -1)

    def best(self, strategy_name: str, description: str) -> Candidate:
        """The candidate with the reply of the highest score in each context."""
        first = self.order()[0].tolist()
        replies = {
            context.item.id: self.replies[row].texts[at]
            for at, (context, row) in enumerate(zip(self.contexts, first, strict=True))
        }
        return Candidate(strategy_name, "other", description, lambda context: replies[context.item.id])


def sample_texts(policy: Policy, contexts: Sequence[Context], generator: torch.Generator) -> list[str]:
    """One sampled reply in each context."""
    return sample(policy, contexts, generator).texts


def sample(
    policy: Policy,
    contexts: Sequence[Context],
    generator: torch.Generator,
    beginnings: torch.Tensor | None = None,
) -> SampledReplies:
    """One sampled reply in each context, `BATCH` at a time; `beginnings` as in `Policy.sample_replies`."""
    parts = [
        policy.sample_replies(
            contexts[first : first + BATCH],
            generator,
            beginnings=None if beginnings is None else beginnings[first : first + BATCH],
        )
        for first in range(0, len(contexts), BATCH)
    ]
    texts = [text for part in parts for text in part.texts]
    return SampledReplies(texts, torch.cat([part.tokens for part in parts]))
