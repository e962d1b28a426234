"""The hand-crafted features on examples worked by hand."""

import dataclasses
import math

import numpy as np
import pytest

from turnwise.errors import TooFewItems
from turnwise.metrics import resolve
from turnwise.metrics.features.repetition import STOPWORDS
from turnwise.metrics.rows import scored
from turnwise.metrics.words import ngrams, words
from turnwise.types import Item, Turn


def item(*texts: str) -> Item:
    """User and assistant in turn; the last text is the assistant's scored reply."""
    roles = ["assistant", "user"] * len(texts)
    turns = tuple(Turn(who, text) for who, text in zip(roles, reversed(texts), strict=False))[::-1]
    return Item("d#0", "d", "bot", turns, len(turns) - 1, cluster="d", pair="d")


def whole(*texts: str) -> Item:
    return dataclasses.replace(item(*texts), turn=None)


def number(name: str, *items: Item) -> float:
    metric = resolve(name)
    return metric.reduce(metric.rows(items))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Don't STOP, it’s 3:45!", ["don't", "stop", "it's", "3", "45"]),
        ("'quoted' rock'n'roll o'", ["quoted", "rock'n'roll", "o"]),
        ("[value_name] costs £20", ["value_name", "costs", "20"]),
        ("Cafe\u0301 café", ["café", "café"]),  # decomposed and composed are one word
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),  # vowel signs belong to their word
        ("?! ... 😀", []),
        ("", []),
    ],
)
def test_words_are_lower_case_runs_without_punctuation(text: str, found: list[str]) -> None:
    assert words(text) == found


def test_ngrams_are_runs_of_tokens() -> None:
    assert list(ngrams(list("abc"), 2)) == [("a", "b"), ("b", "c")]
    assert [list(ngrams(["a"], order)) for order in (1, 2, 3, 4)] == [["a"], [], [], []]


def test_distinct_counts_different_words_over_all_replies() -> None:
    # a b a + b c: 3 different of 5. Pairs: ab ba + bc, all different; none crosses the replies.
    assert number("distinct-1", item("a b a"), item("b c")) == pytest.approx(3 / 5)
    assert number("distinct-2", item("a b a"), item("b c")) == 1.0
    assert number("distinct-2", item("a b"), item("a b"), item("b a")) == pytest.approx(2 / 3)


def test_word_pairs_depend_on_the_order_of_words() -> None:
    assert number("distinct-2", item("x y"), item("y x")) == 1.0


def test_entropy_is_in_bits() -> None:
    # Shares 1/2, 1/4, 1/4: 1.5 bits.
    assert number("entropy-1", item("a a b c")) == pytest.approx(1.5)
    assert number("entropy-1", item("a a a")) == 0.0
    assert math.copysign(1, number("entropy-1", item("a a a"))) == 1
    assert number("entropy-2", item("a b"), item("c d")) == pytest.approx(1.0)


def test_rows_of_variety_are_sparse_with_one_column_for_each_hash() -> None:
    rows = resolve("distinct-2").rows([item("a b a b c"), item("one"), item("")])
    assert rows.shape == (3, 2**61)
    assert rows.nnz == 6  # ab and ab again, ba, bc, and a NaN for each reply without a pair
    first = rows[[0]]
    first.sum_duplicates()
    assert sorted(first.data) == [1, 1, 2]
    assert scored(rows).tolist() == [True, False, False]


def test_a_word_has_the_same_column_on_every_machine() -> None:
    # `printf hello | b2sum -l 64`, read as a little-endian number and cut to 61 bits.
    assert resolve("distinct-1").rows([item("hello")]).indices.tolist() == [1127760968602728148]


def test_msttr_averages_segments_and_ignores_the_remainder() -> None:
    different = " ".join(f"w{place}" for place in range(50))
    # 50 different words (1.0), 50 of one word (1/50), then 10 words that fill no segment.
    talk = whole("hi", different, "go on", "same " * 50, "and", "left over " * 5)
    rows = resolve("msttr-50").rows([talk])
    assert rows.tolist() == [[1 + 1 / 50, 2]]
    assert number("msttr-50", talk) == pytest.approx((1 + 1 / 50) / 2)


def test_msttr_does_not_count_the_other_speaker() -> None:
    assert math.isnan(number("msttr-50", whole("word " * 200, "yes")))


def test_length_counts_words_per_reply() -> None:
    assert number("length", item("one two"), item("")) == 1.0


