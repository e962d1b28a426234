"""Clipped n-gram matches: what BLEU and ROUGE-N count."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from turnwise.metrics.words import ngrams


def matches(reply: Sequence[str], references: Sequence[Sequence[str]], highest: int) -> list[int]:
    """n-grams of the reply that a reference has too, for orders 1 to `highest`.

    An n-gram counts as often as the reply has it, and at most as often as the reference that has it most. Two
    short cuts make this fast: where no n-gram matches no longer one can, and most are in the reply only once.
    """
    matched = [0] * highest
    for order in range(1, highest + 1):
        said = list(ngrams(reply, order))
        once = set(said)
        shared = once.intersection(chain.from_iterable(ngrams(reference, order) for reference in references))
        if not shared:
            break
        matched[order - 1] = len(shared)
        if len(said) > len(once):
            times = Counter(said)
            allowed = [Counter(ngrams(reference, order)) for reference in references]
            matched[order - 1] = sum(min(times[gram], max(a[gram] for a in allowed)) for gram in shared)
    return matched
