"""Identities of METEOR that hold for every text."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from turnwise.metrics.reference import alignment
from turnwise.metrics.reference.alignment import Alignment, align
from turnwise.metrics.reference.meteor import Meteor
from turnwise.metrics.reference.porter import stem
from turnwise.metrics.reference.wordnet import synsets
from turnwise.metrics.words import words
from turnwise.types import Item, Turn

# Every stage is in it, and words that have the choice between several.
VOCABULARY = "car cars auto automobile machine run runs running get have take the a".split()

few = st.integers(1, 8).flatmap(lambda size: st.permutations(VOCABULARY).map(lambda mixed: mixed[:size]))
short = few.flatmap(
    lambda known: st.tuples(*[st.lists(st.sampled_from(known), max_size=size) for size in (6, 5)])
)
medium = st.lists(st.sampled_from(VOCABULARY), max_size=9)
longer = st.lists(st.sampled_from(VOCABULARY), max_size=20)
texts = longer.map(" ".join) | st.text(max_size=30)


def meteor(reply: str, *references: str) -> float:
    turns = (Turn("assistant", reply, references=references),)
    item = Item("d#0", "d", "bot", turns, 0, cluster="d", pair="d")
    return float(Meteor().rows([item])[0, 0])


def stage(word: str, other: str) -> int | None:
    if word == other:
        return 0
    if stem(word) == stem(other):
        return 1
    return None if synsets(word).isdisjoint(synsets(other)) else 2


def best_by_trying_all(reply: list[str], reference: list[str]) -> Alignment:
    """The definition, word for word: most matches stage by stage, then fewest chunks."""
    options = [
        [None, *(at for at, other in enumerate(reference) if stage(word, other) is not None)]
        for word in reply
    ]
    ranked = []
    for places in product(*options):
        taken = [place for place in places if place is not None]
        if len(set(taken)) < len(taken):
            continue
        pairs = [(at, place) for at, place in enumerate(places) if place is not None]
        stages = [stage(reply[at], reference[place]) for at, place in pairs]
        chunks = sum((at - 1, place - 1) not in pairs for at, place in pairs)
        ranked.append(([stages.count(number) for number in range(3)], -chunks))
    counts, chunks = max(ranked)
    return Alignment(sum(counts), -chunks)


@given(short)
def test_the_alignment_is_the_best_of_all_there_are(pair: tuple[list[str], list[str]]) -> None:
    assert align(*pair) == best_by_trying_all(*pair)


def align_within(width: int, one: list[str], other: list[str]) -> Alignment:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alignment, "BEAM_WIDTH", width)
        patch.setattr(alignment, "MAX_POSITIONS", width)
        return align(one, other)


@given(medium, medium)
def test_an_alignment_turned_around_has_as_many_matches_and_chunks(one: list[str], other: list[str]) -> None:
    forwards = align_within(10**6, one, other)
    assert align_within(10**6, other, one) == forwards
    assert align_within(10**6, one[::-1], other[::-1]) == forwards


@given(medium, medium)
def test_a_narrow_search_loses_no_match_and_has_no_fewer_chunks_than_there_are(
    one: list[str], other: list[str]
) -> None:
    wide, narrow = align_within(10**6, one, other), align_within(2, one, other)
    assert narrow.matches == wide.matches
    assert min(1, wide.matches) <= wide.chunks <= narrow.chunks <= wide.matches


@given(texts, st.lists(texts, max_size=3))
def test_meteor_stays_between_0_and_1(reply: str, references: list[str]) -> None:
    value = meteor(reply, *references)
    assert np.isnan(value) != any(map(words, references))
    assert np.isnan(value) or 0 <= value < 1


@given(texts)
def test_a_copy_of_n_words_has_all_but_half_of_one_over_n_cubed(text: str) -> None:
    size = len(words(text))
    assume(size)
    assert meteor(text, text) == pytest.approx(1 - 0.5 / size**3, abs=1e-12)


@given(texts, st.lists(texts, min_size=1, max_size=3), texts)
def test_another_reference_never_lowers_meteor(reply: str, references: list[str], more: str) -> None:
    before = meteor(reply, *references)
    assert np.isnan(before) or meteor(reply, *references, more) >= before


@given(longer, longer, st.sampled_from(VOCABULARY))
def test_saying_one_more_word_of_the_reference_never_loses_a_match(
    reply: list[str], reference: list[str], word: str
) -> None:
    assert align([*reply, word], reference).matches >= align(reply, reference).matches
