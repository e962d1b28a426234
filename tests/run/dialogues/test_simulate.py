"""`turnwise simulate`: reproducible bytes, and a correct truth file."""

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from turnwise import worlds
from turnwise.cli.common.group import run
from turnwise.commands.simulate import Simulate
from turnwise.errors import PluginError, UsageError
from turnwise.logs import native
from turnwise.logs.scan import survey
from turnwise.run.dialogues.simulate import simulate, truth_path
from turnwise.worlds import task

SMALL = {"agents": 3, "dialogues": 4, "samples": 2, "truth": 30}


def made(path: Path, *, jobs: int = 1, **settings) -> bytes:
    simulate(
        Simulate(**{"world": "booking", "family": "stochastic", **SMALL, **settings}, output=path, jobs=jobs)
    )
    return path.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(("world", "family"), [("booking", "behaviour"), ("chat", "failings")])
def test_the_same_seed_gives_the_same_bytes_whatever_the_number_of_processes(tmp_path, world, family):
    settings = {"world": world, "family": family, "agents": 2, "dialogues": 12, "truth": 510}
    logs = [made(tmp_path / f"{jobs}.jsonl", jobs=jobs, **settings) for jobs in (1, 2)]
    truths = [Path(truth_path(str(tmp_path / f"{jobs}.jsonl"))).read_bytes() for jobs in (1, 2)]
    assert logs[0] == logs[1]
    assert truths[0] == truths[1]


def test_another_seed_gives_other_dialogues(tmp_path):
    assert made(tmp_path / "a.jsonl", seed=0) != made(tmp_path / "b.jsonl", seed=1)


@pytest.mark.parametrize(("world", "family"), [("booking", "wordings"), ("chat", "graded")])
def test_agents_are_drawn_by_a_seed_of_their_own(tmp_path, world, family):
    def truth(name: str, **settings) -> dict[str, float]:
        path = tmp_path / f"{name}.jsonl"
        made(path, world=world, family=family, dialogues=1, **settings)
        document = json.loads(Path(truth_path(str(path))).read_text())
        assert document.get("draw") == settings.get("draw")
        return document["agents"]

    fixed, first, again, other = (
        truth("fixed"),
        truth("first", draw=3),
        truth("again", draw=3),
        truth("other", draw=4),
    )
    assert first == again
    assert len({*fixed, *first, *other}) == 9
    assert list(first.values()) != list(other.values())


def test_an_agents_dialogues_and_replies_do_not_depend_on_the_other_agents(tmp_path):
    def texts(agents: int) -> list[list[object]]:
        path = tmp_path / f"{agents}.jsonl"
        made(path, family="behaviour", agents=agents, truth=0)
        return [
            [(turn.text, turn.alternatives.get("wordy-quits")) for turn in dialogue.turns]
            for dialogue in native.read(str(path))
            if dialogue.agent == "hurries"
        ]

    assert texts(3) == texts(5)


def test_logs_are_valid_and_have_alternatives_of_every_agent(tmp_path):
    path = tmp_path / "logs.jsonl.gz"
    made(path, dialogues=5)
    problems = []
    census = survey([str(path)], problems.append)
    assert not problems
    assert census.n_dialogues == 15
    assert set(census.dimensions) == {"reward", "name", "flight", "status"}
    with gzip.open(path) as file:
        for line in file:
            record = json.loads(line)
            for message in record["messages"]:
                assert (message["role"] == "assistant") == ("alternatives" in message)
                assert len(message.get("alternatives", {})) in (0, 3)
            assert record["messages"][-1]["outcome"]["reward"] == record["ratings"][0]["value"]
    assert (tmp_path / "logs.truth.json").exists()


def test_truths_of_two_seeds_agree_within_their_standard_errors(tmp_path):
    found = []
    for seed in (0, 1):
        settings = {"seed": seed, "family": "graded", "agents": 4, "truth": 400, "dialogues": 1}
        path = tmp_path / f"{seed}.jsonl"
        made(path, **settings)
        found.append(json.loads(Path(truth_path(str(path))).read_text())["agents"])
    gaps = [
        (found[0][agent][name]["mean"] - about["mean"]) / np.hypot(found[0][agent][name]["se"], about["se"])
        for agent, scores in found[1].items()
        for name, about in scores.items()
        if about["se"] > 0
    ]
    assert len(gaps) == 12  # the first seller never errs, and has no spread
    assert np.max(np.abs(gaps)) < 3.5
    assert all(about["n"] == 400 for scores in found[1].values() for about in scores.values())


