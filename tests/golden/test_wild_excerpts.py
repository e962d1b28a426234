"""Excerpts of real log files become exactly the dialogues that are kept beside them."""

from pathlib import Path

import pytest

from tests.wild_excerpts import EXCERPTS, FOLDER, Excerpt


@pytest.mark.parametrize("excerpt", EXCERPTS, ids=lambda excerpt: excerpt.name)
def test_an_excerpt_is_converted_as_before(excerpt: Excerpt, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert excerpt.converted(out).name == excerpt.reader
    assert (
        out.read_text(encoding="utf-8").splitlines()
        == excerpt.expected.read_text(encoding="utf-8").splitlines()
    )


def test_every_excerpt_has_its_source_and_licence() -> None:
    written = (FOLDER / "README.md").read_text(encoding="utf-8")
    for excerpt in EXCERPTS:
        named = "mt_bench_*" if excerpt.name.startswith("mt_bench") else excerpt.name
        (row,) = [line for line in written.splitlines() if line.startswith(f"| `{named}")]
        assert "| MIT |" in row or "| Apache-2.0 |" in row
