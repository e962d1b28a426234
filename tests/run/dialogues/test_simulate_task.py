"""`turnwise simulate task`: tables, goals and users of the caller, and scores of the logs."""

import json

import pytest

from tests.small_tables import write_tables
from turnwise.cli.common.group import run
from turnwise.logs import native

SMALL = ["--agents", "3", "--dialogues", "3", "--samples", "2", "--truth", "30", "-q"]


def simulated(path, *options):
    assert run(["simulate", "task", "-o", str(path), *SMALL, *options]) == 0
    return path.read_bytes()


def test_the_same_seed_gives_the_same_bytes_whatever_the_number_of_processes(tmp_path):
    logs = [simulated(tmp_path / f"{jobs}.jsonl", "--jobs", jobs) for jobs in ("1", "2")]
    truths = [(tmp_path / f"{jobs}.truth.json").read_bytes() for jobs in ("1", "2")]
    assert logs[0] == logs[1]
    assert truths[0] == truths[1]
    assert simulated(tmp_path / "other.jsonl", "--seed", "1") != logs[0]


def test_the_truth_leaves_out_dimensions_that_a_goal_lacks(tmp_path):
    simulated(tmp_path / "logs.jsonl")
    agents = json.loads((tmp_path / "logs.truth.json").read_text())["agents"]
    best = agents["grade-00"]
    assert list(best) == ["success", "inform", "complete", "book", "f1", "turns"]
    assert best["success"] == {"mean": 1.0, "se": 0.0, "n": 30}
    assert 0 < best["book"]["n"] < 30
    assert best["book"]["mean"] == 1.0


def test_the_task_metrics_score_logs_and_alternatives(tmp_path, capsys):
    path = tmp_path / "logs.jsonl"
    simulated(path, "--delexicalised")
    for chosen in ([], ["--as", "@alternatives"]):
        capsys.readouterr()
        score = ["score", str(path), "-m", "success", "--db", "town", "--format", "json", "--no-cache", "-q"]
        assert run([*score, *chosen]) == 0
        results = {one["agent"]: one for one in json.loads(capsys.readouterr().out)["results"]}
        assert set(results) == {"grade-00", "grade-01", "grade-02"}
        assert results["grade-00"]["estimate"] > results["grade-02"]["estimate"]


def test_users_take_their_goals_from_logged_dialogues(tmp_path):
    goals = tmp_path / "goals.jsonl"
    goal = {"hotel": {"info": {"stars": "3"}, "reqt": ["address"]}}
    talk = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    goals.write_text(json.dumps({"id": "g", "messages": talk, "goal": goal}) + "\n")
    db = write_tables(tmp_path / "db")
    simulated(tmp_path / "logs.jsonl", "--goals", str(goals), "--db", str(db))
    for dialogue in native.read(str(tmp_path / "logs.jsonl")):
        assert dialogue.goal == goal
        assert dialogue.meta["db"] == str(db)


def test_a_policy_with_placeholders_joins_the_family(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "def reply(messages):\n"
        "    seen = messages[-2].get('delexicalised') if len(messages) > 2 else None\n"
        "    return 'I did say [restaurant_name].' if seen else '[restaurant_name] is nice.'\n"
    )
    monkeypatch.chdir(tmp_path)
    simulated(tmp_path / "logs.jsonl", "--with", "mine=mine:reply")
    said = {
        turn.text
        for dialogue in native.read(str(tmp_path / "logs.jsonl"))
        if dialogue.agent == "mine"
        for turn in dialogue.turns
        if turn.role == "assistant"
    }
    assert "I'm sorry, could you say that again?" in said
    assert not any("[" in text for text in said)


def test_a_function_gets_the_tracked_state_and_the_database_bits(tmp_path, monkeypatch):
    (tmp_path / "nosy.py").write_text(
        "import json\n"
        "def reply(messages):\n"
        "    last = messages[-1]\n"
        "    known = {key: last[key] for key in ('state', 'db_pointer', 'delexicalised')}\n"
        "    return json.dumps(known).replace('[', '(').replace(']', ')')\n"
    )
    monkeypatch.chdir(tmp_path)
    simulated(tmp_path / "logs.jsonl", "--with", "nosy=nosy:reply")
    first = next(one for one in native.read(str(tmp_path / "logs.jsonl")) if one.agent == "nosy").turns[1]
    known = json.loads(first.text)
    assert known["state"] == first.state
    assert len(known["db_pointer"]) == 30


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["task", "--db", "nowhere"], "--db nowhere: there is no such folder"),
        (["task", "--goals", "nowhere.jsonl"], "nowhere.jsonl"),
        (["task", "--user", "convlab"], "`module:function`"),
        (["task", "--user", "nobody:user"], "nobody"),
        (["task", "--user", "convlab", "--goals", "x.jsonl"], "has goals of its own"),
        (["chat", "--db", "town"], "of the world task, not of chat"),
        (["task", "--family", "grade"], "there is no family `grade`"),
    ],
)
def test_invalid_options_are_errors(tmp_path, monkeypatch, capsys, options, message):
    monkeypatch.chdir(tmp_path)
    assert run(["simulate", *options, "-o", "logs.jsonl", *SMALL]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "logs.jsonl").exists()


def test_dialogues_without_goals_are_an_error(tmp_path, capsys):
    empty = tmp_path / "talk.jsonl"
    empty.write_text('{"messages": [{"role": "user", "content": "hi"}]}\n')
    assert run(["simulate", "task", "-o", str(tmp_path / "logs.jsonl"), *SMALL, "--goals", str(empty)]) == 2
    assert "none of its dialogues has a goal" in capsys.readouterr().err
