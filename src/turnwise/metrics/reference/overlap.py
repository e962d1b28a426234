"""Clipped n-gram matches, which BLEU and ROUGE-N count."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from turnwise.metrics.words import ngrams


def matches(reply: Sequence[str], references: Sequence[Sequence[str]], highest: int) -> list[int]:
    """Number of n-grams of the reply that also occur in a reference, for each order from 1 to `highest`.

    An n-gram counts as often as the reply has it, and at most as often as the reference that has it most. Two
    shortcuts make this fast: if no n-gram of an order matches, no longer one can; and most occur only once.
    """
    matched = [0] * highest
    for order in range(1, highest + 1):
        all_ngrams = list(ngrams(reply, order))
        different = set(all_ngrams)
        shared = different.intersection(chain.from_iterable(ngrams(text, order) for text in references))
        if not shared:
            break
        matched[order - 1] = len(shared)
        if len(all_ngrams) > len(different):
            counts = Counter(all_ngrams)
            limits = [Counter(ngrams(reference, order)) for reference in references]
            matched[order - 1] = sum(min(counts[gram], max(each[gram] for each in limits)) for gram in shared)
    return matched
