"""Metrics of agents with tools: each rule on small dialogues, and planted faults in real logs."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.tool_faults import outcomes
from turnwise.errors import UsageError
from turnwise.logs.dialogue import from_record
from turnwise.logs.items.items import Selection, items
from turnwise.metrics import resolve
from turnwise.metrics.tools.calls import tool_calls
from turnwise.metrics.tools.faults import Faults
from turnwise.metrics.tools.mentions import Mentions
from turnwise.types import Item, Turn

FIXTURES = Path(__file__).parents[2] / "fixtures" / "wild"


def call(tool: str, /, **arguments: Any) -> Turn:
    made = {"type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    return Turn("assistant", None, extra={"tool_calls": [made]})


def result(value: Any, identity: str = "", **extra: Any) -> Turn:
    text = value if isinstance(value, str) else json.dumps(value)
    return Turn("tool", text, extra={"tool_call_id": identity, **extra} if identity else extra)


def dialogue(*turns: Turn, **meta: Any) -> Item:
    return Item("d", "d", "bot", turns, None, "d", "d", meta=meta)


def user(text: str) -> Turn:
    return Turn("user", text)


def says(text: str) -> Turn:
    return Turn("assistant", text)


def faults(name: str, item: Item, **settings: Any) -> list[str]:
    metric = resolve(name, **settings)
    assert isinstance(metric, Faults)
    found = metric.inspect(item)
    (row,) = metric.rows([item]).tolist()
    if found.total:
        assert row == [len(found.faults), found.total]
    return [fault.what for fault in found.faults]


def test_results_belong_to_the_calls_with_their_ids_or_in_order() -> None:
    several = [
        {"id": one, "function": {"name": name, "arguments": "{}"}} for one, name in (("a", "f"), ("b", "g"))
    ]
    two = Turn("assistant", "", extra={"tool_calls": several})
    calls = tool_calls([two, result("of g", "b"), result("of f", "a"), call("h"), result("of h")])
    assert [(one.name, one.result) for one in calls] == [("f", "of f"), ("g", "of g"), ("h", "of h")]


@pytest.mark.parametrize(
    ("turn", "failed"),
    [
        (result("Error: no such order"), True),
        (result({"error": "no such order"}), True),
        (result({"status": "failed"}), True),
        (result("all is well", "c", error=True), True),
        (result("Error: quoted", "c", error=False), False),
        (result({"error": None, "status": "ok"}), False),
        (result("No errors found"), False),
    ],
)
def test_failures_are_told_by_marks_and_by_what_results_say(turn: Turn, failed: bool) -> None:
    assert bool(faults("tool-errors", dialogue(call("f"), turn))) is failed


def test_retries_and_repeats_need_the_same_arguments() -> None:
    failed, fine = result("Error: busy"), result({"n": 1})
    item = dialogue(
        call("f", n=1), failed, call("f", n=1), fine,  # a retry
        call("f", n=1), fine,  # not needed
        call("f", n=2), fine, call("f", n=2), result({"n": 2}),  # another result
    )  # fmt: skip
    assert faults("tool-retries", item) == ["f repeated after it had failed (first in message 0)"]
    assert faults("tool-repeats", item) == ["f repeated with the same result (first in message 2)"]


ORDER = {"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]}
OPENAI = [{"type": "function", "function": {"name": "find", "parameters": ORDER}}]
ANTHROPIC = [{"name": "find", "input_schema": ORDER}]


@pytest.mark.parametrize("tools", [OPENAI, ANTHROPIC, {"find": ORDER}])
def test_calls_are_checked_against_the_schemas_of_the_record(tools: Any) -> None:
    item = dialogue(
        call("find", order=1), call("find", order="1"), call("find"), call("find", order=1, fast=True), call("lose"),
        Turn("assistant", None, extra={"tool_calls": [{"function": {"name": "find", "arguments": "{order: 1"}}]}),
        tools=tools,
    )  # fmt: skip
    found = faults("tool-invalid", item)
    assert len(found) == 5
    assert found[0] == "find, $.order: '1' is not of type 'integer'"
    assert "'order' is a required property" in found[1]
    assert "'fast' was unexpected" in found[2]
    assert found[3] == "there is no tool `lose`"
    assert found[4] == "the arguments of find are no JSON object"


def test_schemas_may_be_in_a_file_or_beside_the_messages(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text(json.dumps(OPENAI))
    item = dialogue(call("find", order="1"))
    assert len(faults("tool-invalid", item, tools=str(tmp_path / "tools.json"))) == 1
    record = {
        "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}],
        "tools": OPENAI,
    }
    (whole,) = items([from_record(record, default_id="1")], Selection(items="all"), whole=True)
    assert whole.meta["tools"] == OPENAI
    (tmp_path / "tools.json").write_text("3")
    with pytest.raises(UsageError, match="has no schemas of tools"):
        resolve("tool-invalid", tools=str(tmp_path / "tools.json"))


def test_arguments_that_nobody_mentioned_are_named() -> None:
    item = dialogue(
        Turn("system", "Refunds are at most 50 dollars."),
        user("My order is #W12345, I am Mia, on May 20th."),
        says("Is it order W99999?"),
        call("find", order="W12345", name="mia", day="2024-05-20", most=50, retries=1, note="a text of its own words"),
        result({"item": "IT-77"}),
        call("refund", item="it_77", order="W99999", amount=75, sum="20 + 55"),
    )  # fmt: skip
    assert faults("tool-unmentioned", item) == [
        "refund, order: 'W99999' was not mentioned",  # only the agent said it
        "refund, amount: 75.0 was not mentioned",
    ]


def test_letters_can_be_left_out_of_the_search() -> None:
    item = dialogue(user("From New York."), call("fly", origin="JFK", seats=3))
    assert faults("tool-unmentioned", item) == [
        "fly, origin: 'JFK' was not mentioned",
        "fly, seats: 3.0 was not mentioned",
    ]
    assert faults("tool-unmentioned", item, letters=False) == ["fly, seats: 3.0 was not mentioned"]


@pytest.mark.parametrize(
    ("value", "known"),
    [
        ("one_way", True),
        ("Müller", True),
        ("2024-05-20", True),
        ("2024-06-20", False),
        ("W1", False),
        ("2024-13-45", False),
    ],
)
def test_mentions_are_found_in_other_dress(value: str, known: bool) -> None:
    assert Mentions(["A one-way trip for Muller on 20 May 2024"]).has(value) is known


COURSES = [
    {"course_id": "MAT101", "name": "Calculus", "credits": 4, "day": "Monday", "time": "14:00-16:00"},
    {"course_id": "FIS101", "name": "Physics", "credits": 6, "day": "Friday", "time": "08:00-10:00"},
]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("Calculus (MAT101) has 4 credits, on Mondays from 2:00 PM to 4:00 PM.", ""),
        ("Calculus has 6 credits.", "6 is no value of 'mat101'"),
        ("Calculus:\n- credits: 5", "5 is no value of 'mat101'"),
        ("Calculus is from 9:00 to 16:00.", "the hour 9 is no value of 'mat101'"),
        ("Calculus is on Friday.", "'friday' is not the day of 'mat101', which is 'monday'"),
        ("Calculus is on Monday and Physics on Friday, 10 credits in all: 4 and 6.", ""),
        ("You are in course QUI305 now.", "'QUI305' was mentioned by nobody"),
        ("Do you mean QUI305?", ""),
        ("Give me its code, e.g. QUI305.", ""),
        ("1. Calculus\n2. Physics", ""),
        ("Your 20 credits are enough for Calculus.", ""),  # the user said 20
        ("It costs 350 dollars.", "350 is no value of any result"),
    ],
)
def test_replies_are_compared_with_the_records_that_they_name(reply: str, problem: str) -> None:
    item = dialogue(user("I have 20 credits."), call("search"), result(COURSES), says(reply))
    assert faults("tool-contradictions", item) == ([problem] if problem else [])


def test_steps_and_costs_are_those_of_the_agent() -> None:
    item = dialogue(
        user("Hi"), says("Hello"), call("f"), result("x"), Turn("assistant", "Bye", extra={"cost": 0.5})
    )
    steps, cost = resolve("steps"), resolve("logged-cost")
    assert steps.rows([item]).tolist() == [[3.0, 1.0]]  # type: ignore[union-attr]
    assert cost.rows([item]).tolist() == [[0.5, 1.0]]  # type: ignore[union-attr]
    logged = dialogue(says("Hello"), agent_cost=2.0)
    assert cost.rows([logged]).tolist() == [[2.0, 1.0]]  # type: ignore[union-attr]


def test_planted_faults_in_real_logs_are_found() -> None:
    there = []
    for name in ("tau2_results.json", "tau_bench_v1_airline.json"):
        lines = (FIXTURES / f"{name}.expected.jsonl").read_text().splitlines()
        for at, line in enumerate(lines):
            one = from_record(json.loads(line), default_id=str(at))
            there.append(Item(one.id, one.id, one.agent, one.turns, None, one.id, one.id))
    found = {one.kind: one for one in outcomes(there, rounds=10)}
    assert sum(one.false for one in found.values()) == 0
    for kind in ("wrong type or name of an argument", "made-up identifier in an argument", "repeated call"):
        assert (found[kind].planted > 0, found[kind].recall) == (True, 1.0)
    assert found["made-up identifier in a reply"].recall > 0.9
    assert found["contradicted number in a reply"].recall > 0.3


@pytest.mark.parametrize(
    "spelt",
    ["01223358966", "01223-358-966", "(01223) 358966", "01223 35 89 66", "358966", "0044 1223 358 966",
     "01223.358.966", "a number ending in 966", "+44 1223 358966"],
)  # fmt: skip
def test_a_phone_number_of_a_result_may_be_spelt_in_other_groups(spelt: str) -> None:
    inn = {"id": "H7712", "name": "Alpha Inn", "phone": "01223358966", "price": 85}
    known = (user("A room?"), call("find"), result(inn))
    right = dialogue(*known, says(f"Alpha Inn costs 85. Call {spelt}."))
    assert faults("tool-contradictions", right) == []
    wrong = dialogue(*known, says(f"Alpha Inn costs 185. Call {spelt}."))
    assert len(faults("tool-contradictions", wrong)) == 1
    other = dialogue(*known, says("Alpha Inn is at number 01223 358999."))
    assert len(faults("tool-contradictions", other)) == 1


@pytest.mark.parametrize("phone", ["+1 (555) 014-7788", "555-014-7788", "(555) 014-7788", "+34 612 345 678"])
def test_the_parts_of_a_phone_number_are_no_values(phone: str) -> None:
    known = (user("W1201?"), call("find"), result({"order_id": "W1201", "days": 3}))
    right = dialogue(*known, says(f"Order W1201 takes 3 days. Call {phone}."))
    assert faults("tool-contradictions", right) == []
    wrong = dialogue(*known, says(f"Order W1201 takes 17 days. Call {phone}."))
    assert len(faults("tool-contradictions", wrong)) == 1
