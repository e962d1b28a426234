"""mypy finds the mistakes of a user's script."""

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
tw.score("logs.jsonl", metrics="bleu-4", draws="many")
tw.meta_evaluate("logs.jsonl", metrics="bleu-4", level="reply")
tw.compare("logs.jsonl", metrics="bleu-4").gameable
tw.attack(tw.score("logs.jsonl", metrics="bleu-4"), "logs.jsonl")
tw.scores("logs.jsonl", metrics="bleu-4")
"""


def mypy(script: str, folder: Path) -> list[str]:
    (folder / "script.py").write_text(script)
    return errors(folder, "script.py")


def test_a_correct_script_passes_and_each_of_six_mistakes_is_found(typed_folder: Path) -> None:
    assert mypy(RIGHT, typed_folder) == []
    found = mypy(WRONG, typed_folder)
    lines = {int(line.split(":")[1]) for line in found}
    assert lines == {4, 5, 6, 7, 8, 9}
    expected = {
        4: 'Unexpected keyword argument "metric"',
        5: 'Argument "draws" has incompatible type "str"',
        6: 'Argument "level" to "meta_evaluate" has incompatible type',
        7: '"Comparison" has no attribute "gameable"',
        8: 'Argument 1 to "attack" has incompatible type "Scores"; expected "str"',
        9: 'Module has no attribute "scores"',
    }
    for number, message in expected.items():
        assert any(line.startswith(f"script.py:{number}:") and message in line for line in found), message
