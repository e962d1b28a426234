"""`turnwise reliability` on small made files, whose numbers are worked out by hand."""

from typing import Any

import pytest

import turnwise as tw
from turnwise.commands.reliability import parsed_range
from turnwise.errors import DataError, UsageError


def trial(task: str, number: int, value: float | None, *, agent: str = "bot", **more: Any) -> dict[str, Any]:
    """A trial with a reward; None: without a rating."""
    ratings = (
        [] if value is None else [{"dimension": "reward", "value": value, "scale": [0, 1], "rater": "env"}]
    )
    return {
        "id": f"{agent}-{task}-{number}",
        "agent": agent,
        "task": task,
        "trial": number,
        "messages": [{"role": "user", "content": f"do {task}"}, {"role": "assistant", "content": "done"}],
        "ratings": ratings,
        **more,
    }


def tasks(outcomes: dict[str, list[float | None]], agent: str = "bot") -> list[dict[str, Any]]:
    return [trial(task, at, one, agent=agent) for task, row in outcomes.items() for at, one in enumerate(row)]


def values(found: tw.Reliability, statistic: str = "pass^k", agent: str = "bot") -> dict[int, float | None]:
    mine = [one for one in found.findings if (one.statistic, one.agent) == (statistic, agent)]
    return {int(one.k or 0): one.estimate for one in mine}


def test_each_task_counts_once_however_many_trials_it_has() -> None:
    # Of a: 2 of 4, so pass^2 = 1/6; of b: 1 of 1 and too few for 2; of c: 2 of 2.
    found = tw.reliability(
        tasks({"a": [1, 1, 0, 0], "b": [1], "c": [1, 1]}), k=(1, 2), metrics="rating:reward"
    )
    assert values(found) == pytest.approx({1: (0.5 + 1 + 1) / 3, 2: (1 / 6 + 1) / 2})
    assert values(found, "pass@k") == pytest.approx({1: 2.5 / 3, 2: (1 - 1 / 6 + 1) / 2})
    second = next(one for one in found.findings if one.k == 2)
    assert (second.short, second.n_clusters, second.n_items) == (1, 2, 6)
    assert "left out for lack of trials: 1 of 3 tasks for k 2; numbers of different k are of diff" in str(
        found
    )
    assert str(found).count("for lack of trials") == 1


def test_k_is_by_default_up_to_the_trials_that_half_of_the_tasks_have() -> None:
    found = tw.reliability(tasks({"a": [1, 1, 0], "b": [1, 0, 0], "c": [1]}))
    assert sorted(values(found)) == [1, 2, 3]


def test_no_task_with_enough_trials_is_no_estimate() -> None:
    found = tw.reliability(tasks({"a": [1, 1], "b": [0, 1]}), k=(1, 3))
    assert values(found)[3] is None
    assert "no task has 3 trials" in str(found)


def test_failures_of_the_infrastructure_are_left_out_and_counted_unless_they_shall_count() -> None:
    data = [*tasks({"a": [1, 1], "b": [0, 1]}), trial("a", 2, None, failure="rate limit")]
    found = tw.reliability(data, k=(1,))
    assert values(found) == pytest.approx({1: (1 + 0.5) / 2})
    assert found.findings[0].failures == {"rate limit": 1}
    assert "1 trial failed for reasons outside the agent, left out: rate limit (1)" in str(found)
    counted = tw.reliability(data, k=(1,), failures="failed")
    assert values(counted) == pytest.approx({1: (2 / 3 + 0.5) / 2})
    assert found.findings[0].signature != counted.findings[0].signature


def test_failures_that_count_are_in_the_noise_too() -> None:
    data = [*tasks({"a": [1, 1], "b": [0, 1], "c": [1, 0]}), trial("a", 2, None, failure="rate limit")]
    (without,) = tw.reliability(data, k=(1,)).document.noise
    (found,) = tw.reliability(data, k=(1,), failures="failed").document.noise
    # Of a 2 of 3 trials then pass, no longer 2 of 2.
    assert (without.mean, found.mean) == pytest.approx(((1 + 0.5 + 0.5) / 3, (2 / 3 + 0.5 + 0.5) / 3))
    zero = [{**one} for one in data]
    zero[-1] = trial("a", 2, 0)
    (as_zero,) = tw.reliability(zero, k=(1,)).document.noise
    assert found.sources == as_zero.sources
    (low,) = tw.reliability(data, k=(1,), failures="failed", lower_is_better="reward").document.noise
    assert low.mean == pytest.approx((1 + 0.5 + 0.5) / 3)