@pytest.mark.parametrize("text", ["Really?", "本当ですか？", "حقا؟"])
def test_question_rate_is_the_share_of_replies_with_a_question_mark(text: str) -> None:
    assert number("question-rate", item(text), item("No."), item("It is so."), item("")) == 0.25


def test_external_repetition_counts_words_of_the_agent_s_earlier_turns() -> None:
    talk = item("cats", "I love green tea", "dogs and birds", "green dogs love me")
    # Content words of the reply: green dogs love; the agent said love and green, the user said dogs.
    assert number("repeat-external-1", talk) == pytest.approx(2 / 3)
    assert number("repeat-partner-1", talk) == pytest.approx(1 / 3)


def test_repetition_of_pairs_keeps_stop_words() -> None:
    talk = item("x", "i love you", "you and me", "i love you and me")
    # Pairs: i-love love-you you-and and-me. Own turn has the first two, the partner the last two.
    assert number("repeat-external-2", talk) == pytest.approx(2 / 4)
    assert number("repeat-partner-2", talk) == pytest.approx(2 / 4)


def test_internal_repetition_counts_words_that_occur_earlier_in_the_reply() -> None:
    assert number("repeat-internal-1", item("hi", "tea tea and tea and cake")) == pytest.approx(2 / 4)
    assert number("repeat-internal-2", item("hi", "tea and tea and cake")) == pytest.approx(1 / 4)


def test_repetition_is_zero_without_earlier_turns_and_unscored_without_content_words() -> None:
    assert number("repeat-external-1", item("hi", "green tea")) == 0.0
    assert math.isnan(number("repeat-external-1", item("a", "b", "c", "it is what it is")))
    assert math.isnan(number("repeat-external-2", item("a", "yes", "c", "yes")))


def test_repetition_can_be_computed_for_the_user() -> None:
    talk = item("green tea", "black tea", "green dogs")
    talk = dataclasses.replace(talk, role="user", turns=(*talk.turns, Turn("user", "black dogs bark")))
    # The user said nothing but 'black tea' before, the assistant 'green tea' and 'green dogs'.
    assert number("repeat-external-1", talk) == pytest.approx(1 / 3)
    assert number("repeat-partner-1", talk) == pytest.approx(1 / 3)


def test_system_and_tool_turns_do_not_count_as_repeated() -> None:
    turns = (Turn("system", "green tea"), Turn("tool", "green tea"), Turn("assistant", "green tea"))
    asked = Item("d#2", "d", "bot", turns, 2, cluster="d", pair="d")
    assert number("repeat-external-1", asked) == number("repeat-partner-1", asked) == 0.0


def test_stop_words_are_words_of_our_own_tokeniser() -> None:
    assert all(words(word) == [word] for word in STOPWORDS)
    assert {"i", "don't", "the", "would"} <= STOPWORDS
    assert STOPWORDS.isdisjoint({"good", "friend", "go", "sea"})


def test_specificity_of_a_worked_example() -> None:
    # Texts: 'a b', 'a c', 'a b': two different ones with 'a', one each with b and c. nidf a = 0, b = c = 1.
    talk = [item("a b", "a c"), item("a b", "a b")]
    metric = resolve("specificity").fit(talk)
    assert metric.nidf == {"a": 0.0, "b": 1.0, "c": 1.0}
    assert metric.rows([item("a a b c")]).tolist() == [[0.5, 1.0]]


def test_specificity_is_linear_in_the_logarithm_of_counts() -> None:
    talk = [item("a b c"), item("a b d"), item("a e f"), item("a g h")]
    # c: a 4, b 2, the rest 1: nidf b = log(4/2) / log(4/1) = 1/2.
    assert resolve("specificity").fit(talk).nidf["b"] == pytest.approx(0.5)


def test_unknown_words_are_ignored_by_specificity() -> None:
    metric = resolve("specificity").fit([item("a b", "a c")])
    rows = metric.rows([item("zzz"), item("zzz b"), item("")])
    np.testing.assert_equal(rows, [[np.nan, 1], [1, 1], [np.nan, 1]])


def test_a_context_is_counted_once_however_many_items_share_it() -> None:
    once = resolve("specificity").fit([item("a b", "a c", "a d")])
    often = resolve("specificity").fit([item("a b", "a c"), item("a b", "a c", "a d")])
    assert once.signature == often.signature


def test_specificity_refuses_texts_that_cannot_rank_words() -> None:
    with pytest.raises(TooFewItems, match="give it more dialogues"):
        resolve("specificity").fit([])
    with pytest.raises(TooFewItems, match="give it more dialogues"):
        resolve("specificity").fit([item("one two three")])
