"""The metric turnwise: its signals, its calibration to ratings, and refused training data."""

import string
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.tiny_trained import rated_items, task, tiny_trained
from turnwise.encode.models import folder
from turnwise.errors import DataError, UsageError
from turnwise.metrics import resolve
from turnwise.metrics.learned.turnwise import calibration
from turnwise.metrics.learned.turnwise.exchange_index import NEIGHBOURS, ExchangeIndex, Neighbours
from turnwise.metrics.learned.turnwise.lexicon import Lexicon
from turnwise.metrics.learned.turnwise.ridge import fit_ridge, standardised
from turnwise.metrics.learned.turnwise.text_features import text_features
from turnwise.networks.training.task import Ratings
from turnwise.types import Item, Turn


def item(*said: str) -> Item:
    roles = ("user", "assistant") if len(said) % 2 == 0 else ("assistant", "user")
    turns = tuple(Turn(roles[at % 2], text) for at, text in enumerate(said))  # type: ignore[arg-type]
    return Item("x#1", "x", "bot", turns, len(turns) - 1, cluster="x", pair="x")


def test_a_copy_of_the_context_gets_the_worst_score() -> None:
    metric = resolve("turnwise", trained=tiny_trained("turnwise"))
    floor = folder.load(tiny_trained("turnwise"), "turnwise").config["floor"]
    said = "the old bike near the sea is gone"
    assert metric.rows([item(said, said)])[0, 0] == floor
    assert metric.rows([item(said, "The OLD bike near the sea, is gone!")])[0, 0] == floor
    assert metric.rows([item(said, "oh i had a bike once")])[0, 0] != floor


def test_a_short_reply_is_never_a_copy() -> None:
    metric = resolve("turnwise", trained=tiny_trained("turnwise"))
    floor = folder.load(tiny_trained("turnwise"), "turnwise").config["floor"]
    assert metric.rows([item("thank you", "thank you")])[0, 0] != floor


def test_the_exchange_index_finds_an_exchange_that_it_contains() -> None:
    rng = np.random.default_rng(0)
    turns, replies = (rng.normal(size=(300, 40)).astype(np.float32) for _ in range(2))
    index = ExchangeIndex.load(ExchangeIndex.of(turns, replies).tensors)
    held, other = (index.signals(index.near_turn(turns[3]), replies[at]) for at in (3, 9))
    assert held[0] > 0.9
    assert held[-1] > other[-1]


@pytest.mark.parametrize("step", [1e-9, 0.25])  # of the values: all different, or many equal
@pytest.mark.parametrize("size", [40, 60, 400, 8000])
def test_the_most_similar_exchanges_are_those_of_a_whole_partition(size: int, step: float) -> None:
    values = (np.round(np.random.default_rng(size).normal(size=size) / step) * step).astype(np.float32)
    count = min(NEIGHBOURS, size)
    found = Neighbours.of(values).nearest
    assert sorted(found) == sorted(np.argpartition(-values, count - 1)[:count])


def test_a_counted_sequence_is_more_fluent_than_its_words_shuffled() -> None:
    lexicon = Lexicon.load(Lexicon.of(["i like the old bike near the sea"] * 3).tensors)
    fluent = text_features("i like the old bike", ("hello",), lexicon)
    shuffled = text_features("bike the i old like", ("hello",), lexicon)
    assert fluent["odds 3"] > shuffled["odds 3"]
    assert fluent["rarity"] == pytest.approx(shuffled["rarity"])


def test_the_ridge_regression_does_not_learn_differences_between_corpora() -> None:
    rng = np.random.default_rng(0)
    signal = [rng.normal(size=200) for _ in range(3)]
    tables = [np.stack([x + 10 * corpus, rng.normal(size=200)], axis=1) for corpus, x in enumerate(signal)]
    ratings = [-5.0 * corpus + x + 0.1 * rng.normal(size=200) for corpus, x in enumerate(signal)]
    weights = fit_ridge(tables, ratings, penalty=1.0)
    assert weights.weights[0] > 0.9
    assert abs(weights.weights[1]) < 0.05
    assert np.corrcoef(weights.predict(tables[0]), ratings[0])[0, 1] > 0.95


def test_thirty_ratings_calibrate_predictions_to_their_scale(tmp_path: Path) -> None:
    made = calibration.train(task("turnwise", model=None, settings={"start": tiny_trained("turnwise")}))
    folder.save(tmp_path / "mine", kind=made.kind, tensors=made.tensors, config=made.config, card=made.card)
    metric = resolve("turnwise", trained=str(tmp_path / "mine"))
    items, ratings = rated_items()
    values = metric.rows(items)[:, 0]
    assert values.mean() == pytest.approx(np.mean(list(ratings.values())), abs=0.5)
    assert metric.half_width > 0
    assert metric.in_training(items) == len(items)
    assert metric.in_training([item("what about soup", "soup is warm")]) == 0
    assert made.card["held_out"]["spearman"]["n"] == len(items)


