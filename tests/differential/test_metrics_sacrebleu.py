"""BLEU, chrF, chrF++ and TER against sacrebleu, sentence and corpus, on generated texts in any script.

Known disagreements, each with a test below:
- sacrebleu cuts the longer of two lists silently; here a reply has its own references. We are right.
- sacrebleu counts a blank reference, as one of length 0; here it is none. We are right: it lowers the brevity
  penalty of short replies, and a reply without any other reference scores 0 though nothing is known.
"""

import itertools
import math

import pytest
import sacrebleu
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from turnwise.metrics.reference.bleu import Bleu
from turnwise.metrics.reference.chrf import Chrf
from turnwise.metrics.reference.ter import Ter
from turnwise.metrics.reference.tokens import Tokens, tokens_13a
from turnwise.types import Item, Turn

words = st.sampled_from(
    ["the", "cat", "sat", "on", "the mat", "It's", "3.5", "1,000", "5-6", ".", ",", "...", "你好"]
)
prose = st.lists(words, max_size=14).map(" ".join)
texts = prose | st.text(max_size=30) | st.text(alphabet="ab.,-'3 &<>\n", max_size=20)
references = st.lists(texts, min_size=1, max_size=4)
pairs = st.tuples(texts, references)


def item(reply: str, given_references: list[str]) -> Item:
    turns = (Turn("user", "hi"), Turn("assistant", reply, references=tuple(given_references)))
    return Item("d#1", "d", "bot", turns, 1, cluster="d", pair="d")


def proper(given_references: list[str]) -> list[str]:
    """References with a token in them: on the others we differ by intent."""
    return [text for text in given_references if tokens_13a(text)]


def columns(all_references: list[list[str]]) -> list[list[str | None]]:
    """sacrebleu wants references by number, not by reply; None where a reply has fewer."""
    return [list(column) for column in itertools.zip_longest(*all_references)]


@given(texts)
@settings(max_examples=500)
def test_tokens_equal_those_of_13a(text: str) -> None:
    assert tokens_13a(text) == Tokenizer13a()(text.rstrip()).split()


def test_tokens_equal_those_of_13a_for_every_short_text_of_signs() -> None:
    tokenizer = Tokenizer13a()
    for size in range(6):
        for signs in itertools.product("a3.,'-! <", repeat=size):
            text = "".join(signs)
            assert tokens_13a(text) == tokenizer(text.rstrip()).split(), text


@given(pairs, st.integers(1, 4))
@settings(max_examples=300)
def test_sentence_bleu_equals_sacrebleu(pair: tuple[str, list[str]], order: int) -> None:
    reply, refs = pair[0], proper(pair[1])
    assume(refs)
    peer = BLEU(max_ngram_order=order, effective_order=True).sentence_score(reply, refs)
    rows = Bleu(order).rows([item(reply, pair[1])])
    assert rows[0].tolist() == [peer.sys_len, peer.ref_len, *peer.counts, *peer.totals]
    assert Bleu(order).reduce(rows) == pytest.approx(peer.score, abs=1e-9)


@given(pairs, st.sampled_from(["13a", "intl", "char", "zh", "none"]), st.booleans())
@settings(max_examples=300)
def test_bleu_with_other_tokens_and_lower_case_equals_sacrebleu(
    pair: tuple[str, list[str]], tokenize: Tokens, lower: bool
) -> None:
    metric = Bleu(4, tokenize, lower)
    refs = [text for text in pair[1] if metric._tokens(text)]
    assume(refs)
    peer = BLEU(tokenize=tokenize, lowercase=lower, effective_order=True).sentence_score(pair[0], refs)
    assert metric.reduce(metric.rows([item(*pair)])) == pytest.approx(peer.score, abs=1e-9)


@given(st.lists(pairs, min_size=1, max_size=6), st.integers(1, 4))
@settings(max_examples=200)
def test_corpus_bleu_equals_sacrebleu_with_any_number_of_references(
    drawn: list[tuple[str, list[str]]], order: int
) -> None:
    drawn = [(reply, proper(refs)) for reply, refs in drawn if proper(refs)]
    assume(drawn)
    replies, refs = [reply for reply, _ in drawn], [refs for _, refs in drawn]
    metric = Bleu(order)
    ours = metric.reduce(metric.rows([item(*pair) for pair in drawn]))
    peer = BLEU(max_ngram_order=order, effective_order=True).corpus_score(replies, columns(refs))
    assert ours == pytest.approx(peer.score, abs=1e-9)


