"""The example package of docs/extend.md is typed: mypy in strict mode accepts it."""

import re
from pathlib import Path

import pytest

from tests.console import ROOT
from tests.strict_mypy import errors

pytestmark = pytest.mark.xdist_group("mypy")  # one process, so that the package is analysed once

FILE = re.compile(r"\$ cat > (example/\w+\.py|test_example\.py) <<'END'\n(.*?)\nEND\n", re.DOTALL)


@pytest.mark.slow
def test_the_example_package_passes_mypy_in_strict_mode(typed_folder: Path) -> None:
    files = FILE.findall((ROOT / "docs" / "extend.md").read_text(encoding="utf-8"))
    assert len(files) == 8
    (typed_folder / "example").mkdir()
    (typed_folder / "example" / "__init__.py").touch()
    for name, text in files:
        (typed_folder / name).write_text(f"{text}\n", encoding="utf-8")
    assert "-> float | None:" in (typed_folder / "example" / "shouting.py").read_text()
    assert errors(typed_folder, "example", "test_example.py") == []
