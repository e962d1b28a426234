"""A latent policy after its training, through the command line: it meets users, and its actions are a critic's."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from turnwise.cli.common.group import run
from turnwise.logs import native
from turnwise.worlds.task.system_sentences import REPEAT_PLEASE

pytestmark = pytest.mark.slow

GOALS = [
    {"attraction": {"info": {"area": area, "type": kind}, "reqt": ["phone"]}}
    for area, kind in (("north", "museum"), ("east", "museum"), ("east", "park"), ("south", "park"))
]
SMALL = {
    "db": "town", "embedding": 16, "hidden": 32, "latent": 8, "dropout": 0.0, "fewest": 1, "longest": 24,
    "rate": 0.01, "batch": 32, "epochs": 5, "alpha": 0.001, "beta": 0.001,
}  # fmt: skip
PAPER = "hidden=8,words=8,passes=2,batch=16,drawn=64"


@pytest.fixture(scope="module")
def goals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("goals") / "goals.jsonl"
    talk = [{"role": "user", "content": "hi"}]
    lines = [json.dumps({"id": str(n), "messages": talk, "goal": goal}) for n, goal in enumerate(GOALS)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def logs(goals: Path) -> Path:
    """Dialogues of a perfect system, with placeholders: what a policy can learn from."""
    path = goals.parent / "logs.jsonl"
    made = ["--agents", "1", "--dialogues", "100", "--samples", "1", "--truth", "0", "--delexicalised", "-q"]
    assert run(["simulate", "task", "--goals", str(goals), *made, "-o", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def policy(logs: Path) -> Path:
    path = logs.parent / "policy"
    settings = [word for name, value in SMALL.items() for word in ("--set", f"{name}={value}")]
    assert run(["train", "lava", str(logs), "-o", str(path), *settings, "-q"]) == 0
    return path


def test_a_trained_policy_serves_the_users_of_the_world(goals: Path, policy: Path, tmp_path: Path) -> None:
    met = tmp_path / "met.jsonl"
    made = ["--agents", "1", "--dialogues", "3", "--samples", "1", "--truth", "25", "-q"]
    with_it = ["--with", f"lava={policy}", "-o", str(met)]
    assert run(["simulate", "task", "--goals", str(goals), *made, *with_it]) == 0
    truth = json.loads((tmp_path / "met.truth.json").read_text())["agents"]
    assert truth["grade-00"]["success"]["mean"] == 1.0
    assert truth["lava"]["success"]["mean"] > 0.8
    assert set(truth["lava"]) == {"success", "inform", "complete", "f1", "turns"}  # nothing is booked here
    for dialogue in native.read(str(met)):
        for turn in dialogue.turns:
            assert "[" not in turn.text
            if dialogue.agent == "lava" and turn.role == "assistant" and "delexicalised" in turn.extra:
                assert "[" in turn.extra["delexicalised"] or turn.text == REPEAT_PLEASE


def test_a_policy_is_told_what_the_database_holds(logs: Path, policy: Path) -> None:
    first = next(iter(native.read(str(logs))))
    users = sum(turn.role == "user" for turn in first.turns)
    assert [len(bits) for bits in first.meta["db_pointer"]] == [30] * users
    assert json.loads((policy / "config.json").read_text())["config"]["pointer"] == 30


@pytest.mark.parametrize("critic", ["critic[{}]", f"critic-paper[{{}},{PAPER}]"])
def test_a_critic_reads_replies_as_points_of_a_trained_policy(
    logs: Path, policy: Path, critic: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    answered = tmp_path / "answered.jsonl"
    asked = ["respond", str(logs), "--agent", str(policy), "--name", "lava", "-o", str(answered), "-q"]
    assert run(asked) == 0
    capsys.readouterr()
    name = critic.format(f"actions={policy},reward=success,fewest=20")
    ope = [
        "ope",
        str(answered),
        "--target",
        "lava",
        "--db",
        "town",
        "--format",
        "json",
        "-q",
        "--no-calibrate",
    ]
    assert run([*ope, "--estimator", name]) == 0
    rows = {row["target"]: row for row in json.loads(capsys.readouterr().out)["results"]}
    assert "form:logged" in rows["lava"]["signature"]
    assert "[lava@" in rows["lava"]["signature"]  # the weights, not only where they lie
    if critic.startswith("critic["):  # the other one has hardly been trained
        for control in ("random", "parrot", "goodbye"):
            assert rows[f"control:{control}"]["estimate"] < rows["lava"]["estimate"]
    assert all(row["estimate"] is not None for row in rows.values())


def test_a_policy_that_knows_nothing_of_a_users_wishes_says_so(
    policy: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    wanted = tmp_path / "goals.jsonl"
    goal = {"train": {"info": {"departure": "kelverton", "destination": "dun quay"}, "reqt": ["price"]}}
    talk = [{"role": "user", "content": "hi"}]
    wanted.write_text(json.dumps({"id": "g", "messages": talk, "goal": goal}) + "\n")
    made = ["--agents", "1", "--dialogues", "1", "--truth", "0", "-o", str(tmp_path / "x.jsonl"), "-q"]
    code = run(["simulate", "task", "--goals", str(wanted), *made, "--with", f"mine={policy}"])
    assert code == 3
    assert "knows no slot of this state: train" in capsys.readouterr().err
