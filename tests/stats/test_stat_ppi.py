"""Prediction-powered means: equal to simple formulas where there are some, and honest with bad metrics."""

import numpy as np
import pytest

from turnwise.stats.ppi import (
    Sample,
    calibrated,
    comparable_scores,
    corrected_difference,
    corrected_mean,
    selection_gap,
    tilted_difference,
    tilted_mean,
    tipping_tilt,
)

TRIALS = 300  # the standard error of a coverage of .95 is then .013


def sample(
    scores: np.ndarray, ratings: np.ndarray, *, weights: np.ndarray | None = None, clusters: np.ndarray | None = None
) -> Sample:  # fmt: skip
    n = len(scores)
    codes = np.arange(n) if clusters is None else clusters
    return Sample(scores, ratings, np.ones(n) if weights is None else weights, codes, int(codes.max()) + 1)


def drawn(
    rng: np.random.Generator, *, n: int, labels: int, agreement: float, kind: str = "", size: int = 1, mean: float = 3.0
) -> Sample:  # fmt: skip
    """Items in clusters of `size`; the score has this correlation with the rating, before `kind` spoils it."""
    clusters = np.repeat(np.arange(n // size), size)
    quality = 0.6 * rng.normal(size=n // size)[clusters] + 0.8 * rng.normal(size=n)
    ratings = mean + quality
    scores = agreement * quality + np.sqrt(1 - agreement**2) * rng.normal(size=n)
    if kind == "constant":
        scores = np.full(n, 7.0)
    if kind == "gamed":  # a tenth of the replies score far above what they are worth
        scores = np.where(rng.random(n) < 0.1, 8.0, scores)
    chosen = np.zeros(n, dtype=bool)
    chosen[rng.choice(n, labels, replace=False)] = True
    return sample(scores, np.where(chosen, ratings, np.nan), clusters=clusters)


def test_without_clusters_the_labels_alone_have_students_interval() -> None:
    from scipy import stats

    rng = np.random.default_rng(0)
    found = corrected_mean(drawn(rng, n=200, labels=25, agreement=0.0, kind="constant"))
    rng = np.random.default_rng(0)
    ratings = drawn(rng, n=200, labels=25, agreement=0.0).ratings
    ratings = ratings[~np.isnan(ratings)]
    low, high = stats.t.interval(0.95, 24, loc=ratings.mean(), scale=stats.sem(ratings))
    assert found.labels_alone_interval == pytest.approx((low, high))
    assert found.interval == found.labels_alone_interval
    assert found.slopes == (0.0,)
    assert not found.used


def test_the_difference_of_labels_alone_has_welchs_interval() -> None:
    from scipy import stats

    rng = np.random.default_rng(1)
    a = drawn(rng, n=100, labels=12, agreement=0.0, kind="constant")
    b = drawn(rng, n=100, labels=30, agreement=0.0, kind="constant")
    first, second = (
        Sample(one.scores, one.ratings, one.weights, one.clusters + shift, 200) for one, shift in ((a, 0), (b, 100))
    )  # fmt: skip
    found = corrected_difference(first, second)
    x, y = a.ratings[a.labelled], b.ratings[b.labelled]
    test = stats.ttest_ind(x, y, equal_var=False)
    assert found.p == pytest.approx(test.pvalue)
    assert found.interval == pytest.approx(tuple(test.confidence_interval()))


def test_the_estimate_is_the_mean_rating_plus_the_slope_times_the_gap() -> None:
    one = drawn(np.random.default_rng(2), n=300, labels=60, agreement=0.9)
    found = corrected_mean(one)
    gap = one.scores.mean() - one.scores[one.labelled].mean()
    assert found.estimate == pytest.approx(one.ratings[one.labelled].mean() + found.slopes[0] * gap)
    assert 0.6 < found.slopes[0] < 1.2


def test_units_and_shifts_of_the_score_change_nothing() -> None:
    one = drawn(np.random.default_rng(3), n=300, labels=40, agreement=0.8, size=3)
    found = corrected_mean(one)
    for scale, shift in ((1e6, 0.0), (-2.0, 5.0), (1e-6, 1.0)):
        again = corrected_mean(sample(one.scores * scale + shift, one.ratings, clusters=one.clusters))
        assert again.estimate == pytest.approx(found.estimate)
        assert again.interval == pytest.approx(found.interval)
        assert again.slopes[0] == pytest.approx(found.slopes[0] / scale)


def test_a_shift_of_one_agents_ratings_shifts_the_difference() -> None:
    rng = np.random.default_rng(4)
    a, b = (drawn(rng, n=200, labels=30, agreement=0.7) for _ in range(2))
    found = corrected_difference(a, b)
    more = corrected_difference(sample(a.scores, a.ratings + 1.5), b)
    assert more.estimate == pytest.approx(found.estimate + 1.5)
    assert more.error == pytest.approx(found.error)


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize(
    ("kind", "agreement"),
    [("", 0.0), ("", 0.8), ("", -0.8), ("constant", 0.0), ("gamed", 0.8)],
    ids=["useless", "good", "reversed", "constant", "gamed"],
)
@pytest.mark.parametrize("labels", [20, 50])
def test_intervals_cover_with_any_metric_and_are_no_wider_than_the_labels_alone(
    kind: str, agreement: float, size: int, labels: int
) -> None:
    rng = np.random.default_rng(5)
    found = [
        corrected_mean(drawn(rng, n=300, labels=labels, agreement=agreement, kind=kind, size=size))
        for _ in range(TRIALS)
    ]
    covered = [one.interval[0] <= 3.0 <= one.interval[1] for one in found]
    assert 0.91 <= np.mean(covered) <= 0.985  # three standard errors around .95
    assert all(one.width_ratio <= 1 for one in found)
    if abs(agreement) == 0.8 and not kind:
        assert np.mean([one.width_ratio for one in found]) < 0.85


def test_differences_cover_where_agents_reply_to_the_same_contexts() -> None:
    rng = np.random.default_rng(6)
    covered = []
    for _ in range(TRIALS):
        topics = rng.normal(size=150)
        both = []
        for mean in (3.4, 3.0):
            ratings = mean + topics + rng.normal(size=150)
            scores = ratings + rng.normal(size=150)
            chosen = rng.random(150) < 0.2
            both.append(sample(scores, np.where(chosen, ratings, np.nan)))
        low, high = corrected_difference(*both).interval
        covered.append(low <= 0.4 <= high)
    assert 0.91 <= np.mean(covered) <= 0.985


def test_weights_undo_a_draw_that_preferred_some_items() -> None:
    rng = np.random.default_rng(7)
    covered, plain = [], []
    for _ in range(TRIALS):
        ratings = 3.0 + rng.normal(size=400)
        scores = ratings + rng.normal(size=400)
        chance = np.clip(0.15 + 0.1 * scores - 0.3, 0.03, 0.6)
        chosen = rng.random(400) < chance
        labels = np.where(chosen, ratings, np.nan)
        found = corrected_mean(sample(scores, labels, weights=1 / chance))
        covered.append(found.interval[0] <= 3.0 <= found.interval[1])
        plain.append(sample(scores, labels).ratings[chosen].mean() - 3.0)
    assert np.mean(plain) > 0.2
    assert 0.91 <= np.mean(covered) <= 0.985


def test_one_labelled_cluster_gives_no_interval() -> None:
    ratings = np.full(20, np.nan)
    ratings[:2] = 1.0, 4.0
    found = corrected_mean(sample(np.arange(20.0), ratings, clusters=np.arange(20) // 2))
    assert found.estimate == 2.5
    assert found.interval is None
    assert found.p is None


def test_fewer_than_ten_labelled_clusters_do_not_use_the_scores() -> None:
    rng = np.random.default_rng(13)
    assert not corrected_mean(drawn(rng, n=200, labels=9, agreement=0.95)).used
    few, many = drawn(rng, n=200, labels=9, agreement=0.95), drawn(rng, n=200, labels=12, agreement=0.95)
    sides = [
        Sample(one.scores, one.ratings, one.weights, one.clusters + shift, 400)
        for one, shift in ((few, 0), (many, 200))
    ]
    found = corrected_difference(*sides)
    assert found.slopes[0] == 0.0
    assert found.slopes[1] > 0.5


def test_equal_ratings_give_no_interval_of_width_0() -> None:
    ratings = np.full(20, np.nan)
    ratings[:8] = 4.0
    assert corrected_mean(sample(np.arange(20.0), ratings)).interval is None


def test_without_a_label_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="no item has a label"):
        corrected_mean(sample(np.arange(5.0), np.full(5, np.nan)))


def test_the_gap_shows_labels_that_were_not_drawn_at_random() -> None:
    rng = np.random.default_rng(8)
    scores = rng.normal(size=400)
    random = np.where(rng.random(400) < 0.2, 1.0, np.nan)
    chosen = np.where(rng.random(400) < 1 / (1 + np.exp(2 - 1.5 * scores)), 1.0, np.nan)
    assert selection_gap(sample(scores, random)).p > 0.05
    found = selection_gap(sample(scores, chosen))
    labelled = ~np.isnan(chosen)
    assert found.size == pytest.approx((scores[labelled].mean() - scores[~labelled].mean()) / scores.std())
    assert found.p < 0.001
    assert selection_gap(sample(np.ones(400), chosen)).p is None
    assert selection_gap(sample(scores, np.ones(400))).p is None


def test_a_tilt_moves_the_estimate_against_the_preference() -> None:
    one = drawn(np.random.default_rng(9), n=300, labels=60, agreement=0.3)
    found = corrected_mean(one)
    low, middle, high = (tilted_mean(one, tilt, slope=found.slopes[0]) for tilt in (0.5, 0.0, -0.5))
    assert low < middle < high
    assert middle == pytest.approx(found.estimate)
    spread = one.ratings[one.labelled].std()
    weights = np.exp(-0.5 * (one.ratings[one.labelled] - one.ratings[one.labelled].mean()) / spread)
    assert tilted_mean(one, 0.5, slope=0.0) == pytest.approx(
        np.average(one.ratings[one.labelled], weights=weights)
    )


def test_the_tipping_tilt_is_where_the_sign_turns() -> None:
    rng = np.random.default_rng(10)
    a = drawn(rng, n=200, labels=60, agreement=0.5, mean=3.5)
    b = drawn(rng, n=200, labels=60, agreement=0.5)
    slopes = corrected_mean(a).slopes[0], corrected_mean(b).slopes[0]
    tilt = tipping_tilt(a, b, slopes=slopes)
    before, at = (tilted_difference(a, b, one, slopes=slopes) for one in (tilt - 0.02, tilt))
    assert before[0] > 0 >= at[0]
    assert tipping_tilt(b, a, slopes=slopes[::-1]) == pytest.approx(tilt)
    assert tipping_tilt(sample(a.scores, a.ratings + 100), b, slopes=slopes) is None


@pytest.mark.parametrize("fit", ["linear", "isotonic"])
def test_a_fit_does_not_learn_from_the_label_that_it_maps(fit) -> None:
    """With unrelated scores the mapped scores of labelled items must not follow their own ratings."""
    rng = np.random.default_rng(11)
    correlations = []
    for _ in range(50):
        ratings = np.where(np.arange(300) < 60, rng.normal(size=300), np.nan)
        scores, codes = rng.normal(size=300), np.arange(300)
        mapped = calibrated(scores, ratings, np.ones(300), codes, fit=fit, rng=rng)
        correlations.append(np.corrcoef(mapped[:60], ratings[:60])[0, 1])
    assert np.mean(correlations) < 0.05


def test_an_isotonic_fit_straightens_a_curved_metric() -> None:
    rng = np.random.default_rng(12)
    quality = rng.normal(size=600)
    ratings = np.where(np.arange(600) < 200, quality, np.nan)
    scores = np.exp(4 * quality)
    mapped = calibrated(scores, ratings, np.ones(600), np.arange(600), fit="isotonic", rng=rng)
    plain = corrected_mean(sample(scores, ratings))
    straight = corrected_mean(sample(mapped, ratings))
    assert straight.width_ratio < 0.75 < plain.width_ratio
    falling = calibrated(-scores, ratings, np.ones(600), np.arange(600), fit="isotonic", rng=rng)
    assert np.corrcoef(falling, quality)[0, 1] > 0.9


def test_a_fit_on_one_labelled_cluster_leaves_the_scores_as_they_are() -> None:
    scores, ratings = np.arange(5.0), np.array([1.0, 2.0, np.nan, np.nan, np.nan])
    rng = np.random.default_rng(0)
    codes = np.array([0, 0, 1, 2, 3])
    assert calibrated(scores, ratings, np.ones(5), codes, fit="linear", rng=rng) is scores


def partly_scored(
    rng: np.random.Generator, *, agreement: float, rated: float, unrated: float, n: int = 200, labels: int = 40
) -> Sample:  # fmt: skip
    """As `drawn`, but these shares of the rated and of the unrated items have no score."""
    one = drawn(rng, n=n, labels=labels, agreement=agreement)
    lost = rng.random(n) < np.where(one.labelled, rated, unrated)
    return sample(np.where(lost, np.nan, one.scores), one.ratings)


@pytest.mark.parametrize("agreement", [0.5, 0.9])
def test_scores_of_the_rated_items_alone_narrow_nothing(agreement: float) -> None:
    """Nothing is known about the unrated items then. Their scores were taken to be the mean, and .62 was covered."""
    rng = np.random.default_rng(14)
    for _ in range(20):
        one = partly_scored(rng, agreement=agreement, rated=0.0, unrated=1.0)
        found = corrected_mean(one)
        assert found.width_ratio == 1.0
        assert found.slopes == (0.0,)
        assert not comparable_scores(one)


@pytest.mark.parametrize(
    ("rated", "unrated", "used"),
    [(0.0, 0.2, False), (0.0, 0.5, False), (0.5, 0.0, False), (0.3, 0.3, True), (0.05, 0.05, True)],
)
def test_intervals_cover_where_scores_are_missing(rated: float, unrated: float, used: bool) -> None:
    rng = np.random.default_rng(15)
    samples = [partly_scored(rng, agreement=0.9, rated=rated, unrated=unrated) for _ in range(TRIALS)]
    found = [corrected_mean(one) for one in samples]
    covered = [one.interval[0] <= 3.0 <= one.interval[1] for one in found]
    assert 0.91 <= np.mean(covered) <= 0.985
    comparable = float(np.mean([comparable_scores(one) for one in samples]))
    assert 0.7 < comparable < 0.97 if used else comparable < 0.03
    assert np.mean([one.width_ratio for one in found]) < 0.9 if used else True


def test_all_labels_count_where_some_have_no_score() -> None:
    one = partly_scored(np.random.default_rng(20), agreement=0.8, rated=0.3, unrated=0.3)
    found = corrected_mean(one)
    assert found.labels_alone == pytest.approx(one.ratings[one.labelled].mean())
    scored = ~np.isnan(one.scores)
    gap = one.scores[scored].mean() - one.scores[scored & one.labelled].mean()
    assert found.estimate == pytest.approx(found.labels_alone + found.slopes[0] * gap)
    assert found.slopes[0] > 0.3


def test_few_scored_labels_are_too_few_for_a_slope() -> None:
    """The slope rests on the labels that have a score, not on all labels."""
    rng = np.random.default_rng(17)
    one = drawn(rng, n=400, labels=60, agreement=0.95)
    kept = np.zeros(400, dtype=bool)
    kept[np.flatnonzero(one.labelled)[:9]] = True
    kept[np.flatnonzero(~one.labelled)[:51]] = True
    found = corrected_mean(sample(np.where(kept, one.scores, np.nan), one.ratings))
    assert not found.used
    assert found.n_labels == 60


def test_a_gap_is_that_of_scored_items() -> None:
    one = partly_scored(np.random.default_rng(18), agreement=0.5, rated=0.2, unrated=0.2)
    scored = ~np.isnan(one.scores)
    scores, labelled = one.scores[scored], one.labelled[scored]
    found = selection_gap(one)
    assert found.size == pytest.approx((scores[labelled].mean() - scores[~labelled].mean()) / scores.std())
    nothing = sample(np.full(20, np.nan), np.where(np.arange(20) < 12, np.arange(20.0), np.nan))
    assert selection_gap(nothing).p is None
    assert corrected_mean(nothing).width_ratio == 1.0
