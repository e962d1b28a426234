"""The figures of comparisons: one scale for each unit, people first, the interval that decided."""

import re
from typing import Any

import pytest

from tests.made_runs import made_run
from turnwise.report import plot
from turnwise.report.figures.differences import differences, unit
from turnwise.report.figures.leaderboards import leaderboards


def record(metric: str, value: float, half: float, **more: Any) -> dict[str, Any]:
    return {
        "metric": metric, "agent_a": "one", "agent_b": "two", "estimate": value,
        "interval": [value - half, value + half], "interval_adjusted": [value - 2 * half, value + 2 * half],
        "p_adjusted": 0.01, "family": "metrics",
        "family_size": 3, "better": "higher", "status": "ok", **more,
    }  # fmt: skip


def test_people_and_overall_come_first_whatever_was_asked_first():
    rated = [record(f"rating:{name}", 1.0, 0.2, points=4.0) for name in ("fun", "overall")]
    given = [record("chrf", 3.0, 1.0), *rated]
    (figure,) = differences(made_run("compare", *given))
    assert [row[0] for row in figure.rows] == ["rating:overall", "rating:fun", "chrf"]


def test_ratings_on_one_scale_share_an_axis_and_metrics_have_their_own():
    given = [
        record("rating:overall", 2.0, 0.3, points=4.0), record("rating:fun", 1.0, 0.2, points=4.0),
        record("bleu-1", 3.0, 1.0), record("bleu-4", 2.0, 1.0), record("length", 30.0, 9.0),
    ]  # fmt: skip
    run = made_run("compare", *given)
    assert [unit(one) for one in run.document.results] == [
        "points of 4",
        "points of 4",
        "bleu",
        "bleu",
        "length",
    ]
    (figure,) = differences(run)
    drawn = re.findall(r'<circle cx="([\d.]+)"[^>]*><title>(rating:\w+):', figure.svg)
    overall, fun = (float(x) - plot.WIDTH / 2 for x, _ in drawn)
    # In one unit a difference that is twice as large is drawn twice as far from the line.
    assert overall == pytest.approx(2 * fun, abs=0.3)
    assert figure.svg.count('class="rule"') == 3


def test_the_interval_of_the_figure_is_the_one_that_decided():
    (figure,) = differences(made_run("compare", record("chrf", 3.0, 1.0)))
    assert figure.rows[0][4:9] == (3.0, 1.0, 5.0, 2.0, 4.0)
    assert "3.0 [1.0, 5.0]" in figure.svg
    assert "adjusted for 3 comparisons by metrics" in figure.notes


def test_a_difference_is_drawn_from_the_agent_that_leads():
    (figure,) = differences(made_run("compare", record("chrf", -3.0, 1.0, a=1.0, b=4.0)))
    assert figure.title == "two minus one"
    assert figure.rows[0][2:9] == (4.0, 1.0, 3.0, 1.0, 5.0, 2.0, 4.0)


def test_a_leaderboard_draws_its_ties_as_bars_and_its_ranks_as_text():
    ranked = [
        {"metric": "rating:overall", "agent": name, "estimate": mean, "interval": [mean - 1, mean + 1], "rank": at,
         "rank_interval": ranks, "ties": ties, "better": "higher", "status": "ok"}
        for at, (name, mean, ranks, ties) in enumerate(
            [("a", 9.0, [1, 2], "a"), ("b", 8.0, [1, 3], "ab"), ("c", 7.0, [2, 3], "b")], start=1
        )
    ]  # fmt: skip
    (figure,) = leaderboards(made_run("compare", leaderboard=ranked))
    assert figure.svg.count('class="tie"') == 2
    assert figure.svg.count('class="member"') == 4
    assert all(f">{ranks}</text>" in figure.svg for ranks in ("1-2", "1-3", "2-3"))
    assert [row[0] for row in figure.rows] == ["a", "b", "c"]


def test_the_labels_of_an_axis_without_any_difference_are_inside_the_picture():
    (figure,) = differences(made_run("compare", record("rating:overall", 0.0, 0.0, points=4.0)))
    ticks = {
        text: float(x) for x, text in re.findall(r'<text x="([-0-9.]+)"[^>]*>(-?1\.0)</text>', figure.svg)
    }
    assert sorted(ticks) == ["-1.0", "1.0"]
    assert 12 < ticks["-1.0"] < ticks["1.0"] < plot.WIDTH - 12
