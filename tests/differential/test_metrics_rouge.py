"""ROUGE against rouge-score on generated texts, and ROUGE-L with beta 1.2 against its definition written out.

Known disagreement: a reference without a letter a-z or a digit has no token, and rouge-score gives 0 for it.
Here the item is not scored. We are right: nothing was compared, and a Chinese corpus is not a bad one.
"""

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from turnwise.metrics import resolve
from turnwise.metrics.reference.tokens import tokens_rouge
from turnwise.types import Item, Turn

words = st.sampled_from(
    [
        "the",
        "The",
        "cat",
        "cats",
        "running",
        "likes",
        "sat",
        "on",
        "a",
        "mat",
        "it's",
        "3.5",
        "-",
        "?",
        "naïve",
        "你好",
        "K",
    ]
)
texts = st.lists(words, max_size=14).map(" ".join) | st.text(max_size=30)
pairs = st.tuples(texts, st.lists(texts, min_size=1, max_size=4))
NAMES = {"rouge-1": "rouge1", "rouge-2": "rouge2", "rouge-l": "rougeL"}
SCORER = RougeScorer(list(NAMES.values()), use_stemmer=False)
STEMMED = RougeScorer(list(NAMES.values()), use_stemmer=True)


def item(reply: str, references: list[str]) -> Item:
    turns = (Turn("user", "hi"), Turn("assistant", reply, references=tuple(references)))
    return Item("d#1", "d", "bot", turns, 1, cluster="d", pair="d")


def number(name: str, *items: Item) -> float:
    metric = resolve(name)
    return metric.reduce(metric.rows(items))


@given(texts)
def test_tokens_equal_those_of_rouge_score(text: str) -> None:
    assert tokens_rouge(text) == SCORER._tokenizer.tokenize(text)


@given(pairs)
@settings(max_examples=500)
def test_rouge_equals_rouge_score_with_any_number_of_references(pair: tuple[str, list[str]]) -> None:
    assume(any(map(tokens_rouge, pair[1])))
    peer = SCORER.score_multi(pair[1], pair[0])
    for ours, theirs in NAMES.items():
        assert number(ours, item(*pair)) == pytest.approx(peer[theirs].fmeasure, abs=1e-9)


@given(pairs, st.sampled_from(["p", "r"]), st.booleans())
@settings(max_examples=200)
def test_precision_recall_and_stems_equal_rouge_score(
    pair: tuple[str, list[str]], part: str, stemmed: bool
) -> None:
    texts_of = [pair[0], *pair[1]]
    tokens = [tokens_rouge(text) for text in texts_of]
    assume(any(tokens[1:]))
    # nltk's variant of Porter's rules, which rouge-score uses, differs from ours for some words: those are left out.
    if stemmed:
        assume(
            [tokens_rouge(text, stemmed=True) for text in texts_of]
            == [STEMMED._tokenizer.tokenize(text) for text in texts_of]
        )
    peer = (STEMMED if stemmed else SCORER).score_multi(pair[1], pair[0])
    for ours, theirs in NAMES.items():
        expected = {"p": peer[theirs].precision, "r": peer[theirs].recall}[part]
        name = f"{ours}[part={part},stem={str(stemmed).lower()}]"
        assert number(name, item(*pair)) == pytest.approx(expected, abs=1e-9)


lines = st.lists(st.lists(words, max_size=8).map(" ".join), min_size=1, max_size=4).map("\n".join)


@given(lines, st.lists(lines, min_size=1, max_size=3))
@settings(max_examples=500)
def test_rouge_of_lines_equals_rouge_score(reply: str, references: list[str]) -> None:
    assume(any(map(tokens_rouge, references)))
    peer = RougeScorer(["rougeLsum"]).score_multi(references, reply)["rougeLsum"]
    expected = {"f": peer.fmeasure, "p": peer.precision, "r": peer.recall}
    for part, figure in expected.items():
        assert number(f"rouge-lsum[part={part}]", item(reply, references)) == pytest.approx(figure, abs=1e-9)


@given(pairs)
def test_rouge_of_single_lines_is_rouge_l(pair: tuple[str, list[str]]) -> None:
    reply, references = pair[0].replace("\n", " "), [text.replace("\n", " ") for text in pair[1]]
    assume(any(map(tokens_rouge, references)))
    assert number("rouge-lsum", item(reply, references)) == pytest.approx(
        number("rouge-l", item(reply, references)), abs=1e-12
    )


def test_stems_match_other_endings_of_a_word() -> None:
    assert number("rouge-1[stem=true]", item("he likes running dogs", ["he liked the dog runs"])) > number(
        "rouge-1", item("he likes running dogs", ["he liked the dog runs"])
    )


@given(st.lists(pairs, min_size=1, max_size=5))
def test_the_corpus_score_is_the_mean_of_rouge_score_over_replies(
    drawn: list[tuple[str, list[str]]],
) -> None:
    drawn = [pair for pair in drawn if any(map(tokens_rouge, pair[1]))]
    assume(drawn)
    for ours, theirs in NAMES.items():
        mean = sum(SCORER.score_multi(refs, reply)[theirs].fmeasure for reply, refs in drawn) / len(drawn)
        assert number(ours, *(item(*pair) for pair in drawn)) == pytest.approx(mean, abs=1e-9)


def common(one: list[str], other: list[str]) -> int:
    """Length of the longest common subsequence, by its recurrence."""
    if not one or not other:
        return 0
    row = [0] * (len(other) + 1)
    for word in one:
        before = row[:]
        for place, against in enumerate(other, start=1):
            row[place] = before[place - 1] + 1 if word == against else max(before[place], row[place - 1])
    return row[-1]


@given(pairs)
@settings(max_examples=300)
def test_rouge_l_with_beta_equals_its_definition(pair: tuple[str, list[str]]) -> None:
    reply, refs = pair[0].split(), [kept for text in pair[1] if (kept := text.split())]
    assume(reply and refs)
    p = max(common(reply, ref) / len(reply) for ref in refs)
    r = max(common(reply, ref) / len(ref) for ref in refs)
    expected = 0.0 if p == 0 or r == 0 else (1 + 1.2**2) * p * r / (r + 1.2**2 * p)
    assert number("rouge-l-b1.2", item(*pair)) == pytest.approx(expected, abs=1e-12)


def test_rouge_score_gives_zero_for_a_reference_without_tokens_and_we_do_not() -> None:
    assert SCORER.score_multi(["你好"], "你好")["rouge1"].fmeasure == 0
    assert math.isnan(number("rouge-1", item("你好", ["你好"])))