def test_values_that_are_all_alike_say_nothing_of_what_to_add() -> None:
    found = tw.reliability(tasks({f"t{at}": [1, 1, 1] for at in range(5)}))
    (noise,) = found.document.noise
    assert (noise.standard_error, noise.smallest_difference, noise.smallest_on_same_tasks) == (
        None,
        None,
        None,
    )
    assert (noise.additions, noise.first) == ((), None)
    assert "all values are alike, which does not show that others would be" in str(found)
    # Tasks differ and their trials do not: on the same tasks nothing is known of a second agent.
    found = tw.reliability(tasks({f"t{at}": [at % 2] * 3 for at in range(6)}))
    assert found.document.noise[0].smallest_on_same_tasks is None
    assert "on the same tasks" not in str(found)


def test_a_key_says_which_trials_failed_where_records_do_not() -> None:
    data = [*tasks({"a": [1, 1], "b": [0, 1]}), trial("a", 2, 0, meta={"status": "timeout"})]
    found = tw.reliability(data, k=(1,), failed={"meta.status": "timeout"})
    assert values(found) == pytest.approx({1: 0.75})
    assert found.findings[0].failures == {"meta.status=timeout": 1}


def test_a_trial_without_a_value_is_left_out_and_counted() -> None:
    found = tw.reliability(tasks({"a": [1, None], "b": [0, 1]}), metrics="rating:reward", k=(1,))
    assert values(found) == pytest.approx({1: 0.75})
    assert found.findings[0].unscored == {"not rated on `reward`": 1}


def test_values_that_are_not_0_or_1_need_a_threshold() -> None:
    data = tasks({"a": [0.4, 0.9], "b": [0.7, 0.1]})
    refused = tw.reliability(data, k=(1,))
    assert refused.exit_code == 4
    assert "neither 0 nor 1" in str(refused)
    found = tw.reliability(data, k=(1, 2), threshold=0.4)
    assert values(found) == pytest.approx({1: (1 + 0.5) / 2, 2: 0.5})
    assert "passed:>=0.4" in found.findings[0].signature
    low = tw.reliability(data, k=(1,), threshold=0.4, lower_is_better="reward")
    assert values(low) == pytest.approx({1: (0.5 + 0.5) / 2})


def test_two_agents_are_compared_on_the_tasks_of_both() -> None:
    good = {f"t{at}": [1.0, 1.0] for at in range(12)}
    bad = {f"t{at}": [1.0, 0.0] for at in range(2, 12)}
    found = tw.reliability(tasks(good, "good") + tasks(bad, "bad"), k=(1, 2))
    differences = {one.metric: one for one in found.document.differences}
    assert differences["rating:reward pass^1"].estimate == pytest.approx(0.5)
    assert differences["rating:reward pass^2"].estimate == pytest.approx(1.0)
    assert differences["rating:reward pass^1"].n_clusters == 10


def test_an_agent_on_its_own_easiest_tasks_is_no_better_than_itself() -> None:
    all_tasks: dict[str, list[float | None]] = {f"t{at}": [float(at < 6)] * 2 for at in range(20)}
    easy = {task: row for task, row in all_tasks.items() if row[0]}
    found = tw.reliability(tasks(all_tasks, "all") + tasks(easy, "easy"), k=(1,))
    (difference,) = found.document.differences
    assert (difference.estimate, difference.a, difference.b, difference.n_clusters) == (0.0, 1.0, 1.0, 6)
    assert "tasks that the other agent lacks, left out of the difference: 14 of all and 0 of easy" in str(
        found
    )


def test_agents_without_a_common_task_have_no_difference_and_a_reason() -> None:
    found = tw.reliability(tasks({"a": [1, 1]}, "one") + tasks({"b": [1, 1]}, "two"), k=(2,))
    (difference,) = found.document.differences
    assert (difference.estimate, difference.verdict) == (None, "skipped")
    assert "pass^2: no difference: no task has 2 trials of both agents" in str(found)


def test_a_verdict_does_not_depend_on_which_other_k_are_asked_for() -> None:
    always = {f"t{at}": [1.0] * 4 for at in range(6)}
    never = {f"t{at}": [0.0] * 4 for at in range(6)}
    data = tasks(always, "A") + tasks(never, "B")
    of_all, of_one = tw.reliability(data), tw.reliability(data, k=(4,))
    # All six tasks differ alike: p is that of the sign test, 2 / 2^6.
    assert [one.p_adjusted for one in of_all.document.differences] == [0.03125] * 4
    assert of_all.document.differences[3] == of_one.document.differences[0]
    assert of_one.document.differences[0].verdict == "A scores higher"


