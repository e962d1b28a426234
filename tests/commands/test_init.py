"""`turnwise init`: what it writes works as it is, and nothing that was there is changed."""

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml

import turnwise as tw
from tests.console import ROOT, fences
from tests.finished_runs import CORPUS
from turnwise.cli.common.group import run
from turnwise.commands.init import SCHEMA, workflow
from turnwise.errors import DataError

NAMES = [".github/workflows/turnwise.yml", "scenarios.yaml", "turnwise.toml"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def there() -> list[str]:
    return sorted(path.as_posix() for path in Path().rglob("*") if path.is_file())


def test_it_says_what_it_wrote_and_what_comes_next(capsys: pytest.CaptureFixture[str]):
    assert run(["init"]) == 0
    said = capsys.readouterr()
    assert sorted(line.removesuffix(": written") for line in said.out.splitlines()) == NAMES == there()
    assert said.err == "next: turnwise play --agent MODULE:FUNCTION\n"


def test_the_next_command_with_data_needs_no_arguments(capsys: pytest.CaptureFixture[str]):
    shutil.copy(CORPUS, "logs.jsonl")
    assert run(["init", "logs.jsonl"]) == 0
    assert capsys.readouterr().err == "next: turnwise score\n"
    assert run(["score", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {row["metric"] for row in document["results"]} == {"rouge-l", "length", "distinct-2"}
    for command in ("compare", "meta"):
        assert run([command, "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["results"]


def test_its_scenarios_can_be_played(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    run(["init"])
    Path("shop_bot.py").write_text(
        "def reply(messages):\n    return 'At 10.' if 'open' in messages[-1]['content'] else 'W12?'\n"
    )
    capsys.readouterr()
    assert run(["play", "--agent", "shop_bot:reply", "--format", "json"]) == 0
    (success,) = json.loads(capsys.readouterr().out)["results"]
    assert (success["dimension"], success["estimate"], success["n_items"]) == ("success", 1.0, 2)
    assert Path("runs.jsonl").is_file()


def test_nothing_that_is_there_is_changed(capsys: pytest.CaptureFixture[str]):
    Path("turnwise.toml").write_text("seed = 7\n")
    found = tw.init()
    assert [path.name for path in found.kept] == ["turnwise.toml"]
    assert Path("turnwise.toml").read_text() == "seed = 7\n"
    before = {name: Path(name).read_bytes() for name in NAMES}
    assert run(["init"]) == 0
    assert capsys.readouterr().out.count(": was there\n") == 3
    assert {name: Path(name).read_bytes() for name in NAMES} == before


@pytest.mark.parametrize("text", ["{", '{"messages": []}', '[{"input": "hi", "actual_output": "hello"}]'])
def test_of_data_that_cannot_be_read_nothing_is_written(text):
    Path("logs.json").write_text(text)
    with pytest.raises(DataError):
        tw.init("logs.json")
    assert there() == ["logs.json"]


def test_another_folder_names_the_data_from_there():
    shutil.copy(CORPUS, "logs.jsonl")
    found = tw.init("logs.jsonl", into="eval")
    assert found.next_command == "cd eval && turnwise score"
    assert 'data = "../logs.jsonl"\n' in Path("eval/turnwise.toml").read_text()


def test_a_path_with_signs_is_quoted_in_the_file():
    name = 'lo"gs ü.jsonl'
    shutil.copy(CORPUS, name)
    tw.init(name)
    assert run(["score", "--limit", "1", "-q"]) == 0


def test_turnwise_toml_is_as_its_schema_says():
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is absent: pip install jsonschema")
    shutil.copy(CORPUS, "logs.jsonl")
    tw.init("logs.jsonl")
    (entry,) = tw.list_available("schemas", names="config")
    text = Path("turnwise.toml").read_text()
    assert text.startswith(f"#:schema {SCHEMA}\n")
    whole = re.sub(r"^# (?=\w+ = )", "", text, flags=re.MULTILINE)  # what is a comment is as good
    assert len(whole) < len(text)
    for each in (text, whole):
        jsonschema.validate(tomllib.loads(each), entry["schema"])


def test_the_workflow_is_the_one_of_the_page():
    (block,) = [one.text for one in fences(ROOT / "docs" / "ci.md") if "jobs:" in one.text]
    assert block == workflow(("rouge-l", "length", "distinct-2"), gates=True)


def test_the_workflow_without_gates_is_as_good():
    steps = yaml.safe_load(workflow(("length",)))["jobs"]["evaluate"]["steps"]
    (ours,) = [one["with"] for one in steps if "turnwise/turnwise@" in one.get("uses", "")]
    assert ours == {"data": "logs.jsonl", "metrics": "length", "baseline": "baseline/score"}
