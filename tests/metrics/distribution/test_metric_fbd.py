"""FBD: the Frechet distance, mergeable moments, the effect of sample size, and the metric."""

import math
import pickle
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
import pytest

from tests.frechet import frechet
from turnwise.errors import DataError, Refused, TooFewItems, UsageError
from turnwise.metrics import resolve
from turnwise.metrics.distribution import real_replies as real_replies_module
from turnwise.metrics.distribution.fbd import Fbd, FittedFbd
from turnwise.metrics.distribution.frechet import Gaussian, distance
from turnwise.metrics.distribution.kernel import RealSample
from turnwise.metrics.distribution.moments import Moments
from turnwise.metrics.distribution.sampling import DistanceFunction, equal_size_distances, limit_at_infinity
from turnwise.metrics.rows import scored
from turnwise.types import Item, Metric, NeedsFitting, Turn

WORDS = "sea bike tea rain cat dog book song train road moon lamp tree cake wind".split()


def talk(
    count: int,
    agent: str = "bot",
    *,
    group: str = "",
    seed: int = 0,
    query: bool = True,
    references: bool = True,
) -> list[Item]:
    """Replies that share a word or two with their query, and a person's reply as reference."""
    rng = np.random.default_rng(seed)
    items = []
    for place in range(count):
        asked, said, meant = (list(rng.choice(WORDS, size=5)) for _ in range(3))
        text, other = " ".join([*said, asked[0]]), (" ".join([*meant, asked[1]]),) if references else ()
        turns = (Turn("user", " ".join(asked)),) if query else ()
        name = f"{group}{agent}{seed}-{place}"
        reply = Turn("assistant", text, references=other)
        items.append(
            Item(name, name, agent, (*turns, reply), len(turns), cluster=name, pair=name, group=group)
        )
    return items


def fitted(items: list[Item], **options: object) -> Metric:
    metric = resolve("fbd", **{"model": "hashing", **options})
    assert isinstance(metric, NeedsFitting)
    return metric.fit(items)


