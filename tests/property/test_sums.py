"""What is kept of data is the same however the data is dealt out and in whatever order the parts are added up."""

import re
from collections.abc import Callable, Sequence
from functools import partial, reduce
from operator import add
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.small_world import world
from turnwise.encode.episodes import kept
from turnwise.estimators.calibration import line
from turnwise.estimators.linear.dice import LinearDice
from turnwise.estimators.linear.regression import Direct, Fqe, Lstdq
from turnwise.estimators.linear.stream import FirstSums, SecondSums, TargetBasis
from turnwise.metrics import resolve
from turnwise.records import Record
from turnwise.run.scoring import tally as tally_module
from turnwise.run.scoring.blocks import score
from turnwise.run.scoring.tally import Clusters, Tally, generator
from turnwise.stats.poisson import PoissonSums, poisson_counts
from turnwise.stats.reservoir import Reservoir
from turnwise.stats.weighted import moments as products
from turnwise.stats.weighted import pearson_from_sums
from turnwise.types import Item, Metric, NeedsFitting, Summed, Turn

WORDS = "sea bike tea rain cat dog book song train road moon lamp tree cake wind why not".split()
SUMMED = ("bleu-1", "bleu-4", "chrf", "rouge-1", "rouge-l", "length", "question-rate", "meteor")
COUNT = 120


def talk(count: int = COUNT) -> list[Item]:
    rng = np.random.default_rng(0)
    items = []
    for place in range(count):
        asked, said, meant = (" ".join(rng.choice(WORDS, size=rng.integers(3, 9))) for _ in range(3))
        meant = f"{said.rsplit(' ', 1)[0]} {meant}" if place % 2 else meant
        turns = (
            Turn("user", asked),
            Turn("assistant", f"{said}?" if place % 5 else said, references=(meant,)),
        )
        items.append(Item(f"i{place}", f"d{place // 2}", "bot", turns, 1, cluster=f"d{place // 2}", pair="p"))
    return items


ITEMS = talk()
quick = settings(max_examples=10, phases=(Phase.generate,))  # a deal of 120 items is not worth shrinking
dealt = st.tuples(
    st.lists(st.integers(0, 4), min_size=COUNT, max_size=COUNT), st.randoms(use_true_random=False)
)


def parts(shard: Sequence[int], random: Random) -> list[list[int]]:
    """Places by shard, the shards in any order."""
    found = [[place for place, mine in enumerate(shard) if mine == number] for number in set(shard)]
    random.shuffle(found)
    return found


def added(of: Callable[[list[int]], Any], deal: tuple[Sequence[int], Random]) -> Any:
    return reduce(add, map(of, parts(*deal)))


@pytest.fixture(scope="module")
def rows() -> dict[str, np.ndarray]:
    return {name: np.asarray(metric(name).rows(ITEMS)) for name in SUMMED}


def metric(name: str, **options: object) -> Metric:
    found = resolve(name, **options)
    made = found.fit(ITEMS) if isinstance(found, NeedsFitting) else found
    assert isinstance(made, Metric)
    return made


@quick
@given(dealt)
def test_metrics_of_sums(rows: dict[str, np.ndarray], deal: tuple[Sequence[int], Random]) -> None:
    for name, evidence in rows.items():
        one = metric(name)
        assert isinstance(one, Summed)
        sums = added(lambda places, evidence=evidence: evidence[places].sum(axis=0), deal)
        assert float(one.of_sums(sums)) == pytest.approx(one.reduce(evidence), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["fbd", "prd"])
@quick
@given(deal=dealt)
def test_distances_of_moments(name: str, deal: tuple[Sequence[int], Random]) -> None:
    one: Any = _fitted(name)
    evidence = one.rows(ITEMS)
    found = one.of_moments(added(lambda places: one.moments(evidence[places]), deal))
    assert found == pytest.approx(one.of_moments(one.moments(evidence)), rel=1e-9, abs=1e-9)
    # Every vector is a cell of its own here, or all but: the number is that of the vectors themselves.
    assert found == pytest.approx(one.reduce(evidence), rel=1e-9 if name == "fbd" else 0.25)


_made: dict[str, Metric] = {}


def _fitted(name: str) -> Metric:
    return _made.setdefault(name, metric(name, model="hashing"))


@quick
@given(dealt)
def test_draws_of_the_poisson_bootstrap(deal: tuple[Sequence[int], Random]) -> None:
    evidence = np.random.default_rng(1).random((COUNT, 3))
    clusters = [item.cluster for item in ITEMS]
    of = partial(PoissonSums.of, draws=50, seed=3)
    found = added(lambda places: of([clusters[place] for place in places], evidence[places]), deal)
    assert found.sums == pytest.approx(of(clusters, evidence).sums, rel=1e-9)


