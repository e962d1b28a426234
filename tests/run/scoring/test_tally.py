"""A tally of a metric of moments: exact while rows are few, in constant memory once they are many."""

from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from tests.corpus import dialogue, write
from turnwise.commands.score import Score
from turnwise.metrics import resolve
from turnwise.metrics.distribution.fbd import FittedFbd
from turnwise.records import ScoreRecord
from turnwise.run.scoring import tally as tally_module
from turnwise.run.scoring.blocks import score
from turnwise.run.scoring.score import score as run_score
from turnwise.run.scoring.tally import Tally, generator
from turnwise.stats.reservoir import Reservoir
from turnwise.types import HasMoments, Item, NeedsFitting, Turn

WORDS = "sea bike tea rain cat dog book song train road moon lamp tree cake wind".split()


def talk(count: int, *, in_cluster: int = 1) -> list[Item]:
    rng = np.random.default_rng(0)
    items = []
    for place in range(count):
        asked, said, meant = (" ".join(rng.choice(WORDS, size=4)) for _ in range(3))
        turns = (Turn("user", asked), Turn("assistant", said, references=(meant,)))
        cluster = f"c{place // in_cluster}"
        items.append(Item(f"i{place}", f"d{place}", "bot", turns, 1, cluster=cluster, pair=cluster))
    return items


def fitted(items: list[Item], **options: object) -> FittedFbd:
    metric = resolve("fbd", **{"model": "hashing", **options})
    assert isinstance(metric, NeedsFitting)
    found = metric.fit(items)
    assert isinstance(found, FittedFbd)
    return found


def tallied(
    metric: FittedFbd, items: list[Item], *, most: int, draws: int = 100, shard: int = 64
) -> ScoreRecord:
    tally = Tally(metric)
    tally._sample = Reservoir(most)
    stream = iter(items)
    while part := list(islice(stream, shard)):
        tally.add(part, score(metric, part), range(len(part)))
    return tally.record("fbd", agent="bot", draws=draws, rng=generator(0, "fbd"))


@pytest.mark.slow
def test_more_rows_than_are_kept_give_the_number_of_all_of_them() -> None:
    items = talk(600)
    metric = fitted(items)
    assert isinstance(metric, HasMoments)
    few, many = tallied(metric, items, most=200), tallied(metric, items, most=600)
    assert few.estimate == pytest.approx(metric.reduce(metric.rows(items)), rel=1e-9)
    assert few.estimate == pytest.approx(many.estimate, rel=1e-9)
    assert (few.n_items, few.n_clusters) == (many.n_items, many.n_clusters) == (600, 600)
    assert "of a sample of 200 of 600 items" in few.method
    assert "sample" not in many.method


def test_two_readings_are_told_apart_in_their_moments() -> None:
    items = talk(300)
    metric = fitted(items, also="hashing", shrinkage=0.1)
    found = metric.of_moments(
        metric.moments(metric.rows(items[:100])) + metric.moments(metric.rows(items[100:]))
    )
    assert found == pytest.approx(metric.reduce(metric.rows(items)), rel=1e-9)


@pytest.mark.slow
def test_the_interval_of_a_sample_is_about_as_wide_as_that_of_all_rows() -> None:
    items = talk(1200, in_cluster=2)
    metric = fitted(items)
    few, many = (tallied(metric, items, most=most, draws=200) for most in (600, 1200))
    assert few.interval is not None
    assert many.interval is not None
    assert few.interval[0] < few.estimate < few.interval[1]  # type: ignore[operator]
    width = [high - low for low, high in (few.interval, many.interval)]
    assert width[0] == pytest.approx(width[1], rel=0.4)


def test_how_the_rows_arrive_moves_nothing() -> None:
    items = talk(400)
    metric = fitted(items)
    one, two = (tallied(metric, items, most=100, shard=shard) for shard in (64, 37))
    assert one.estimate == pytest.approx(two.estimate, rel=1e-9)
    assert one.interval == pytest.approx(two.interval, rel=1e-9)


def test_the_guard_counts_all_rows_and_not_the_sample() -> None:
    items = talk(400)
    metric = fitted(items, fewest=300)
    assert tallied(metric, items, most=100).status == "ok"
    refused = tallied(metric, items[:250], most=100)
    assert refused.status == "refused"
    assert "250 replies" in str(refused.reason)


def test_rows_of_two_groups_have_no_common_moments() -> None:
    one, two = talk(60), [replace(item, group="b") for item in talk(60)]
    metric = fitted(one + two)
    mixed = metric.moments(metric.rows(one)) + metric.moments(metric.rows(two))
    with pytest.raises(ValueError, match="several groups"):
        metric.of_moments(mixed)


@pytest.mark.parametrize(
    ("yes", "method"), [(0, "Wilson"), (4, "Wilson"), (5, "Poisson"), (296, "Wilson"), (300, "Wilson")]
)
def test_a_rate_at_the_edge_has_an_interval_however_many_clusters_there_are(
    monkeypatch: pytest.MonkeyPatch, yes: int, method: str
) -> None:
    metric = resolve("question-rate")
    said = ["Why?" if place < yes else "No." for place in range(300)]
    items = [
        Item(f"i{place}", f"d{place}", "bot", (Turn("assistant", text),), 0, cluster=f"c{place}", pair="p")
        for place, text in enumerate(said)
    ]
    found = []
    for most in (2**13, 100):
        monkeypatch.setattr(tally_module.Clusters, "MOST", most)
        tally = Tally(metric, draws=200)
        for start in range(0, 300, 64):
            part = items[start : start + 64]
            tally.add(part, score(metric, part), range(len(part)))
        found.append(tally.record("rate", agent="bot", draws=200, rng=generator(0, "rate")))
    few, many = found
    assert few.interval is not None
    assert many.interval is not None
    assert method in many.method
    assert many.estimate == few.estimate == yes / 300
    assert many.interval == pytest.approx(few.interval, abs=0.01 if method == "Poisson" else 1e-9)


@pytest.mark.slow
def test_one_process_and_two_find_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally_module, "Reservoir", partial(Reservoir, 150))
    rng = np.random.default_rng(1)
    agents = ("good", "poor")
    path = write(tmp_path / "logs.jsonl", [dialogue(n, agent, rng) for n in range(300) for agent in agents])
    found = []
    for jobs in (1, 2):
        asked = Score(data=(str(path),), metrics="fbd[model=hashing]", draws=100, jobs=jobs)
        found.append(run_score(asked).results)
    assert found[0] == found[1]
    assert all("of a sample of" in record.method for record in found[0])
