"""Files of scenarios: what is read, and what is said of a mistake."""

import json
from pathlib import Path

import jsonschema
import pytest

from turnwise.errors import DataError
from turnwise.scenarios.places import load
from turnwise.scenarios.reading import from_values, left_out, read
from turnwise.scenarios.scenario import as_goal
from turnwise.scenarios.schema import published, schema, text

REFUND = """\
# yaml-language-server: $schema=scenarios.schema.json
tools:
- name: find_order
  parameters: {type: object, properties: {order: {type: string}}}
  results:
  - {arguments: {order: W12}, result: {status: sent}}
scenarios:
- id: refund
  kind: refunds
  persona: in a hurry
  goal: get the money back for order W12
  facts: {order: W12, country: NO, bought: 2024-05-01, paid: 12.5, gift: false}
  success:
    calls: [{name: refund, arguments: {order: W12}}]
    says: [5 days]
  tools:
  - name: refund
    results: [{result: done, sets: {order.status: refunded}}]
"""


def write(folder: Path, content: str, name: str = "scenarios.yaml") -> str:
    path = folder / name
    path.write_text(content)
    return str(path)


def complaints(folder: Path, content: str, name: str = "scenarios.yaml") -> list[str]:
    with pytest.raises(DataError) as error:
        read([write(folder, content, name)])
    return str(error.value).replace(f"{folder}/", "").splitlines()


def test_a_scenario_has_its_own_tools_and_those_of_the_file(tmp_path: Path):
    (scenario,) = read([write(tmp_path, REFUND)])
    assert [tool.name for tool in scenario.tools] == ["refund", "find_order"]
    assert scenario.kind == "refunds"
    assert scenario.success.calls[0].arguments == {"order": "W12"}
    assert scenario.tools[0].results[0].sets == {"order.status": "refunded"}


def test_countries_and_dates_of_a_yaml_file_stay_texts_and_numbers_stay_numbers(tmp_path: Path):
    (scenario,) = read([write(tmp_path, REFUND)])
    assert scenario.facts == {
        "order": "W12",
        "country": "NO",
        "bought": "2024-05-01",
        "paid": 12.5,
        "gift": False,
    }
    assert scenario.known["gift"] == "false"


def test_the_goal_of_a_log_has_what_the_scenario_says_and_nothing_that_it_lacks(tmp_path: Path):
    (scenario,) = read([write(tmp_path, REFUND)])
    goal = as_goal(scenario)
    assert goal["success"] == {
        "calls": [{"name": "refund", "arguments": {"order": "W12"}}],
        "says": ["5 days"],
    }
    assert set(as_goal(from_values([{"id": "a", "turns": ["hi"]}])[0])) == set()


def test_toml_and_json_files_hold_the_same_scenarios_as_yaml(tmp_path: Path):
    toml = '[[scenarios]]\nid = "a"\ngoal = "a table"\nfacts = {people = 4}\n'
    as_json = json.dumps({"scenarios": [{"id": "a", "goal": "a table", "facts": {"people": 4}}]})
    as_yaml = "- id: a\n  goal: a table\n  facts: {people: 4}\n"
    found = [
        read([write(tmp_path, content, name)])
        for content, name in ((toml, "s.toml"), (as_json, "s.json"), (as_yaml, "s.yml"))
    ]
    assert found[0] == found[1] == found[2]