@given(st.lists(st.tuples(prose, st.lists(prose, min_size=1, max_size=2)), min_size=8, max_size=12))
@settings(max_examples=50)
def test_effective_order_does_not_matter_once_every_order_occurs(drawn: list[tuple[str, list[str]]]) -> None:
    drawn = [(reply, proper(refs)) for reply, refs in drawn if proper(refs)]
    assume(any(len(tokens_13a(reply)) >= 4 for reply, _ in drawn))
    metric = Bleu(4)
    ours = metric.reduce(metric.rows([item(*pair) for pair in drawn]))
    plain = sacrebleu.corpus_bleu(
        [reply for reply, _ in drawn], columns([refs for _, refs in drawn]), force=True
    )
    assert ours == pytest.approx(plain.score, abs=1e-9)


word_orders, cases = st.sampled_from([0, 2]), st.booleans()


@given(pairs, word_orders, cases)
@settings(max_examples=300)
def test_sentence_chrf_equals_sacrebleu(pair: tuple[str, list[str]], word_order: int, lower: bool) -> None:
    reply, refs = pair[0], [text for text in pair[1] if text.strip()]
    assume(refs)
    metric = Chrf(word_order, lower)
    peer = CHRF(word_order=word_order, lowercase=lower).sentence_score(reply, refs).score
    assert metric.reduce(metric.rows([item(*pair)])) == pytest.approx(peer, abs=1e-9)


@given(st.lists(pairs, min_size=1, max_size=6), word_orders, cases)
@settings(max_examples=200)
def test_corpus_chrf_equals_sacrebleu_with_any_number_of_references(
    drawn: list[tuple[str, list[str]]], word_order: int, lower: bool
) -> None:
    drawn = [(reply, kept) for reply, refs in drawn if (kept := [text for text in refs if text.strip()])]
    assume(drawn)
    metric = Chrf(word_order, lower)
    ours = metric.reduce(metric.rows([item(*pair) for pair in drawn]))
    peer = CHRF(word_order=word_order, lowercase=lower).corpus_score(
        [reply for reply, _ in drawn], columns([refs for _, refs in drawn])
    )
    assert ours == pytest.approx(peer.score, abs=1e-9)


@given(st.lists(pairs, min_size=1, max_size=4), cases, cases, cases)
@settings(max_examples=100)
def test_ter_equals_sacrebleu(
    drawn: list[tuple[str, list[str]]], normalized: bool, marks: bool, case: bool
) -> None:
    peer = TER(normalized=normalized, no_punct=not marks, case_sensitive=case)
    drawn = [
        (reply, kept)
        for reply, refs in drawn
        if (kept := [one for one in refs if peer.tokenizer(one).split()])
    ]
    assume(drawn)
    metric = Ter(normalized, marks, case)
    ours = metric.reduce(metric.rows([item(*pair) for pair in drawn]))
    theirs = peer.corpus_score([reply for reply, _ in drawn], columns([refs for _, refs in drawn]))
    assert ours == pytest.approx(theirs.score, abs=1e-9)


def test_sacrebleu_cuts_unequal_lists_and_rows_cannot() -> None:
    three, one = ["a b c d", "wrong", "wrong too"], ["a b c d"]
    assert sacrebleu.corpus_bleu(three, [one]).score == pytest.approx(100)
    metric = Bleu(4)
    rows = metric.rows([item(reply, one if place == 0 else []) for place, reply in enumerate(three)])
    assert metric.reduce(rows[:1]) == pytest.approx(100)
    assert math.isnan(metric.reduce(rows[1:]))


def test_sacrebleu_counts_a_blank_reference_and_we_do_not() -> None:
    metric, peer = Bleu(1), BLEU(max_ngram_order=1, effective_order=True)
    assert peer.sentence_score("yes", [""]).score == 0
    assert math.isnan(metric.reduce(metric.rows([item("yes", [""])])))
    lenient = peer.sentence_score("yes", ["yes it is so", ""]).score
    assert lenient == pytest.approx(100)  # the blank one is nearest in length: no penalty
    assert metric.reduce(metric.rows([item("yes", ["yes it is so", ""])])) == pytest.approx(
        100 * math.exp(-3)
    )
