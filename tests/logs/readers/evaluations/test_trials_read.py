"""Readers of evaluations say which record is which trial of which task, and what failed outside the agent."""

import json
from pathlib import Path
from typing import Any

import pytest

from turnwise.logs.readers import find
from turnwise.logs.readers.source import Options
from turnwise.types import Dialogue


def read(name: str, path: Path, content: Any, options: Options | None = None) -> list[Dialogue]:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return list(find(name).read(str(path), options or Options()))


def design(dialogue: Dialogue) -> tuple[str, str, str]:
    return dialogue.task, dialogue.trial, dialogue.failure


SAID = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]


def test_a_run_of_tau_bench_that_raised_an_error_is_no_failure_of_the_agent(tmp_path: Path) -> None:
    results = [
        {"task_id": 3, "trial": 1, "reward": 1.0, "info": {"task": {"x": 1}}, "traj": SAID},
        {
            "task_id": 3,
            "trial": 2,
            "reward": 0.0,
            "info": {"error": "RateLimitError", "traceback": "..."},
            "traj": [],
        },
    ]
    done, broken = read("tau-bench", tmp_path / "r.json", results)
    assert (design(done), design(broken)) == (("3", "1", ""), ("3", "2", "RateLimitError"))
    assert [one.value for one in done.ratings] == [1.0]
    assert broken.ratings == ()
    assert broken.meta["reward"] == 0.0
    assert [(turn.role, turn.text) for turn in broken.turns] == [("user", "")]


def test_a_simulation_of_tau2_that_the_infrastructure_ended_has_no_rating(tmp_path: Path) -> None:
    def simulation(number: int, reason: str, messages: Any) -> dict[str, Any]:
        return {
            "id": f"s{number}", "task_id": "7", "trial": number, "termination_reason": reason, "messages": messages,
            "reward_info": {"reward": 0.0},
        }  # fmt: skip

    results = {
        "info": {"environment_info": {"domain_name": "retail"}},
        "tasks": [{"id": "7"}],
        "simulations": [
            simulation(0, "user_stop", SAID),
            simulation(1, "infrastructure_error", SAID),
            simulation(2, "infrastructure_error", []),
            simulation(3, "max_steps", []),
        ],
    }
    options = Options()
    found = read("tau2", tmp_path / "r.json", results, options)
    assert [design(one) for one in found] == [
        ("retail/7", "0", ""),
        ("retail/7", "1", "infrastructure_error"),
        ("retail/7", "2", "infrastructure_error"),
    ]
    assert [len(one.ratings) for one in found] == [1, 0, 0]
    assert options.dropped["simulations without messages or speech"] == 1


def test_epochs_of_inspect_are_trials_and_an_error_of_a_sample_is_its_failure(tmp_path: Path) -> None:
    sample = {"messages": SAID, "scores": {"match": {"value": "C"}}}
    log = {
        "eval": {"task": "gsm8k", "model": "m"},
        "plan": {},
        "samples": [
            {"id": 5, "epoch": 1, **sample},
            {"id": 5, "epoch": 2, "input": "Hi", "error": {"message": "Timeout", "traceback": "..."}},
        ],
    }
    first, second = read("inspect", tmp_path / "log.json", log)
    assert (design(first), design(second)) == (("gsm8k/5", "1", ""), ("gsm8k/5", "2", "Timeout"))


def promptfoo(*results: dict[str, Any]) -> dict[str, Any]:
    return {"evalId": "e", "results": {"results": list(results)}}


def answer(
    number: int, said: str | None, *, prompt: int = 0, city: str = "Lima", **more: Any
) -> dict[str, Any]:
    return {
        "id": f"r{number}", "provider": "m", "promptIdx": prompt, "testIdx": number, "vars": {"city": city},
        "prompt": {"raw": f"p{prompt} {city}", "label": f"p{prompt}"}, "response": {"output": said}, "score": 1, **more,
    }  # fmt: skip