def test_every_mistake_of_a_file_is_named_with_its_line_and_place(tmp_path: Path):
    assert complaints(
        tmp_path,
        "- id: a\n  gaol: a table\n  goal: x\n- id: 17\n  goal: x\n- id: c\n  persona: y\n"
        "- id: d\n  goal: x\n  success:\n    calls:\n    - nam: book\n- id: e\n  goal: x\n  max_turns: 0\n",
    ) == [
        "scenarios.yaml:2: $[0].gaol is no key of this; the nearest are goal, world, tools",
        "scenarios.yaml:4: $[1].id is wrong: expected a text and got a whole number; put it in quotes",
        "scenarios.yaml:6: $[2] (`c`) gives the user nothing to say: it needs `goal`, `turns` or `world`",
        "scenarios.yaml:12: $[3].success.calls[0].nam is no key of this; the nearest are name, arguments",
        "scenarios.yaml:12: $[3].success.calls[0] lacks `name`",
        "scenarios.yaml:15: $[4].max_turns is wrong: expected a whole number from 1 to 1000",
    ]


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ("persona: true", ".persona is wrong: expected a text and got true"),
        ("persona: null", ".persona is wrong: expected a text and got nothing"),
        ("kind: ''", ".kind is wrong: expected a text that is not empty"),
        ("turns: hello", ".turns is wrong: expected a list and got a text"),
        ("turns: [1.5]", ".turns[0] is wrong: expected a text and got a number; put it in quotes"),
        ("max_turns: true", ".max_turns is wrong: expected a whole number and got true"),
        ("max_turns: 1001", ".max_turns is wrong: expected a whole number from 1 to 1000"),
        ("success: []", ".success is wrong: expected a mapping and got a list"),
        (
            "facts: {a: [1]}",
            ".facts.a is wrong: expected a text or a whole number or a number or true or false and got a list",
        ),
        ("tools: [{name: x, results: [{}]}]", ".tools[0].results[0] lacks `result`"),
        ("'gaol `b`': 1", ".gaol `b` is no key of this; the nearest are goal, world, tools"),
    ],
)
def test_what_does_not_fit_is_named_with_what_is_expected(
    tmp_path: Path, written: str, complaint: str
) -> None:
    assert complaints(tmp_path, f"- id: a\n  goal: x\n  {written}\n") == [
        f"scenarios.yaml:3: $[0]{complaint}"
    ]


def test_a_key_in_memory_that_is_no_text_is_an_error():
    with pytest.raises(DataError, match=r"\$\[0\] cannot be read: "):
        from_values([{"id": "a", "goal": "x", "facts": {1: "x"}}])


def test_a_call_that_must_be_made_names_a_tool_of_the_scenario(tmp_path: Path):
    assert complaints(tmp_path, REFUND.replace("calls: [{name: refund,", "calls: [{name: refnud,")) == [
        "scenarios.yaml:14: $.scenarios[0].success.calls[0].name is `refnud`, which is no tool of the scenario; "
        "the nearest are refund, find_order"
    ]


def test_an_id_that_is_there_twice_is_an_error_also_in_two_files(tmp_path: Path):
    first = write(tmp_path, "- {id: a, goal: x}\n", "first.yaml")
    second = write(tmp_path, "- {id: b, goal: x}\n- {id: a, goal: y}\n", "second.yaml")
    with pytest.raises(DataError) as error:
        read([first, second])
    assert str(error.value) == (
        f"{second}:2: $[1].id is `a`, which is in {first}:1 already; expected ids that differ"
    )
    with pytest.raises(DataError, match="have the id `a` 2 times"):
        from_values([{"id": "a", "goal": "x"}, {"id": "a", "goal": "x"}])


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("- id: a\n  goal: [\n", "scenarios.yaml:3: is no YAML: while parsing a flow node"),
        ("- id: a\n  goal: x\n  goal: y\n", "scenarios.yaml:3: has the key `goal` twice in one mapping"),
        ("- id: a\n  facts: {1: x}\n", "scenarios.yaml:2: has the key 1, which is no text: put it in quotes"),
        ("", "scenarios.yaml: has no scenarios; expected a list"),
        ("scenarios: []\n", "scenarios.yaml:1: has no scenarios; expected a list"),
        ("- id: a\n  goal: x\n  facts: &f {a: *f}\n", "scenarios.yaml:3: $[0].facts"),
        (
            "- !!python/object:os.system {}\n",
            "scenarios.yaml:1: is no YAML: could not determine a constructor",
        ),
    ],
)
def test_a_file_that_is_no_list_of_scenarios_is_an_error_with_its_line(tmp_path: Path, content, complaint):
    assert complaints(tmp_path, content)[0].startswith(complaint)


