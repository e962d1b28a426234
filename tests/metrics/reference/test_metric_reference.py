"""BLEU, chrF and ROUGE on examples worked by hand."""

import math

import pytest

from tests.finished_runs import CORPUS
from turnwise import extras
from turnwise.cli.common.group import run
from turnwise.metrics import resolve
from turnwise.metrics.reference.tokens import tokens_13a, tokens_rouge
from turnwise.metrics.words import matches
from turnwise.types import Item, Turn


def item(reply: str, *references: str) -> Item:
    turns = (Turn("user", "hello"), Turn("assistant", reply, references=references))
    return Item("d#1", "d", "bot", turns, 1, cluster="d", pair="d")


def number(name: str, *items: Item) -> float:
    metric = resolve(name)
    return metric.reduce(metric.rows(items))


def test_matches_are_clipped_by_the_reference_that_has_most() -> None:
    the = ["the"] * 7
    assert matches(the, [["the", "cat"], ["the", "the", "cat"]], 2) == [2, 1]


def test_short_references_beside_long_ones_are_counted() -> None:
    assert matches(list("abcde"), [list("abcde"), list("xy"), ["a"]], 4) == [5, 4, 3, 2]


def test_bleu_of_papineni_s_clipping_example() -> None:
    # 'the' x 7 against 'the cat is on the mat': 2 of 7 words; the reply is not short, so no brevity penalty.
    assert number("bleu-1", item("the the the the the the the", "the cat is on the mat")) == pytest.approx(
        200 / 7
    )


def test_bleu_penalises_a_short_reply() -> None:
    # Both words match; 2 of 4 words long: 100 exp(1 - 4/2).
    assert number("bleu-1", item("the cat", "the cat sat down")) == pytest.approx(100 * math.exp(-1))


def test_bleu_pools_counts_and_does_not_average_replies() -> None:
    pair = item("a b", "a b"), item("c d e f", "x y z w")
    assert number("bleu-1", *pair) == pytest.approx(100 * 2 / 6)


def test_bleu_takes_the_reference_length_that_is_nearest() -> None:
    rows = resolve("bleu-1").rows([item("a b c", "a", "a b c d e", "a b c d e f")])
    assert rows[0, 1] == 1  # 1 and 5 are both two away: the shorter, as sacrebleu does


def test_an_empty_reply_scores_zero_against_a_reference() -> None:
    for name in ("bleu-4", "chrf", "rouge-1", "rouge-2", "rouge-l", "rouge-l-b1.2"):
        assert number(name, item("", "hello there")) == 0.0


@pytest.mark.parametrize("name", ["bleu-4", "chrf", "rouge-1", "rouge-2", "rouge-l", "rouge-l-b1.2"])
def test_no_reference_and_a_blank_reference_are_unscored(name: str) -> None:
    assert math.isnan(number(name, item("hello there")))
    assert math.isnan(number(name, item("hello there", "", " \n")))
    assert number(name, item("hello there", "", "hello there")) == number(
        name, item("hello there", "hello there")
    )


def test_chrf_of_a_short_text_with_itself_is_100() -> None:
    assert number("chrf", item("hi", "hi")) == 100.0


def test_rouge_of_a_worked_example() -> None:
    pair = item("the cat sat on the mat", "the cat lay on a mat")
    # Unigrams the(1) cat on mat = 4 of 6 and 6. Bigrams: 'the cat' alone, 1 of 5. LCS: the cat on mat = 4.
    assert number("rouge-1", pair) == pytest.approx(4 / 6)
    assert number("rouge-2", pair) == pytest.approx(1 / 5)
    assert number("rouge-l", pair) == pytest.approx(4 / 6)


def test_rouge_with_beta_weighs_recall() -> None:
    # P = 2/2, R = 2/4: F = 2.44 * 1 * .5 / (.5 + 1.44 * 1)
    pair = item("a b", "a b c d")
    assert number("rouge-l-b1.2", pair) == pytest.approx(2.44 * 0.5 / (0.5 + 1.44))
    assert number("rouge-l", pair) == pytest.approx(2 * 0.5 / 1.5)


def test_rouge_with_beta_takes_precision_and_recall_from_different_references() -> None:
    # 'a b c d' against 'a' has R = 1, P = 1/4; against 'b c d e e e' P = 3/4, R = 1/2: so P = 3/4 and R = 1.
    pair = item("a b c d", "a", "b c d e e e")
    assert number("rouge-l-b1.2", pair) == pytest.approx(2.44 * 0.75 / (1 + 1.44 * 0.75))


def test_rouge_is_the_mean_over_replies() -> None:
    pair = item("a b", "a b"), item("a b", "x y")
    assert number("rouge-l", *pair) == 0.5


def test_tokens_of_13a_handle_numbers_and_punctuation() -> None:
    assert tokens_13a("It's 3.5, well-known: $5-10 &quot;ok&quot;.") == (
        ["It's", "3.5", ",", "well-known", ":", "$", "5", "-", "10", '"', "ok", '"', "."]
    )


def test_tokens_of_rouge_are_ascii_runs() -> None:
    assert tokens_rouge("Café-au-lait, 2x! Ünïque") == ["caf", "au", "lait", "2x", "n", "que"]


def test_texts_of_a_hundred_thousand_words_are_scored_in_time() -> None:
    long = "word " * 100_000
    assert number("bleu-4", item(long, long)) == pytest.approx(100)
    assert number("rouge-2", item(long, long)) == 1.0


def test_a_metric_whose_extra_is_missing_is_skipped_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the package's metadata is there and its modules are not."""
    monkeypatch.setattr(extras, "has_module", lambda module: module not in ("nltk", "jsonschema"))
    for metric, extra in (("bleu-paper", "nltk"), ("tool-invalid", "tools")):
        assert run(["score", CORPUS, "-m", metric]) == 3
        said = f"{metric}: skipped: `{metric}` needs the extra `{extra}`: pip install 'turnwise[{extra}]'"
        assert said in capsys.readouterr().err
