"""mypy finds the mistakes of a user's script."""

import subprocess
import sys
from pathlib import Path

import turnwise

SOURCE = Path(turnwise.__file__).parents[1]
RIGHT = """
from pathlib import Path

import turnwise as tw

found = tw.score("logs.jsonl", metrics="bleu-4", draws=200)
records: list[dict[str, object]] = found.records()
names = [str(record["metric"]) for record in found]
both: tw.Comparison = tw.compare([Path("a"), Path("b")], metrics=["length"], where={"meta.corpus": "x"})
agreement = tw.meta_evaluate([{"messages": []}], metrics="length", level="turn")
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
tw.score("logs.jsonl", metrics="bleu-4", draws="many")
tw.meta_evaluate("logs.jsonl", metrics="bleu-4", level="reply")
tw.compare("logs.jsonl", metrics="bleu-4").gameable
tw.attack(tw.score("logs.jsonl", metrics="bleu-4"), "logs.jsonl")
tw.scores("logs.jsonl", metrics="bleu-4")
"""


def mypy(script: str, folder: Path) -> list[str]:
    (folder / "script.py").write_text(script)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context",
               "--cache-dir", str(folder / "cache"), "script.py"]  # fmt: skip
    # The package is found as an installed one is, and not checked again.
    (folder / "mypy.ini").write_text(
        f"[mypy]\nmypy_path = {SOURCE}\n[mypy-turnwise.*]\nfollow_imports = silent\n"
    )
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=540)
    return [line for line in done.stdout.splitlines() if ": error: " in line] + done.stderr.splitlines()


def test_a_correct_script_passes_and_each_of_six_mistakes_is_found(tmp_path):
    assert mypy(RIGHT, tmp_path) == []
    found = mypy(WRONG, tmp_path)
    lines = {int(line.split(":")[1]) for line in found}
    assert lines == {4, 5, 6, 7, 8, 9}
    expected = {
        4: 'Unexpected keyword argument "metric" for "score"',
        5: 'Argument "draws" to "score" has incompatible type "str"',
        6: 'Argument "level" to "meta_evaluate" has incompatible type',
        7: '"Comparison" has no attribute "gameable"',
        8: 'Argument 1 to "attack" has incompatible type "Scores"; expected "str"',
        9: 'Module has no attribute "scores"',
    }
    for number, message in expected.items():
        assert any(line.startswith(f"script.py:{number}:") and message in line for line in found), message
