"""When a gain over people is shown."""

from dataclasses import replace

import numpy as np

from tests.attacks.planted import talks
from turnwise.attacks.context import MIN_CONTEXTS, Context
from turnwise.attacks.verdict import _mean_and_interval, measure_strategy


def test_a_gain_in_a_few_contexts_has_no_interval_and_is_not_significant():
    rng = np.random.default_rng(0)
    for n in (1, 5, MIN_CONTEXTS - 1):
        mean, interval = _mean_and_interval(np.full(n, 0.7), np.arange(n).astype(str), 0.95, 100, rng)
        assert (round(mean, 9), interval) == (0.7, None)
    assert _mean_and_interval(
        np.full(MIN_CONTEXTS, 0.7), np.arange(MIN_CONTEXTS).astype(str), 0.95, 100, rng
    )[1] == (0.7, 0.7)


def test_a_constant_gain_in_few_dialogues_is_not_significant():
    few = np.repeat(np.arange(4).astype(str), 10)
    assert _mean_and_interval(np.full(40, 0.7), few, 0.95, 100, np.random.default_rng(0))[1] is None


def test_a_dialogue_is_one_cluster_for_any_number_of_its_contexts():
    contexts = [Context(replace(one.item, cluster=f"c{place // 2}")) for place, one in enumerate(talks(60))]
    scores = np.random.default_rng(1).normal(size=60)
    scores[:3] = np.nan
    found = measure_strategy(
        "x", "fixed", "x", contexts=contexts, replies=["x"] * 60, scores=scores, people=np.zeros(60), tested=3,
        draws=100, rng=np.random.default_rng(0),
    )  # fmt: skip
    assert (found.n, found.n_clusters, found.unscored) == (57, 29, 3)


def test_the_interval_of_a_gain_is_no_narrower_than_students_at_the_corrected_level():
    from scipy.stats import ttest_1samp

    rng = np.random.default_rng(2)
    for _ in range(20):
        values = rng.normal(size=25)
        low, high = _mean_and_interval(values, np.arange(25).astype(str), 0.999, 100, rng, wider=True)[1]
        student = ttest_1samp(values, 0).confidence_interval(0.999)
        assert low <= student.low + 1e-9
        assert high >= student.high - 1e-9


def test_a_strategy_that_is_mostly_unscored_has_no_gain():
    contexts, people = talks(60), np.zeros(60)
    people[:10] = np.nan

    def tested(scored: int):
        scores = np.full(60, np.nan)
        scores[10 : 10 + scored] = np.random.default_rng(0).normal(1, 0.1, scored)
        return measure_strategy(
            "x", "fixed", "x", contexts=contexts, replies=["x"] * 60, scores=scores, people=people, tested=1, draws=100,
            rng=np.random.default_rng(0),
        )  # fmt: skip

    assert tested(25).significant  # half of the contexts in which people's replies have a score
    few = tested(24)
    assert np.isnan(few.gain)
    assert (few.gain_interval, few.interval, few.significant, few.n) == (None, None, False, 24)
