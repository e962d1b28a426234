"""Pretraining of HRED, VHRED and the dual encoder: it learns, it resumes, and how a batch is cut does not show."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.small_talk import TINY, small_talk  # noqa: E402
from turnwise.errors import DataError, TooFewItems, UsageError  # noqa: E402
from turnwise.networks import dual  # noqa: E402
from turnwise.networks.hred import pretraining  # noqa: E402
from turnwise.networks.hred.dialogue_model import Gaussian  # noqa: E402
from turnwise.types import Dialogue, Turn  # noqa: E402

LATENT = {"latent": 4, "anneal": 20}


def trained(count: int = 40, work=None, seed: int = 0, say=lambda _: None, **settings):
    if "negatives" in settings:
        sizes = {name: value for name, value in TINY.items() if name != "decoder"}
        chosen, module = dual.Settings(**{**sizes, **settings}), dual
    else:
        chosen, module = pretraining.Settings(**{**TINY, **settings}), pretraining
    rng = np.random.default_rng(seed)
    return module.train(small_talk(count), settings=chosen, rng=rng, say=say, work=work)


def bounds(result) -> list[float]:
    return [point["bound"] for point in result.curve]


def test_the_likelihood_of_held_out_dialogues_rises():
    result = trained(updates=60, every=20)
    assert result.kind == "hred"
    assert bounds(result)[-1] < bounds(result)[0] - 0.5
    assert {point["kl"] for point in result.curve} == {0.0}
    assert result.card["held_out"]["bound"] == min(bounds(result))


def test_the_variable_of_vhred_carries_something():
    result = trained(updates=60, every=20, **LATENT)
    assert result.kind == "vhred"
    assert all(point["kl"] > 0 for point in result.curve)
    assert [point["weight"] for point in result.curve] == [1.0, 1.0, 1.0]
    assert bounds(result)[-1] < bounds(result)[0]


def test_the_dual_encoder_learns_which_reply_follows():
    result = trained(updates=80, every=40, negatives=4, patience=9)
    assert result.curve[-1]["recall"] > 0.5
    assert bounds(result)[-1] < np.log(2)
    assert set(result.config["replies"]) == {turn.text for one in small_talk() for turn in one.turns[1:]}


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, LATENT, {"negatives": 4}], ids=["hred", "vhred", "dual"])
def test_one_part_of_eight_and_eight_parts_of_one_give_one_curve(settings):
    whole = bounds(trained(updates=12, every=3, **settings))
    parts = bounds(trained(updates=12, every=3, at_once=1, **settings))
    assert parts == pytest.approx(whole, abs=2e-3)
    assert np.mean(np.subtract(parts, whole)) == pytest.approx(0, abs=5e-4), "no one-sided drift"


@pytest.mark.parametrize("settings", [LATENT, {"negatives": 4}], ids=["vhred", "dual"])
def test_training_that_was_stopped_goes_on_as_if_it_had_not_been(settings, tmp_path):
    whole = trained(updates=12, every=3, **settings)

    def stop(line: str) -> None:
        if line.startswith("update 6"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(updates=12, every=3, work=tmp_path, say=stop, **settings)
    said: list[str] = []
    resumed = trained(updates=12, every=3, work=tmp_path, say=said.append, **settings)
    assert said[0] == "resumed after update 6"
    assert resumed.curve == whole.curve
    for name, tensor in whole.tensors.items():
        np.testing.assert_array_equal(resumed.tensors[name], tensor)


def test_a_checkpoint_of_other_training_is_refused(tmp_path):
    trained(updates=3, every=3, work=tmp_path)
    with pytest.raises(UsageError, match="other data, settings or seed"):
        trained(updates=3, every=3, work=tmp_path, seed=1)
    (tmp_path / "checkpoint.safetensors").write_bytes(b"\x05")
    with pytest.raises(DataError, match="is damaged"):
        trained(updates=3, every=3, work=tmp_path)


def test_training_stops_when_it_gets_no_better():
    result = trained(updates=400, every=5, patience=2, learning_rate=0.05)
    assert len(result.curve) < 80
    best = int(np.argmin(bounds(result)))
    assert best == len(result.curve) - 3, "two looks without a better one"


def test_the_same_seed_gives_the_same_weights_and_another_another():
    first, again, other = (trained(updates=3, every=3, seed=seed) for seed in (0, 0, 1))
    same = [np.array_equal(first.tensors[name], again.tensors[name]) for name in first.tensors]
    assert all(same)
    assert bounds(other) != bounds(first)


def test_the_global_generator_is_left_alone():
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    trained(updates=2, every=2)
    assert torch.equal(torch.rand(1), expected)


def test_the_divergence_is_that_of_the_library():
    generator = torch.Generator().manual_seed(0)
    means, spreads = torch.randn(2, 5, 3, generator=generator), torch.rand(2, 5, 3, generator=generator) + 0.1
    ours = Gaussian(means[0], spreads[0]).divergence(Gaussian(means[1], spreads[1]))
    normal = torch.distributions.Normal
    theirs = torch.distributions.kl_divergence(normal(means[0], spreads[0]), normal(means[1], spreads[1]))
    torch.testing.assert_close(ours, theirs.sum(dim=1))


def test_long_dialogues_are_read_in_pieces_and_no_turn_is_lost():
    from turnwise.networks.subwords import Subwords
    from turnwise.networks.training.on_dialogues import _encoded

    texts = [[f"turn {place}" for place in range(count)] for count in (2, 6, 7, 20)]
    subwords = Subwords.learn([text for turns in texts for text in turns], size=60)
    settings = pretraining.Settings(**TINY)
    pieces = _encoded(texts, subwords, settings)
    predicted = [tuple(turn) for piece in pieces for turn in piece[1:]]
    assert len(predicted) == sum(len(turns) - 1 for turns in texts)
    assert all(2 <= len(piece) <= settings.max_turns for piece in pieces)


def test_too_little_to_learn_from_and_impossible_settings_are_said():
    few = [Dialogue("1", "a", (Turn("user", "hi"), Turn("assistant", "ho")))] * 3
    with pytest.raises(TooFewItems, match="10 dialogues of 2 turns or more, and there are 3"):
        pretraining.train(few, settings=pretraining.Settings(**TINY), rng=np.random.default_rng(0))
    settings = pretraining.Settings(**TINY)
    with pytest.raises(UsageError, match="`batch` = 0"):
        replace(settings, batch=0)
    with pytest.raises(UsageError, match="`held_out` between 0 and 1"):
        replace(settings, held_out=1.0)
