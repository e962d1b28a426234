"""The pytest plugin in a user's test suite."""

import subprocess
import sys

from tests.corpus import corpus

TESTS = """
def test_passes(turnwise_gate):
    turnwise_gate("logs.jsonl", "length >= 1")

def test_fails(turnwise_gate):
    turnwise_gate("logs.jsonl", "length >= 1", "bleu-2 >= 99", where=(("agent", "poor"),))
"""


def test_gates_are_tests_and_a_failure_is_one_line(tmp_path):
    corpus(tmp_path / "logs.jsonl")
    (tmp_path / "test_bot.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed" in done.stdout
    assert "FAIL  bleu-2 >= 99  (poor, system)" in done.stdout
    assert "Traceback" not in done.stdout


def test_an_error_is_one_line_that_says_what_is_wrong(tmp_path):
    (tmp_path / "test_bot.py").write_text(
        'def test_it(turnwise_gate):\n    turnwise_gate("none.jsonl", "length >= 1")\n'
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "turnwise: error: none.jsonl: cannot be read: No such file or directory" in done.stdout
    assert "Traceback" not in done.stdout
    assert "pytest_plugin.py" not in done.stdout


def test_the_plugin_is_inert_until_it_is_asked():
    code = "import sys, turnwise.pytest_plugin; print('turnwise.run' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
