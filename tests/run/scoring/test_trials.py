"""Repeated trials in `score` and `compare`: tasks are resampled and paired, and a note says so."""

from typing import Any

import numpy as np
import pytest

import turnwise as tw


def runs(
    agent: str, skill: float, *, n_tasks: int = 20, n_trials: int = 4, seed: int = 0
) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    hard = np.random.default_rng(99).random(n_tasks)
    return [
        {
            "id": f"{agent}-{task}-{number}",
            "agent": agent,
            "task": f"t{task}",
            "trial": number,
            "messages": [
                {"role": "user", "content": f"words of {agent} in {task} {number}"},
                {"role": "assistant", "content": "done " * (1 + number)},
            ],
            "ratings": [
                {
                    "dimension": "reward",
                    "value": int(rng.random() < hard[task] ** (1 / skill)),
                    "scale": [0, 1],
                }
            ],
        }
        for task in range(n_tasks)
        for number in range(n_trials)
    ]


def test_score_resamples_tasks_and_says_so() -> None:
    found = tw.score(runs("a", 1.0), metrics="rating:reward")
    assert found.findings[0].n_clusters == 20
    assert "a: 20 tasks with 4 trials each; whole tasks are resampled" in str(found)
    alone = tw.score(runs("a", 1.0), metrics="rating:reward", cluster="id")
    assert alone.findings[0].n_clusters == 80
    assert "whole tasks" not in str(alone)
    (low, high), (low_alone, high_alone) = found.findings[0].bounds, alone.findings[0].bounds
    assert high - low > high_alone - low_alone


def test_compare_pairs_agents_by_task_over_all_trials() -> None:
    data = runs("a", 3.0) + runs("b", 0.5, n_trials=3, seed=1)
    found = tw.compare(data, metrics="rating:reward,length")
    assert {(one.n_items, one.n_clusters, one.sampling, one.pair_key) for one in found.findings} == {
        (20, 20, "paired", "task")
    }
    notes = "\n".join(found.notes())
    assert "a: 20 tasks with 4 trials each; whole tasks are resampled, and agents are paired by task" in notes
    assert "count as one" not in notes
    by_task = {name: [] for name in "ab"}
    for one in data:
        by_task[one["agent"]].append((one["task"], one["ratings"][0]["value"]))
    means = {
        agent: np.mean([np.mean([v for t, v in rows if t == task]) for task in {t for t, _ in rows}])
        for agent, rows in by_task.items()
    }
    assert found.findings[0].estimate == pytest.approx(means["a"] - means["b"])


def test_a_named_pair_comes_before_the_task() -> None:
    data = [{**one, "meta": {"half": one["task"][-1]}} for one in runs("a", 1.0) + runs("b", 1.0)]
    (found,) = tw.compare(data, metrics="rating:reward", pair="meta.half").findings
    assert found.n_items == 10


def test_agents_on_different_tasks_are_independent_samples_of_tasks() -> None:
    other = [{**one, "task": f"x{one['task']}"} for one in runs("b", 1.0)]
    both = tw.compare(runs("a", 1.0) + other, metrics="rating:reward")
    (found,) = both.findings
    assert (found.sampling, found.n_clusters) == ("unpaired", 40)
    assert "paired by task" not in str(both)


def test_an_agent_with_some_tasks_of_another_is_paired_with_it_on_these() -> None:
    data = runs("a", 1.0)
    few = [one for one in runs("b", 1.0) if one["task"] in ("t0", "t1", "t2", "t3")]
    both = tw.compare(data + few, metrics="rating:reward")
    (found,) = both.findings
    # Both agents did the same in the same tasks.
    assert (found.sampling, found.n_clusters, found.estimate) == ("paired", 4, 0.0)
    assert (found.unpaired_a, found.unpaired_b) == (64, 0)
    assert "agents are paired by task" in str(both)
    assert "independent samples" not in str(both).replace(
        "--pair none compares all items as independent samples", ""
    )


def test_trials_that_failed_outside_the_agent_are_left_out_and_counted() -> None:
    good = runs("a", 1.0)
    broken = [
        {**one, "failure": "rate limit", "ratings": [{**one["ratings"][0], "value": 0}]}
        if one["trial"] == 0
        else one
        for one in runs("b", 1.0)
    ]
    kept = [one for one in broken if "failure" not in one]
    said = "20 dialogues failed for reasons outside the agent, left out: rate limit (20)"
    for command, names in ((tw.compare, "rating:reward,length"), (tw.score, "rating:reward,length")):
        found, wanted = command(good + broken, metrics=names), command(good + kept, metrics=names)
        assert [one.estimate for one in found.findings] == [one.estimate for one in wanted.findings]
        assert said in str(found)
        assert "outside the agent" not in str(wanted)
    with pytest.raises(tw.TurnwiseError, match="all of 20 dialogues failed for reasons outside the agent"):
        tw.score([one for one in broken if "failure" in one], metrics="rating:reward")


def test_finished_runs_are_paired_by_task_too(tmp_path: Any) -> None:
    for name, skill in (("a", 3.0), ("b", 0.5)):
        tw.score(runs(name, skill), metrics="rating:reward", output=tmp_path / name)
    (found,) = tw.compare([tmp_path / "a", tmp_path / "b"]).findings
    assert (found.n_items, found.pair_key) == (20, "task")
