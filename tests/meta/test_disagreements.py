"""Scores on the rating scale, replies on which metrics disagree, and bias for the length of the reference."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.errors import TooFewItems
from turnwise.meta.disagreements import disagreements, on_rating_scale
from turnwise.meta.length_bias import length_bias, length_difference
from turnwise.types import Item, Turn

SCALE = (1.0, 5.0)


def test_normalised_scores_have_the_mean_and_deviation_of_the_ratings_unless_clipped():
    scores, ratings = np.array([10.0, 20.0, 30.0]), np.array([2.0, 3.0, 4.0])
    assert on_rating_scale(scores, ratings, SCALE) == pytest.approx(ratings)


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=20))
def test_normalised_scores_stay_on_the_scale(values):
    scores = np.array(values)
    found = on_rating_scale(scores, np.linspace(1, 5, len(scores)), SCALE)
    assert np.isnan(found).all() or ((found >= 1) & (found <= 5)).all()


def test_a_raw_score_of_zero_is_the_low_end_and_a_constant_metric_is_nan():
    found = on_rating_scale(np.array([0.0, 5.0, 6.0]), np.array([4.0, 4.0, 5.0]), SCALE)
    assert found[0] == 1.0
    assert np.isnan(on_rating_scale(np.ones(3), np.array([1.0, 2.0, 3.0]), SCALE)).all()


def test_a_good_reply_that_only_the_first_metric_scores_high_is_rescued():
    ratings = np.array([5.0, 5.0, 1.0, 1.0])
    overlap = {"bleu": np.array([0.0, 9.0, 0.0, 1.0])}
    counts = disagreements(np.array([9.0, -9.0, 9.0, -9.0]), overlap, ratings, SCALE).counts()
    assert counts == {"good": 2, "missed": 1, "rescued": 1, "failed": 1, "beaten": 1, "fooled": 1}


def test_length_bias_is_found_and_p_is_that_of_welch():
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(0)
    gaps = rng.integers(0, 13, 200).astype(float)
    scores = rng.normal(size=200) + (gaps <= 6)
    found = length_bias(scores, gaps)
    assert found.near > found.far
    assert found.p < 0.01
    expected = ttest_ind(scores[gaps <= 6], scores[gaps > 6], equal_var=False).pvalue
    assert found.p == pytest.approx(expected, rel=1e-10)
    assert found.n_near + found.n_far == 200


def test_length_bias_of_nearly_equal_scores_is_no_warning():
    """scipy warns of cancellation; a test run turns a warning into an error."""
    scores = np.array([3.0, 3.0 + 2**-50, 3.0, 3.0 - 2**-50])
    assert 0 < length_bias(scores, np.array([0.0, 0.0, 9.0, 9.0])).p <= 1
    assert np.isnan(length_bias(np.array([1.0, 1.0, 2.0, 2.0]), np.array([0.0, 0.0, 9.0, 9.0])).p)


def test_length_bias_needs_replies_near_and_far():
    with pytest.raises(TooFewItems, match="within 6 words"):
        length_bias(np.arange(5.0), np.zeros(5))


def test_the_length_difference_is_to_the_nearest_reference_and_nan_without_one():
    item = said("one two three", ("one two three four five", "one"))
    assert length_difference(item) == 2
    assert math.isnan(length_difference(said("one two", ())))


def said(reply, references):
    turns = (Turn("user", "hi"), Turn("assistant", reply, references=references))
    return Item("d#1", "d", "bot", turns, 1, cluster="d", pair="d")
