"""ACUTE-Eval: every column of a vote is kept."""

import csv
from pathlib import Path

from tests.wild_excerpts import FOLDER
from turnwise.logs.readers import READERS
from turnwise.logs.readers.source import Options


def test_every_column_of_a_vote_is_kept() -> None:
    path = FOLDER / "parlai_acute_eval.csv"
    with path.open(newline="", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    options = Options()
    first, second = READERS["acute-eval"].read(str(path), options)
    (vote,) = first.preferences
    kept = vote.extra["row"]
    for column in ("", "run_id", "worker", "unit_id", "correct", "matchup", "pairing_id"):
        assert kept[column] == row[column]
    assert vote.rater == row["worker_name"]
    assert vote.extra["pair"] == {"is_onboarding": False}
    assert "winner_dialogue" not in kept  # it is the dialogue itself
    assert first.meta.keys() == second.meta.keys() == {"speakers"}
    assert not options.dropped


def test_a_dialogue_of_the_winner_that_differs_from_the_pair_is_kept(tmp_path: Path) -> None:
    stored = (FOLDER / "parlai_acute_eval.csv").read_text(encoding="utf-8")
    with_other = list(csv.reader(stored.splitlines()))
    with_other[1][with_other[0].index("winner_dialogue")] = "{'dialogue': []}"
    path = tmp_path / "votes.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(with_other)
    first, _ = READERS["acute-eval"].read(str(path), Options())
    assert first.preferences[0].extra["row"]["winner_dialogue"] == "{'dialogue': []}"


def test_an_unknown_escape_in_a_pair_is_read_without_a_warning(tmp_path: Path) -> None:
    """Found by the fuzzer; newer versions of Python print such a warning."""
    stored = (FOLDER / "parlai_acute_eval.csv").read_text(encoding="utf-8")
    rows = list(csv.reader(stored.splitlines()))
    at = rows[0].index("pairs_to_eval")
    word = "is_onboarding"
    assert word in rows[1][at]
    rows[1][at] = rows[1][at].replace(word, r"is\[onboarding")
    path = tmp_path / "votes.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    first, _ = READERS["acute-eval"].read(str(path), Options())
    assert r"is\[onboarding" in first.preferences[0].extra["pair"]
