"""BLEU against nltk where the definitions coincide: no smoothing needed, replies of four tokens or more.

Known disagreements: nltk counts one n-gram for a reply that is too short to have any, which lowers the corpus
score (we are right: sacrebleu and the paper count none); and its unsmoothed score of an order without matches
is not 0 but about 1e-77, with a warning.
"""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from nltk.translate.bleu_score import corpus_bleu

from turnwise.metrics.reference.bleu import Bleu
from turnwise.types import Item, Turn

tokens = st.lists(st.sampled_from("abcdef"), min_size=4, max_size=25)
corpora = st.lists(st.tuples(tokens, st.lists(tokens, min_size=1, max_size=3)), min_size=15, max_size=25)


def item(reply: list[str], references: list[list[str]]) -> Item:
    turns = (Turn("assistant", " ".join(reply), references=tuple(map(" ".join, references))),)
    return Item("d#0", "d", "bot", turns, 0, cluster="d", pair="d")


def ours(order: int, corpus: list[tuple[list[str], list[list[str]]]]) -> float:
    metric = Bleu(order)
    return metric.reduce(metric.rows([item(*pair) for pair in corpus]))


def theirs(order: int, corpus: list[tuple[list[str], list[list[str]]]]) -> float:
    weights = (1 / order,) * order
    return 100 * float(
        corpus_bleu([refs for _, refs in corpus], [reply for reply, _ in corpus], weights=weights)
    )


@given(corpora, st.integers(1, 4))
@settings(max_examples=60)
def test_corpus_bleu_equals_nltk_where_every_order_has_a_match(
    corpus: list[tuple[list[str], list[list[str]]]], order: int
) -> None:
    rows = Bleu(order).rows([item(*pair) for pair in corpus])
    assume(rows[:, 2 : 2 + order].sum(axis=0).all())
    assert ours(order, corpus) == pytest.approx(theirs(order, corpus), abs=1e-9)


def test_nltk_counts_an_ngram_that_a_short_reply_does_not_have() -> None:
    long = list("abcdefgh")
    corpus = [(long, [long]), (["a"], [["a"]])]
    assert ours(2, corpus) == pytest.approx(100)
    # Bigrams: 7 of 7, and by nltk 7 of 8; geometric mean with 9 of 9 words.
    assert theirs(2, corpus) == pytest.approx(100 * (7 / 8) ** 0.5)
