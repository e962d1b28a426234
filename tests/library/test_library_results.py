"""Tables of results: their columns, and what these are called."""

from turnwise.library.results import Attack, cells


def test_the_table_of_an_attack_says_which_strategies_are_frauds() -> None:
    """The column was called `significant`, and False stood beside an interval that excludes 0: of a loss."""
    document = {
        "results": [
            {"kind": "fixed", "gain": 0.7, "gain_interval": (0.4, 1.0), "significant": True},
            {"kind": "parrot", "gain": -0.5, "gain_interval": (-0.7, -0.3), "significant": False},
        ]
    }
    head, rows = cells(document["results"], Attack.columns, Attack.layout)
    assert head == ["kind", "gain", "gain_interval", "fraud"]
    assert [row[-1] for row in rows] == [True, False]
    found = Attack(findings=(), document=document)
    assert "fraud" in found.table().splitlines()[0]
    assert found.records()[0]["significant"]
