"""Leaderboards: letters and ranks say exactly what the verdicts on every two agents say."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnwise
from turnwise.cli.common.group import run
from turnwise.meta.leaderboard import letter, ranked, tie_letters
from turnwise.records import DifferenceRecord, RankedAgent


@given(
    st.integers(1, 7).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.tuples(*[st.integers(0, n - 1)] * 2)))
    )
)
def test_two_agents_share_a_letter_exactly_if_they_were_not_shown_to_differ(
    case: tuple[int, set[tuple[int, int]]],
):
    n, pairs = case
    differ = {(a, b) for a, b in pairs if a != b} | {(b, a) for a, b in pairs if a != b}
    letters = tie_letters(n, differ)
    for a, b in combinations(range(n), 2):
        assert bool(set(letters[a]) & set(letters[b])) == ((a, b) not in differ)
    assert all(letters)


def test_letters_go_on_after_z():
    assert [letter(at) for at in (0, 25, 26, 53)] == ["a", "z", "a1", "b2"]


def row(agent: str, value: float | None, better: str | None = "higher") -> RankedAgent:
    return RankedAgent(
        metric="m", agent=agent, estimate=value, better=better, status="ok" if value else "skipped"
    )


def verdict(winner: str, loser: str, p: float = 0.01) -> DifferenceRecord:
    return DifferenceRecord(
        estimate=1.0, metric="m", agent_a=loser, agent_b=winner, leader=winner, p=p, p_adjusted=p
    )


def test_ranks_are_those_that_the_verdicts_leave_open():
    rows = [row("low", 1.0), row("none", None), row("best", 4.0), row("next", 3.0), row("mid", 2.0)]
    said = [
        verdict("best", "low"),
        verdict("next", "low"),
        verdict("best", "mid"),
        verdict("best", "next", p=0.2),
    ]
    board = ranked(rows, said)
    assert [one.agent for one in board] == ["best", "next", "mid", "low", "none"]
    assert [one.rank for one in board] == [1, 2, 3, 4, None]
    assert [one.rank_interval for one in board] == [(1, 2), (1, 3), (2, 4), (3, 4), None]
    assert [one.ties for one in board] == ["a", "ab", "bc", "c", ""]
    falling = ranked([row("x", 1.0, "lower"), row("y", 2.0, "lower")], [])
    assert [one.agent for one in falling] == ["x", "y"]


def rated(levels: dict[str, float], n: int = 30) -> list[dict[str, object]]:
    rng = np.random.default_rng(0)
    return [
        {
            "id": f"{agent}{k}",
            "agent": agent,
            "messages": [
                {"role": "user", "content": f"q{k}"},
                {"role": "assistant", "content": "word " * (k % 5 + 1 + (agent == "strong"))},
            ],
            "ratings": [
                {"dimension": dimension, "value": float(np.clip(rng.normal(level, 1), 1, 9)), "scale": [1, 9]}
                for dimension in ("fluency", "overall")
            ],
        }
        for agent, level in levels.items()
        for k in range(n)
    ]


LEVELS = {"weak": 3.0, "strong": 6.0, "as weak": 3.05, "B": 5.9}


def test_all_agents_are_compared_and_ranked_with_the_whole_before_its_parts(
    capsys: pytest.CaptureFixture[str],
):
    found = turnwise.compare(rated(LEVELS), figures=False)
    assert len(found) == 2 * 6
    board = found.leaderboard
    assert [one["metric"] for one in board] == ["rating:overall"] * 4 + ["rating:fluency"] * 4
    assert {one["agent"] for one in board[:2]} == {"strong", "B"}
    letters = {one["agent"]: set(one["ties"]) for one in board[:4]}
    for record in found:
        if record["metric"] == "rating:overall":
            share = letters[record["agent_a"]] & letters[record["agent_b"]]
            assert bool(share) == (record["verdict"] == "not shown")
    assert all(one["interval"][0] < one["estimate"] < one["interval"][1] for one in board)
    assert {record["family_size"] for record in found} == {12}


def test_agents_can_be_chosen_and_more_agents_leave_what_is_said_of_means_alone():
    two = turnwise.compare(rated(LEVELS), agents="strong,weak", metrics="rating:overall", figures=False)
    three = turnwise.compare(rated(LEVELS), agents="strong,weak,B", metrics="rating:overall", figures=False)
    (alone,) = two
    among = next(one for one in three if {one["agent_a"], one["agent_b"]} == {"strong", "weak"})
    assert (alone["estimate"], alone["interval"], alone["p"]) == (
        among["estimate"],
        among["interval"],
        among["p"],
    )
    assert not two.leaderboard
    assert among["p_adjusted"] == pytest.approx(3 * among["p"])


def test_a_direction_can_be_said_of_any_dimension_and_metric():
    found = turnwise.compare(
        rated(LEVELS), agents="strong,weak", metrics="rating:fluency,length", higher_is_better="fluency",
        lower_is_better="length", figures=False,
    )  # fmt: skip
    fluency, length = found
    assert (fluency["better"], fluency["verdict"]) == ("higher", "strong is better")
    assert (length["better"], length["leads"]) == ("lower", "weak scores lower")
    with pytest.raises(turnwise.UsageError, match="both name length"):
        turnwise.compare(rated(LEVELS), higher_is_better="length", lower_is_better="length")


def test_the_leaderboard_is_printed_before_the_differences(tmp_path, capsys: pytest.CaptureFixture[str]):
    import json

    data = tmp_path / "data.jsonl"
    data.write_text("\n".join(map(json.dumps, rated(LEVELS))))
    assert run(["compare", str(data), "-m", "rating:overall"]) == 0
    printed = capsys.readouterr().out
    assert printed.index("rank_interval") < printed.index("verdict")
    assert printed.startswith("rating:overall, highest first:")


def test_a_metric_that_depends_on_the_amount_of_text_ranks_agents_on_equally_many_items():
    rng = np.random.default_rng(0)
    said = [
        {
            "id": f"{agent}{k}",
            "agent": agent,
            "messages": [
                {"role": "user", "content": f"{agent} {k}"},
                {"role": "assistant", "content": " ".join(rng.choice([f"w{at}" for at in range(15)], 8))},
            ],
        }
        for agent, n in (("few", 15), ("many", 150), ("some", 20))
        for k in range(n)
    ]
    board = turnwise.compare(said, metrics="distinct-2", figures=False).leaderboard
    assert {one["n_items"] for one in board} == {15}
    assert np.ptp([one["estimate"] for one in board]) < 0.1