def gaussian(mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Rows whose mean and covariance are exactly the given ones."""
    d = len(mean)
    corners = np.vstack([np.eye(d), -np.eye(d)]) * np.sqrt((2 * d - 1) / 2)
    return mean + corners @ np.linalg.cholesky(covariance).T


def test_gaussians_with_known_parameters_have_the_closed_form_distance() -> None:
    m, n = np.array([1.0, -2.0, 0.5]), np.array([0.0, 1.0, 0.5])
    s, t = np.diag([4.0, 1.0, 9.0]), np.diag([1.0, 16.0, 9.0])
    # Commuting covariances: the squared differences of the standard deviations.
    expected = float(np.sum((m - n) ** 2)) + (2 - 1) ** 2 + (1 - 4) ** 2 + 0
    assert frechet(gaussian(m, s), gaussian(n, t)) == pytest.approx(expected, abs=1e-9)


def test_covariances_that_do_not_commute_have_the_distance_of_the_formula() -> None:
    s, t = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[5.0, -2.0], [-2.0, 1.0]])
    # tr sqrt(ST) of 2 x 2: sqrt(tr ST + 2 sqrt(det S det T)).
    cross = math.sqrt(np.trace(s @ t) + 2 * math.sqrt(np.linalg.det(s) * np.linalg.det(t)))
    expected = np.trace(s) + np.trace(t) - 2 * cross
    assert frechet(gaussian(np.zeros(2), s), gaussian(np.zeros(2), t)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("n", "d"), [(2, 50), (30, 384), (384, 384), (385, 384), (2000, 64)])
def test_a_set_is_at_distance_0_from_itself_with_few_vectors_and_with_many(n: int, d: int) -> None:
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(n, d)) @ np.diag(np.geomspace(1, 1e-3, d)) + 7
    assert frechet(rows, rows[rng.permutation(n)]) == pytest.approx(0, abs=1e-9)


def test_both_computations_of_the_trace_agree() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(200, 20)), rng.normal(size=(300, 20)) + 0.3
    by_rows = [Gaussian(rows.mean(0), (rows - rows.mean(0)) / np.sqrt(len(rows) - 1)) for rows in (x, y)]
    assert frechet(x, y) == pytest.approx(distance(*by_rows), rel=1e-12)


def test_equal_vectors_have_a_frechet_distance() -> None:
    real = np.random.default_rng(2).normal(size=(100, 8))
    same = np.ones((60, 8))
    spread = float(np.trace(np.cov(real, rowvar=False)))
    assert frechet(same, real) == pytest.approx(float(np.sum((1 - real.mean(0)) ** 2)) + spread, rel=1e-9)
    assert frechet(same, same) == 0
    assert frechet(same, same + 2) == pytest.approx(8 * 4)


def test_fewer_than_two_vectors_are_refused() -> None:
    rows = np.zeros((5, 3))
    for few in (rows[:0], rows[:1]):
        with pytest.raises(TooFewItems, match="2 vectors or more"):
            frechet(few, rows)
        with pytest.raises(TooFewItems):
            Gaussian.of_moments(Moments.of(few))


def test_a_nan_in_a_vector_is_an_error_with_its_row() -> None:
    rows = np.zeros((5, 3))
    rows[3, 1] = np.nan
    with pytest.raises(DataError, match=r"1 of 5 vectors .* row 3"):
        frechet(rows, np.zeros((5, 3)))


def test_shrinkage_keeps_the_trace_and_full_shrinkage_gives_a_multiple_of_the_identity() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(10, 30)), 2 * rng.normal(size=(10, 30))
    sphere = [np.trace(np.cov(rows, rowvar=False)) / 30 for rows in (x, y)]
    expected = np.sum((x.mean(0) - y.mean(0)) ** 2) + 30 * (math.sqrt(sphere[0]) - math.sqrt(sphere[1])) ** 2
    assert frechet(x, y, shrinkage=1.0) == pytest.approx(expected, rel=1e-9)
    assert frechet(x, x, shrinkage=0.3) == pytest.approx(0, abs=1e-9)
    assert expected < frechet(x, y, shrinkage=0.5) < frechet(x, y)
    with pytest.raises(UsageError):
        frechet(x, y, shrinkage=1.5)


def test_moments_of_vectors_far_from_zero_are_precise() -> None:
    rng = np.random.default_rng(4)
    rows = 1e6 + rng.normal(size=(3000, 4))
    merged = reduce(add, map(Moments.of, np.array_split(rows, 17)))
    np.testing.assert_allclose(merged.covariance, np.cov(rows, rowvar=False), rtol=1e-7)


def test_the_floor_of_people_falls_as_one_over_n_and_its_limit_is_0() -> None:
    rng = np.random.default_rng(5)
    real = rng.normal(size=(4000, 16))
    floors = [
        equal_size_distances(real[:n], real[:n], frechet, rng=np.random.default_rng(0)).floor
        for n in (500, 1000, 4000)
    ]
    assert floors[0] / floors[2] == pytest.approx(8, rel=0.25)
    other = rng.normal(size=(1000, 16))
    assert frechet(other, real[:1000]) > 0.1
    limit = limit_at_infinity(other, real[:1000], frechet, rng=np.random.default_rng(0))
    assert abs(limit) < 0.2 * frechet(other, real[:1000])


def discrepancy(generated: np.ndarray, real: np.ndarray) -> float:
    return RealSample.of(real).discrepancy(generated)


@pytest.mark.parametrize("between", [frechet, discrepancy])
@pytest.mark.parametrize(("n", "m", "d"), [(60, 240, 8), (100, 100, 8), (300, 100, 8), (60, 120, 80)])
def test_new_replies_by_people_are_above_and_below_the_floor_equally_often(
    between: DistanceFunction, n: int, m: int, d: int
) -> None:
    """With more vectors than dimensions and with fewer, and whether or not there are as many of them as real ones."""
    above, gaps = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        people, real = rng.normal(size=(n, d)), rng.normal(size=(m, d))
        found = equal_size_distances(people, real, between, rng=rng, splits=3)
        above.append(found.thinned > found.floor)
        gaps.append(found.thinned - found.floor)
    assert 0.25 < np.mean(above) < 0.75
    assert abs(np.mean(gaps)) < 3 * np.std(gaps) / np.sqrt(len(gaps))


@pytest.mark.parametrize("n", [100, 40])
def test_new_replies_by_people_to_the_same_queries_are_above_and_below_the_floor_equally_often(
    n: int,
) -> None:
    """A pair's vector is mostly its query's: with those on both sides, people would be far below a plain floor."""
    above = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        asked = rng.normal(size=(100, 8))
        real, people = (asked + 0.3 * rng.normal(size=asked.shape) for _ in range(2))
        marks = np.arange(100.0)
        found = equal_size_distances(people[:n], real, frechet, queries=(marks[:n], marks), rng=rng, splits=3)
        above.append(found.thinned > found.floor)
    assert 0.25 < np.mean(above) < 0.75


def test_the_floor_is_computed_also_if_all_replies_have_the_same_query() -> None:
    rng = np.random.default_rng(0)
    one, many = np.zeros(50), rng.normal(size=(50, 4))
    assert equal_size_distances(many, many, frechet, queries=(one, one), rng=rng).floor > 0


def test_an_agent_unlike_people_is_above_the_floor() -> None:
    rng = np.random.default_rng(0)
    found = equal_size_distances(0.5 + rng.normal(size=(100, 8)), rng.normal(size=(100, 8)), frechet, rng=rng)
    assert found.thinned > found.floor + 1


def test_the_limit_is_closer_to_the_true_distance_than_the_sample_distance() -> None:
    true = 16 * 0.25
    found, limits = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(100, 16)) + 0.5, rng.normal(size=(100, 16))
        found.append(frechet(x, y))
        limits.append(limit_at_infinity(x, y, frechet, rng=rng))
    assert np.mean(found) - true > 1
    assert abs(np.mean(limits) - true) < 0.3 * (np.mean(found) - true)


def test_too_few_vectors_for_a_floor_or_a_limit_are_refused() -> None:
    few = np.zeros((3, 2))
    with pytest.raises(TooFewItems, match="4 real vectors"):
        equal_size_distances(few, few, frechet, rng=np.random.default_rng(0))
    with pytest.raises(TooFewItems, match="4 vectors or more on each side, and there are 3"):
        limit_at_infinity(few, few, frechet, rng=np.random.default_rng(0))


def test_a_system_that_repeats_the_references_is_at_distance_0() -> None:
    items = talk(80)
    metric = fitted(items)
    repeated = [replace(i, turns=(i.turns[0], Turn("assistant", i.references[0]))) for i in items]
    assert metric.reduce(metric.rows(repeated)) == pytest.approx(0, abs=1e-9)
    assert metric.reduce(metric.rows(items)) > 0.1


def test_each_group_is_compared_with_its_own_real_replies() -> None:
    one, two = talk(60, group="one"), talk(60, group="two", seed=1)
    together, alone = fitted(one + two), fitted(two)
    assert together.reduce(together.rows(two)) == pytest.approx(alone.reduce(alone.rows(two)), rel=1e-12)
    with pytest.raises(ValueError, match="several groups"):
        together.reduce(together.rows(one + two))


def test_groups_without_real_replies_use_those_of_the_real_file() -> None:
    real = [replace(item, agent="human") for item in talk(60, references=False)]
    metric = fitted(real)
    grouped = talk(60, group="x", seed=2)
    assert scored(metric.rows(grouped)).all()
    assert metric.reduce(metric.rows([replace(i, group="") for i in grouped])) == metric.reduce(
        metric.rows(grouped)
    )


def test_without_references_the_replies_of_the_agent_human_are_the_real_replies() -> None:
    people, bot = talk(60, "human", references=False), talk(60, seed=1, references=False)
    metric = fitted(people + bot)
    assert metric.reduce(metric.rows(people)) == pytest.approx(0, abs=1e-9)
    assert metric.reduce(metric.rows(bot)) > 0.1


def test_data_without_real_replies_is_refused_with_the_remedy() -> None:
    with pytest.raises(Refused, match=r"50 or more.*references.*`human`.*--real FILE"):
        fitted(talk(60, references=False))


def test_fewer_real_replies_than_the_minimum_are_refused() -> None:
    with pytest.raises(TooFewItems, match="50 or more, and there are 49"):
        fitted(talk(49))
    assert fitted(talk(50)).signature


def test_a_group_with_too_few_real_replies_is_unscored_and_the_others_are_scored() -> None:
    small, large = talk(10, group="small"), talk(60, group="large", seed=1)
    metric = fitted(small + large)
    assert not scored(metric.rows(small)).any()
    assert scored(metric.rows(large)).all()


def test_fewer_replies_than_the_minimum_are_refused_but_can_be_resampled() -> None:
    items = talk(60)
    metric = fitted(items)
    metric.check(metric.rows(items[:50]))
    with pytest.raises(TooFewItems, match=r"49 replies .* 50 or more"):
        metric.check(metric.rows(items[:49]))
    assert math.isfinite(metric.reduce(metric.rows(items[:25])))


def test_one_reply_has_no_distance() -> None:
    items = talk(60)
    metric = fitted(items)
    assert math.isnan(metric.reduce(metric.rows(items[:1])))
    assert math.isnan(metric.reduce(metric.rows([])))


def test_a_reply_without_a_query_is_unscored_if_the_real_replies_have_queries() -> None:
    metric = fitted(talk(60))
    assert not scored(metric.rows(talk(3, query=False))).any()


def test_without_contexts_replies_are_encoded_alone_and_the_signature_records_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    items = talk(60, query=False)
    metric = fitted(items)
    assert "reply-only:all" in str(metric.signature)
    assert "without their query" in caplog.text
    assert scored(metric.rows(items)).all()
    assert "reply-only" not in str(fitted(talk(60)).signature)


def asked_the_same(items: list[Item]) -> list[Item]:
    return [replace(item, turns=(Turn("user", "well?"), item.turns[-1])) for item in items]


def always(reply: str, items: list[Item]) -> list[Item]:
    """The items of a system that has one reply."""
    said = (Turn("assistant", reply, references=item.references) for item in items)
    return [replace(item, turns=(*item.turns[:-1], turn)) for item, turn in zip(items, said, strict=True)]


@pytest.mark.parametrize("name", ["fbd", "prd", "mmd"])
def test_agents_are_distinguished_from_people_also_if_all_queries_are_equal(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    items = asked_the_same(talk(80))
    metric = resolve(name, model="hashing")
    assert isinstance(metric, NeedsFitting)
    to_real = metric.fit(items)
    assert "reply-only:all" in str(to_real.signature)
    assert "all the same: replies are encoded without their query" in caplog.text
    people = [replace(i, turns=(i.turns[0], Turn("assistant", i.references[0]))) for i in items]
    babble = [replace(i, turns=(i.turns[0], Turn("assistant", f"{n} zzz qqq"))) for n, i in enumerate(items)]
    near, far = (to_real.reduce(to_real.rows(said)) for said in (people, babble))
    assert near > far + 0.2 if name == "prd" else near < far - 0.2


@pytest.mark.parametrize("name", ["fbd", "prd", "mmd", "fbd-paper"])
def test_an_agent_that_always_gives_the_same_reply_is_refused(name: str) -> None:
    items = talk(60)
    metric = resolve(name, model="hashing")
    assert isinstance(metric, NeedsFitting)
    to_real = metric.fit(items)
    to_real.check(to_real.rows(items))
    with pytest.raises(TooFewItems, match="all replies are the same"):
        to_real.check(to_real.rows(always("i do not know", items)))
    with pytest.raises(TooFewItems, match="all 60 real replies are the same"):
        metric.fit([replace(item, agent="human") for item in always("hm", talk(60, references=False))])


def test_equal_replies_are_refused_also_from_their_moments() -> None:
    items = talk(60)
    metric = fitted(items)
    assert isinstance(metric, FittedFbd)
    same = metric.rows(always("i do not know", items))
    with pytest.raises(TooFewItems, match="all replies are the same"):
        metric.of_moments(metric.moments(same[:30]) + metric.moments(same[30:]))


def test_the_sample_of_real_replies_does_not_depend_on_the_order_of_the_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(real_replies_module, "MAX_PAIRS", 60)
    items = talk(200)
    one, two = fitted(items), fitted(items[::-1])
    assert one.signature == two.signature
    (side,) = one.real.values()  # type: ignore[attr-defined]
    assert len(side.vectors) == 60
    assert one.reduce(one.rows(items)) == two.reduce(two.rows(items))


def test_details_contain_floor_thinned_and_the_number_of_real_replies() -> None:
    items = talk(80)
    metric = fitted(items)
    details = metric.details(metric.rows(items))
    assert details["n_real"] == 80
    assert details["floor"] > 0
    assert details["thinned"] > metric.reduce(metric.rows(items))  # from fewer replies
    assert "at_infinity" not in details  # 80 vectors of 256 dimensions are no line


def test_the_limit_is_computed_with_two_vectors_for_each_dimension() -> None:
    items = talk(600)
    metric = fitted(items)
    rows = metric.rows(items)
    assert metric.details(rows)["at_infinity"] < metric.reduce(rows)


def test_the_score_of_two_models_is_the_sum_of_the_logarithms_of_their_distances() -> None:
    items = talk(60)
    one, both = fitted(items), fitted(items, also="hashing")
    assert both.reduce(both.rows(items)) == pytest.approx(2 * math.log(one.reduce(one.rows(items))), rel=1e-9)
    assert "sum:log" in str(both.signature)


def test_a_distance_of_zero_has_no_logarithm_and_is_refused() -> None:
    people, bot = talk(60, "human", references=False), talk(60, seed=1, references=False)
    both = fitted(people + bot, also="hashing")
    with pytest.raises(Refused, match="distance is 0 and has no logarithm"):
        both.reduce(both.rows(people))
    assert math.isfinite(both.reduce(both.rows(bot)))


@pytest.mark.parametrize(
    "option", [{"turns": 2}, {"way": "together"}, {"shrinkage": 0.1}, {"also": "hashing"}, {"fewest": 20}]
)
def test_every_setting_that_changes_the_score_is_in_the_signature(option: dict[str, object]) -> None:
    items = talk(60)
    assert fitted(items).signature != fitted(items, **option).signature


def test_an_unknown_way_of_encoding_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="product, together"):
        fitted(talk(60), way="sum")
    with pytest.raises(UsageError, match="0 for the whole"):
        fitted(talk(60), turns=-1)


def test_a_fitted_metric_can_be_pickled() -> None:
    items = talk(60)
    metric = fitted(items)
    again = pickle.loads(pickle.dumps(metric))  # noqa: S301 - what the process pool does
    assert again.reduce(again.rows(items)) == metric.reduce(metric.rows(items))


def test_fbd_paper_encodes_the_whole_context_and_the_reply_as_one_input() -> None:
    items = talk(60)
    metric = resolve("fbd-paper", model="hashing")
    assert isinstance(metric, Fbd)
    longer = [replace(i, turns=(Turn("user", "well then"), *i.turns), turn=2) for i in items]
    one, two = metric.fit(items), metric.fit(longer)
    assert "together|turns:all" in str(one.signature)
    assert one.reduce(one.rows(items)) != two.reduce(two.rows(longer))
