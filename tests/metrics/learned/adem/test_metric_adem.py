"""ADEM: the bilinear head, its training, and errors for unusable training data."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("safetensors")

from tests.tiny_trained import adem_task, task, tiny_trained
from turnwise.encode.models import folder
from turnwise.errors import DataError, UsageError
from turnwise.metrics import resolve
from turnwise.metrics.learned.adem import bilinear_fit
from turnwise.metrics.learned.adem.bilinear import Bilinear, Components
from turnwise.metrics.learned.adem.bilinear_fit import Examples, Search, constants, learn, split
from turnwise.metrics.learned.adem.training import standardised, train
from turnwise.metrics.learned.adem.triples import Triples
from turnwise.metrics.learned.held_out import context_groups
from turnwise.metrics.learned.trained import NotTrained
from turnwise.networks.training.task import Ratings
from turnwise.types import Item, Turn

QUICK = Search(components=(4,), gamma=(0.0, 0.01), rate=(0.01,), batch=(8,), epochs=6)
BOTH = ("context", "reference")


def drawn(count=120, dimension=6, seed=0):
    rng = np.random.default_rng(seed)
    sides = {side: rng.normal(size=(count, dimension)) for side in BOTH}
    return Triples(sides, rng.normal(size=(count, dimension))), np.arange(count) // 3


def planted(side="context", **more):
    """Ratings that a swap of two coordinates on one side explains."""
    triples, contexts = drawn(**more)
    swap = np.eye(6)[[1, 0, 2, 3, 4, 5]]
    score = np.einsum("ni,ij,nj->n", triples.sides[side], swap, triples.reply)
    return Examples(triples, 3 + score / 4, contexts)


def test_the_untrained_head_is_a_dot_product_in_the_principal_components():
    triples, _ = drawn()
    parts = Components.fit(triples.reply, 4)
    head = Bilinear(parts, {side: np.eye(4) for side in BOTH}, 0.0, 1.0)
    sides = sum(parts(triples.sides[side]) for side in BOTH)
    assert head(triples.sides, triples.reply) == pytest.approx((sides * parts(triples.reply)).sum(axis=1))


def test_components_are_those_of_scikit_learn_up_to_sign():
    decomposition = pytest.importorskip("sklearn.decomposition")
    vectors = np.random.default_rng(0).normal(size=(50, 6)) @ np.diag([5, 4, 3, 2, 1, 0.5])
    theirs = decomposition.PCA(3).fit_transform(vectors)
    assert np.abs(Components.fit(vectors, 3)(vectors)) == pytest.approx(np.abs(theirs))


@given(
    st.lists(st.floats(-50, 50), min_size=3, max_size=30),
    st.lists(st.integers(1, 5), min_size=3, max_size=30),
)
def test_first_predictions_have_the_ratings_mean_and_stay_on_their_scale(start, ratings):
    size = min(len(start), len(ratings))
    scores, people = np.array(start[:size]), np.array(ratings[:size], dtype=float)
    if np.ptp(scores) < 1e-3 or not 1 < people.mean() < 5:
        return
    alpha, beta = constants(scores, people, (1.0, 5.0))
    first = (scores - alpha) / beta
    assert first.mean() == pytest.approx(people.mean())
    assert first.min() >= 1 - 1e-9
    assert first.max() <= 5 + 1e-9


def test_an_encoder_that_gives_every_reply_one_vector_is_refused():
    with pytest.raises(DataError, match="the same vector"):
        constants(np.zeros(5), np.arange(5.0), (0.0, 4.0))


def test_training_learns_a_relation_that_the_dot_product_misses():
    found = learn(
        planted(count=600), sides=BOTH, scale=None, search=replace(QUICK, components=(6,), epochs=40), seed=0
    )
    assert found.curve[0]["validation"] < 0.85 < found.validation
    assert found.curve[-1]["loss"] < found.curve[0]["loss"] / 2


def test_a_head_without_the_informative_side_learns_nothing():
    examples = planted(count=600)
    search = replace(QUICK, components=(6,), epochs=30)
    with_it = learn(examples, sides=("context",), scale=None, search=search, seed=0)
    without = learn(examples, sides=("reference",), scale=None, search=search, seed=0)
    assert with_it.validation > 0.8 > 0.4 > without.validation


def test_the_gradient_is_the_slope_of_the_squared_error():
    examples = planted()
    part = bilinear_fit._ProjectedExamples(
        Components.fit(examples.triples.reply, 3), examples, examples, None, BOTH, None
    )
    weights = np.random.default_rng(1).normal(size=(2, 2, 3, 3))
    rows = np.arange(10)
    _, slope = part.gradient(weights, rows, 10)
    for place in [(0, 0, 1, 2), (1, 1, 0, 0)]:
        moved = [weights.copy(), weights.copy()]
        moved[0][place] += 1e-5
        moved[1][place] -= 1e-5
        high, low = (part.gradient(one, rows, 10)[0][place[0]] for one in moved)
        assert slope[place] == pytest.approx((high - low) / 2e-5, rel=1e-5)


def test_the_curve_does_not_depend_on_the_piece_size():
    curves = [
        learn(planted(), sides=BOTH, scale=None, search=replace(QUICK, piece=piece), seed=0).curve
        for piece in (1, None)
    ]
    one, eight = (np.array([[p["loss"], p["validation"]] for p in curve]) for curve in curves)
    assert one == pytest.approx(eight, abs=1e-9)
    assert abs((one - eight).mean()) < 1e-10


def test_settings_trained_together_equal_those_trained_separately():
    together = learn(planted(), sides=BOTH, scale=None, search=QUICK, seed=0)
    alone = [
        learn(planted(), sides=BOTH, scale=None, search=replace(QUICK, gamma=(gamma,)), seed=0)
        for gamma in QUICK.gamma
    ]
    assert together.validation == pytest.approx(max(one.validation for one in alone), abs=1e-12)


def test_the_same_seed_gives_the_same_weights_and_another_seed_another_split():
    first, again, other = (
        learn(planted(), sides=BOTH, scale=None, search=QUICK, seed=seed) for seed in (0, 0, 1)
    )
    assert np.array_equal(first.head.matrices["context"], again.head.matrices["context"])
    assert not np.array_equal(first.head.matrices["context"], other.head.matrices["context"])


def test_an_interrupted_training_resumes_and_gives_the_same_weights(tmp_path, monkeypatch):
    search = replace(QUICK, components=(2, 4))
    whole = learn(planted(), sides=BOTH, scale=None, search=search, seed=0)
    real, calls = bilinear_fit._train, []

    def dies(*given):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(bilinear_fit, "_train", dies)
    with pytest.raises(KeyboardInterrupt):
        learn(planted(), sides=BOTH, scale=None, search=search, seed=0, work=tmp_path)
    resumed = learn(planted(), sides=BOTH, scale=None, search=search, seed=0, work=tmp_path)
    assert len(calls) == 3  # the first part was not trained again
    for side in BOTH:
        assert np.array_equal(resumed.head.matrices[side], whole.head.matrices[side])


@given(st.lists(st.integers(0, 9), min_size=12, max_size=60), st.integers(0, 5))
def test_no_context_is_in_both_training_and_validation(contexts, seed):
    codes = np.array(contexts)
    if len(np.unique(codes)) < 2:
        return
    rest, held = split(codes, 0.2, np.random.default_rng(seed))
    assert len(held)
    assert not set(codes[rest]) & set(codes[held])
    assert sorted([*rest, *held]) == list(range(len(codes)))


def said(name, *texts):
    turns = tuple(Turn("user", text) for text in texts)
    return Item(name, name, "bot", turns, len(turns) - 1, cluster=name, pair=name)


def test_contexts_that_share_a_long_turn_are_one_group():
    shared = "where did you go on holiday"
    items = [
        said("a", "hi there", shared, "x"),
        said("b", shared.upper() + "?", "y"),
        said("c", "hi there", "z"),
    ]
    codes = context_groups(items)
    assert codes[0] == codes[1] != codes[2]


def test_ratings_are_standardised_within_each_corpus():
    found = standardised(np.array([1.0, 3.0, 50.0, 90.0]), ["a", "a", "b", "b"])
    assert found == pytest.approx([-1, 1, -1, 1])
    with pytest.raises(DataError, match="are equal"):
        standardised(np.ones(4), ["a", "a", "b", "b"])


def test_training_without_a_system_and_with_less_data_is_measured():
    given_ = adem_task("adem")
    apart = [
        replace(item, turns=(Turn("user", f"what about number {at} then"), item.turns[-1]), turn=1)
        for at, item in enumerate(given_.items)
    ]
    two = [replace(item, agent=("a", "b")[at % 2]) for at, item in enumerate(apart)]
    quick = {
        "components": 5,
        "gamma": 0.002,
        "rate": 0.01,
        "batch": 16,
        "epochs": 2,
        "folds": 3,
        "validation": 0.4,
    }
    asked = {**quick, "leave_out_systems": True, "shares": "1/0.5"}
    found = train(replace(given_, items=two, settings=asked)).findings
    rows = {(one.metric, one.statistic): one for one in found}
    whole = rows["adem, nothing left out", "spearman"]
    assert rows["adem, 100% of the contexts", "spearman"].estimate == whole.estimate
    assert rows["adem, a left out", "spearman"].n_items == whole.n_items == 40
    assert rows["adem, a left out: its replies", "spearman"].n_items == 20
    assert rows["adem, a left out", "pearson"].estimate != whole.estimate
    assert ("adem, 1 in 2 left out at random", "spearman") in rows
    with pytest.raises(UsageError, match="no system can be left out"):
        train(replace(given_, items=apart, settings=asked))
    with pytest.raises(UsageError, match="at most 1"):
        train(replace(given_, items=apart, settings={**quick, "shares": "50"}))


def test_with_several_references_the_score_is_the_mean_of_the_scores():
    metric = resolve("adem", trained=tiny_trained("adem"))
    item = adem_task("adem").items[0]

    def scored(*references):
        turn = replace(item.turns[-1], references=references)
        return metric.rows([replace(item, turns=(*item.turns[:-1], turn))])[0, 0]

    one, two = "i like the old bike", "and now the rain is gone"
    assert scored(one, two) == pytest.approx((scored(one) + scored(two)) / 2)


def test_a_trained_model_recognises_its_training_items():
    given_ = adem_task("adem")
    metric = resolve("adem", trained=tiny_trained("adem"))
    rows = metric.rows(given_.items)
    assert np.isfinite(rows).all()
    assert metric.in_training(given_.items) == len(given_.items)
    card = folder.load(tiny_trained("adem"), "adem").card
    assert set(card["held_out"]) == {"spearman", "pearson"}


def test_punctuation_and_case_do_not_change_scores_with_single_text_encoders():
    metric = resolve("adem-c", trained=tiny_trained("adem-c"))
    item = adem_task("adem-c").items[0]
    reworded = replace(
        item, turns=(*item.turns[:-1], replace(item.turns[-1], content=item.reply.upper() + "!!"))
    )
    assert np.array_equal(metric.rows([item]), metric.rows([reworded]))


def test_an_untrained_metric_says_which_command_trains_it():
    with pytest.raises(NotTrained, match="turnwise train adem-r DATA"):
        resolve("adem-r").rows([])


def test_a_model_of_another_kind_is_refused():
    with pytest.raises(UsageError, match="kind `adem-c`"):
        resolve("adem", trained=tiny_trained("adem-c")).rows([])


def test_a_model_whose_encoder_has_changed_is_refused(tmp_path):
    stored = folder.load(tiny_trained("adem"), "adem")
    about = {**stored.config["encoder"], "signature": "hashing|d:999|v:1"}
    folder.save(
        tmp_path / "m",
        kind="adem",
        tensors=stored.tensors,
        config={**stored.config, "encoder": about},
        card={},
    )
    with pytest.raises(UsageError, match="train it anew"):
        resolve("adem", trained=str(tmp_path / "m")).rows([])


@pytest.mark.parametrize("broken", ["head.axes", "head.context"])
def test_an_incomplete_head_is_a_clear_error(tmp_path, broken):
    stored = folder.load(tiny_trained("adem"), "adem")
    tensors = {name: part for name, part in stored.tensors.items() if name != broken}
    folder.save(tmp_path / "m", kind="adem", tensors=tensors, config=stored.config, card={})
    with pytest.raises(DataError, match="cannot be read"):
        resolve("adem", trained=str(tmp_path / "m")).rows([])


def test_training_without_references_suggests_adem_c():
    with pytest.raises(DataError, match="`train adem-c` needs no references"):
        train(task("adem", settings={}))


def test_too_few_equal_or_missing_ratings_are_refused():
    good = adem_task("adem")
    people = good.ratings
    with pytest.raises(DataError, match="at least 30"):
        train(replace(good, items=good.items[:20]))
    same = Ratings(**{name: getattr(people, name) for name in ("dimension", "scale", "per_item", "ceiling")},
                   values=dict.fromkeys(people.values, 3.0))  # fmt: skip
    with pytest.raises(DataError, match="nothing to learn"):
        train(replace(good, ratings=same))
    with pytest.raises(DataError, match="learns from ratings"):
        train(replace(good, ratings=None))
    bare = [replace(item, turns=item.turns[-1:], turn=0) for item in good.items]
    with pytest.raises(DataError, match="no rated reply has a context"):
        train(replace(good, items=bare))


def test_one_rater_is_a_warning_and_a_misspelt_setting_an_error():
    lines = []
    good = adem_task("adem", say=lines.append)
    alone = replace(good.ratings, per_item=1.0)
    train(replace(good, ratings=alone))
    assert any("one rater" in line for line in lines)
    with pytest.raises(UsageError, match="no setting `gama`"):
        train(adem_task("adem", settings={"gama": 1.0}))
    with pytest.raises(UsageError, match="joined by /"):
        train(adem_task("adem", settings={"components": "7,20"}))


def test_a_model_contains_a_copy_of_its_trained_encoder(tmp_path):
    pytest.importorskip("torch")
    from tests.small_talk import TINY, small_talk
    from turnwise.networks import characters
    from turnwise.networks.hred import pretraining

    rng = np.random.default_rng(0)
    hred = pretraining.train(small_talk(), settings=pretraining.Settings(**TINY, updates=2, every=2), rng=rng)
    sizes = {
        name: TINY[name] for name in ("embedding", "utterance", "context", "batch", "held_out", "device")
    }
    letters = characters.train(
        small_talk(), settings=characters.Settings(**sizes, max_tokens=40, updates=2, every=2), rng=rng
    )
    for made in (hred, letters):
        path = tmp_path / made.kind
        folder.save(path, kind=made.kind, tensors=made.tensors, config=made.config, card=made.card)
        learned = train(adem_task("adem", model=str(path)))
        model = tmp_path / f"adem-{made.kind}"
        folder.save(model, kind="adem", tensors=learned.tensors, config=learned.config, card=learned.card)
        shutil.rmtree(path)  # the model must not need it any more
        metric = resolve("adem", trained=str(model))
        assert np.isfinite(metric.rows(adem_task("adem").items)).all()
        assert made.kind in str(metric.signature)


def test_a_system_prompt_that_all_share_connects_no_contexts():
    prompt = Turn("system", "you are a kind and helpful assistant")
    items = [
        Item(
            name,
            name,
            "bot",
            (prompt, Turn("user", text), Turn("assistant", "x")),
            2,
            cluster=name,
            pair=name,
        )
        for name, text in (("a", "where did you go on holiday"), ("b", "what is the capital of peru"))
    ]
    codes = context_groups(items)
    assert codes[0] != codes[1]
