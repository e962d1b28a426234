"""Identities of the features that hold for every text."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.metrics import resolve
from turnwise.metrics.rows import quotient, scored
from turnwise.metrics.words import ngrams, words
from turnwise.types import Item, Turn

texts = st.lists(st.sampled_from(["tea", "Tea", "the", "green", "don't", "you?", "é", "!"]), max_size=12).map(
    " ".join
) | st.text(max_size=40)
orders = st.integers(1, 2)


def item(*texts: str) -> Item:
    turns = tuple(
        Turn("assistant" if (len(texts) - place) % 2 else "user", text) for place, text in enumerate(texts)
    )
    return Item("d#0", "d", "bot", turns, len(turns) - 1, cluster="d", pair="d")


def number(name: str, *items: Item) -> float:
    metric = resolve(name)
    return metric.reduce(metric.rows(items))


@given(texts)
def test_words_are_found_again_in_what_they_join_to(text: str) -> None:
    found = words(text)
    assert words(" ".join(found)) == found


@given(st.lists(texts, min_size=1, max_size=6), orders)
def test_distinct_is_a_share_above_zero_and_never_more_than_one(replies: list[str], order: int) -> None:
    value = number(f"distinct-{order}", *map(item, replies))
    grams = [gram for reply in replies for gram in ngrams(words(reply), order)]
    if grams:
        assert 0 < value <= 1
        assert value == pytest.approx(len(set(grams)) / len(grams))  # the hash loses nothing
    else:
        assert math.isnan(value)


@given(st.lists(texts, min_size=1, max_size=6), orders)
def test_distinct_never_rises_when_a_reply_is_said_again(replies: list[str], order: int) -> None:
    once = number(f"distinct-{order}", *map(item, replies))
    again = number(f"distinct-{order}", *map(item, [*replies, replies[0]]))
    assert math.isnan(once) or again <= once + 1e-12


@given(st.lists(texts, min_size=1, max_size=6), orders)
def test_entropy_is_at_most_that_of_equal_use(replies: list[str], order: int) -> None:
    value = number(f"entropy-{order}", *map(item, replies))
    grams = {gram for reply in replies for gram in ngrams(words(reply), order)}
    if grams:
        assert -1e-12 <= value <= math.log2(len(grams)) + 1e-9
    else:
        assert math.isnan(value)


@given(st.lists(texts, min_size=1, max_size=6), orders, st.integers(2, 3))
def test_repeating_every_reply_does_not_change_the_entropy(
    replies: list[str], order: int, times: int
) -> None:
    items = list(map(item, replies))
    once, often = number(f"entropy-{order}", *items), number(f"entropy-{order}", *(items * times))
    assert often == pytest.approx(once, abs=1e-9, nan_ok=True)


@given(st.lists(texts, min_size=2, max_size=5), orders)
def test_repetition_is_a_share(talk: list[str], order: int) -> None:
    for source in ("external", "internal", "partner"):
        value = number(f"repeat-{source}-{order}", item(*talk))
        assert math.isnan(value) or 0 <= value <= 1


@given(texts, texts, orders)
def test_a_parrot_repeats_all_and_an_echo_of_oneself_too(said: str, between: str, order: int) -> None:
    parrot = number(f"repeat-partner-{order}", item(said, said))
    echo = number(f"repeat-external-{order}", item(said, between, said))
    assert (math.isnan(parrot) and math.isnan(echo)) or parrot == echo == 1.0


@given(st.lists(texts, min_size=2, max_size=5), texts, orders)
def test_a_longer_history_never_lowers_repetition(talk: list[str], earlier: str, order: int) -> None:
    for source in ("external", "partner"):
        before = number(f"repeat-{source}-{order}", item(*talk))
        after = number(f"repeat-{source}-{order}", item(earlier, earlier, *talk))
        assert math.isnan(before) or after >= before


@given(st.lists(texts, min_size=1, max_size=6))
def test_specificity_is_a_share_and_the_commonest_word_alone_has_none(replies: list[str]) -> None:
    items = [item(reply) for reply in [*replies, "common", "common ground", "common rare"]]
    metric = resolve("specificity").fit(items)
    rows = metric.rows(items)
    values = rows[scored(rows), 0]
    assert ((values >= 0) & (values <= 1)).all()
    assert (min(metric.nidf.values()), max(metric.nidf.values())) == (0, 1)


@given(texts)
def test_length_and_questions_are_read_off_the_reply(text: str) -> None:
    assert number("length", item(text)) == len(words(text))
    assert number("question-rate", item(text + "?")) == 1.0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=6))
def test_a_ratio_with_a_zero_denominator_is_nan(pairs: list[tuple[int, int]]) -> None:
    above, below = np.array(pairs, dtype=float).T
    found = quotient(above, below)
    assert (np.isnan(found) == (below == 0)).all()
    assert found[below != 0] == pytest.approx(above[below != 0] / below[below != 0])
