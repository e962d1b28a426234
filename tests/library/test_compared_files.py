"""Files and folders that `compare` is given: runs of one agent, formats of several files, folders of other tools."""

import json
from pathlib import Path
from typing import Any

import pytest

import turnwise
from tests.console import run
from turnwise.errors import DataError, UsageError


def rated(value: float, at: int, agent: str | None = "bot") -> dict[str, Any]:
    said = [{"role": "user", "content": f"question {at}"}, {"role": "assistant", "content": f"reply {at}"}]
    one: dict[str, Any] = {"id": str(at), "messages": said}
    one["ratings"] = [{"dimension": "reward", "value": value, "rater": "check", "scale": [0, 1]}]
    return one if agent is None else {**one, "agent": agent}


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


@pytest.fixture
def two_runs(tmp_path: Path) -> tuple[Path, Path]:
    """Two files of the same agent, as two runs of a model with different prompts write them."""
    return (
        write(tmp_path / "short.jsonl", [rated(float(at % 4 > 0), at) for at in range(20)]),
        write(tmp_path / "long.jsonl", [rated(float(at % 2), at) for at in range(20)]),
    )


def test_files_that_share_their_only_agent_are_compared_by_file_name(two_runs: tuple[Path, Path]) -> None:
    found = turnwise.compare(two_runs)
    (record,) = found
    assert (record["agent_a"], record["agent_b"]) == ("short", "long")
    assert (record["a"], record["b"]) == (0.75, 0.5)
    assert "note: all files have the agent `bot`, so that agents are named after the files" in found.notes()


def test_the_names_of_the_files_may_be_given_as_agents(two_runs: tuple[Path, Path]) -> None:
    (record,) = turnwise.compare(two_runs, agents="long,short")
    assert (record["agent_a"], record["estimate"]) == ("long", -0.25)


def test_files_with_the_same_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / name / "results.jsonl", [rated(float(at % (2 + k) > 0), at) for at in range(8)])
        for k, name in enumerate("ab")
    ]
    (record,) = turnwise.compare(paths)
    assert [Path(record[f"agent_{side}"]).parent.name for side in "ab"] == ["a", "b"]


def test_two_agents_in_each_of_two_files_keep_their_names(tmp_path: Path) -> None:
    paths = [
        write(
            tmp_path / f"{name}.jsonl",
            [
                {**rated(float(at % 2), at, agent), "id": f"{name}{agent}{at}"}
                for at in range(6)
                for agent in "xy"
            ],
        )
        for name in ("one", "two")
    ]
    (record,) = turnwise.compare(paths)
    assert (record["agent_a"], record["agent_b"]) == ("x", "y")


def test_by_file_is_answered_with_what_compares_the_files(two_runs: tuple[Path, Path]) -> None:
    with pytest.raises(UsageError, match='leave by="file" out'):
        turnwise.compare(two_runs, by="file")


def test_one_file_of_one_agent_says_how_a_second_agent_is_given(two_runs: tuple[Path, Path]) -> None:
    with pytest.raises(UsageError, match="the data has only bot"):
        turnwise.compare(two_runs[0])


def test_one_agent_with_several_system_prompts_says_how_they_are_compared(tmp_path: Path) -> None:
    data = [
        {
            "agent": "gpt",
            "messages": [{"role": "system", "content": prompt}, *rated(1.0, at, "gpt")["messages"]],
        }
        for at in range(3)
        for prompt in ("Be brief.", "Be warm.")
    ]
    with pytest.raises(UsageError, match=r'has only gpt.*agent_key="system" compares its 2 system prompts'):
        turnwise.compare(data, metrics="length")
    (record,) = turnwise.compare(data, metrics="length", agent_key="system")
    assert (record["agent_a"], record["agent_b"]) == ("Be brief.", "Be warm.")


