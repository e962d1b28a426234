"""Task logs, goals and tables that cannot be used: every command says what is wrong and where, and gives no number."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.small_tables import write_tables
from turnwise.cli.common.group import run

GOAL = {"restaurant": {"info": {"food": "indian"}, "reqt": ["phone"]}}
STATE = {"restaurant": {"food": "indian"}}
COMMANDS = {
    "score": ["score", "{logs}", "-m", "success", "--db", "{db}", "--max-errors", "0", "-q"],
    "as": ["score", "{logs}", "-m", "success", "--as", "sys", "--db", "{db}", "--max-errors", "0", "-q"],
    "ope": ["ope", "{logs}", "--estimator", "critic[fewest=30]", "--target", "sys", "--db", "{db}", "-q",
            "--no-calibrate"],
    "simulate": ["simulate", "task", "--goals", "{logs}", "--db", "{db}", "--agents", "1", "--dialogues", "1",
                 "--truth", "0", "-o", "{out}", "-q"],
}  # fmt: skip
EVERY = tuple(COMMANDS)
RATED = ("score", "as", "ope")  # which read states


def record(number: int, *, goal: Any = GOAL, state: Any = STATE, mute: bool = False) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "i want indian food"}]
    if not mute:
        said = {
            "content": "[restaurant_name] , phone [restaurant_phone]",
            "state": state,
            "alternatives": {"sys": "[value_name] has [value_phone]"},
        }
        messages.append({"role": "assistant", **said})
    found = {"id": f"d{number}", "agent": "human", "messages": messages}
    return found if goal is None else found | {"goal": goal}


def ran(
    command: str, tmp_path: Path, *, db: Path, capsys: pytest.CaptureFixture[str], **odd: Any
) -> tuple[int, str]:
    logs = tmp_path / "logs.jsonl"
    logs.write_text("".join(json.dumps(record(number, **odd)) + "\n" for number in range(40)))
    places = {"logs": str(logs), "db": str(db), "out": str(tmp_path / "out.jsonl")}
    code = run([word.format(**places) for word in COMMANDS[command]])
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return code, said.out + said.err


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return write_tables(tmp_path / "db")


@pytest.mark.parametrize("command", EVERY)
def test_the_record_that_the_others_are_made_from_is_good(command, tmp_path, db, capsys) -> None:
    assert ran(command, tmp_path, db=db, capsys=capsys)[0] == 0


@pytest.mark.parametrize("command", EVERY)
@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ({"casino": {"info": {}}}, "has a domain `casino`"),
        ({"restaurant": {"info": {"mood": "jolly"}}}, "has a slot `mood`"),
        ({"restaurant": {"info": {"food": "indian"}, "reqt": ["smell"]}}, "has a slot `smell`"),
        ({"restaurant": ["food"]}, "domain `restaurant` is not an object with `info`"),
        ({"restaurant": {"info": ["food"]}}, "`info`"),
        ({"restaurant": {"info": {"food": "indian"}, "reqt": "phone"}}, "`reqt`"),
    ],
)
def test_a_goal_that_cannot_be_met_is_told_with_its_place(
    command, goal, message, tmp_path, db, capsys
) -> None:
    code, said = ran(command, tmp_path, db=db, capsys=capsys, goal=goal)
    assert code in (2, 3)
    if command == "ope" and "casino" in goal:  # a task of its own, in all dialogues
        assert "the goals are about casino" in said
        assert "critic[ontology=" in said
        return
    assert message in said
    assert re.search(r"the goal of d\d+\b", said)


@pytest.mark.parametrize("command", EVERY)
def test_missing_goals_are_told(command, tmp_path, db, capsys) -> None:
    code, said = ran(command, tmp_path, db=db, capsys=capsys, goal=None)
    assert code in (2, 3)
    assert "goal" in said
    assert "100" not in said


@pytest.mark.parametrize("command", RATED)
@pytest.mark.parametrize(
    "state",
    [{"dining": {"cuisine": "indian"}}, {"restaurant": {"cuisine": "indian"}}, {"dining": {"food": "x"}}],
)
def test_states_in_a_foreign_spelling_are_told_and_not_scored(command, state, tmp_path, db, capsys) -> None:
    code, said = ran(command, tmp_path, db=db, capsys=capsys, state=state)
    assert code in (2, 3)
    assert "knows no domain and slot of the states" in said
    assert "ontology=FILE.toml" in said


@pytest.mark.parametrize("command", EVERY)
@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[]", "the table of `restaurant` is empty"),
        ('[{"food": "indian"}]', "a row of the table of `restaurant` has no"),
        ("[", "restaurant_db.json"),
        ("{}", "restaurant_db.json"),
    ],
)
def test_a_table_in_which_nothing_can_be_found_is_told(command, table, message, tmp_path, db, capsys) -> None:
    (db / "restaurant_db.json").write_text(table)
    code, said = ran(command, tmp_path, db=db, capsys=capsys)
    assert code == 2
    assert message in said


@pytest.mark.parametrize("command", RATED)
def test_dialogues_without_a_system_turn_are_told(command, tmp_path, db, capsys) -> None:
    code, said = ran(command, tmp_path, db=db, capsys=capsys, mute=True)
    if command == "score":  # whole dialogues that were not scored, each with the reason
        assert (code, "40 items not scored: the agent says nothing in the dialogue" in said) == (3, True)
    else:
        words = "error: there are neither dialogues of" if command == "ope" else "error: no"
        assert (code, words in said) == (2, True)
