"""A spec records its own settings under the names and in the order that results.json and resumed work have."""

import shutil
import subprocess
from pathlib import Path

import pytest

from turnwise.commands.attack import AttackMetric, Harden
from turnwise.commands.compare import Compare
from turnwise.commands.meta import MetaEvaluate
from turnwise.commands.ope import Ope
from turnwise.commands.score import Score
from turnwise.commands.train import Train
from turnwise.run.spec import checked_out, origin

GIVEN = {"data": ("logs.jsonl",), "metrics": ("length",)}


def test_settings_of_a_command_are_recorded_by_name():
    assert Score(**GIVEN).options == ()
    assert Compare(**GIVEN, agents=("a", "b")).options == (("agents", ("a", "b")),)
    recorded = [name for name, _ in AttackMetric("length", "logs.jsonl").options]
    assert recorded == sorted(recorded)
    hardening = dict(Harden("length", "logs.jsonl", output="out").options)
    assert {"rounds", "learn_from", "taught", "agree_with"} == set(hardening) - {*recorded}


def test_settings_that_older_results_lack_are_recorded_only_when_they_are_used():
    assert "seeds" not in dict(Ope("logs.jsonl", all_agents=True).options)
    assert dict(Ope("logs.jsonl", all_agents=True, seeds=3).options)["seeds"] == 3
    assert not {"length_bias", "normalised"} & set(dict(MetaEvaluate(**GIVEN).options))
    assert dict(MetaEvaluate(**GIVEN, length_bias=True).options)["length_bias"] is True


def test_training_records_the_trainer_settings_alone():
    command = Train(
        "adem", "logs.jsonl", output="out", settings={"epochs": 3}, dimension="overall", device="cpu"
    )
    assert command.options == (("settings", {"epochs": 3}),)
    assert Train("adem", "logs.jsonl", output="out").options == (("settings", {}),)
    on = dict(Train("turnwise", "logs.jsonl", output="out", on="preferences").options)
    assert on["source"] == "preferences"


def test_an_origin_has_the_common_settings_in_their_order_and_the_options_last():
    settings = origin(Compare(**GIVEN, agents=("a", "b")), {"logs.jsonl": "0"}).settings
    names = ["metrics", "selection", "real", "model", "db", "seed", "draws", "options"]
    assert list(settings.__struct_fields__) == names
    assert settings.options == {"agents": ("a", "b")}


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", *who, "-C", str(folder), *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is absent")
def test_the_commit_is_the_one_that_git_names(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    git(tmp_path, "init", "-q", "project")
    assert checked_out(folder) is None  # nothing is committed yet
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    first = git(folder, "rev-parse", "HEAD")
    git(folder, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    git(tmp_path / "side", "commit", "-q", "--allow-empty", "-m", "second")
    second = git(tmp_path / "side", "rev-parse", "HEAD")
    for _ in ("loose", "packed"):
        assert checked_out(folder) == first
        assert checked_out(tmp_path / "side") == second
        git(folder, "pack-refs", "--all")
    git(folder, "checkout", "-q", "--detach", second)
    assert checked_out(folder) == second
    assert checked_out(tmp_path) is None
