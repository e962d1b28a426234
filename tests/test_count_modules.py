"""tools/count_modules.py counts the modules that a command passes through, and `ope` stays short."""

import subprocess
import sys
from pathlib import Path

MOST = 57  # modules of `ope` in version 0.1, measured by the same script


def test_ope_passes_through_no_more_modules_than_before() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "tools.count_modules", "ope", "--list"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    count, modules = int(found[1]), found[2:]
    assert count == len(modules) <= MOST
    assert "estimators/linear/problem.py" in modules
    assert "estimators/linear/stream.py" not in modules  # imported by nothing that this run calls
