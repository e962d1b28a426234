"""mypy finds the mistakes of a user's script."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.strict_mypy import errors

pytestmark = pytest.mark.xdist_group("mypy")  # one process, so that the package is analysed once
RIGHT = """
from pathlib import Path

import turnwise as tw

found = tw.score("logs.jsonl", metrics="bleu-4", draws=200)
records: list[dict[str, object]] = found.records()
names = [str(record["metric"]) for record in found]
both: tw.Comparison = tw.compare([Path("a"), Path("b")], metrics=["length"], where={"meta.corpus": "x"})
agreement = tw.meta_evaluate([{"messages": []}], metrics="length", level="turn")
verdict: str | None = both.findings[0].verdict
gameable: bool = tw.attack("length", "logs.jsonl", count=60).gameable
dialogues = [tw.Dialogue("1", "a", (tw.Turn("user", "hi"),))]
table: str = tw.validate(dialogues).table()
try:
    estimates = tw.ope("logs.jsonl", targets="new", min_truth={"overall": 3.0})
except tw.Refused:
    pass
"""
WRONG = """
import turnwise as tw

tw.score("logs.jsonl", metric="bleu-4")
tw.score("logs.jsonl")
tw.score(3, metrics="bleu-4")
tw.score("logs.jsonl", metrics="bleu-4", draws="many")
tw.score("logs.jsonl", metrics="bleu-4", on="spark")
tw.meta_evaluate("logs.jsonl", metrics="bleu-4", level="reply")
tw.compare("logs.jsonl", metrics="bleu-4").gameable
tw.attack(tw.score("logs.jsonl", metrics="bleu-4"), "logs.jsonl")
tw.diff("old")
tw.scores("logs.jsonl", metrics="bleu-4")
"""
MISTAKES = {  # line -> what mypy says of it
    4: 'Unexpected keyword argument "metric"',
    5: 'Missing named argument "metrics"',
    6: 'Argument 1 has incompatible type "int"',
    7: 'Argument "draws" has incompatible type "str"',
    8: 'Argument "on" has incompatible type',
    9: 'Argument "level" has incompatible type',
    10: '"Comparison" has no attribute "gameable"',
    11: 'Argument 1 has incompatible type "Scores"; expected "str | Callable[..., Any]"',
    12: "Too few arguments",
    13: 'Module has no attribute "scores"',
}


def mypy(script: str, folder: Path) -> list[str]:
    (folder / "script.py").write_text(script)
    return errors(folder, "script.py")


def test_a_correct_script_passes_and_each_of_ten_mistakes_is_found(typed_folder: Path) -> None:
    assert mypy(RIGHT, typed_folder) == []
    found = mypy(WRONG, typed_folder)
    assert {int(line.split(":")[1]) for line in found} == set(MISTAKES)
    for number, message in MISTAKES.items():
        assert any(line.startswith(f"script.py:{number}:") and message in line for line in found), message


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright_finds_the_same_mistakes(typed_folder: Path) -> None:
    for name, script, expected in (("right.py", RIGHT, set()), ("wrong.py", WRONG, set(MISTAKES))):
        (typed_folder / name).write_text(script)
        done = subprocess.run(
            ["pyright", "--outputjson", "--pythonpath", sys.executable, name],
            cwd=typed_folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        found = json.loads(done.stdout)["generalDiagnostics"]
        assert {one["range"]["start"]["line"] + 1 for one in found if one["severity"] == "error"} == expected
