import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from turnwise.stats.crossed import standard_errors
from turnwise.stats.pairs.effect import cohen_dz, superiority
from turnwise.stats.permutation import benjamini_hochberg
from turnwise.stats.power import (
    Scored,
    Spread,
    TTest,
    WinRateTest,
    clusters_needed,
    components,
    minimum_detectable_difference,
    pooled,
    rater_variance,
    scale_step,
    systems_needed,
    variance_range,
    win_rate_spread,
)
from turnwise.stats.ppi import Sample, corrected_difference

NAN = float("nan")


def test_the_minimum_detectable_difference_is_found_as_often_as_promised() -> None:
    rng = np.random.default_rng(0)
    differences = rng.normal(size=30)
    shift = minimum_detectable_difference(differences, power=0.8)
    spread = differences.std(ddof=1)
    # 4,000 samples with the observed spread: the share found has a standard error of .0063.
    found = stats.ttest_1samp(rng.normal(shift, spread, size=(4000, 30)), 0, axis=1).pvalue <= 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.025)


def test_more_power_asks_for_a_larger_difference() -> None:
    differences = np.random.default_rng(0).normal(size=30)
    asked = [minimum_detectable_difference(differences, power=power) for power in (0.5, 0.8, 0.99)]
    assert asked == sorted(asked)


def test_a_minimum_detectable_difference_is_found_for_every_number_of_clusters() -> None:
    """scipy 1.17 returns NaN for a noncentral t far out with 9, 16, 17 and 18 clusters, among others."""
    rng = np.random.default_rng(0)
    found = []
    for n in range(2, 200):
        differences = rng.normal(size=n)
        error = np.std(differences, ddof=1) / np.sqrt(n)
        found.append(minimum_detectable_difference(differences) / error)
    assert np.all(np.isfinite(found))
    assert np.all(np.diff(found) < 0)  # in units of the standard error, more clusters need less


def test_without_variation_the_minimum_detectable_difference_is_nan() -> None:
    assert np.isnan(minimum_detectable_difference(np.array([1.0])))
    assert np.isnan(minimum_detectable_difference(np.zeros(9)))


def test_half_the_width_needs_four_times_the_clusters() -> None:
    assert clusters_needed(0.2, 50, 0.1) == 200
    with pytest.raises(ValueError, match="must be positive"):
        clusters_needed(0.2, 50, 0.0)


@pytest.mark.parametrize(("r", "half_width"), [(0.0, 0.1), (0.5, 0.2), (0.9, 0.05), (-0.9, 0.05)])
def test_systems_needed_is_the_smallest_number_that_suffices(r, half_width) -> None:
    n = systems_needed(r, half_width)

    def half(n: int) -> float:
        reach = 1.959963985 / np.sqrt(n - 3)
        return float(np.tanh(np.arctanh(r) + reach) - np.tanh(np.arctanh(r) - reach)) / 2

    assert half(n) <= half_width < half(n - 1)


def test_impossible_precision_is_refused() -> None:
    with pytest.raises(ValueError, match="between"):
        systems_needed(1.0, 0.1)


def test_effects_of_paired_differences() -> None:
    assert cohen_dz(np.array([1.0, 2.0, 3.0])) == 2.0
    assert np.isnan(cohen_dz(np.array([2.0, 2.0])))
    assert superiority(np.array([1.0, 5.0, -0.1, 0.0])) == 2.5 / 4
    assert np.isnan(superiority(np.array([])))
    assert np.isnan(superiority(np.array([1.0, NAN])))


def test_benjamini_hochberg_on_a_worked_example() -> None:
    # sorted: .01 * 4/1 = .04, .02 * 4/2 = .04, .04 * 4/3 = .0533, .5 * 4/4 = .5; NaN is not counted
    adjusted = benjamini_hochberg(np.array([0.04, NAN, 0.01, 0.5, 0.02]))
    assert adjusted == pytest.approx([0.16 / 3, NAN, 0.04, 0.5, 0.04], nan_ok=True)


