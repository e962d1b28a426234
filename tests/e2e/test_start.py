"""Start-up: which modules are loaded, and how long it takes compared with Python itself."""

import os
import subprocess
import sys
import time
from pathlib import Path

HEAVY = ("numpy", "scipy", "torch", "click", "rich", "msgspec")


def loaded(code: str) -> set[str]:
    probe = (
        f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\nprint(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_help_and_import_load_nothing_heavy():
    assert not loaded("import turnwise").intersection(HEAVY)
    assert not loaded("from turnwise.cli import main; main(['--help'])").intersection(HEAVY)


def test_a_commands_help_loads_neither_scipy_nor_torch():
    names = loaded("from turnwise.cli import main; main(['score', '--help'])")
    assert not names.intersection({"scipy", "torch", "numpy"})


def test_scoring_with_intervals_loads_neither_scipy_nor_torch(tmp_path: Path):
    """scipy alone takes .2 s, a third of a short command."""
    logs = tmp_path / "logs.jsonl"
    line = '{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "%s"}]}\n'
    logs.write_text("".join(line % ("word " * (number % 7)) for number in range(30)))
    names = loaded(f"from turnwise.cli import main; main(['score', {str(logs)!r}, '-m', 'length', '-q'])")
    assert "numpy" in names
    assert not names.intersection({"scipy", "torch"})


def test_help_ends_without_an_error_when_the_pipe_is_closed():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "turnwise", "--help"], stdout=write, stderr=subprocess.PIPE, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_help_takes_at_most_three_times_as_long_as_starting_python():
    """The best of many: a ratio of two minima is steady even on a busy machine."""

    def best(*arguments: str) -> float:
        times = []
        for _ in range(15):
            begun = time.perf_counter()
            subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
            times.append(time.perf_counter() - begun)
        return min(times)

    assert best("-m", "turnwise", "--help") < 3 * best("-c", "pass")
