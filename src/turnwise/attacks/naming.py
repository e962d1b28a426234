"""What strategy has a policy converged to? The measures and thresholds of the paper's Appendix B.2.

Response frequency is the share of the most frequent reply, lexical variety the share of distinct words among
all words, BLEU and Jaccard those of the reply with its context. A fixed reply is read off; the template of a
pattern, which the paper made out by hand, is the frame that most replies share. `not conclusive` is an
answer.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

import numpy as np

from turnwise.metrics.reference.overlap import matches
from turnwise.metrics.words import words

Verdict: TypeAlias = Literal["fixed", "parrot", "pattern", "not conclusive"]


@dataclass(frozen=True, slots=True)
class Measures:
    response_frequency: float
    lexical_variety: float
    bleu: float  # of the reply against its context
    jaccard: float


@dataclass(frozen=True, slots=True)
class Named:
    strategy: Verdict
    description: str
    measures: Measures


def named(contexts: Sequence[str], replies: Sequence[str]) -> Named:
    """The strategy behind replies to these contexts."""
    found = measured(contexts, replies)
    most, _ = Counter(replies).most_common(1)[0]
    if found.response_frequency > 0.7:
        return Named("fixed", f"always answers “{most}”", found)
    if found.bleu > 0.2:
        return Named("parrot", "repeats parts of the context", found)
    if found.response_frequency < 0.1 and found.lexical_variety < 0.15 and found.jaccard > 0.05:
        return Named("pattern", f"fills “{frame(replies)}” from the context", found)
    common = frame(replies)
    told = f"; most replies share “{common}”" if common else ""
    return Named("not conclusive", f"no strategy that the measures can tell{told}", found)


def measured(contexts: Sequence[str], replies: Sequence[str]) -> Measures:
    said = [words(reply) for reply in replies]
    heard = [words(context) for context in contexts]
    every = [word for reply in said for word in reply]
    return Measures(
        response_frequency=Counter(replies).most_common(1)[0][1] / len(replies),
        lexical_variety=len(set(every)) / len(every) if every else 0.0,
        bleu=float(np.mean([_bleu(reply, context) for reply, context in zip(said, heard, strict=True)])),
        jaccard=float(
            np.mean([_jaccard(reply, context) for reply, context in zip(said, heard, strict=True)])
        ),
    )


def frame(replies: Sequence[str], sample: int = 40) -> str:
    """The words that most replies have in common, in order, with `[...]` for what changes; "" where there are none.

    Read off the reply with which the others share most: a word of it is kept where half of them have it, too.
    """
    some = [reply.split() for reply in list(dict.fromkeys(replies))[:sample] if reply.split()]
    shared = [_shared(one, some[:place] + some[place + 1 :]) for place, one in enumerate(some)]
    central = max(range(len(some)), key=lambda place: sum(shared[place]), default=None)
    if central is None or not any(shared[central]):
        return ""
    shown: list[str] = []
    for word, kept in zip(some[central], shared[central], strict=True):
        if kept:
            shown.append(word)
        elif not shown or shown[-1] != "[...]":
            shown.append("[...]")
    return " ".join(shown)


def _shared(one: Sequence[str], others: Sequence[Sequence[str]]) -> list[bool]:
    """For each word, whether at least half of the others have it, in the order of this one; case is no matter."""
    counts = Counter[int]()
    own = [word.lower() for word in one]
    for other in others:
        matcher = SequenceMatcher(a=own, b=[word.lower() for word in other], autojunk=False)
        counts.update(block.a + at for block in matcher.get_matching_blocks() for at in range(block.size))
    return [2 * counts[place] >= max(len(others), 1) for place in range(len(one))]


def _bleu(reply: Sequence[str], context: Sequence[str]) -> float:
    """BLEU-4 of the reply with its context as the reference, without a brevity penalty: is it copied?"""
    orders = min(4, len(reply))
    if not orders or not context:
        return 0.0
    found = matches(list(reply), [list(context)], 4)[:orders]
    totals = [len(reply) - n for n in range(orders)]
    shares = [hit / total for hit, total in zip(found, totals, strict=True)]
    return float(np.exp(np.mean(np.log(shares)))) if all(shares) else 0.0


def _jaccard(reply: Sequence[str], context: Sequence[str]) -> float:
    either = set(reply) | set(context)
    return len(set(reply) & set(context)) / len(either) if either else 0.0
