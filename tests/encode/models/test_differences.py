"""A masked language model that is stored as its difference from another model."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

from safetensors.numpy import load_file

from tests.tiny_models import write_bert, write_masked
from turnwise.encode.models import folder
from turnwise.encode.models.differences import GROUP, LEVELS, pack, unpack
from turnwise.encode.neural.masked import MaskedLM
from turnwise.errors import DataError

WORDS = "bert.embeddings.word_embeddings.weight"
PAIRS = [("i love the guitar", "you play a song"), ("dog", "we hear the cat and my piano")]


@given(seed=st.integers(0, 2**32 - 1), size=st.floats(1e-3, 10.0))
def test_a_matrix_is_off_by_half_a_step_of_its_group_at_most_or_cut_at_its_end(
    seed: int, size: float
) -> None:
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(3, 2 * GROUP)).astype(np.float32)
    trained = base + size * rng.normal(size=base.shape).astype(np.float32)
    stored = pack({"w": trained}, {"w": base})
    assert stored["w.codes"].nbytes == trained.size / 2
    wrong = np.abs(unpack(stored, {"w": base})["w"] - trained).reshape(3, 2, GROUP)
    largest = np.abs(trained - base).reshape(3, 2, GROUP).max(axis=2, keepdims=True)
    assert (wrong <= largest * 0.4 + 1e-3).all()
    # Below the end of the range, which is 60 % of the largest weight or more, nothing is cut.
    inside = np.abs(trained - base).reshape(3, 2, GROUP) <= 0.6 * largest
    assert (wrong[inside] <= (np.broadcast_to(largest, wrong.shape)[inside] / LEVELS / 2) * 1.01 + 1e-3).all()


def test_no_difference_is_the_base_and_vectors_keep_half_precision() -> None:
    base = {"w": np.ones((2, GROUP), dtype=np.float32)}
    vector = np.linspace(-1, 1, 5, dtype=np.float32)
    found = unpack(pack({**base, "v": vector}, base), base)
    assert np.array_equal(found["w"], base["w"])
    assert np.array_equal(found["v"], vector.astype(np.float16).astype(np.float32))


def test_the_difference_of_another_model_is_refused() -> None:
    stored = pack({"w": np.ones((2, GROUP), dtype=np.float32)}, {})
    with pytest.raises(DataError, match="`w` is the difference from another model"):
        unpack(stored, {"w": np.ones((2, 2 * GROUP), dtype=np.float32)})


@pytest.mark.parametrize("bf16", [False, True])
def test_a_stored_difference_scores_as_the_model_it_was_made_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bf16: bool
) -> None:
    monkeypatch.setattr("turnwise.encode.neural.loading.computes_bf16", lambda _: bf16)
    body, whole = write_bert(tmp_path / "body", max_length=256), write_masked(tmp_path / "whole", seed=1)
    base = {f"bert.{name}": array for name, array in load_file(body / "model.safetensors").items()}
    trained = {
        name: array
        for name, array in load_file(whole / "model.safetensors").items()
        if not name.startswith("cls.predictions.decoder")
    }
    # The word embeddings are the body's: they are not stored.
    same = {**trained, WORDS: base[WORDS]}
    difference = folder.save(
        tmp_path / "difference",
        kind="usr-mlm",
        tensors=pack({name: array for name, array in same.items() if name != WORDS}, base),
        config={"base": "minilm"},
        card={},
    )
    made = MaskedLM(body, "made", difference=difference)
    reference = MaskedLM(whole, "whole")
    reference.model.bert.embeddings.word_embeddings.weight.data.copy_(
        made.model.bert.embeddings.word_embeddings.weight
    )
    # Matrices of this size are stored in half precision.
    assert made.score(PAIRS) == pytest.approx(reference.score(PAIRS), rel=0.05 if bf16 else 1e-3, abs=1e-2)
    assert ("precision:bf16" in str(made.signature)) == bf16


@pytest.mark.parametrize("size", [29, 114])
def test_a_difference_that_lacks_weights_or_has_others_is_refused(tmp_path: Path, size: int) -> None:
    body = write_bert(tmp_path / "body", max_length=256)
    tensors = {"cls.predictions.bias": np.zeros(size, dtype=np.float16)}
    other = folder.save(tmp_path / "difference", kind="usr-mlm", tensors=tensors, config={}, card={})
    with pytest.raises(DataError, match="does not fit the model"):
        MaskedLM(body, "made", difference=other).score(PAIRS)
