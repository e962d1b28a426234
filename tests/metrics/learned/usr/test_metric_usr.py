"""USR's retrieval metric: training, and models that do not fit."""

from pathlib import Path

import pytest

from tests.tiny_trained import dialogues, task, write
from turnwise.encode.models import folder
from turnwise.errors import UsageError
from turnwise.metrics import resolve
from turnwise.metrics.learned.usr import retrieval


def test_the_retrieval_head_separates_logged_replies_from_random_ones() -> None:
    made = retrieval.train(task("usr-ret", dialogues=dialogues(200), settings={"epochs": 15, "patience": 15}))
    above = {str(finding.statistic): finding.estimate for finding in made.findings}
    assert above["above a negative, one"] is not None
    assert above["above a negative, one"] > 0.75
    assert made.curve[-1]["loss"] < made.curve[0]["loss"]


def test_training_twice_gives_the_same_weights_and_another_seed_others() -> None:
    first, second, other = (retrieval.train(task("usr-ret", seed=seed)) for seed in (0, 0, 1))
    for name, tensor in first.tensors.items():
        assert tensor.tobytes() == second.tensors[name].tobytes()
    assert any(tensor.tobytes() != other.tensors[name].tobytes() for name, tensor in first.tensors.items())


def test_a_model_trained_with_other_vectors_is_refused(tmp_path: Path) -> None:
    found = folder.load(write("usr-ret", tmp_path / "m"), "usr-ret")
    encoder = {**found.config["encoder"], "signature": "hashing|d:999"}
    folder.save(
        tmp_path / "m",
        kind="usr-ret",
        tensors=found.tensors,
        config={**found.config, "encoder": encoder},
        card={},
    )
    with pytest.raises(UsageError, match="d:999"):
        str(resolve("usr-ret", trained=str(tmp_path / "m")).signature)
