"""Python functions as metrics, agents and judges of a call."""

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import turnwise as tw
from turnwise.errors import UsageError
from turnwise.session_functions import named

REPLIES = ["Yes, from ten.", "No!"]
QUESTION = {"role": "user", "content": "Open?"}
LOGS = [
    {"id": str(number), "agent": "m1", "messages": [QUESTION, {"role": "assistant", "content": text}]}
    for number, text in enumerate(REPLIES)
]


def exclaims(replies: list[dict[str, Any]]) -> list[float]:
    """Whether each reply ends with an exclamation mark."""
    return [float(reply["response"].endswith("!")) for reply in replies]


async def length(reply: dict[str, Any]) -> int:
    """The number of characters of a reply, after a pause."""
    await asyncio.sleep(0)
    return len(reply["response"])


async def lengths(replies: list[dict[str, Any]]) -> list[int]:
    """The number of characters of each reply."""
    return list(await asyncio.gather(*map(length, replies)))


def estimates(metrics: Any, **options: Any) -> dict[str, Any]:
    """Metric -> estimate of a score of the logs."""
    return {
        record["metric"]: record["estimate"]
        for record in tw.score(LOGS, metrics=metrics, **options).records()
    }


def test_functions_lambdas_and_async_functions_are_metrics_beside_names() -> None:
    found = estimates(
        [
            exclaims,
            lambda replies: [2 for _ in replies],
            lambda replies: [3 for _ in replies],
            lengths,
            "length",
        ]
    )
    assert found[f"{__name__}:exclaims"] == 0.5
    assert sorted(found[name] for name in found if name.startswith("own:lambda")) == [2.0, 3.0]
    assert found[f"{__name__}:lengths"] == (14 + 3) / 2
    assert found["length"] is not None


def test_a_list_of_awaitables_is_awaited() -> None:
    assert estimates(lambda replies: [length(reply) for reply in replies]).popitem()[1] == (14 + 3) / 2


def test_an_async_function_runs_where_a_loop_is_running_as_in_a_notebook() -> None:
    async def cell() -> dict[str, Any]:
        return estimates(lengths)

    assert asyncio.run(cell()).popitem()[1] == (14 + 3) / 2


def test_the_same_function_has_the_same_name_and_another_captured_value_another_one() -> None:
    def constant(value: int) -> Any:
        return lambda replies: [value for _ in replies]

    assert named(constant(1)) == named(constant(1))
    assert named(constant(1)) != named(constant(2))


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (
            lambda reply: len(reply["response"]),
            "was given a list of replies and raised TypeError.*all replies at once",
        ),
        (lambda replies: 7, "returned 7 instead of a list of numbers; it gets all replies at once"),
        (lambda replies: [1], "was given 2 replies and returned 1 numbers"),
        (lambda replies: ["good", "bad"], "returned 'good' for reply 0 of its list: not a number"),
    ],
)
def test_the_note_on_a_wrong_function_says_what_was_wrong(function: Any, problem: str) -> None:
    assert re.search(problem, str(tw.score(LOGS, metrics=function)))


def test_a_class_is_no_function() -> None:
    with pytest.raises(UsageError, match="the class `int` is no function"):
        tw.score(LOGS, metrics=int)


def test_a_function_of_a_session_is_not_sent_to_workers() -> None:
    with pytest.raises(UsageError, match="worker processes cannot import: write it into a file"):
        tw.score(LOGS, metrics=lambda replies: [1 for _ in replies], jobs=2)


def test_a_function_in_a_file_is_sent_to_workers() -> None:
    assert estimates(exclaims, jobs=2) == {f"{__name__}:exclaims": 0.5}


def test_a_function_of_standard_input_is_a_metric() -> None:
    script = f"""
import turnwise as tw
def shout(replies):
    return [1 for _ in replies]
print(tw.score({LOGS!r}, metrics=shout))
"""
    done = subprocess.run([sys.executable, "-"], input=script, capture_output=True, text=True, check=True)
    assert "own:shout  m1        1.000        2" in done.stdout


@pytest.mark.parametrize("is_async", [False, True])
def test_a_function_is_an_agent(tmp_path: Path, is_async: bool) -> None:
    async def later(messages: list[dict[str, Any]]) -> str:
        return messages[-1]["content"] + " Yes."

    log, out = tmp_path / "log.jsonl", tmp_path / "out.jsonl"
    log.write_text("".join(json.dumps(record) + "\n" for record in LOGS))
    agent = later if is_async else lambda messages: messages[-1]["content"] + " Yes."
    tw.respond(str(log), agent=agent, name="echo", output=out)
    written = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record["messages"][1]["alternatives"] for record in written] == [{"echo": "Open? Yes."}] * 2


def test_a_function_is_a_judge_that_sees_the_dialogue() -> None:
    asked: list[str] = []

    def ask(messages: list[dict[str, Any]]) -> str:
        """A verdict of 5 for a long reply, else of 2."""
        asked.append(messages[-1]["content"])
        form = messages[-1]["content"].strip().splitlines()[-1]
        return form.replace(": X", ": 5" if REPLIES[0] in asked[-1] else ": 2")

    result = tw.score(LOGS, metrics=tw.judge(ask, cache=False))
    (record,) = result.records()
    assert record["estimate"] == 3.5
    assert len(asked) == 2
    assert all("Open?" in question for question in asked)


def test_what_a_judging_function_raises_is_the_reason_that_there_is_no_score() -> None:
    def fails(messages: list[dict[str, Any]]) -> str:
        raise ValueError("no key")

    assert "own:fails raised ValueError: no key" in str(tw.score(LOGS, metrics=tw.judge(fails, cache=False)))