def test_importing_the_statistics_does_not_import_scipy() -> None:
    modules = "agreement correlation interval permutation power resample weighted".split()
    lines = [f"import turnwise.stats.{name}" for name in modules]
    code = "; ".join(["import sys", *lines, "sys.exit('scipy' in sys.modules)"])
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("clusters", [5, 40, 300])
@pytest.mark.parametrize("effect", [0.05, 0.3, 0.8])
def test_power_without_clusters_is_that_of_the_t_test(paired, clusters, effect) -> None:
    """scipy's noncentral t is the definition; statsmodels.stats.power gives the same (benchmarks/power.py)."""
    freedom = clusters - 1 if paired else 2 * clusters - 2
    shift = effect * np.sqrt(clusters if paired else clusters / 2)
    cut = stats.t.ppf(0.975, freedom)
    expected = stats.nct.sf(cut, freedom, shift) + stats.nct.cdf(-cut, freedom, shift)
    assert TTest(variance=1.0, paired=paired).power(effect, clusters) == pytest.approx(expected, abs=1e-9)


def test_clusters_needed_is_the_smallest_number_that_suffices() -> None:
    test = TTest(variance=2.0, paired=False)
    n = test.clusters_needed(0.5, power=0.8)
    assert test.power(0.5, n) >= 0.8 > test.power(0.5, n - 1)
    assert test.smallest_difference(n, power=0.8) == pytest.approx(0.5, abs=0.005)
    assert test.clusters_needed(-0.5) == n
    with pytest.raises(ValueError, match="must not be 0"):
        test.clusters_needed(0.0)
    assert test.smallest_difference(1) is None
    strict = TTest(variance=1.0, paired=True, alpha=0.0001)
    assert strict.power(strict.smallest_difference(2), 2) == pytest.approx(0.8)
    with pytest.raises(ValueError, match="above alpha"):
        test.smallest_difference(20, power=0.05)
    assert TTest(variance=0.0, paired=True).power(0.1, 5) == 1.0


def test_scores_beside_ratings_save_ratings_up_to_what_the_scored_dialogues_allow() -> None:
    plain = TTest(variance=1.0, paired=False)
    good = TTest(variance=1.0, paired=False, scored=Scored(agreement=0.8))
    useless = TTest(variance=1.0, paired=False, scored=Scored(agreement=0.0))
    few = TTest(variance=1.0, paired=False, scored=Scored(agreement=0.9, clusters=100))
    n = plain.clusters_needed(0.3)
    ideal = n * (1 - 0.8**2)  # what a known slope would need
    assert ideal < good.clusters_needed(0.3) < 1.15 * ideal
    assert good.power(0.6, 9) == plain.power(0.6, 9)  # with so few ratings `calibrate` does not use scores
    assert n <= useless.clusters_needed(0.3) <= n + 2
    assert few.clusters_needed(0.05) == plain.clusters_needed(0.05)
    assert plain.clusters_needed(1e-7) is None
    assert few.error(200) == plain.error(200)  # fewer scored than rated: the scores add nothing


def test_the_power_with_scores_is_that_of_the_corrected_difference() -> None:
    rng = np.random.default_rng(7)
    rejected = []
    for _ in range(1500):
        sides = []
        for place, mean in enumerate((0.3, 0.0)):
            scores = rng.normal(size=300)
            ratings = mean + 0.9 * scores + np.sqrt(1 - 0.81) * rng.normal(size=300)
            ratings[30:] = np.nan
            sides.append(Sample(scores, ratings, np.ones(300), np.arange(300) + 300 * place, 600))
        rejected.append(corrected_difference(*sides).p <= 0.05)
    test = TTest(variance=1.0, paired=False, scored=Scored(agreement=0.9, clusters=300))
    assert test.power(0.3, 30) == pytest.approx(np.mean(rejected), abs=0.035)


def test_variance_components_are_found_where_numbers_are_unequal() -> None:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(200):
        clusters = np.repeat(np.arange(30), rng.integers(1, 6, 30))
        items = np.repeat(np.arange(len(clusters)), rng.integers(1, 5, len(clusters)))
        values = rng.normal(size=30)[clusters][items] + 0.7 * rng.normal(size=len(clusters))[items]
        spread = components(values + 0.5 * rng.normal(size=len(items)), items, clusters[items])
        found.append((spread.clusters, spread.items, spread.ratings))
    assert np.mean(found, axis=0) == pytest.approx((1.0, 0.49, 0.25), abs=0.07)


