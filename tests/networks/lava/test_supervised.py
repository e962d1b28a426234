"""LAVA's supervised training: the latent action carries information on the reply."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.small_task import LAVA, small_task  # noqa: E402
from turnwise.encode.models import folder  # noqa: E402
from turnwise.networks.lava import plas, supervised  # noqa: E402
from turnwise.networks.lava.corpus import Corpus  # noqa: E402
from turnwise.networks.lava.model import Model  # noqa: E402
from turnwise.networks.lava.state_layout import StateLayout  # noqa: E402
from turnwise.networks.lava.words import Words  # noqa: E402
from turnwise.types import Dialogue  # noqa: E402

LATENT = 40
WEIGHT = 0.3  # of the KL, in nats per dimension


@cache
def many_replies() -> tuple[Dialogue, ...]:
    """Dialogues whose replies are one of 64 sentences, which the user's turn does not determine."""
    words = ("red green blue pink", "fox hen owl bee", "sat ran hid ate")
    rng = np.random.default_rng(0)
    found = []
    for one in small_task(160):
        turns = [
            replace(turn, content=" ".join(rng.choice(part.split()) for part in words))
            if turn.role == "assistant"
            else turn
            for turn in one.turns
        ]
        found.append(replace(one, turns=tuple(turns)))
    return tuple(found)


def new_model(beta: float) -> tuple[Model, Corpus]:
    dialogues = many_replies()
    words = Words.learn((turn.text for one in dialogues for turn in one.turns), fewest=1)
    sizes = {"embedding": 12, "hidden": 24, "latent": LATENT, "dropout": 0.0}
    model = Model.new(words, StateLayout.learn(dialogues), longest=12, beta=beta, **sizes)
    return model, model.corpus(dialogues)


@cache
def trained(weight: float) -> tuple[float, tuple[str, ...]]:
    """The nats per reply that its latent action is worth to the decoder, and what training said."""
    model, data = new_model(weight)
    chosen = {**LAVA, "latent": LATENT, "epochs": 10, "patience": 10, "alpha": weight, "beta": weight}
    said: list[str] = []
    how = supervised.Settings(**chosen, device="cpu")
    supervised.train(model, data, data, settings=how, seed=0, report=said.append)
    with torch.no_grad():
        points = model.network.action(data.reply).mean
        right, wrong = (
            float(model.network.decoder.loss(one, data.reply).mean())
            for one in (points, points.roll(1, dims=0))
        )
    return wrong - right, tuple(said)


def warnings(said: tuple[str, ...]) -> list[str]:
    return [line for line in said if line.startswith("warning")]


def test_a_latent_action_tells_the_decoder_its_reply() -> None:
    worth, said = trained(WEIGHT)
    assert worth > np.log(64) / 2  # half of what there is to know, or more
    assert not warnings(said)


def test_the_kl_summed_over_dimensions_makes_the_latent_collapse_and_training_says_so() -> None:
    worth, said = trained(WEIGHT * LATENT)  # what the sum would weigh
    assert worth < 0.1
    (line,) = warnings(said)
    assert "joint: the latent variable has collapsed" in line
    assert "lower alpha and beta" in line


def test_the_validation_loss_weighs_the_kl_as_the_training_loss_does() -> None:
    model, data = new_model(WEIGHT)
    how = supervised.Settings(**{**LAVA, "latent": LATENT, "beta": WEIGHT}, device="cpu")
    (point,) = supervised.learn(model, data, data, task="vae", epochs=1, settings=how, seed=0)
    assert point["validation"] == pytest.approx(point["vae"] + WEIGHT * point["kl_action"] / LATENT)


def test_the_warm_up_has_the_weight_that_the_stored_model_was_trained_with(tmp_path: Path) -> None:
    found = {}
    for beta in (0.001, 100.0):
        made, data = new_model(beta)
        target = tmp_path / str(beta)
        folder.save(target, kind="lava", tensors=made.tensors(), config=made.config, card={})
        model = Model.of(folder.load(target, "lava"), device="cpu")
        assert model.beta == beta
        how = plas.Settings(warm=1, device="cpu")
        (point,) = plas.warm_up(model, data, data, settings=how, seed=0)
        found[beta] = point
        assert point["validation"] == pytest.approx(point["vae"] + beta * point["kl_action"] / LATENT)
    assert found[100.0]["kl_action"] < found[0.001]["kl_action"]