def test_the_logged_means_are_close_to_the_truth(tmp_path):
    path = tmp_path / "logs.jsonl"
    made(path, family="behaviour", agents=4, dialogues=40, samples=1, truth=300)
    truth = json.loads(Path(truth_path(str(path))).read_text())["agents"]
    rewards: dict[str, list[float]] = {}
    for dialogue in native.read(str(path)):
        rewards.setdefault(dialogue.agent, []).append(dialogue.turns[-1].outcome["reward"])
    for agent, values in rewards.items():
        error = np.hypot(np.std(values) / np.sqrt(len(values)), truth[agent]["reward"]["se"])
        assert abs(np.mean(values) - truth[agent]["reward"]["mean"]) < 4 * error + 1e-9


def test_a_run_without_truth_removes_an_older_truth_file(tmp_path):
    path = tmp_path / "logs.jsonl"
    made(path)
    assert (tmp_path / "logs.truth.json").exists()
    made(path, truth=0)
    assert not (tmp_path / "logs.truth.json").exists()


def test_the_command_prints_the_truth_and_names_its_files(tmp_path, capsys):
    path = str(tmp_path / "logs.jsonl")
    small = ["--agents", "3", "--dialogues", "2", "--truth", "20"]
    assert run(["simulate", "chat", "-o", path, "--family", "failings", "--format", "json", *small]) == 0
    came = capsys.readouterr()
    document = json.loads(came.out)
    assert document == json.loads(Path(truth_path(path)).read_text())
    assert document["world"] == "chat"
    assert set(document["agents"]) == {"lively-good", "plain-contradicts", "lively-repeats"}
    assert "6 dialogues" in came.err


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["simulate", "bookings", "-o", "x"], "there is no world `bookings`"),
        (["simulate", "booking", "-o", "x", "--family", "grade"], "there is no family `grade`"),
        (["simulate", "booking", "-o", "-"], "--truth 0"),
        (["simulate", "booking"], "-o"),
        (["simulate", "task", "-o", "x", "--draw", "1"], "--draw: the agents of world `task` are fixed"),
    ],
)
def test_invalid_options_are_errors(typed, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(typed) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_pipe_gets_only_the_logs():
    with pytest.raises(UsageError, match="next to the log file"):
        simulate(Simulate(world="booking", family="graded", **SMALL, output="-"))


OWN = """
from turnwise.types import Reply

def texts(messages):
    assert messages[0]["role"] == "system"
    return "There is no flight for Anna Baker." if len(messages) > 4 else "May I have your name?"

def whole(messages, rng):
    return Reply("Any airline?" if rng.random() < 0.5 else "No reservation.")

def wrong(messages):
    return 7
"""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_functions_of_the_user_join_the_family(tmp_path, monkeypatch, capsys, jobs):
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"own_{jobs}.py").write_text(OWN)
    mine = ["--with", f"mine=own_{jobs}:texts", "--with", f"whole=own_{jobs}:whole"]
    few = ["--agents", "1", "--dialogues", "2", "--truth", "20", "--jobs", jobs]
    assert run(["simulate", "booking", "-o", "logs.jsonl", *few, *mine]) == 0
    assert "6 dialogues" in capsys.readouterr().err
    dialogues = list(native.read("logs.jsonl"))
    assert [dialogue.agent for dialogue in dialogues] == ["noise-00"] * 2 + ["mine"] * 2 + ["whole"] * 2
    assert all(set(dialogue.turns[1].alternatives) == {"noise-00", "mine", "whole"} for dialogue in dialogues)
    assert set(json.loads(Path("logs.truth.json").read_text())["agents"]) == {"noise-00", "mine", "whole"}