QUESTIONS = [{"question_id": at, "category": "math", "turns": [f"question {at}"]} for at in range(6)]
ANSWERS = {
    model: [
        {"question_id": at, "model_id": model, "choices": [{"index": 0, "turns": [f"{model} says {at}"]}]}
        for at in range(6)
    ]
    for model in ("m1", "m2")
}
JUDGMENTS = [
    {
        "question_id": at,
        "model": model,
        "judge": ["gpt-4", "single"],
        "score": 3 + at % 3 + (model == "m1"),
        "turn": 1,
    }
    for at in range(6)
    for model in ANSWERS
]


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    write(tmp_path / "questions.jsonl", QUESTIONS)
    write(tmp_path / "a.jsonl", ANSWERS["m1"])
    write(tmp_path / "b.jsonl", ANSWERS["m2"])
    write(tmp_path / "judgments.jsonl", JUDGMENTS)
    return tmp_path


def test_a_format_of_several_files_is_compared_in_one_command(bench: Path) -> None:
    paths = [bench / f"{name}.jsonl" for name in ("questions", "a", "b", "judgments")]
    found = turnwise.compare(paths, reader="mt-bench")
    (record,) = found
    assert (record["metric"], record["agent_a"], record["estimate"]) == ("rating:score", "m1", 1.0)
    (read,) = found.document.origin.inputs
    assert read.path == f"{paths[0]} and 3 more files"


def test_the_scores_of_a_judge_are_not_called_peoples(bench: Path) -> None:
    twice = [{**one, "score": 9} for one in JUDGMENTS[:2]]
    write(bench / "judgments.jsonl", [*JUDGMENTS, *twice])
    paths = [bench / f"{name}.jsonl" for name in ("questions", "a", "b", "judgments")]
    note = "note: rating:score: given by a language model or a program, not by people (gpt-4)"
    compared = turnwise.compare(paths, reader="mt-bench")
    assert compared.document.automatic_raters == {"rating:score": ("gpt-4",)}
    assert note in compared.notes()
    raters = turnwise.meta_evaluate(paths, reader="mt-bench")
    assert {one["raters_are"] for one in raters} == {"automatic"}
    assert note in raters.notes()
    assert raters.records()[0]["reason"] == (
        "fewer than two items have two ratings; where one rater rated an item again, the last rating counts (2 times)"
    )
    metrics = turnwise.meta_evaluate(paths, reader="mt-bench", metrics="length", draws=100)
    titles = [figure.title for figure in metrics.figures()]
    assert "length against gpt-4: score, a dot a turn" in titles
    assert not any("people" in title for title in titles)


def test_a_missing_file_of_several_is_named(bench: Path) -> None:
    with pytest.raises(UsageError, match="the questions are missing"):
        turnwise.compare([bench / "a.jsonl", bench / "b.jsonl"], reader="mt-bench")


def test_a_file_of_a_format_of_several_is_answered_with_the_command_that_compares_them(bench: Path) -> None:
    status, said = run("turnwise compare questions.jsonl a.jsonl b.jsonl judgments.jsonl", bench)
    assert status == 2
    assert "turnwise compare --from mt-bench questions.jsonl OTHER_FILES..." in said
    assert "turnwise score" not in said
    assert (
        run("turnwise compare --from mt-bench questions.jsonl a.jsonl b.jsonl judgments.jsonl", bench)[0] == 0
    )


ARENA = [
    {"question_id": str(at), "model_a": "m1", "model_b": "m2", "winner": "model_a" if at % 3 else "model_b",
     "conversation_a": [{"role": "user", "content": f"q{at}"}, {"role": "assistant", "content": "yes"}],
     "conversation_b": [{"role": "user", "content": f"q{at}"}, {"role": "assistant", "content": "no"}]}
    for at in range(6)
]  # fmt: skip
CHOSEN = [{"chosen": f"\n\nHuman: q{at}\n\nAssistant: yes", "rejected": f"\n\nHuman: q{at}\n\nAssistant: no"}
          for at in range(6)]  # fmt: skip