def test_repetitions_of_promptfoo_are_trials_of_the_variables(tmp_path: Path) -> None:
    found = read(
        "promptfoo",
        tmp_path / "r.json",
        promptfoo(
            answer(0, "a"),
            answer(1, "b", city="Quito"),
            answer(2, "c"),
            answer(0, "d", prompt=1),
            answer(3, "e"),
        ),
    )
    lima, quito = found[0].task, found[1].task
    assert lima != quito
    assert [(one.task == lima, one.trial) for one in found] == [
        (True, "0"),
        (False, "0"),
        (True, "1"),
        (True, "0"),  # of another prompt
        (True, "2"),
    ]


def test_prompts_of_promptfoo_are_agents_where_a_provider_has_several(tmp_path: Path) -> None:
    def result(provider: str, column: int, label: str, riddle: str) -> dict[str, Any]:
        return {
            "provider": {"id": provider}, "promptIdx": column, "prompt": {"raw": f"{label} {riddle}", "label": label},
            "vars": {"riddle": riddle}, "response": {"output": "An echo."}, "score": 1, "success": True,
        }  # fmt: skip

    def agents(*columns: tuple[str, int, str]) -> set[str]:
        results = [result(*one, riddle) for riddle in ("a", "b") for one in columns]
        content = {"evalId": "e", "results": {"results": results}}
        return {one.agent for one in read("promptfoo", tmp_path / "eval.json", content)}

    solve, long = "Solve {{riddle}}", "You are kind.\nSolve {{riddle}}"
    assert agents(("a", 0, solve), ("b", 1, solve)) == {"a", "b"}
    assert agents(("a", 0, "short"), ("a", 1, long)) == {"a (short)", "a (prompt 2)"}
    assert agents(("a", 0, solve), ("b", 1, solve), ("a", 2, long), ("b", 3, long)) == {
        "a (prompt 1)", "b (prompt 1)", "a (prompt 2)", "b (prompt 2)",
    }  # fmt: skip


def test_a_result_that_promptfoo_could_not_get_is_kept_with_the_error(tmp_path: Path) -> None:
    options = Options()
    found = read(
        "promptfoo",
        tmp_path / "r.json",
        promptfoo(
            answer(0, "a", failureReason=1, error="Expected Lima", score=0),
            answer(1, None, failureReason=2, error="429 rate limit", score=0),
            answer(2, None, failureReason=0),
        ),
        options,
    )
    assert [one.failure for one in found] == ["", "429 rate limit"]
    assert [len(one.ratings) for one in found] == [1, 0]
    assert [turn.role for turn in found[1].turns] == ["user"]
    assert options.dropped == {
        "results without an output": 1,
        "settings and totals of the whole evaluation": 1,
    }


def test_choices_of_mt_bench_are_trials_and_repeated_judgments_are_sittings(tmp_path: Path) -> None:
    files = {
        "q": [{"question_id": 81, "category": "writing", "turns": ["Q?"]}],
        "a": [
            {
                "question_id": 81,
                "model_id": "m",
                "choices": [{"index": at, "turns": [f"A{at}"]} for at in range(2)],
            }
        ],
        "j": [
            {"question_id": 81, "model": "m", "judge": judge, "turn": 1, "score": score}
            for judge, score in (("g", 7), ("h", 5), ("g", 8))
        ],
    }
    for name, lines in files.items():
        (tmp_path / name).write_text("".join(json.dumps(one) + "\n" for one in lines))
    more = tuple(str(tmp_path / name) for name in "aj")
    first, second = find("mt-bench").read(str(tmp_path / "q"), Options(more=more))
    assert (design(first), design(second)) == (("81", "0", ""), ("81", "1", ""))
    assert [(one.rater, one.value, one.extra.get("sitting")) for one in first.ratings] == [
        ("g", 7.0, 0),
        ("h", 5.0, None),
        ("g", 8.0, 1),
    ]


@pytest.mark.parametrize("value", [True, 1.5, [1], None])
def test_a_trial_that_is_neither_a_text_nor_a_whole_number_says_nothing(value: Any) -> None:
    assert Dialogue("d", "a", (), extra={"task": "t", "trial": value}).task == ""
