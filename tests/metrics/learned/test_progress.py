"""Finished parts of a training that are kept on disk."""

from pathlib import Path

import numpy as np
import pytest

from turnwise.metrics.learned.progress import load_or_compute
from turnwise.types import Floats

pytest.importorskip("safetensors")


def part() -> dict[str, Floats]:
    return {"weights": np.arange(6.0).reshape(2, 3)}


def unexpected() -> dict[str, Floats]:
    raise AssertionError("the stored part was not used")


def test_a_stored_part_is_not_computed_again(tmp_path: Path) -> None:
    made = load_or_compute(tmp_path / "work", ("a", "1"), part)
    found = load_or_compute(tmp_path / "work", ("a", "1"), unexpected)
    np.testing.assert_array_equal(found["weights"], made["weights"])
    assert len(list((tmp_path / "work").iterdir())) == 1


def test_a_damaged_part_is_computed_again(tmp_path: Path) -> None:
    load_or_compute(tmp_path, ("a",), part)
    (stored,) = tmp_path.iterdir()
    whole = stored.read_bytes()
    stored.write_bytes(whole[:20])
    assert load_or_compute(tmp_path, ("a",), part)["weights"].shape == (2, 3)
    assert stored.read_bytes() == whole


def test_a_part_that_cannot_be_written_whole_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("turnwise.logs.files.os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        load_or_compute(tmp_path, ("a",), part)
    assert list(tmp_path.iterdir()) == []


def test_no_flipped_bit_of_a_part_is_used(tmp_path: Path) -> None:
    expected = load_or_compute(tmp_path, ("a",), part)["weights"]
    (stored,) = tmp_path.iterdir()
    content = stored.read_bytes()
    calls: list[int] = []

    def counted() -> dict[str, np.ndarray]:
        calls.append(1)
        return part()

    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        stored.write_bytes(flipped)
        np.testing.assert_array_equal(load_or_compute(tmp_path, ("a",), counted)["weights"], expected)
    assert len(calls) == len(content)
