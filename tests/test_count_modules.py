"""tools/count_modules.py counts the modules that a command passes through; and names them."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# Command -> a module that it calls, and one that only other commands call.
CALLED = {
    "score": ("run/scoring/score.py", "run/scoring/meta.py"),
    "meta": ("meta/correlate.py", "run/scoring/score.py"),
    "ope": ("estimators/linear/problem.py", "estimators/linear/stream.py"),
    "attack": ("attacks/verdict.py", "run/attack/harden.py"),
    "rate-export": ("web/study/export.py", "web/study/status.py"),
}


@pytest.mark.parametrize("command", CALLED)
def test_the_modules_that_a_command_calls_are_counted(command: str) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "tools.count_modules", command, "--list"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    count, modules = int(found[1]), found[2:]
    assert count == len(modules)
    called, not_called = CALLED[command]
    assert called in modules
    assert not_called not in modules
