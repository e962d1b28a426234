"""Scores on people's scale, where metrics part company, and the bias for replies as long as their reference."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.errors import TooFewItems
from turnwise.meta.length_bias import gap, length_bias
from turnwise.meta.normalised import normalised, parting
from turnwise.types import Item, Turn

SCALE = (1.0, 5.0)


def test_normalised_scores_have_the_ratings_mean_and_deviation_where_nothing_is_cut():
    scores, ratings = np.array([10.0, 20.0, 30.0]), np.array([2.0, 3.0, 4.0])
    assert normalised(scores, ratings, SCALE) == pytest.approx(ratings)


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=20))
def test_normalised_scores_stay_on_the_scale(values):
    scores = np.array(values)
    found = normalised(scores, np.linspace(1, 5, len(scores)), SCALE)
    assert np.isnan(found).all() or ((found >= 1) & (found <= 5)).all()


def test_no_word_in_common_is_the_low_end_and_a_constant_metric_has_no_number():
    found = normalised(np.array([0.0, 5.0, 6.0]), np.array([4.0, 4.0, 5.0]), SCALE)
    assert found[0] == 1.0
    assert np.isnan(normalised(np.ones(3), np.array([1.0, 2.0, 3.0]), SCALE)).all()


def test_a_good_reply_that_overlap_misses_and_the_judged_metric_finds_is_rescued():
    ratings = np.array([5.0, 5.0, 1.0, 1.0])
    overlap = {"bleu": np.array([0.0, 9.0, 0.0, 1.0])}
    counts = parting(np.array([9.0, -9.0, 9.0, -9.0]), overlap, ratings, SCALE).counts()
    assert counts == {"good": 2, "missed": 1, "rescued": 1, "failed": 1, "beaten": 1, "fooled": 1}


def test_length_bias_is_found_where_it_is_and_p_is_that_of_welch():
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(0)
    gaps = rng.integers(0, 13, 200).astype(float)
    scores = rng.normal(size=200) + (gaps <= 6)
    found = length_bias(scores, gaps)
    assert found.near > found.far
    assert found.p < 0.01
    assert found.p == ttest_ind(scores[gaps <= 6], scores[gaps > 6], equal_var=False).pvalue
    assert found.n_near + found.n_far == 200


def test_replies_all_of_one_length_say_nothing_of_a_bias():
    with pytest.raises(TooFewItems, match="within 6 words"):
        length_bias(np.arange(5.0), np.zeros(5))


def test_the_gap_is_to_the_nearest_reference_and_unknown_without_one():
    item = said("one two three", ("one two three four five", "one"))
    assert gap(item) == 2
    assert math.isnan(gap(said("one two", ())))


def said(reply, references):
    turns = (Turn("user", "hi"), Turn("assistant", reply, references=references))
    return Item("d#1", "d", "bot", turns, 1, cluster="d", pair="d")
