"""The pytest plugin in a user's test suite."""

import subprocess
import sys
from pathlib import Path

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


SCENARIOS = """
scenarios:
- id: greeting
  turns: [Hello.]
  success: {says: [welcome]}
- id: parting
  turns: [Goodbye.]
  success: {says: [see you]}
"""

CASES = """
import pytest

@pytest.mark.turnwise_scenarios("scenarios.yaml")
def test_the_bot(turnwise_scenario):
    dialogues = turnwise_scenario.play(agents="bot=greeter:reply", repeats=2)
    assert [one["trial"] for one in dialogues] == [0, 1]

@pytest.mark.turnwise_scenarios("scenarios.yaml")
def test_half_of_the_time(turnwise_scenario):
    turnwise_scenario.play(agents="bot=greeter:sometimes", repeats=8, passes=1)

def test_without_a_mark(turnwise_scenario):
    pass
"""

GREETER = """
def reply(messages):
    return "Welcome!"

def sometimes(messages, rng):
    return "Welcome, and see you!" if rng.random() < 0.5 else "Hm."
"""


def test_each_scenario_is_a_case_that_fails_with_what_did_not_hold(tmp_path: Path):
    (tmp_path / "scenarios.yaml").write_text(SCENARIOS)
    (tmp_path / "test_cases.py").write_text(CASES)
    (tmp_path / "greeter.py").write_text(GREETER)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--strict-markers", "-rA"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "4 passed" not in run.stdout
    assert "PASSED test_cases.py::test_the_bot[greeting]" in run.stdout
    assert "PASSED test_cases.py::test_half_of_the_time[parting]" in run.stdout
    assert "bot: 0 of 2 succeed, and 2 must: `see you` was not said" in run.stdout
    assert 'mark the test with @pytest.mark.turnwise_scenarios("scenarios.yaml")' in run.stdout
    assert "3 passed, 1 failed, 1 error" in run.stdout.replace(
        "1 failed, 3 passed, 1 error", "3 passed, 1 failed, 1 error"
    )


def test_a_mistake_in_a_file_of_scenarios_is_named_at_collection(tmp_path: Path):
    (tmp_path / "scenarios.yaml").write_text("- id: a\n  gaol: x\n")
    (tmp_path / "test_cases.py").write_text(CASES)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode != 0
    assert "scenarios.yaml:2: $[0].gaol is no key of this; the nearest are goal" in run.stdout + run.stderr