def test_intervals_from_thirty_ratings_cover_95_percent_of_new_replies() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=12)
    prior = truth + rng.normal(size=12)
    inside = []
    for _ in range(150):
        x = rng.normal(size=(230, 12))
        ratings = 0.2 * x @ truth + rng.normal(size=230)
        mine = slice(30)
        made = calibration.calibrate(x[mine], ratings[mine], np.arange(30) // 2, prior, rng=rng)
        errors = np.abs(ratings[30:] - x[30:] @ made.weights - made.offset)
        inside.append(np.mean(errors <= made.half_width))
    assert np.mean(inside) > 0.95  # the .95 quantile of the 30 errors holds .938


def test_a_half_width_is_the_largest_of_thirty_errors_and_not_of_a_hundred() -> None:
    assert calibration.half_width(np.arange(30.0)) == 29
    assert calibration.half_width(np.arange(100.0)) == 95


def test_replies_that_share_a_turn_of_context_are_held_out_together() -> None:
    items = rated_items()[0]
    shared = Turn("user", "we all answer this one question")
    same = [replace(one, turns=(shared, one.turns[-1]), turn=1) for one in items]
    with pytest.raises(DataError, match="same context"):
        calibration.train(
            task("turnwise", model=None, settings={"start": tiny_trained("turnwise")}, items=same)
        )


def people(values: dict[str, float], per_item: float = 3.0) -> Ratings:
    return Ratings(dimension="overall", values=values, scale=(1, 5), per_item=per_item, ceiling=float("nan"))


def test_unusable_ratings_are_refused_with_the_reason() -> None:
    items, ratings = rated_items()
    few = dict(list(ratings.items())[:29])
    start = {"start": tiny_trained("turnwise")}
    with pytest.raises(DataError, match="29 rated replies"):
        calibration.train(task("turnwise", model=None, settings=start, ratings=people(few)))
    with pytest.raises(DataError, match="all 40 ratings"):
        calibration.train(
            task("turnwise", model=None, settings=start, ratings=people(dict.fromkeys(ratings, 4.0)))
        )
    bare = [replace(one, turns=one.turns[-1:]) for one in items]
    with pytest.raises(DataError, match="no rated reply has a context"):
        calibration.train(task("turnwise", model=None, settings=start, items=bare))
    with pytest.raises(DataError, match="turnwise rate"):
        calibration.train(task("turnwise", model=None, settings=start, ratings=None))


def test_one_rater_is_a_warning_and_not_an_error() -> None:
    said: list[str] = []
    ratings = people(rated_items()[1], per_item=1.0)
    start = {"start": tiny_trained("turnwise")}
    calibration.train(task("turnwise", model=None, settings=start, ratings=ratings, say=said.append))
    assert any("one rater" in line for line in said)


def test_standardised_ratings_have_mean_zero_and_spread_one() -> None:
    found = standardised(np.array([1.0, 2.0, 5.0]))
    assert found.mean() == pytest.approx(0)
    assert found.std() == pytest.approx(1)


@pytest.mark.slow
def test_punctuation_and_case_change_the_shipped_metric_by_less_than_a_tenth_of_a_deviation(
    corpora: Path,
) -> None:
    from turnwise.logs import native
    from turnwise.logs.items.items import Selection, items

    rated = list(items(native.read(str(corpora / "usr_persona.jsonl")), Selection(items="rated")))[:100]
    metric = resolve("turnwise")
    before = metric.rows(rated)[:, 0]
    drop = str.maketrans("", "", string.punctuation)
    for change in (str.upper, lambda text: text + " .", lambda text: text.translate(drop)):
        reworded = [
            replace(one, turns=(*one.turns[:-1], replace(one.turns[-1], content=change(one.reply))))
            for one in rated
        ]
        moved = np.abs(metric.rows(reworded)[:, 0] - before)
        assert moved.mean() < 0.1 * before.std()


def test_replies_that_the_shipped_model_learned_from_are_counted_with_a_guard_too_and_train_warns(
    corpora: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from turnwise.cli.common.group import run
    from turnwise.logs import native
    from turnwise.logs.items.items import Selection, items

    path = str(corpora / "usr_persona.jsonl")
    rated = list(items(native.read(path), Selection(items="rated")))[:40]
    assert resolve("turnwise").in_training(rated) == 40  # type: ignore[attr-defined]
    assert resolve("guarded[metric=turnwise]").in_training(rated) == 40  # type: ignore[attr-defined]
    assert resolve("guarded[metric=length,abstain=true]").in_training(rated) == 0  # type: ignore[attr-defined]
    asked = [
        "train",
        "turnwise",
        path,
        "--dimension",
        "overall",
        "--limit",
        "40",
        "-o",
        str(tmp_path / "mine"),
    ]
    assert run(asked) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "the model that this starts from learned from 40 of these 40 replies" in said


def test_the_free_variant_has_a_reader_that_saw_only_freely_licensed_text() -> None:
    free = resolve("turnwise-large[trained=free]")
    assert "[reader-large-free|" in str(free.signature)
    assert str(free.signature) != str(resolve("turnwise-large").signature)
    reader = folder.load(folder.shipped("reader-large-free") or "", "reader-large-free")
    assert all(corpus["free"] for corpus in reader.card["data"]["text"].values())
    every = folder.load(folder.shipped("reader-large") or "", "reader-large")
    assert not all(corpus["free"] for corpus in every.card["data"]["text"].values())


def test_a_metric_without_a_free_model_says_which_one_has_it() -> None:
    with pytest.raises(UsageError, match=r"`turnwise` has no free model: turnwise-large does"):
        str(resolve("turnwise[trained=free]").signature)
    with pytest.raises(UsageError, match="has no dimension `engaging`"):
        str(resolve("turnwise-large[trained=free,dimension=engaging]").signature)
