"""Identities of BLEU, chrF and ROUGE that hold for every text."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from turnwise.metrics.reference.bleu import Bleu
from turnwise.metrics.reference.chrf import Chrf
from turnwise.metrics.reference.rouge import Overlap, RougeL, RougeLCaption, RougeN
from turnwise.metrics.reference.tokens import tokens_13a
from turnwise.metrics.words import matches
from turnwise.types import Item, Metric, Turn

words = st.sampled_from(
    ["the", "cat", "sat", "on", "a", "mat", "It's", "3.5", ".", ",", "Zürich", "你好", "?"]
)
texts = st.lists(words, max_size=12).map(" ".join) | st.text(max_size=30)
tokens = st.lists(st.sampled_from("abcde"), max_size=15)
orders = st.integers(1, 4)


def item(reply: str, *references: str) -> Item:
    turns = (Turn("assistant", reply, references=references),)
    return Item("d#0", "d", "bot", turns, 0, cluster="d", pair="d")


def number(metric: Metric, *items: Item) -> float:
    return metric.reduce(metric.rows(items))


def bounded(value: float, top: float) -> bool:
    return bool(np.isnan(value)) or 0 <= value <= top * (1 + 1e-12)


@given(texts, orders)
def test_bleu_of_a_text_of_enough_tokens_against_itself_is_100(text: str, order: int) -> None:
    assume(len(tokens_13a(text)) >= order)
    assert number(Bleu(order), item(text, text)) == pytest.approx(100, abs=1e-9)


@given(texts, st.lists(texts, min_size=1, max_size=3), texts, orders)
def test_adding_a_reference_never_lowers_clipped_counts(
    reply: str, references: list[str], more: str, order: int
) -> None:
    before = Bleu(order).rows([item(reply, *references)])
    after = Bleu(order).rows([item(reply, *references, more)])
    assume(not np.isnan(before).any())
    matched = slice(2, 2 + order)
    assert (after[:, matched] >= before[:, matched]).all()
    assert (after[:, 2 + order :] == before[:, 2 + order :]).all()


@given(tokens, st.lists(tokens, min_size=1, max_size=3), st.data())
def test_the_order_of_references_does_not_matter(
    reply: list[str], references: list[list[str]], data: st.DataObject
) -> None:
    mixed = data.draw(st.permutations(references))
    assert matches(reply, references, 4) == matches(reply, mixed, 4)


@given(tokens, tokens)
def test_matches_with_one_reference_are_symmetric(one: list[str], other: list[str]) -> None:
    assert matches(one, [other], 4) == matches(other, [one], 4)


@given(texts, st.lists(texts, max_size=3), orders)
def test_scores_stay_in_their_range(reply: str, references: list[str], order: int) -> None:
    pair = item(reply, *references)
    assert bounded(number(Bleu(order), pair), 100)
    assert bounded(number(Chrf(), pair), 100)
    for rouge in (RougeN(1), RougeN(2), RougeL(), RougeLCaption()):
        assert bounded(number(rouge, pair), 1)


@given(texts)
def test_a_copy_of_its_reference_is_perfect_for_chrf_and_rouge(text: str) -> None:
    for metric, top in ((Chrf(), 100.0), (RougeN(1), 1.0), (RougeL(), 1.0), (RougeLCaption(), 1.0)):
        value = number(metric, item(text, text))
        assert np.isnan(value) or value == pytest.approx(top, abs=1e-12)


@given(tokens, tokens)
def test_swapping_reply_and_reference_swaps_precision_and_recall(one: list[str], other: list[str]) -> None:
    assume(one and other)
    for rouge in (RougeN(1), RougeN(2), RougeL()):
        there, back = rouge.overlap(one, other), rouge.overlap(other, one)
        assert there == (back.recall, back.precision)
        assert there.f() == pytest.approx(back.f(), abs=1e-12)


@given(st.floats(0.01, 1), st.floats(0.01, 1), st.floats(1, 5))
def test_f_lies_between_precision_and_recall_and_leans_to_recall(p: float, r: float, beta: float) -> None:
    plain, leaning = Overlap(p, r).f(), Overlap(p, r).f(beta)
    assert min(p, r) - 1e-12 <= leaning <= max(p, r) + 1e-12
    assert abs(leaning - r) <= abs(plain - r) + 1e-12


@given(texts, st.lists(texts, min_size=1, max_size=3), texts)
def test_another_reference_never_lowers_rouge(reply: str, references: list[str], more: str) -> None:
    for rouge in (RougeN(1), RougeN(2), RougeL(), RougeLCaption()):
        before, after = number(rouge, item(reply, *references)), number(rouge, item(reply, *references, more))
        assert np.isnan(before) or after >= before


@given(tokens, tokens)
def test_the_longest_common_subsequence_is_no_longer_than_the_common_words(
    one: list[str], other: list[str]
) -> None:
    assume(one and other)
    assert RougeL().overlap(one, other).precision <= RougeN(1).overlap(one, other).precision


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=5), st.integers(2, 4))
def test_repeating_every_item_changes_no_number(pairs: list[tuple[str, str]], times: int) -> None:
    items = [item(reply, reference) for reply, reference in pairs]
    # Not BLEU of higher orders: smoothing an order without a match weighs less, the more text there is.
    for metric in (Bleu(1), Chrf(), RougeL()):
        once, often = number(metric, *items), number(metric, *(items * times))
        assert often == pytest.approx(once, rel=1e-9, nan_ok=True)
