"""ENIGMA and the neural Q estimators, on chains small enough to be solved by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

import torch

from tests import tiny_models
from turnwise import estimators
from turnwise.errors import DataError, Refused, Unmeasured, UsageError
from turnwise.estimators.neural.batches import Batches, Frozen
from turnwise.estimators.neural.enigma import Enigma
from turnwise.estimators.neural.fqe import NeuralFqe, NeuralLstdq
from turnwise.estimators.neural.minimax import Dice
from turnwise.estimators.neural.neural import LearnerInputs
from turnwise.estimators.neural.padding import horizon, padded
from turnwise.estimators.neural.settings import PRESETS, chosen
from turnwise.estimators.neural.training import factor, train
from turnwise.estimators.neural.training_data import gather
from turnwise.types import Episodes, RepliesAtPoints

LOGGED = ("i love", "the cat")  # how the two dialogues of Example 1 begin


def said(text: list[list[int]], relabelled: float = np.nan) -> RepliesAtPoints:
    codes = np.array(text, dtype=np.int64)
    return RepliesAtPoints(
        codes, np.zeros(codes.shape, bool), np.full(codes.shape, np.nan), np.full(codes.shape, relabelled)
    )


def two_ways(first: int, second: int) -> Episodes:
    """Example 1 of A.1: a target that takes the first of two logged ways once in five times, and then goes along it.

    The ways have `first` and `second` turns, the rewards are 0 and 1.
    """
    words = tiny_models.WORDS
    texts = ["hear me", *(f"{words[way * 8 + turn]} {LOGGED[way]}" for way in (0, 1) for turn in range(6))]
    user, logged, target = [], [], []
    for way, length in enumerate((first, second)):
        for turn in range(length):
            user.append(0)
            logged.append([1 + 6 * way + turn])
            target.append([1, 7, 7, 7, 7] if turn == 0 else logged[-1] * 5)
    return Episodes(
        rating="reward",
        scale=None,
        agents=("a", "b"),
        dialogues=("a/0", "b/0"),
        agent=np.array([0, 1]),
        reward=np.array([0.0, 1.0]),
        cluster=np.array([0, 1]),
        first=np.array([0, first, first + second]),
        texts=tuple(texts),
        user=np.array(user),
        logged=said(logged),
        alternatives={"target": said(target), "a": said(logged)},
    )


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_models.write_bert(tmp_path_factory.mktemp("bert"), max_length=128))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWISE_CACHE", str(tmp_path))


def tabular(episodes: Episodes, target: str, **settings: object) -> LearnerInputs:
    """Every (s, a) has a parameter of its own: equal ones of different dialogues share it."""
    data = gather(episodes, target)
    names: dict[tuple[str, ...], int] = {}
    places = []
    for dialogue in data.dialogues:
        before: tuple[str, ...] = ()
        for user, reply, others in dialogue:
            before = (*before, user or "")
            places += [names.setdefault((*before, text), len(names)) for text in (reply, *others)]
            before = (*before, reply)
    vectors = torch.eye(len(names))[places]
    batches = Batches(data, Frozen(vectors), "cpu")
    return LearnerInputs(
        data, batches, 0, chosen("quick", **settings), torch.Generator().manual_seed(0), "cpu"
    )


def test_the_target_of_example_1_has_its_value_by_neural_fqe_and_lstdq_on_a_table() -> None:
    for estimator, options in (
        (NeuralFqe(renewal=20), {"epochs": 400, "rate": 0.05}),
        (NeuralLstdq(nu_rate=2), {"epochs": 800, "rate": 0.05}),
    ):
        setup = tabular(two_ways(1, 3), "target", **options)
        learner = estimator.learner(setup)
        curves = train(learner, setup.settings, seed=0)
        assert learner.contributions().values.mean() == pytest.approx(0.8, abs=0.02), estimator.name
        assert curves["estimate"][0] == pytest.approx(0.5, abs=0.1)
        assert len(curves["objective"]) == len(curves["iteration"])


def test_enigma_gives_the_same_for_the_same_seed_and_contributions_average_to_its_value(bert) -> None:
    episodes = two_ways(2, 3)
    one, same, other = (
        Enigma(model=bert, epochs=20, device="cpu").estimate(
            episodes, "target", rng=np.random.default_rng(seed)
        )
        for seed in (1, 1, 2)
    )
    assert one.value == same.value != other.value
    np.testing.assert_array_equal(one.contributions, same.contributions)
    assert one.contributions.mean() == pytest.approx(one.value)
    assert one.diagnostics["dialogues"] == 2
    assert set(one.curves) == {"iteration", "objective", "estimate", "mean_zeta", "ess"}
    assert one.curves["iteration"][-1] == 20


def test_the_dialogues_of_the_target_are_not_looked_at(bert) -> None:
    episodes = two_ways(2, 3)
    flipped = replace(episodes, reward=np.array([123.0, 1.0]))
    first, second = (
        Enigma(model=bert, epochs=3, device="cpu").estimate(given, "a", rng=np.random.default_rng(0)).value
        for given in (episodes, flipped)
    )
    assert first == second


@pytest.mark.parametrize("estimator", [Enigma, NeuralFqe, NeuralLstdq])
def test_a_training_that_was_stopped_ends_as_one_that_was_not(bert, tmp_path, monkeypatch, estimator) -> None:
    episodes = two_ways(2, 3)

    def asked(folder: str | None) -> float:
        made = estimator(model=bert, epochs=30, batch=1, device="cpu", checkpoints=folder)
        return made.estimate(episodes, "target", rng=np.random.default_rng(0)).value

    class Stopped(Exception):
        pass

    folder = str(tmp_path / "kept")
    whole = asked(None)
    from turnwise.estimators.neural import training

    real, calls = training.descend, [0]

    def stop(*given: object, **more: object) -> None:
        calls[0] += 1
        if calls[0] > 30:
            raise Stopped
        real(*given, **more)

    monkeypatch.setattr(training, "descend", stop)
    with pytest.raises(Stopped):
        asked(folder)
    monkeypatch.setattr(training, "descend", real)
    assert len(list(Path(folder).iterdir())) == 1
    assert asked(folder) == whole


def test_a_collapsed_game_is_refused_with_a_remedy(bert) -> None:
    settings = {"epochs": 60, "price": -20.0, "lambda_rate": 0.0, "rate": 0.05, "by_step": False}
    with pytest.raises(
        Refused, match=r"collapsed: the mean zeta of last turns is 0\.\d\d .* --estimator robust"
    ):
        Enigma(model=bert, device="cpu", **settings).estimate(
            two_ways(1, 3), "target", rng=np.random.default_rng(0)
        )
    asked = Enigma(model=bert, device="cpu", allow_collapse=True, **settings)
    found = asked.estimate(two_ways(1, 3), "target", rng=np.random.default_rng(0))
    assert found.diagnostics["mean_zeta"] < 0.5
    assert found.diagnostics["collapsed"] == 1


def test_a_training_that_diverges_is_no_number(bert) -> None:
    estimator = Enigma(model=bert, epochs=50, rate=1e30, optimiser="sgd", device="cpu")
    with pytest.raises(Unmeasured, match="diverged"):
        estimator.estimate(two_ways(1, 3), "target", rng=np.random.default_rng(0))


@pytest.mark.parametrize("kind", [NeuralFqe, NeuralLstdq])
def test_ratings_beyond_the_numbers_of_a_network_are_refused(bert, kind) -> None:
    """A 32-bit float is at most 3.4e38; the training would be said to diverge."""
    huge = replace(two_ways(1, 3), reward=np.array([0.0, 1e45]))
    with pytest.raises(Refused, match="smaller scale"):
        kind(model=bert, epochs=2, device="cpu").estimate(huge, "target", rng=np.random.default_rng(0))


def test_a_tuned_encoder_is_trained_and_the_next_estimate_begins_with_the_published_one(bert) -> None:
    estimator = Enigma(model=bert, tuned=True, epochs=5, rate=0.01, device="cpu")
    first, again = (
        estimator.estimate(two_ways(1, 3), "target", rng=np.random.default_rng(0)).value for _ in range(2)
    )
    frozen = Enigma(model=bert, components=0, epochs=5, rate=0.01, device="cpu")
    assert first == again
    assert first != frozen.estimate(two_ways(1, 3), "target", rng=np.random.default_rng(0)).value


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_gpu_gives_what_the_processor_gives(bert) -> None:
    here, there = (
        Enigma(model=bert, tuned=True, epochs=20, device=device).estimate(
            two_ways(1, 3), "target", rng=np.random.default_rng(0)
        )
        for device in ("cpu", "cuda")
    )
    assert here.value == pytest.approx(there.value, abs=1e-2)


def test_ablations_and_presets_have_signatures_of_their_own(bert) -> None:
    made = [
        Enigma(model=bert, **options)
        for options in (
            {},
            {"normalised": False},
            {"padding": False},
            {"weights": "random"},
            {"preset": "paper"},
            {"preset": "script"},
            {"tuned": True},
            {"t_max": 12},
        )
    ]
    assert len({str(estimator.signature) for estimator in made}) == len(made)
    for estimator in made[1:4]:
        short = replace(estimator, epochs=2)
        found = short.estimate(two_ways(1, 3), "target", rng=np.random.default_rng(0))
        assert np.isfinite(found.value)


def test_presets_say_what_their_sources_say() -> None:
    paper, script = PRESETS["paper"], PRESETS["script"]
    assert (paper.rate, paper.schedule, paper.clip, paper.lambda_rate, paper.nu_rate, paper.alpha) == (
        2e-4,
        "inverse-sqrt",
        10,
        100,
        2,
        1,
    )
    assert (
        script.optimiser,
        script.rate,
        script.clip,
        script.lambda_rate,
        script.nu_rate,
        script.epochs,
    ) == (
        "sgd",
        2e-2,
        1,
        10,
        5,
        500,
    )


def test_a_word_that_a_setting_does_not_know_is_answered_with_those_it_knows() -> None:
    for name, known in {"preset": "quick", "reward": "relabelled", "optimiser": "adam"}.items():
        with pytest.raises(UsageError, match=f"{name}`? is one of .*{known}"):
            estimators.resolve(f"enigma[{name}=fast]")


def test_names_of_the_registry_find_the_neural_estimators() -> None:
    for name, kind in {"enigma": Enigma, "fqe-neural": NeuralFqe, "lstdq-neural": NeuralLstdq}.items():
        assert isinstance(estimators.resolve(name), kind)
    asked = estimators.resolve("enigma[preset=script,epochs=3,padding=false]")
    assert isinstance(asked, Enigma)
    assert (asked.settings().epochs, asked.settings().optimiser, asked.padding) == (3, "sgd", False)


def test_relabelled_rewards_are_taken_where_all_are_known() -> None:
    episodes = two_ways(1, 3)
    own = episodes.alternatives["target"]
    relabelled = np.where(np.arange(5) < 2, 0.25, np.nan) * np.ones_like(own.outcome)
    known = replace(
        episodes, alternatives={"target": replace(own, relabelled=relabelled), "a": episodes.logged}
    )
    assert gather(known, "target").reward.tolist() == [0.25, 0.25]
    assert gather(known, "target", reward="logged").reward.tolist() == [0.0, 1.0]
    assert not gather(episodes, "target").relabelled
    with pytest.raises(UsageError, match="relabelled"):
        gather(episodes, "target", reward="relabelled")


def test_unrated_dialogues_are_left_out_and_counted() -> None:
    episodes = replace(two_ways(1, 3), reward=np.array([np.nan, 1.0]))
    data = gather(episodes, "target")
    assert (data.unrated, len(data.reward), len(data.logged)) == (1, 1, 3)
    with pytest.raises(Refused, match="rating `reward`"):
        gather(replace(episodes, reward=np.full(2, np.nan)), "target")


def test_a_silent_target_is_an_error_that_counts_its_turns() -> None:
    episodes = two_ways(1, 3)
    quiet = said([[-1], [1], [1], [-1]])
    with pytest.raises(DataError, match="2 of 4 turns"):
        gather(replace(episodes, alternatives={"target": quiet}), "target")


def test_a_reply_that_the_log_has_is_one_row() -> None:
    data = gather(two_ways(1, 3), "target")
    assert data.row[-1] == 6  # four logged replies, and at each first point the other way
    assert data.target[0].tolist() == [0, 1, 1, 1, 1]
    np.testing.assert_allclose(data.weight.sum(axis=1), 1)


@given(lengths=st.lists(st.integers(1, 5), min_size=1, max_size=4), more=st.integers(0, 3))
def test_padding_puts_pseudo_states_before_and_behind_each_dialogue(lengths, more) -> None:
    t_max = max(lengths) + 1 + more
    inside = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    turns = torch.where(inside, torch.arange(1.0, max(lengths) + 1), torch.nan)
    steps = padded(turns, inside, 100 + torch.arange(float(t_max)))
    for row, length in enumerate(lengths):
        expected = [100, *range(1, length + 1), *(100 + t for t in range(length + 1, t_max)), 100]
        assert steps[row].tolist() == expected


def test_the_loss_is_that_of_algorithm_2_and_its_gradient_is_turned_around_for_zeta_alone() -> None:
    setup = tabular(two_ways(1, 3), "target")
    dice = Dice(setup.batches.source.width, 0, horizon=6, alpha=1.0, price=0.3, generator=setup.generator)
    with torch.no_grad():
        dice.zeta_pseudo.uniform_(0.5, 1.5)
        dice.nu_pseudo.uniform_(-1, 1)
        dice.nu.last.weight.uniform_(-1, 1)
    batch = setup.batches[np.arange(2)]
    data, lengths = setup.data, [1, 3]
    zeta, nu = dice.zeta(batch.rows) ** 2, dice.nu(batch.rows)
    total, point = torch.zeros(()), 0
    for length in lengths:  # lines 10 to 19, with pad T_max at index 0
        z, v, ahead = [dice.zeta_pseudo[0] ** 2], [dice.nu_pseudo[0]], [dice.nu_pseudo[0]]
        for _ in range(length):
            z.append(zeta[data.logged[point]])
            v.append(nu[data.logged[point]])
            ahead.append(nu[data.target[point]].mean())
            point += 1
        for t in range(length + 1, 6):
            z.append(dice.zeta_pseudo[t] ** 2)
            v.append(dice.nu_pseudo[t])
            ahead.append(dice.nu_pseudo[t])
        ahead.append(dice.nu_pseudo[0])
        total = (
            total
            + sum(z[t] * (ahead[t + 1] - v[t]) + dice.price * (z[t] - 1) - z[t] ** 2 for t in range(6)) / 6
        )
    torch.testing.assert_close(dice.loss(batch), total / 2)
    plain = torch.autograd.grad(total / 2, list(dice.parameters()))
    turned = torch.autograd.grad(dice.loss(batch), list(dice.parameters()))
    for (name, _), expected, found in zip(dice.named_parameters(), plain, turned, strict=True):
        torch.testing.assert_close(found, -expected if name.startswith("zeta") else expected, msg=name)


def test_dialogues_longer_than_t_max_are_counted_in_the_error() -> None:
    with pytest.raises(UsageError, match=r"2 of 3 dialogues .* t_max=8 is enough"):
        horizon(np.array([3, 6, 7]), 6)
    assert horizon(np.array([3, 6, 7]), None) == 8
    assert horizon(np.array([3, 5]), 6) == 6


def test_schedules_warm_up_and_come_down() -> None:
    linear, root = chosen("script", warmup=10), chosen("paper", warmup=10)
    assert [factor(root, step, 100) for step in (0, 9, 39)] == pytest.approx([0.1, 1, 0.5])
    assert [factor(linear, step, 100) for step in (0, 50)] == pytest.approx([0.1, 0.5])
