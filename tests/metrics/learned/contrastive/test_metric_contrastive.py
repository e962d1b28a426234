"""MAUDE and ATT: the head of the network, and a model that is missing."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.tiny_trained import tiny_trained
from turnwise.encode.models.catalogue import NotFetched
from turnwise.errors import UsageError
from turnwise.metrics import resolve
from turnwise.metrics.learned.contrastive.head import Head
from turnwise.metrics.learned.contrastive.metric import Contrastive
from turnwise.metrics.learned.trained import HARDENED_MODELS
from turnwise.run.attack.trained_model_card import model_folder


def test_an_untrained_metric_says_how_to_train_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnwise.metrics.learned.trained.shipped", lambda _: None)
    with pytest.raises(NotFetched, match="turnwise train maude DATA -o MODEL"):
        str(resolve("maude").signature)


def test_a_head_gives_the_same_logits_in_numpy_and_torch() -> None:
    import torch

    from turnwise.metrics.learned.contrastive.training import Network, Shape
    from turnwise.metrics.learned.encoded_items import EncodedItem

    rng = np.random.default_rng(0)
    for recurrent in (False, True):
        shape = Shape(turns=4, hidden=5, recurrent=recurrent)
        torch.manual_seed(0)
        network = Network(6, shape).eval()
        with torch.no_grad():  # to half precision and back, as a folder keeps them
            for parameter in network.parameters():
                parameter.copy_(parameter.half().float())
        head = Head.of(network.tensors("head"), "head", turns=4, decay=shape.decay)
        for length in (1, 3, 4):
            context, reply = (rng.normal(size=size).astype(np.float32) for size in ((length, 6), 6))
            there = torch.zeros(1, 4)
            there[0, :length] = 1
            padded = torch.zeros(1, 4, 6)
            padded[0, :length] = torch.tensor(context)
            with torch.no_grad():
                wanted = float(network(network.context(padded, there), torch.tensor(reply)[None]))
            assert head.logit(EncodedItem(reply, context, ("a",) * length, "a")) == pytest.approx(
                wanted, abs=1e-4
            )


@pytest.mark.parametrize("name", HARDENED_MODELS)
def test_the_hardened_model_that_ships_has_the_heads_of_the_plain_one_and_a_guard(name: str) -> None:
    plain, hardened = resolve(name), resolve(f"{name}[trained=hardened]")
    assert isinstance(plain, Contrastive)
    assert isinstance(hardened, Contrastive)
    assert plain.guard is None
    assert hardened.guard is not None
    heads = {key: part for key, part in plain.folder.tensors.items() if not key.startswith("guard")}
    assert all(np.array_equal(part, hardened.folder.tensors[key]) for key, part in heads.items())


def test_a_metric_without_a_hardened_model_says_what_to_do_instead() -> None:
    with pytest.raises(UsageError, match=r"`turnwise` has no hardened model: .* guarded\[metric=turnwise\]"):
        str(resolve("turnwise[trained=hardened]").signature)


def test_a_folder_of_the_same_name_is_not_taken_for_the_hardened_model_that_ships(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny_trained("maude"), tmp_path / "hardened")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"write trained=\./hardened"):
        str(resolve("maude[trained=hardened]").signature)
    assert str(resolve("maude[trained=./hardened]").signature)
    with pytest.raises(UsageError, match="card of a model that you trained"):
        model_folder("maude[trained=hardened]")
