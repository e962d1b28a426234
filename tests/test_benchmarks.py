"""The measurement functions of the benchmarks."""

import json
from pathlib import Path

import pytest

from benchmarks.bench_scale import cost
from tests.corpus import corpus


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
def test_the_peak_memory_of_a_command_does_not_include_its_parent(tmp_path: Path) -> None:
    """The peak of getrusage includes the parent's memory at the fork, so a large parent would hide any growth."""
    data = corpus(tmp_path / "logs.jsonl", 3)
    large = bytearray(b"1") * 2**28
    found = cost("validate {}", data)
    assert found.peak < len(large) / 2**20 / 2
    assert found.processor > 0


RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"


@pytest.mark.parametrize("name", ["calibrate", "drawing", "power"])
def test_kept_results_name_the_command_that_makes_them(name: str) -> None:
    assert json.loads((RESULTS / f"{name}.json").read_text())["command"].endswith(
        f"python -m benchmarks.{name}"
    )


def test_kept_power_is_within_its_goal() -> None:
    kept = json.loads((RESULTS / "power.json").read_text())
    apart = {name: grid["largest_difference"] for name, grid in kept["grids"].items()}
    assert {len(grid["cells"]) for grid in kept["grids"].values()} == {25}
    assert all(one <= kept["goal"] for one in apart.values()), apart
    assert kept["statsmodels"]["largest_difference"] < 1e-6
