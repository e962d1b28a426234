"""The composite action: its file is sound, and its steps do on the demo corpus what docs/ci.md says."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.console import ROOT, fences
from tests.finished_runs import CORPUS

ACTION = ROOT / "action.yml"
EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")


@pytest.fixture(scope="module")
def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(ACTION.read_text())
    return found


class Workspace:
    """Runs the steps of the action in a folder, as GitHub's runner does, except those that use other actions and the
    installation.
    """

    def __init__(self, action: dict[str, Any], folder: Path) -> None:
        self.action, self.folder = action, folder
        self.summary = folder / "summary.md"

    def run(self, **given: str) -> tuple[int, str]:
        """The exit code of the first step that fails, 0 if none does, and what all steps printed."""
        inputs = {name: str(about.get("default", "")) for name, about in self.action["inputs"].items()}
        self.values = {f"inputs.{name}": value for name, value in (inputs | given).items()}
        self.values["github.action_path"] = str(ROOT)
        said = ""
        for step in self.action["runs"]["steps"]:
            if "run" not in step or step["id"] == "install" or not self._asked(step.get("if", "")):
                continue
            code, printed = self._step(step)
            said += printed
            if code:
                return code, said
        return 0, said

    def value(self, text: str) -> str:
        return EXPRESSION.sub(lambda found: self.values.get(found[1], ""), text)

    def _asked(self, condition: str) -> bool:
        if not condition:
            return True
        name, sign, empty = condition.split()
        assert (sign, empty) == ("!=", "''")
        return self.values[name] != ""

    def _step(self, step: dict[str, Any]) -> tuple[int, str]:
        outputs = self.folder / f"{step['id']}.outputs"
        outputs.write_text("")
        environment = {
            **os.environ,
            **{name: self.value(text) for name, text in step["env"].items()},
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "GITHUB_OUTPUT": str(outputs),
            "GITHUB_STEP_SUMMARY": str(self.summary),
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        for line in outputs.read_text().splitlines():
            name, _, value = line.partition("=")
            self.values[f"steps.{step['id']}.outputs.{name}"] = value
        return done.returncode, done.stdout


@pytest.fixture
def workspace(action: dict[str, Any], tmp_path: Path) -> Workspace:
    (tmp_path / "my logs.jsonl").write_bytes(Path(CORPUS).read_bytes())
    (tmp_path / "logs.jsonl").write_bytes(Path(CORPUS).read_bytes())
    return Workspace(action, tmp_path)


def test_the_file_is_a_composite_action(action: dict[str, Any]):
    steps = action["runs"]["steps"]
    assert action["runs"]["using"] == "composite"
    assert all(step["shell"] == "bash" for step in steps if "run" in step)
    assert all(about["description"] for about in (*action["inputs"].values(), *action["outputs"].values()))
    ids = [step["id"] for step in steps if "id" in step]
    named = {f"inputs.{name}" for name in action["inputs"]} | {f"steps.{name}.outputs.code" for name in ids}
    assert set(EXPRESSION.findall(ACTION.read_text())) <= named | {"github.action_path"}


def test_no_input_is_pasted_into_a_script(action: dict[str, Any]):
    assert [step["id"] for step in action["runs"]["steps"] if "${{" in step.get("run", "")] == []


def test_gates_junit_report_and_summary(workspace: Workspace):
    code, said = workspace.run(
        data="logs.jsonl", metrics="rouge-l,length", options="--where agent=good --draws 200",
        gates="length >= 20\n\nrouge-l >= 0.1\n", title="Bot of the day",
    )  # fmt: skip
    assert code == 0, said
    out = workspace.folder / "turnwise-out"
    assert sorted(path.name for path in out.iterdir()) == ["comment.md", "gates.xml", "report.html", "score"]
    suite = ElementTree.parse(out / "gates.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "0")
    assert workspace.summary.read_text() == (out / "comment.md").read_text()
    assert workspace.summary.read_text().startswith("## Bot of the day\n")
    outputs = {name: workspace.value(about["value"]) for name, about in workspace.action["outputs"].items()}
    assert outputs.pop("exit-code") == "0"
    assert all((workspace.folder / path).is_file() for path in outputs.values())


def test_a_failed_gate_fails_the_job_after_the_report_is_written(workspace: Workspace):
    code, said = workspace.run(data="logs.jsonl", metrics="length", gates="length >= 1000")
    assert code == 1
    assert "FAIL  length >= 1000" in said
    assert (workspace.folder / "turnwise-out" / "report.html").is_file()
    assert workspace.values["steps.verdict.outputs.code"] == "1"


def test_data_that_cannot_be_read_fails_the_job_without_a_report(workspace: Workspace):
    code, said = workspace.run(data="absent.jsonl", metrics="length", gates="length >= 1")
    assert code == 2
    assert "absent.jsonl: cannot be read" in said
    assert "no report: nothing was scored" in said


@pytest.mark.slow
def test_the_change_from_an_earlier_run_has_gates_of_its_own(workspace: Workspace):
    first = {"metrics": "length", "options": "--pair meta.topic"}
    assert workspace.run(data="logs.jsonl", output="main", **first)[0] == 0
    code, said = workspace.run(
        data="logs.jsonl", output="branch", baseline="main/score", **{"diff-gates": "length >= -0.5"}, **first
    )
    assert code == 0, said
    assert "pass  length >= -0.5" in said
    assert "What changed between two runs?" in workspace.summary.read_text()
    code, said = workspace.run(
        data="logs.jsonl", output="again", baseline="main/score", **{"diff-gates": "length > 0"}, **first
    )
    assert code == 1
    assert "FAIL  length > 0" in said


def test_without_an_earlier_run_nothing_is_compared(workspace: Workspace):
    code, said = workspace.run(data="logs.jsonl", metrics="length", baseline="nowhere")
    assert code == 0
    assert "nothing to compare" in said


def test_a_file_name_with_spaces_is_one_of_the_limits(workspace: Workspace):
    """The docs say that names are separated by spaces."""
    assert workspace.run(data="my logs.jsonl", metrics="length")[0] == 2


def test_an_input_is_never_run_as_a_command(workspace: Workspace):
    workspace.run(data="logs.jsonl", metrics="$(touch taken)", gates="`touch taken`", title="$(touch taken)")
    assert not (workspace.folder / "taken").exists()


def workflows() -> list[dict[str, Any]]:
    found = fences(ROOT / "docs" / "ci.md")
    return [yaml.safe_load(one.text) for one in found if one.kind == "yaml" and "jobs:" in one.text]


def test_the_workflows_of_the_page_use_the_action_as_it_is(action: dict[str, Any]):
    used = [
        step
        for workflow in workflows()
        for job in workflow["jobs"].values()
        for step in job["steps"]
        if step.get("uses", "").startswith("turnwise/turnwise@")
    ]
    assert used
    required = {name for name, about in action["inputs"].items() if about.get("required")}
    for step in used:
        assert required <= set(step["with"]) <= set(action["inputs"])
    for workflow in workflows():
        assert workflow["permissions"]["contents"] == "read"
        assert "on" in workflow or True in workflow  # YAML 1.1 reads the key `on` as true