@pytest.mark.parametrize(
    ("records", "command", "named"),
    [
        (ARENA, "turnwise compare data.jsonl", "turnwise compare --from preferences data.jsonl"),
        (
            CHOSEN,
            "turnwise compare data.jsonl",
            "turnwise meta --from preferences data.jsonl --level pair -m length",
        ),
        (
            ARENA,
            "turnwise meta data.jsonl -m length",
            "turnwise meta --from preferences data.jsonl --level pair -m length",
        ),
        (
            ARENA,
            "turnwise score data.jsonl -m length",
            "turnwise score --from preferences data.jsonl -m length",
        ),
    ],
)
def test_a_foreign_file_is_answered_with_the_command_that_was_meant(
    tmp_path: Path, records: list[dict[str, Any]], command: str, named: str
) -> None:
    write(tmp_path / "data.jsonl", records)
    status, said = run(command, tmp_path)
    assert status == 2
    assert f"directly: {named}" in said
    assert run(named, tmp_path)[0] == 0


def simulation(at: int, reward: float) -> dict[str, Any]:
    return {
        "id": f"s{at}",
        "task_id": str(at),
        "reward_info": {"reward": reward},
        "messages": [{"role": "user", "content": f"q{at}"}, {"role": "assistant", "content": "yes"}],
    }


INFO = {"agent_info": {"llm": "m1"}, "user_info": {"llm": "u"}, "environment_info": {"domain_name": "shop"}}


@pytest.fixture
def tau2(tmp_path: Path) -> Path:
    """A run as one file, and two runs as folders, whose results.json has no simulations."""
    whole = {"info": INFO, "tasks": [], "simulations": [simulation(at, float(at % 2)) for at in range(8)]}
    (tmp_path / "old.json").write_text(json.dumps(whole))
    for run_name, period in (("first", 3), ("second", 4)):
        folder = tmp_path / run_name
        (folder / "simulations").mkdir(parents=True)
        (folder / "results.json").write_text(json.dumps({"info": INFO, "tasks": []}))
        for at in range(8):
            (folder / "simulations" / f"s{at}.json").write_text(
                json.dumps(simulation(at, float(at % period > 0)))
            )
    return tmp_path


@pytest.mark.parametrize("newer", ["first", "first/results.json"])
def test_a_file_and_the_folder_of_a_run_are_compared(tau2: Path, newer: str) -> None:
    (record,) = turnwise.compare([tau2 / "old.json", tau2 / newer], reader="tau2")
    assert record["metric"] == "rating:reward"
    assert (record["a"], record["b"]) == (0.5, 0.625)


def test_two_folders_of_another_format_are_no_finished_runs(tau2: Path) -> None:
    status, said = run("turnwise compare --from tau2 first second", tau2)
    assert (status, "first" in said) == (0, True)
    status, said = run("turnwise compare first second", tau2)
    assert status == 2
    assert "is in the format tau2" in said
    assert "directly: turnwise compare --from tau2 first" in said


def test_a_file_beside_a_folder_of_another_format_is_answered_with_the_command(tau2: Path) -> None:
    status, said = run("turnwise compare old.json first", tau2)
    assert status == 2
    assert "directly: turnwise compare --from tau2 " in said
    assert "exactly two folders" not in said


def test_a_results_file_without_simulations_says_where_they_are_expected(tau2: Path) -> None:
    alone = tau2 / "alone.json"
    alone.write_text((tau2 / "first" / "results.json").read_text())
    with pytest.raises(DataError, match=r"or in a folder `simulations` beside results\.json"):
        turnwise.score(alone, reader="tau2", metrics="rating:reward")


def test_a_rated_dimension_may_have_brackets_in_its_name(tmp_path: Path) -> None:
    """Found by the fuzzer: `overall[1-5]` was taken for a metric with settings."""
    records = [rated(float(at % 2), at, agent="ab"[at % 2]) for at in range(20)]
    for one in records:
        one["ratings"][0]["dimension"] = "overall[1-5]"
    (record,) = turnwise.compare(
        write(tmp_path / "logs.jsonl", records), metrics="length", agents="a,b", pair="id"
    )
    assert (record["agent_a"], record["agent_b"]) == ("a", "b")
