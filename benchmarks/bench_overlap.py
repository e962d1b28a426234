"""Speed of BLEU and ROUGE-L, from texts to scores, against nltk and rouge-score.

The data are 5,000 generated replies of 10 to 30 words with one reference each: half are the reference with words
changed, half are unrelated to it, as in dialogue. One text in ten has a decimal number, which our tokeniser passes to
sacrebleu's slower one. Both sides start from text. nltk gets the tokens of sacrebleu's `13a`, which we use too;
rouge-score uses its own tokeniser, which has the same rule as ours. Values are compared before times.
"""

import math
from collections.abc import Callable, Iterator

import numpy as np
from nltk.translate.bleu_score import SmoothingFunction, corpus_bleu, sentence_bleu
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

from benchmarks.harness import Line, best_of
from turnwise.metrics.reference.bleu import Bleu
from turnwise.metrics.reference.rouge import RougeL
from turnwise.types import Item, Turn

PAIRS = 5_000


def bench() -> Iterator[Line]:
    items = pairs(np.random.default_rng(1))
    bleu, rouge = Bleu(4), RougeL()
    smooth = SmoothingFunction().method3
    scorer = RougeScorer(["rougeL"], use_stemmer=False)

    def corpus() -> float:
        clear_caches()
        return bleu.reduce(bleu.rows(items))

    def nltk_corpus() -> float:
        replies, references = nltk_tokens(items)
        return 100 * float(corpus_bleu(references, replies))

    same(corpus(), nltk_corpus(), 1e-9)
    yield Line(f"corpus BLEU-4, {PAIRS:,} pairs", *in_turn(corpus, nltk_corpus), "nltk", 3)

    def each() -> float:
        clear_caches()
        return float(bleu.of_sums(bleu.rows(items)).mean())

    def nltk_each() -> float:
        replies, references = nltk_tokens(items)
        scores = [
            sentence_bleu(given, reply, smoothing_function=smooth)
            for reply, given in zip(replies, references, strict=True)
        ]
        return 100 * float(np.mean(scores))

    # Smoothing differs: nltk's method 3 gives a reply without any match a little, sacrebleu gives it 0.
    same(each(), nltk_each(), 1.0)
    yield Line(f"BLEU-4 of each reply, {PAIRS:,} pairs", *in_turn(each, nltk_each), "nltk", 3)

    def lcs() -> float:
        return rouge.reduce(rouge.rows(items))

    def peer_lcs() -> float:
        scores = [scorer.score_multi(item.references, item.reply)["rougeL"].fmeasure for item in items]
        return float(np.mean(scores))

    same(lcs(), peer_lcs(), 1e-9)
    yield Line(f"ROUGE-L, {PAIRS:,} pairs", *in_turn(lcs, peer_lcs), "rouge-score", 10)


def in_turn(ours: Callable[[], float], peer: Callable[[], float]) -> tuple[float, float]:
    """Best times of both, measured alternately, so that other processes disturb both equally."""
    times = [(best_of(ours, 1), best_of(peer, 1)) for _ in range(7)]
    return min(one for one, _ in times), min(other for _, other in times)


def pairs(rng: np.random.Generator) -> list[Item]:
    """Items with replies and references over 3,000 generated words with Zipf-distributed frequencies."""
    syllables = [
        a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "ar", "en", "ing", "or")
    ]
    vocabulary = np.array(["".join(rng.choice(syllables, size=rng.integers(1, 4))) for _ in range(3_000)])
    frequency = 1 / np.arange(1, 3_001)
    frequency /= frequency.sum()

    def sentence() -> list[str]:
        return list(rng.choice(vocabulary, p=frequency, size=rng.integers(10, 31)))

    def text(words: list[str]) -> str:
        number = f", {rng.integers(1, 100)}.5 of them" if rng.random() < 0.1 else ""
        return " ".join(words).capitalize() + number + str(rng.choice([".", "?", "!"]))

    items = []
    for place in range(PAIRS):
        reference = sentence()
        reply = sentence()
        if place % 2:
            reply = [word if rng.random() < 0.7 else str(rng.choice(vocabulary)) for word in reference]
        turns = (Turn("user", "hello"), Turn("assistant", text(reply), references=(text(reference),)))
        name = str(place)
        items.append(Item(name, dialogue=name, agent="made-up", turns=turns, turn=1, cluster=name, pair=name))
    return items


def nltk_tokens(items: list[Item]) -> tuple[list[list[str]], list[list[list[str]]]]:
    """The tokens of all replies and references by sacrebleu's `13a`."""
    clear_caches()
    tokenizer = Tokenizer13a()
    replies = [tokenizer(item.reply).split() for item in items]
    references = [[tokenizer(text).split() for text in item.references] for item in items]
    return replies, references


def clear_caches() -> None:
    """Empty sacrebleu's caches, which both sides use, so that every run tokenises all texts."""
    Tokenizer13a.__call__.cache_clear()
    TokenizerRegexp.__call__.cache_clear()


def same(ours: float, peer: float, tolerance: float) -> None:
    """Raise an error unless both values are equal within the tolerance."""
    if not math.isclose(ours, peer, rel_tol=0, abs_tol=tolerance):
        raise ValueError(f"not the same task: {ours} here and {peer} there")
