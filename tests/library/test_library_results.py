"""Tables of results: their columns, and what these are called."""

import json
from pathlib import Path

import turnwise as tw
from turnwise.commands.attack import Attack
from turnwise.library.results import cells
from turnwise.records import Origin, RunSettings, StrategyRecord, plain
from turnwise.report.documents import AttackDocument


def test_the_table_of_an_attack_says_which_strategies_are_frauds() -> None:
    """The column was called `significant`, and False stood beside an interval that excludes 0: of a loss."""
    given = ("fixed", 0.7, (0.4, 1.0), True), ("parrot", -0.5, (-0.7, -0.3), False)
    records = tuple(
        StrategyRecord(
            estimate=None, metric="length", kind=kind, gain=gain, gain_interval=ends, significant=fraud
        )
        for kind, gain, ends, fraud in given
    )
    head, rows = cells(list(map(plain, records)), Attack.columns, Attack.layout)
    assert head == ["kind", "gain", "gain_interval", "fraud"]
    assert [row[-1] for row in rows] == [True, False]
    origin = Origin(turnwise="", commit=None, python="", packages={}, inputs=(), settings=RunSettings())
    found = Attack(document=AttackDocument(results=records, origin=origin))
    assert "fraud" in found.table().splitlines()[0]
    assert found.records()[0]["significant"]


def test_the_ratings_beside_a_comparison_do_not_replace_its_scores(tmp_path: Path) -> None:
    rated = []
    for agent in ("new", "old"):
        for number in range(1, 9):
            said = [("user", f"question {number}"), ("assistant", "a " * number)]
            messages = [{"role": role, "content": content} for role, content in said]
            ratings = [{"dimension": "overall", "value": float(number % 5), "rater": "ann"}]
            rated.append({"id": f"{agent}{number}", "agent": agent, "messages": messages, "ratings": ratings})
    compared = tw.compare(rated, metrics="length", draws=100, output=tmp_path)
    assert compared.document.people
    lines = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    assert {tuple(line["scores"]) for line in lines} == {("length",)}
