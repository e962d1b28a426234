"""The notebooks of the docs: their cells run, and the outputs they are kept with are those that come."""

from pathlib import Path
from typing import Any

import pytest

from tests.notebook import NOTEBOOKS, executed, read, written

PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))


def test_there_is_a_notebook_and_a_page_links_to_it():
    assert [path.name for path in PATHS] == ["first-result.ipynb"]
    assert "](notebooks/first-result.ipynb)" in (NOTEBOOKS.parent / "index.md").read_text()


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_its_outputs_are_those_of_its_cells(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")
    came = executed(read(path), tmp_path)
    for before, after in zip(read(path)["cells"], came["cells"], strict=True):
        assert after == before, "run `python -m tests.notebook`"


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_it_is_a_small_file_in_the_form_of_notebooks(path: Path):
    notebook: dict[str, Any] = read(path)
    assert path.read_text(encoding="utf-8") == written(notebook)
    assert path.stat().st_size < 100_000
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    identities = [cell["id"] for cell in notebook["cells"]]
    assert len(set(identities)) == len(identities)
    assert {cell["cell_type"] for cell in notebook["cells"]} == {"markdown", "code"}
    assert all(
        cell["outputs"] or "import" in "".join(cell["source"])
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    )
