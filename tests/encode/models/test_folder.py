"""A trained model's folder: written whole, read back the same, refused when it is damaged or another's."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.encode.models import folder
from turnwise.errors import DataError, UsageError

TENSORS = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([1, 2], dtype=np.int8)}


def written(path: Path, **changed: object) -> folder.Folder:
    parts = {"kind": "toy", "tensors": TENSORS, "config": {"width": 3}, "card": {"licence": "MIT"}, **changed}
    return folder.save(path, **parts)  # type: ignore[arg-type]


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    made = written(tmp_path / "m")
    found = folder.load(tmp_path / "m", "toy")
    assert {name: array.tolist() for name, array in found.tensors.items()} == {
        name: array.tolist() for name, array in TENSORS.items()
    }
    assert found.tensors["b"].dtype == np.int8
    assert found.config == {"width": 3}
    assert found.digest == made.digest
    assert found.card["licence"] == "MIT"
    assert set(folder.CARD_KEYS) <= set(found.card)


def test_the_digest_follows_weights_and_settings_and_not_the_card(tmp_path: Path) -> None:
    first = written(tmp_path / "a").digest
    assert written(tmp_path / "b", card={"attacks": ["parrot"]}).digest == first
    assert written(tmp_path / "c", config={"width": 4}).digest != first
    assert written(tmp_path / "d", tensors={**TENSORS, "a": TENSORS["a"] + 1}).digest != first


def test_an_undefined_number_in_a_card_is_null(tmp_path: Path) -> None:
    written(tmp_path / "m", card={"ceiling": float("nan"), "n": np.int64(3)})
    card = json.loads((tmp_path / "m" / "card.json").read_text())
    assert card["ceiling"] is None
    assert card["n"] == 3


def test_weights_that_are_not_finite_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="diverged"):
        written(tmp_path / "m", tensors={"a": np.array([np.inf])})
    assert list(tmp_path.iterdir()) == []


@given(place=st.floats(0, 1, exclude_max=True), file=st.sampled_from([folder.WEIGHTS, folder.CONFIG]))
def test_a_changed_byte_is_never_loaded_as_if_nothing_had_happened(
    tmp_path_factory: pytest.TempPathFactory, place: float, file: str
) -> None:
    path = tmp_path_factory.mktemp("folder") / "m"
    made = written(path)
    data = bytearray((path / file).read_bytes())
    data[int(place * len(data))] ^= 1
    (path / file).write_bytes(bytes(data))
    try:
        found = folder.load(path, "toy")
    except (DataError, UsageError):
        return
    assert found.digest != made.digest or found.config == made.config


@pytest.mark.parametrize("file", [folder.WEIGHTS, folder.CARD])
def test_a_missing_part_is_named(tmp_path: Path, file: str) -> None:
    written(tmp_path / "m")
    (tmp_path / "m" / file).unlink()
    with pytest.raises(DataError, match=file):
        folder.load(tmp_path / "m", "toy")


def test_a_folder_of_another_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(UsageError, match="another program"):
        folder.load(tmp_path, "toy")
    with pytest.raises(UsageError, match="does not exist"):
        folder.load(tmp_path / "nowhere", "toy")


def test_a_model_of_another_kind_is_refused_and_not_overwritten(tmp_path: Path) -> None:
    written(tmp_path / "m")
    with pytest.raises(UsageError, match="`toy`"):
        folder.load(tmp_path / "m", "other")
    with pytest.raises(UsageError, match="another folder"):
        written(tmp_path / "m", kind="other")
    assert folder.load(tmp_path / "m", "toy").config == {"width": 3}


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="no trained model"):
        written(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_training_anew_replaces_the_model_whole(tmp_path: Path) -> None:
    written(tmp_path / "m")
    written(tmp_path / "m", config={"width": 9})
    assert folder.load(tmp_path / "m", "toy").config == {"width": 9}
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_a_file_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "m")
    monkeypatch.setattr(folder, "MOST_TEXT", 10)
    with pytest.raises(DataError, match="more than the 10"):
        folder.load(tmp_path / "m", "toy")
