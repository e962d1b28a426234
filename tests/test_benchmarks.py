"""The measurement functions of the benchmarks."""

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
