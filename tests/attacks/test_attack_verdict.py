"""When a gain over people is shown."""

from dataclasses import replace

import numpy as np

from tests.attacks.planted import talks
from turnwise.attacks.context import FEWEST, Context
from turnwise.attacks.verdict import _mean, judged


def test_a_gain_in_a_few_contexts_has_no_interval_and_is_never_shown():
    rng = np.random.default_rng(0)
    for n in (1, 5, FEWEST - 1):
        mean, interval = _mean(np.full(n, 0.7), np.arange(n).astype(str), 0.95, 100, rng)
        assert (round(mean, 9), interval) == (0.7, None)
    assert _mean(np.full(FEWEST, 0.7), np.arange(FEWEST).astype(str), 0.95, 100, rng)[1] == (0.7, 0.7)


def test_what_is_the_same_in_many_contexts_of_few_dialogues_is_not_shown():
    few = np.repeat(np.arange(4).astype(str), 10)
    assert _mean(np.full(40, 0.7), few, 0.95, 100, np.random.default_rng(0))[1] is None


def test_a_dialogue_counts_once_however_many_of_its_contexts_are_judged():
    contexts = [Context(replace(one.item, cluster=f"c{place // 2}")) for place, one in enumerate(talks(60))]
    scores = np.random.default_rng(1).normal(size=60)
    scores[:3] = np.nan
    found = judged(
        "x", "fixed", "x", contexts=contexts, replies=["x"] * 60, scores=scores, people=np.zeros(60), tested=3,
        draws=100, rng=np.random.default_rng(0),
    )  # fmt: skip
    assert (found.n, found.n_clusters, found.unscored) == (57, 29, 3)


def test_the_interval_of_a_gain_is_no_narrower_than_that_of_student_at_the_shared_level():
    from scipy.stats import ttest_1samp

    rng = np.random.default_rng(2)
    for _ in range(20):
        values = rng.normal(size=25)
        low, high = _mean(values, np.arange(25).astype(str), 0.999, 100, rng, wider=True)[1]
        student = ttest_1samp(values, 0).confidence_interval(0.999)
        assert low <= student.low + 1e-9
        assert high >= student.high - 1e-9