def test_a_file_that_is_absent_or_no_text_is_an_error(tmp_path: Path):
    with pytest.raises(DataError, match=r"absent\.yaml: cannot be read"):
        read([str(tmp_path / "absent.yaml")])
    (tmp_path / "x.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="is not in UTF-8"):
        read([str(tmp_path / "x.yaml")])
    with pytest.raises(DataError, match="is no TOML"):
        read([write(tmp_path, "a = ", "x.toml")])


def test_the_published_schema_is_the_generated_one_and_accepts_what_is_read(tmp_path: Path):
    assert published() == text()
    validator = jsonschema.Draft202012Validator(schema())
    assert list(validator.iter_errors(load(write(tmp_path, REFUND)).value)) == []
    plain = {
        "scenarios": [{"id": "a", "goal": "x", "facts": {"n": 1}, "success": {"says": ["b"]}}],
        "tools": [],
    }
    assert list(validator.iter_errors(plain)) == []
    assert list(validator.iter_errors(plain["scenarios"])) == []
    assert list(validator.iter_errors([{"id": "a", "gaol": "x"}]))
    assert list(validator.iter_errors([{"id": "a"}]))


def test_conversational_goldens_of_deepeval_are_scenarios(tmp_path: Path):
    goldens = [
        {
            "scenario": "Andy wants to buy a VIP ticket to a concert.",
            "expected_outcome": "A ticket is sold.",
            "user_description": "Andy is 28 and polite.",
            "context": ["VIP tickets cost 200."],
            "turns": [{"role": "user", "content": "Hi there"}, {"role": "assistant", "content": "Hello!"}],
        },
        {"input": "What is the refund period?", "expected_output": "30 days", "actual_output": None},
    ]
    first, second = read([write(tmp_path, json.dumps(goldens), "goldens.json")])
    assert (first.id, first.persona, first.turns) == ("golden-1", "Andy is 28 and polite.", ["Hi there"])
    assert first.success.judge == "A ticket is sold."
    assert first.briefing == "VIP tickets cost 200."
    assert (second.turns, second.max_turns, second.success.judge) == (
        ["What is the refund period?"],
        1,
        "30 days",
    )


def test_goldens_of_deepeval_may_be_json_lines_or_csv(tmp_path: Path):
    golden = {"scenario": "Ask for a refund.", "expected_outcome": "It is given.", "user_description": "Ann"}
    lines = write(tmp_path, f"{json.dumps(golden)}\n\n{json.dumps(golden)}\n", "goldens.jsonl")
    assert [one.goal for one in read([lines])] == ["Ask for a refund."] * 2
    header = "scenario,expected_outcome,user_description,turns,context\n"
    cells = 'Ask for a refund.,It is given.,Ann,"[{""role"": ""user"", ""content"": ""Hi""}]",\n'
    (one,) = read([write(tmp_path, header + cells, "goldens.csv")])
    assert (one.goal, one.persona, one.turns, one.success.judge) == (
        "Ask for a refund.", "Ann", ["Hi"], "It is given.",
    )  # fmt: skip
    with pytest.raises(DataError, match=r"broken.jsonl:2: is no JSON"):
        read([write(tmp_path, f"{json.dumps(golden)}\n{{\n", "broken.jsonl")])


def test_tasks_of_tau2_are_scenarios(tmp_path: Path):
    task = {
        "id": "7",
        "user_scenario": {
            "persona": None,
            "instructions": {
                "domain": "airline",
                "reason_for_call": "Cancel the flight.",
                "known_info": "Your id is mia_1.",
                "unknown_info": "the fare",
                "task_instructions": "Insist.",
            },
        },
        "evaluation_criteria": {
            "actions": [
                {"action_id": "7_0", "name": "cancel", "arguments": {"id": "Q1"}},
                {"action_id": "7_1", "name": "toggle", "requestor": "user", "arguments": {}},
            ],
            "communicate_info": ["120"],
            "nl_assertions": ["The agent is polite."],
        },
    }
    (scenario,) = read([write(tmp_path, json.dumps([task]), "tasks.json")])
    assert scenario.goal == "Cancel the flight. You know: Your id is mia_1. You do not know: the fare Insist."
    assert (scenario.id, scenario.kind, scenario.success.says) == ("7", "airline", ["120"])
    assert [call.name for call in scenario.success.calls] == ["cancel"]


def test_tests_of_promptfoo_with_a_simulated_user_are_scenarios(tmp_path: Path):
    config = """\
providers: [openai:gpt-4o]
defaultTest:
  provider:
    id: promptfoo:simulated-user
    config: {maxTurns: 6}
tests:
- description: booking
  vars: {instructions: "You are mia. You want to fly to Seattle."}
  assert:
  - {type: llm-rubric, value: A flight was booked}
  - {type: icontains, value: Seattle}
  - {type: javascript, value: "output.length > 1"}
- provider:
    id: promptfoo:simulated-user
    config: {instructions: "You are {{name}}.", maxTurns: 3}
  vars: {name: Ada}
"""
    first, second = read([path := write(tmp_path, config)])
    assert left_out([path]) == {"an assertion `javascript` (promptfoo)": 1}
    assert (first.id, first.goal, first.max_turns) == (
        "booking",
        "You are mia. You want to fly to Seattle.",
        6,
    )
    assert (first.success.judge, first.success.says) == ("A flight was booked", ["Seattle"])
    assert (second.id, second.goal, second.max_turns) == ("test-2", "You are Ada.", 3)
