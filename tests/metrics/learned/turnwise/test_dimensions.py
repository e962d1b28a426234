"""`turnwise[dimension=...]`, and replies that are unlike the rated ones."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.tiny_trained import rated_items, task, tiny_trained
from turnwise.encode.models import folder
from turnwise.encode.models.catalogue import NotFetched
from turnwise.errors import UsageError
from turnwise.metrics import resolve
from turnwise.metrics.learned import training_items
from turnwise.metrics.learned.turnwise import calibration
from turnwise.metrics.learned.turnwise.familiar import FALSE_ALARMS, Familiarity, counts, even_quantile
from turnwise.metrics.learned.turnwise.lexicon import Lexicon
from turnwise.metrics.learned.turnwise.metric import FOREIGN, UNFAMILIAR, refusal
from turnwise.metrics.learned.turnwise.ridge import RidgeWeights, fit_dimension
from turnwise.run.scoring.blocks import score
from turnwise.types import Item, Turn


def with_parts(path: Path, start: folder.Folder, limit: float = 1e9) -> str:
    """A copy of a tiny model with the dimension `engaging` (the opposite of overall) and a limit of familiarity."""
    familiar = Familiarity(np.zeros(6), np.ones(6), limit)
    seen = training_items.hashes(
        [*rated_items()[0], *(exchange(f"we met in {n}", f"the sea of {n}") for n in range(4))]
    )
    folder.save(
        path,
        kind="turnwise",
        tensors={
            **start.tensors,
            "ridge.weights engaging": -start.tensors["ridge.weights"],
            training_items.OF_DIMENSIONS: seen,
            **familiar.tensors,
        },
        config={**start.config, "dimensions": {"engaging": {"half_width": 0.7, "floor": -9.0}}},
        card=start.card,
    )
    return str(path)


@pytest.fixture
def start() -> folder.Folder:
    return folder.load(tiny_trained("turnwise"), "turnwise")


def exchange(said: str, reply: str) -> Item:
    turns = (Turn("user", said), Turn("assistant", reply))
    return Item("x#1", "x", "bot", turns, 1, cluster="x", pair="x")


def test_a_dimension_has_its_own_weights_interval_floor_and_signature(
    tmp_path: Path, start: folder.Folder
) -> None:
    trained = with_parts(tmp_path / "m", start)
    overall, engaging = (
        resolve("turnwise", trained=trained),
        resolve(f"turnwise[dimension=engaging,trained={trained}]"),
    )
    items = rated_items()[0]
    assert engaging.rows(items)[:, 0] == pytest.approx(-overall.rows(items)[:, 0])
    assert (overall.half_width, engaging.half_width) == (1.5, 0.7)
    said = "the old bike near the sea is gone"
    assert engaging.rows([exchange(said, said)])[0, 0] == -9.0
    assert "dimension:engaging" in str(engaging.signature)
    assert "dimension" not in str(overall.signature)
    others = [exchange(f"we met in {number}", f"the sea of {number}") for number in range(4)]
    assert (overall.in_training([*items, *others]), engaging.in_training([*items, *others])) == (40, 44)


def test_an_unknown_dimension_is_an_error_that_lists_them(tmp_path: Path, start: folder.Folder) -> None:
    metric = resolve("turnwise", trained=with_parts(tmp_path / "m", start), dimension="funny")
    with pytest.raises(UsageError, match=r"no dimension `funny`.*overall, engaging"):
        _ = metric.signature
    with pytest.raises(UsageError, match="funny"):
        metric.rows(rated_items()[0])


def test_a_model_calibrated_to_own_ratings_has_no_other_dimension(
    tmp_path: Path, start: folder.Folder
) -> None:
    made = calibration.train(
        task("turnwise", model=None, settings={"start": with_parts(tmp_path / "m", start)})
    )
    assert "dimensions" not in made.config
    assert made.tensors["familiar.limits"][0] == 1e9


def test_what_was_rated_is_familiar_afterwards(tmp_path: Path, start: folder.Folder) -> None:
    given = with_parts(tmp_path / "m", start, limit=1.0)
    items = rated_items()[0]
    assert np.isnan(resolve("turnwise", trained=given).rows(items)[:, 0]).all()
    made = calibration.train(task("turnwise", model=None, settings={"start": given}))
    folder.save(tmp_path / "n", kind=made.kind, tensors=made.tensors, config=made.config, card=made.card)
    mine = resolve("turnwise", trained=str(tmp_path / "n"))
    assert np.isfinite(mine.rows(items)[:, 0]).all()
    code = exchange("i like the bike", "{x[i] = y_i} " * 40)
    assert mine.why_unscored(code) == UNFAMILIAR


def test_weights_of_a_dimension_are_shrunk_to_a_multiple_of_the_overall_ones() -> None:
    rng = np.random.default_rng(0)
    x = [rng.normal(size=(200, 5)) for _ in range(3)]
    overall = RidgeWeights(np.zeros(5), np.ones(5), np.array([1.0, 1.0, 0.0, 0.0, 0.0]))
    y = [3 * (table @ np.array([0.0, 1.0, 1.0, 0.0, 0.0])) + 7 for table in x]
    free = fit_dimension(overall, x, y, penalty=1e-6)
    assert free == pytest.approx(np.array([0.0, 1.0, 1.0, 0.0, 0.0]) / np.sqrt(2), abs=0.05)
    held = fit_dimension(overall, x, y, penalty=1e9)
    assert held == pytest.approx(held[0] * overall.weights, abs=1e-4)
    assert held[0] > 0.2
    against = fit_dimension(overall, x, [-rated for rated in y], penalty=1e9)
    assert against == pytest.approx(np.zeros(5), abs=1e-4)  # never a negative multiple


def test_the_false_alarms_of_the_detector_are_even_over_corpora() -> None:
    rng = np.random.default_rng(0)
    tables = [rng.normal(size=(n, 6)) for n in (200, 4000)]
    fitted = Familiarity.of(tables)
    rates = [np.mean(fitted.distances(table) > fitted.limit) for table in tables]
    assert np.mean(rates) == pytest.approx(FALSE_ALARMS, abs=0.003)
    assert fitted.distances(np.full((1, 6), -50.0))[0] == 0  # shorter and commoner than any: familiar


def test_a_quantile_gives_every_corpus_the_same_weight() -> None:
    assert even_quantile([np.arange(10.0), np.full(1000, 100.0)], 0.42) == 8
    assert even_quantile([np.arange(10.0)], 1.0) == 9


def test_unscored_replies_are_counted_by_reason(tmp_path: Path, start: folder.Folder) -> None:
    model = folder.load(with_parts(tmp_path / "m", start, limit=60.0), "turnwise")
    lexicon = Lexicon.load(model.tensors)
    items = [
        exchange("i like the bike", "which bike do you mean"),
        exchange("i like the bike", " ".join(["return", "self", "x", "for", "x", "in", "the", "bike"] * 30)),
        exchange("Ich habe gestern meinen Hund verloren und bin sehr traurig.", "我很抱歉，它多大了？"),
        exchange("i like the bike", "..."),
    ]
    strict = replace(model, config={**model.config, "most_unknown": 0.9})
    familiar = Familiarity.load(model.tensors)
    assert [refusal(item, strict, lexicon, familiar) for item in items] == [None, UNFAMILIAR, FOREIGN, None]
    metric = resolve("turnwise", trained=str(tmp_path / "m"))
    reasons = {failure.position: failure.reason for failure in score(metric, items[:2] + items[3:]).failures}
    assert reasons[1] == UNFAMILIAR
    assert reasons[2] not in (UNFAMILIAR, FOREIGN)
    assert set(reasons) == {1, 2}


@pytest.mark.parametrize(("said", "reply", "known"), [
    ("I lost my dog yesterday and I am very sad.", "I am sorry. How old was he?", True),
    ("Can you book me a table at Curry Garden at 18:45?", "Booked! Reference number is 00000013.", True),
    ("And then what?", "The capital of Portugal is Lisbon.", True),
    ("ok bye then", "Bye. :D", True),
    ("ok bye then", "good, thanks =)", True),
    ("which place did you get", "We are #1!", True),
    ("i love it", "_really_?", True),
    ("do you miss him", "[sighs] yes it is, i miss him a lot", True),
    ("Please cancel my flight.", 'cancel_reservation({"reservation_id": "EHGLP3", "user_id": "emma_kim_9957", '
     '"payment": [{"amount": -628, "source": "gift_card_7245904"}], "cabin": "basic_economy"}) -> {"status": "ok"}',
     False),
    ("Sort a list.", "def merge(xs, ys): out = []; i = j = 0\nwhile i < len(xs) and j < len(ys): out.append(xs[i] if "
     "xs[i] <= ys[j] else ys[j]); i += xs[i] <= ys[j]; j = len(out) - i\nreturn out + xs[i:] + ys[j:]", False),
])  # fmt: skip
def test_the_shipped_detector_tells_talk_from_calls_and_code(said: str, reply: str, known: bool) -> None:
    model = folder.load(folder.shipped("turnwise") or "", "turnwise")
    lexicon, familiar = Lexicon.load(model.tensors), Familiarity.load(model.tensors)
    assert (refusal(exchange(said, reply), model, lexicon, familiar) is None) == known


@pytest.mark.parametrize("dimension", ["engaging", "fluent", "specific", "dialogue"])
def test_the_shipped_metric_has_the_dimensions_of_the_page(dimension: str) -> None:
    metric = resolve(f"turnwise[dimension={dimension}]")
    try:
        assert f"dimension:{dimension}" in str(metric.signature)
    except NotFetched as absent:
        pytest.skip(str(absent))
    card = metric.folder.card["dimensions"][dimension]
    gains = [one["own"] - one["overall"] for one in card["left out"].values()]
    assert np.mean(gains) > 0
    assert set(card["left out"]) <= set(card["rated as"])


def test_counts_of_a_longer_and_stranger_reply_are_larger() -> None:
    lexicon = Lexicon.of(["i like the old bike near the sea"] * 3)
    plain, strange = (
        counts(reply, ("i like the bike",), lexicon) for reply in ("the old bike", "foo bar baz qux quux")
    )
    assert all(a < b for a, b in zip(plain[:3], strange[:3], strict=True))
    assert plain[3:] == strange[3:]
