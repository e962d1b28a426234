"""Fluent frauds: replies sampled from a language model and chosen by the metric.

Two kinds are tried. A sampled sentence that scores well in contexts other than its own fits everywhere as far as the
metric can tell; such sentences are tested as fixed replies. And where a metric rewards noise, the best of several
samples in a context beats a person although each single sample is ordinary (best of n).
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from turnwise.attacks.context import Context
from turnwise.attacks.policy import Policy
from turnwise.attacks.search import Search
from turnwise.attacks.strategy import Candidate, strategy
from turnwise.attacks.target import ENDED, Target
from turnwise.attacks.templates import escape_braces

if TYPE_CHECKING:
    from turnwise.agents.language_model import LanguageModelAgent

BATCH = 32  # replies that are sampled at once
POOL = 120  # distinct sampled sentences that are tried as fixed replies
FIRST_CONTEXTS = 4  # contexts in which all of them are scored; the better half in twice as many, and so on
MAX_FIXED = 3  # of them that are tested


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
    """The best sampled sentences as fixed replies, and the best of `samples` replies in each context.

    The calls of the metric come on top of the target's budget, which grows by them. Where the metric stops responding,
    the candidates so far are returned.
    """
    policy = Policy(agent)
    generator = torch.Generator().manual_seed(seed)
    found: list[Candidate] = []
    try:
        found += _fixed_replies(policy, target, search_on, generator, seed)
        report(f"samples: {len(found)} sampled sentences are tested as fixed replies")
        found.append(_best_of(policy, target, test_on, samples, generator))
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


def _best_of(
    policy: Policy, target: Target, contexts: Sequence[Context], samples: int, generator: torch.Generator
) -> Candidate:
    """The candidate whose reply in each context is the sample with the highest score; the first without any score."""
    target.budget += samples * len(contexts)
    texts = np.array([sample_texts(policy, contexts, generator) for _ in range(samples)], dtype=object)
    scores = np.array([target.scores(list(zip(contexts, row, strict=True))) for row in texts])
    best = np.nan_to_num(scores, nan=-np.inf).argmax(axis=0)
    replies = {context.item.id: str(texts[best[k], k]) for k, context in enumerate(contexts)}
    return Candidate(
        f"best of {samples}", "other",
        f"the best of {samples} replies that {policy.agent.label.partition('@')[0]} samples, chosen by the metric",
        lambda context: replies[context.item.id],
    )  # fmt: skip


def sample_texts(policy: Policy, contexts: Sequence[Context], generator: torch.Generator) -> list[str]:
    """One sampled reply in each context."""
    return [
        text
        for first in range(0, len(contexts), BATCH)
        for text in policy.sample_replies(contexts[first : first + BATCH], generator).texts
    ]
