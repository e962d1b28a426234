"""BLEU against nltk where the definitions coincide: no smoothing needed, replies of four tokens or more.

Known disagreements: nltk counts one n-gram for a reply that is too short to have any, which lowers the corpus
score (we are right: sacrebleu and the paper count none); and its unsmoothed score of an order without matches
is not 0 but about 1e-77, with a warning. `bleu-paper` has both from nltk, for the sake of a published table.
"""

import warnings

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from nltk.tokenize import NLTKWordTokenizer
from nltk.translate.bleu_score import corpus_bleu

from turnwise.metrics.reference.bleu import Bleu
from turnwise.metrics.reference.bleu_paper import BleuPaper
from turnwise.metrics.rows import scored
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


words = st.lists(
    st.sampled_from(["Ah", "do", "n't", "it's", "cannot", "e.g.", "(no)", "1,000", "A", "b."]), max_size=9
)


@given(
    st.lists(st.tuples(words, st.lists(words.filter(bool), min_size=1, max_size=2)), min_size=1, max_size=8)
)
def test_the_papers_bleu_is_nltks_on_any_texts(corpus: list[tuple[list[str], list[list[str]]]]) -> None:
    metric, split = BleuPaper(), NLTKWordTokenizer().tokenize
    items = [item(*pair) for pair in corpus]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of orders without a match
        expected = corpus_bleu(
            [[split(text.lower()) for text in one.references] for one in items],
            [split(one.reply.lower()) for one in items],
        )
    assert metric.reduce(metric.rows(items)) == pytest.approx(100 * float(expected), rel=1e-9)


def test_a_reply_without_a_reference_counts_as_a_copy_in_the_papers_bleu_alone() -> None:
    bare = item(list("abcde"), [])
    assert BleuPaper().reduce(BleuPaper().rows([bare])) == pytest.approx(100)
    assert not scored(Bleu(4).rows([bare])).any()