def test_three_agents_are_not_compared_and_a_note_says_how() -> None:
    data = [one for agent in "abc" for one in tasks({"x": [1, 0], "y": [1, 1]}, agent)]
    found = tw.reliability(data)
    assert found.document.differences == ()
    assert 'agents="a,b"' in str(found)
    assert len(tw.reliability(data, agents="a,c").document.differences) == 2


def test_records_without_a_task_say_which_keys_are_needed() -> None:
    plain = [
        {"messages": [{"role": "assistant", "content": "a"}], "ratings": [{"dimension": "x", "value": 1}]}
    ]
    with pytest.raises(DataError, match="`task` and `trial`"):
        tw.reliability(plain, metrics="rating:x")
    named = [{**one, "meta": {"case": at // 2}} for at, one in enumerate(plain * 4)]
    found = tw.reliability(named, metrics="rating:x", cluster="meta.case")
    assert found.findings[0].n_clusters == 2


def test_a_trial_that_is_there_twice_points_to_the_agent_key() -> None:
    data = [
        {**one, "id": f"{prompt}{one['id']}", "meta": {"prompt": prompt}}
        for prompt in ("short", "long")
        for one in tasks({"a": [1, 0], "b": [1, 1]})
    ]
    assert "4 trials of bot there more than once" in str(tw.reliability(data))
    apart = tw.reliability(data, agent_key="agent,meta.prompt")
    assert {one.agent for one in apart.findings} == {"bot/short", "bot/long"}
    assert "more than once" not in str(apart)


def test_noise_is_split_over_tasks_trials_raters_and_samples() -> None:
    data = []
    for task in range(8):
        for number in range(3):
            one = trial(str(task), number, None)
            one["ratings"] = [
                {"dimension": "reward", "value": task + number / 10 + rater + sitting / 100, "rater": f"r{rater}",
                 "sitting": sitting}
                for rater in range(3) for sitting in range(2)
            ]  # fmt: skip
            data.append(one)
    (noise,) = tw.reliability(data, threshold=4).document.noise
    shares = {one.source: one.variance for one in noise.sources}
    assert shares["task"] == pytest.approx(6.0, rel=0.01)  # the variance of 0 to 7
    assert shares["rater"] == pytest.approx(1.0, rel=0.01)
    assert shares["trial"] == pytest.approx(0.01, rel=0.05)
    assert shares["sample"] == pytest.approx(0.00005, rel=0.01)
    assert noise.first == "tasks"
    assert [one.twice for one in noise.additions] == ["tasks", "trials", "raters", "samples"]


def test_raters_come_first_where_they_are_the_noise() -> None:
    data = []
    for task in range(30):
        for number in range(2):
            one = trial(str(task), number, None)
            one["ratings"] = [
                {"dimension": "reward", "value": 5.0 * rater + (task + number) % 2, "rater": f"r{rater}"}
                for rater in range(2)
            ]
            data.append(one)
    (noise,) = tw.reliability(data, threshold=4).document.noise
    assert noise.first == "raters"


def test_several_replies_of_a_trial_are_no_samples() -> None:
    data = []
    for task in range(10):
        for number in range(3):
            one = trial(str(task), number, None)
            one["messages"] *= 2
            one["ratings"] = [
                {"dimension": "reward", "value": task + turn * (-1) ** number, "rater": "r", "turn": turn}
                for turn in (1, 3)
            ]
            data.append(one)
    (noise,) = tw.reliability(data, threshold=4).document.noise
    assert [one.source for one in noise.sources] == ["task", "trial", "reply"]
    assert [one.twice for one in noise.additions] == ["tasks", "trials"]


def test_one_trial_a_task_cannot_tell_tasks_from_trials() -> None:
    assert tw.reliability(tasks({"a": [1], "b": [0], "c": [1]})).document.noise == ()


def test_a_range_of_k_is_read() -> None:
    assert parsed_range("1-4") == (1, 2, 3, 4)
    assert parsed_range("1, 2,8") == (1, 2, 8)
    for wrong in ("", "0", "a", "4-1", "1-x", "-3"):
        with pytest.raises(ValueError, match=r"numbers"):
            parsed_range(wrong)


def test_an_unknown_agent_is_an_error() -> None:
    with pytest.raises(UsageError, match="no agent `x`"):
        tw.reliability(tasks({"a": [1, 0]}), agents="x")