@quick
@given(dealt)
def test_products_behind_a_correlation(deal: tuple[Sequence[int], Random]) -> None:
    rng = np.random.default_rng(2)
    x = rng.random(COUNT)
    y = x + rng.random(COUNT)
    table = products(x, y)
    found = pearson_from_sums(added(lambda places: table[places].sum(axis=0), deal))
    assert found == pytest.approx(np.corrcoef(x, y)[0, 1], rel=1e-9)


LOGS = world(agents=6, dialogues=COUNT // 6)
OTHERS = ("a0", "a1", "a3", "a4", "a5")  # who calibrate
SPEAKERS = ("a2", *OTHERS)
ESTIMATORS = (Fqe("hashing"), Lstdq("hashing"), LinearDice("hashing"), Direct("hashing"))


@quick
@given(dealt)
def test_linear_estimators_and_what_calibrates_them(deal: tuple[Sequence[int], Random]) -> None:
    def of(places: list[int]) -> Any:
        return kept(LOGS, np.isin(np.arange(COUNT), places))

    first = added(lambda places: FirstSums.of(of(places), "hashing"), deal)
    frame = TargetBasis.of(first, "a2")
    second = added(lambda places: SecondSums.of(of(places), "hashing", frame, SPEAKERS), deal)
    whole = FirstSums.of(LOGS, "hashing")
    assert {name: first.mean(name) for name in whole.by_agent} == pytest.approx(
        {name: whole.mean(name) for name in whole.by_agent}, rel=1e-9
    )
    at_once = TargetBasis.of(whole, "a2")
    gathered = SecondSums.of(LOGS, "hashing", at_once, SPEAKERS)
    known = np.array([whole.mean(name) for name in OTHERS])
    for estimator in ESTIMATORS:
        parted, single = (
            np.array([sums.estimate(estimator, name, of, by).value for name in SPEAKERS])
            for sums, of, by in ((second, frame, first), (gathered, at_once, whole))
        )
        assert parted == pytest.approx(single, rel=1e-9, abs=1e-9)
        calibrated = [line(found[1:], known) for found in (parted, single)]
        ends = [
            (fit.at(found[0]), *fit.interval(found[0]))
            for fit, found in zip(calibrated, (parted, single), strict=True)
        ]
        assert ends[0] == pytest.approx(ends[1], rel=1e-9, abs=1e-9)
        true = estimator.estimates(kept(LOGS, LOGS.agent != 2), ["a2", "a4"], rng=np.random.default_rng(0))
        for speaker, expected in zip(("a2", "a4"), true, strict=True):
            found = second.estimate(estimator, speaker, frame, first)
            near = 1e-6 if isinstance(estimator, Fqe) else 1e-8  # it clips each Q, from sums the mean of them
            assert found.value == pytest.approx(expected.value, abs=near)
            assert found.level == pytest.approx(expected.level, rel=1e-9)


def tallied(one: Metric, items: Sequence[Item], deal: tuple[Sequence[int], Random] | None = None) -> Record:
    tally = Tally(one, seed=0, draws=400)
    whole = list(range(len(items)))
    for places in [whole] if deal is None else parts(*deal):
        shard = [items[place] for place in places]
        tally.add(shard, score(one, shard), range(len(shard)))
    return tally.record("m", agent="bot", draws=400, rng=generator(0, "m"))


def test_more_clusters_than_are_kept_give_the_same_number_and_much_the_same_interval(monkeypatch) -> None:
    for name in ("bleu-2", "length"):
        exact = tallied(metric(name), ITEMS)
        monkeypatch.setattr(Clusters, "MOST", 25)
        found = tallied(metric(name), ITEMS)
        again = tallied(metric(name), ITEMS, ([place % 7 for place in range(COUNT)], Random(4)))
        monkeypatch.undo()
        assert "Poisson" in found.method
        assert found.estimate == pytest.approx(exact.estimate, rel=1e-9)
        assert (found.n_items, found.n_clusters) == (exact.n_items, exact.n_clusters)
        assert again.interval == pytest.approx(found.interval, rel=1e-9)
        assert found.interval is not None
        assert exact.interval is not None
        wide, narrow = (high - low for low, high in (found.interval, exact.interval))
        assert wide == pytest.approx(narrow, rel=0.3)


def test_a_distance_that_is_not_additive_is_computed_on_a_sample(monkeypatch) -> None:
    monkeypatch.setattr(tally_module, "Reservoir", partial(Reservoir, 80))
    found = tallied(metric("mmd", model="hashing"), ITEMS)
    assert re.search("of a sample of [6-8][0-9] of 120 items", found.method)
    assert found.n_items == COUNT


def test_counts_of_clusters_are_poisson_and_independent() -> None:
    drawn = np.stack([poisson_counts(f"c{place}", 500, 0) for place in range(500)]).astype(float)
    assert drawn.mean() == pytest.approx(1.0, abs=0.01)
    assert drawn.var() == pytest.approx(1.0, abs=0.02)
    assert np.abs(np.corrcoef(drawn)[np.triu_indices(500, 1)]).max() < 0.25
    assert (poisson_counts("c1", 500, 0) != poisson_counts("c1", 500, 1)).any()
