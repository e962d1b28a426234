"""The example package of docs/extend.md is typed: mypy in strict mode accepts it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import turnwise
from tests.console import ROOT

FILE = re.compile(r"\$ cat > (example/\w+\.py|test_example\.py) <<'END'\n(.*?)\nEND\n", re.DOTALL)


def test_the_example_package_passes_mypy_in_strict_mode(tmp_path: Path) -> None:
    files = FILE.findall((ROOT / "docs" / "extend.md").read_text(encoding="utf-8"))
    assert len(files) == 8
    (tmp_path / "example").mkdir()
    (tmp_path / "example" / "__init__.py").touch()
    for name, text in files:
        (tmp_path / name).write_text(f"{text}\n", encoding="utf-8")
    assert "-> float | None:" in (tmp_path / "example" / "shouting.py").read_text()
    source = str(Path(turnwise.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "example", "test_example.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