def test_an_agent_that_kills_its_worker_is_an_error_without_a_promise_to_resume(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_deadly.py").write_text(
        "import os, signal\n"
        "def reply(messages):\n"
        f"    assert os.getpid() != {os.getpid()}\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    few = ["--agents", "1", "--dialogues", "2", "--truth", "0", "--jobs", "2", "-q"]
    assert run(["simulate", "booking", "-o", "logs.jsonl", *few, "--with", "x=own_deadly:reply"]) == 3
    said = capsys.readouterr().err
    assert "3 workers in a row were lost over the same work" in said
    assert "only `simulate` begins anew" in said
    assert [path.name for path in tmp_path.glob("*logs*")] == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("x=own_3:wrong", "returned 7"),
        ("x=nowhere:f", "cannot import the agent `nowhere:f`"),
        ("x=own_3:nothing", "has no function"),
        ("noise-00=own_3:texts", "two agents named `noise-00`"),
        ("own_3:texts", "is not NAME=AGENT"),
    ],
)
def test_an_agent_that_cannot_be_loaded_is_an_error(tmp_path, monkeypatch, capsys, given, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_3.py").write_text(OWN)
    few = ["--agents", "1", "--dialogues", "1", "--truth", "0"]
    assert run(["simulate", "booking", "-o", "logs.jsonl", *few, "--with", given]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "logs.jsonl").exists()


def test_an_interrupted_simulation_does_not_promise_to_resume(tmp_path, monkeypatch, capsys):
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("turnwise.run.dialogues.simulate.simulate", stopped)
    assert run(["simulate", "booking", "-o", str(tmp_path / "logs.jsonl"), "--agents", "1"]) == 130
    assert (
        capsys.readouterr().err.strip()
        == "turnwise: interrupted; the same command starts again from the beginning"
    )


def test_a_world_of_another_package_with_make_world_gets_the_options(tmp_path, monkeypatch):
    asked = []

    def make_world(db, *, goals, delexicalised, simulator):
        asked.append((db, list(goals), delexicalised, simulator))
        return replace(task.make_world(), delexicalised=delexicalised)

    def family(name, *, agents, world):
        assert world.delexicalised
        return task.family(name, agents=agents, world=world)

    other = SimpleNamespace(WORLD=task.WORLD, FAMILIES=task.FAMILIES, family=family, make_world=make_world)
    monkeypatch.setattr(worlds, "named", lambda name: other)
    text = made(tmp_path / "a.jsonl", world="other", family="graded", delexicalised=True, db="folder")
    assert asked == [("folder", [], True, None)]
    assert b"[restaurant_" in text or b"[hotel_" in text or b"[train_" in text or b"[attraction_" in text


def test_a_plugin_whose_make_world_fails_is_named(tmp_path, monkeypatch):
    other = SimpleNamespace(
        WORLD=task.WORLD, FAMILIES=task.FAMILIES, family=task.family, make_world=lambda db: None
    )
    monkeypatch.setattr(worlds, "named", lambda name: other)
    with pytest.raises(PluginError, match=r"world `third`: `make_world` raised TypeError"):
        made(tmp_path / "a.jsonl", world="third", family="graded")


@pytest.mark.parametrize(
    ("module", "body", "complaint"),
    [
        ("raising_bot", "raise RuntimeError('no line')", "agent `bot` raised RuntimeError: no line"),
        ("counting_bot", "return 7", "agent `bot`: returned 7; expected a string"),
    ],
)
def test_an_agent_of_the_user_that_fails_is_named(tmp_path, monkeypatch, capsys, module, body, complaint):
    (tmp_path / f"{module}.py").write_text(f"def reply(turns):\n    {body}\n")
    monkeypatch.chdir(tmp_path)
    words = f"simulate chat --agents 2 --dialogues 1 --truth 0 -o out.jsonl --with bot={module}:reply"
    assert run(words.split()) == 2
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()


def test_a_user_that_cannot_be_made_is_named(tmp_path, monkeypatch, capsys):
    (tmp_path / "failing_user.py").write_text("def user(turns):\n    return turns\n")
    monkeypatch.chdir(tmp_path)
    words = "simulate task --agents 2 --dialogues 1 --truth 0 -o out.jsonl --user failing_user:user"
    assert run(words.split()) == 2
    assert "--user failing_user:user raised TypeError" in capsys.readouterr().err
