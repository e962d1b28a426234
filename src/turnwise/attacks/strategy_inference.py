"""Inference of a strategy from replies, by the measures and thresholds of the paper's Appendix B.2.

Response frequency is the share of the most frequent reply; lexical variety is the share of distinct words among all
words; BLEU and Jaccard compare the reply with its context. A fixed reply is the most frequent one. The template of a
pattern, which the paper found by hand, is the frame that most replies share. `not conclusive` is a valid result.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

import numpy as np

from turnwise.metrics.words import matches, words

InferredKind: TypeAlias = Literal["fixed", "parrot", "pattern", "not conclusive"]


@dataclass(frozen=True, slots=True)
class Measures:
    """The measures of the attack paper's Appendix B.2, by which `infer_strategy` tells the kinds of strategy apart."""

    response_frequency: float  # share of the most frequent reply
    lexical_variety: float  # different words of all replies, divided by their words
    bleu: float  # BLEU of a reply against its context
    jaccard: float  # words that a reply and its context share, divided by the words of either


@dataclass(frozen=True, slots=True)
class InferredStrategy:
    """The inferred kind of strategy, its description, and the measures."""

    strategy: InferredKind
    description: str
    measures: Measures


def infer_strategy(contexts: Sequence[str], replies: Sequence[str]) -> InferredStrategy:
    """Infer the kind of strategy behind `replies` (at least one), which were given in `contexts`, in this order."""
    found = measure(contexts, replies)
    most, _ = Counter(replies).most_common(1)[0]
    if found.response_frequency > 0.7:
        return InferredStrategy("fixed", f"always replies “{most}”", found)
    if found.bleu > 0.2:
        return InferredStrategy("parrot", "repeats parts of the context", found)
    if found.response_frequency < 0.1 and found.lexical_variety < 0.15 and found.jaccard > 0.05:
        return InferredStrategy("pattern", f"fills “{common_frame(replies)}” from the context", found)
    common = common_frame(replies)
    shared = f"; most replies share “{common}”" if common else ""
    return InferredStrategy("not conclusive", f"no strategy that the measures can tell{shared}", found)


def measure(contexts: Sequence[str], replies: Sequence[str]) -> Measures:
    """The measures of Appendix B.2; BLEU and Jaccard are means over the replies, each with its own context."""
    reply_words = [words(reply) for reply in replies]
    context_words = [words(context) for context in contexts]
    every = [word for reply in reply_words for word in reply]
    return Measures(
        response_frequency=Counter(replies).most_common(1)[0][1] / len(replies),
        lexical_variety=len(set(every)) / len(every) if every else 0.0,
        bleu=float(
            np.mean(
                [_bleu(reply, context) for reply, context in zip(reply_words, context_words, strict=True)]
            )
        ),
        jaccard=float(
            np.mean(
                [_jaccard(reply, context) for reply, context in zip(reply_words, context_words, strict=True)]
            )
        ),
    )


def common_frame(replies: Sequence[str], sample: int = 40) -> str:
    """The words that most replies share, in order, with `[...]` for the varying parts; "" if there are none.

    Only the first `sample` distinct replies are used. The frame is built from the one that shares most words with the
    others; a word is kept if half of the others have it. With a single distinct reply it is "".
    """
    some = [reply.split() for reply in list(dict.fromkeys(replies))[:sample] if reply.split()]
    shared = [_shared_by_half(one, some[:index] + some[index + 1 :]) for index, one in enumerate(some)]
    central = max(range(len(some)), key=lambda index: sum(shared[index]), default=None)
    if central is None or not any(shared[central]):
        return ""
    shown: list[str] = []
    for word, kept in zip(some[central], shared[central], strict=True):
        if kept:
            shown.append(word)
        elif not shown or shown[-1] != "[...]":
            shown.append("[...]")
    return " ".join(shown)


def _shared_by_half(one: Sequence[str], others: Sequence[Sequence[str]]) -> list[bool]:
    """For each word of `one`, whether at least half of the others have it in the same order, ignoring case.

    All False without others.
    """
    counts = Counter[int]()
    own = [word.lower() for word in one]
    for other in others:
        matcher = SequenceMatcher(a=own, b=[word.lower() for word in other], autojunk=False)
        counts.update(block.a + at for block in matcher.get_matching_blocks() for at in range(block.size))
    return [2 * counts[index] >= max(len(others), 1) for index in range(len(one))]


def _bleu(reply: Sequence[str], context: Sequence[str]) -> float:
    """BLEU-4 (fewer orders for replies under four words) with the context as the reference, without a brevity penalty.

    No smoothing: 0 if an order has no match, or if the reply or the context is empty.
    """
    orders = min(4, len(reply))
    if not orders or not context:
        return 0.0
    found = matches(list(reply), [list(context)], 4)[:orders]
    totals = [len(reply) - n for n in range(orders)]
    shares = [hit / total for hit, total in zip(found, totals, strict=True)]
    return float(np.exp(np.mean(np.log(shares)))) if all(shares) else 0.0


def _jaccard(reply: Sequence[str], context: Sequence[str]) -> float:
    """Shared distinct words over all distinct words of both; 0 if both are empty."""
    either = set(reply) | set(context)
    return len(set(reply) & set(context)) / len(either) if either else 0.0