def test_sources_that_cannot_be_told_apart_are_one() -> None:
    values = np.random.default_rng(1).normal(size=50)
    once = components(values, np.arange(50), np.arange(50))
    assert (once.clusters, once.items, once.ratings) == (pytest.approx(values.var(ddof=1)), 0.0, 0.0)
    twice = components(values, np.arange(50), np.arange(50) // 2)
    assert twice.ratings == 0.0
    assert twice.items > 0
    with pytest.raises(ValueError, match="two clusters"):
        components(values, np.arange(50), np.zeros(50, dtype=int))


def test_components_of_two_agents_are_averaged() -> None:
    both = pooled([Spread(clusters=1.0, items=2.0), Spread(clusters=4.0, ratings=3.0)], [2, 1])
    assert both == Spread(clusters=2.0, items=pytest.approx(4 / 3), ratings=1.0)
    assert Spread(clusters=1.0, items=2.0, ratings=3.0).of_cluster(items=2, ratings=3) == 2.5


def test_a_win_rate_has_the_variance_of_its_preferences() -> None:
    drawn = np.array([1.0] * 5 + [0.5] * 2 + [0.0] * 3)
    spread = win_rate_spread(drawn.mean(), ties=0.2, icc=0.25)
    assert spread.clusters + spread.ratings == pytest.approx(drawn.var())
    assert spread.clusters == pytest.approx(0.25 * drawn.var())
    with pytest.raises(ValueError, match="cannot have 50% ties"):
        win_rate_spread(0.9, ties=0.5)


def test_the_range_of_a_variance_covers_it() -> None:
    rng = np.random.default_rng(2)
    ranges = [variance_range(float(rng.normal(size=20).var(ddof=1)), 19) for _ in range(1000)]
    assert np.mean([low <= 1.0 <= high for low, high in ranges]) == pytest.approx(0.95, abs=0.025)


@pytest.mark.parametrize(("turns", "raters", "paired"), [(1, 1, False), (4, 3, True)])
def test_predicted_power_is_simulated_power(turns, raters, paired) -> None:
    """One cell of benchmarks/power.py: ratings of turns in dialogues by raters, 1,500 comparisons."""
    rng = np.random.default_rng(3)
    spread, difference, n, trials = Spread(clusters=0.3, items=0.7, ratings=0.6), 0.3, 60, 1500
    variance = spread.of_cluster(items=turns, ratings=raters) * (2 if paired else 1)
    predicted = TTest(variance=variance, paired=paired).power(difference, n)
    size = (2, trials, n, turns)
    means = (
        np.sqrt(0.3) * rng.normal(size=(*size[:3], 1)) + np.sqrt(0.7) * rng.normal(size=size)
        + np.sqrt(0.6 / raters) * rng.normal(size=size)
    ).mean(axis=3)  # fmt: skip
    test = stats.ttest_rel if paired else stats.ttest_ind
    found = test(means[0] + difference, means[1], axis=1).pvalue <= 0.05
    assert np.mean(found) == pytest.approx(predicted, abs=0.03)


def votes(
    rng: np.random.Generator, *, contexts: int, each: int, people: int, lead: float, leaning: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Outcomes 1, 0 and -1 of raters who lean to one side with this standard deviation, with contexts and raters."""
    lean = leaning * rng.normal(size=people)
    raters = rng.permuted(np.tile(np.arange(people), (contexts, 1)), axis=1)[:, :each]
    felt = lead + 0.8 * rng.normal(size=(contexts, 1)) + lean[raters] + rng.normal(size=(contexts, each))
    outcomes = np.where(np.abs(felt) < 0.3, 0.0, np.sign(felt))
    return outcomes.ravel(), np.repeat(np.arange(contexts), each), raters.ravel()


@pytest.mark.slow
@pytest.mark.parametrize(("people", "leaning"), [(6, 0.0), (6, 0.4), (40, 0.4)])
def test_the_power_of_a_win_rate_is_that_of_the_test_by_contexts_and_raters(
    people: int, leaning: float
) -> None:
    rng = np.random.default_rng(0)
    pilot, contexts, raters = votes(rng, contexts=20_000, each=2, people=2000, lead=0.3, leaning=leaning)
    spread = components((1 + pilot) / 2, contexts, contexts)
    between = rater_variance((1 + pilot) / 2, contexts, raters)
    ties, difference = float(np.mean(pilot == 0)), float(np.mean(pilot)) / 2
    variance = spread.of_cluster(ratings=2) * (1 - ties) / (1 - ties - 4 * difference**2)
    test = WinRateTest(
        variance=variance, paired=True, single=spread.of_cluster() / spread.of_cluster(ratings=2),
        raters=between / spread.of_cluster(ratings=2), ties=ties, ratings=2, people=people,
    )  # fmt: skip
    rejected = []
    for _ in range(1500):  # a share of .5 has a standard error of .013
        found, contexts, raters = votes(rng, contexts=70, each=2, people=people, lead=0.3, leaning=leaning)
        influence = (found - found.mean())[:, None] / len(found)
        rejected.append(
            standard_errors(influence, contexts, raters, floor=True).p_value(float(found.mean())) <= 0.05
        )
    assert test.power(difference, 70) == pytest.approx(np.mean(rejected), abs=0.04)


def test_a_win_rate_with_another_rater_for_each_preference_is_nearly_a_t_test() -> None:
    test = WinRateTest(variance=0.25, paired=True, single=1.0)
    assert test.power(0.05, 800) == pytest.approx(
        TTest(variance=0.25, paired=True).power(0.05, 800), abs=0.01
    )
    assert test.power(0.5, 20) == 1.0
    assert test.power(0.1, 1) == 0.0
    needed = test.clusters_needed(0.1)
    assert needed is not None
    assert test.power(0.1, needed) >= 0.8 > test.power(0.1, needed - 1)
    assert test.smallest_difference(needed) == pytest.approx(0.1, abs=0.002)


def test_more_people_give_more_power_and_few_may_never_be_enough() -> None:
    few = WinRateTest(variance=0.2, paired=True, single=1.2, raters=0.1, ratings=2, people=4)
    powers = [few.power(0.08, 300)]
    powers += [
        WinRateTest(variance=0.2, paired=True, single=1.2, raters=0.1, ratings=2, people=people).power(
            0.08, 300
        )
        for people in (8, 20, 100, None)
    ]
    assert powers == sorted(powers)
    assert few.clusters_needed(0.08) is None
    wider = few.with_variance(10.0)
    assert wider.variance == pytest.approx(0.24)  # that of one preference is the most
    assert wider.single * wider.variance == pytest.approx(few.single * few.variance)
    assert wider.raters * wider.variance == pytest.approx(few.raters * few.variance)


def test_the_variance_between_raters_is_found_in_unequal_numbers() -> None:
    rng = np.random.default_rng(1)
    found = []
    for _ in range(30):
        raters = rng.integers(25, size=900) * rng.integers(2, size=900)  # rater 0 has half of the contexts
        contexts = rng.integers(300, size=900)
        values = rng.normal(size=300)[contexts] + 0.5 * rng.normal(size=25)[raters] + rng.normal(size=900)
        found.append(rater_variance(values, contexts, raters))
    assert np.mean(found) == pytest.approx(0.25, abs=0.08)
    alone = np.arange(10)
    assert rater_variance(rng.normal(size=10), alone, alone) == 0.0
    assert rater_variance(rng.normal(size=10), alone, np.zeros(10, dtype=np.int64)) == 0.0


def test_the_step_of_a_scale_is_found() -> None:
    assert scale_step(np.array([1.0, 3.0, 5.0, 2.0])) == 1.0
    assert scale_step(np.array([0.1, 0.4, 1.0])) == pytest.approx(0.3)
    assert scale_step(np.array([1.0, 1.3, 2.0])) == 0.0
    assert scale_step(np.array([4.0, 4.0])) == 0.0
    assert scale_step(np.array([0.0, 5e-324, 1e300])) == 0.0  # found by the fuzzer: the quotient overflowed


def test_whole_ratings_of_few_dialogues_have_less_power_in_a_permutation_test() -> None:
    """Ties count as extreme: with 15 dialogues of each agent a t-test would promise .06 more."""
    from turnwise.stats.unpaired import permutation_test

    rng = np.random.default_rng(8)
    values = np.arange(1.0, 4.0)
    rejected = []
    for _ in range(1200):
        sides = [np.stack([rng.choice(values, 15) + shift, np.ones(15)], axis=1) for shift in (1.0, 0.0)]
        found = permutation_test(*sides, lambda sums: sums[..., 0] / sums[..., 1], draws=400, rng=rng)
        rejected.append(found.p <= 0.05)
    test = TTest(variance=float(values.var()), paired=False, step=1.0)
    assert test.power(1.0, 15) == pytest.approx(np.mean(rejected), abs=0.045)
    assert TTest(variance=test.variance, paired=False).power(1.0, 15) > test.power(1.0, 15) + 0.03


def test_no_difference_is_the_smallest_where_the_test_rejects_as_often_without_one() -> None:
    """Found by the fuzzer: three dialogues of which nearly all preferences are ties."""
    test = WinRateTest(variance=0.0025, paired=True, single=1.0, raters=0.5, ties=0.99)
    assert test.power(0.0, 3) > 0.8
    assert test.smallest_difference(3, power=0.8) is None
