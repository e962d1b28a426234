"""What the demo advises at its end."""

import pytest

from turnwise.cli.demo.advice import chosen, reached, two_best


@pytest.mark.parametrize(
    ("verdict", "says"),
    [
        ("A is better", "and so does turnwise (A - B -0.120, p <.001): take one."),
        ("B is better", "the opposite (A - B -0.120, p <.001): between these two ask people, not turnwise."),
        ("not shown", "turnwise shows no difference (A - B -0.120, p <.001): people decide."),
    ],
)  # fmt: skip
def test_the_last_line_sets_the_metric_beside_people(verdict: str, says: str):
    record = {"agent_a": "one", "agent_b": "two", "metric": "turnwise", "estimate": -0.12, "p_adjusted": 1e-4,
              "better": "higher"}  # fmt: skip
    sentence = chosen({**record, "verdict": verdict}, {"one": 4.3, "two": 4.2})
    assert sentence.startswith("People put one (4.30) before two (4.20)")
    assert sentence.endswith(says)
    assert demo_feature(record).endswith("is no verdict on either: people decide.")


def demo_feature(record: dict) -> str:
    """More words are not better by themselves."""
    return chosen({**record, "better": None, "verdict": "A is higher"}, {"one": 4.3, "two": 4.2})


def test_an_interval_that_holds_most_agents_ranks_nobody():
    means = {str(place): float(place) for place in range(8)}
    assert "7 of 8 rated agents lie in that interval: rate some" in reached({"interval": [0.5, 9]}, means)
    assert "1 of 8 rated agents lie in that interval: it can" in reached({"interval": [0.5, 1.2]}, means)
    assert reached({"interval": None}, means) == ""


def test_the_two_best_are_those_of_people():
    systems = [
        {"agent": name, "people": mean} for name, mean in (("dull", 2.0), ("best", 4.0), ("good", 3.5))
    ]
    other = {"dimension": "sense", "systems": systems[:1]}
    assert two_best([other, {"dimension": "overall", "systems": systems}]) == ("best", "good")
