"""What other tools read in the root of the repository: the hook of pre-commit and the container file."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.console import ROOT, fences
from tests.finished_runs import CORPUS
from turnwise.cli.common.group import run

HOOKS = ROOT / ".pre-commit-hooks.yaml"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def hook() -> dict[str, Any]:
    (found,) = yaml.safe_load(HOOKS.read_text())
    return dict(found)


def test_the_hooks_are_as_pre_commit_wants_them():
    clientlib = pytest.importorskip("pre_commit.clientlib", reason="pre-commit is absent")
    assert [one["id"] for one in clientlib.load_manifest(HOOKS)] == ["turnwise-validate"]


def test_the_hook_takes_files_of_dialogues_alone(hook: dict[str, Any]):
    names = ["logs.jsonl", "a/logs.jsonl.gz", "logs.json", "logs.jsonl.md", "jsonl"]
    assert [name for name in names if re.search(hook["files"], name)] == names[:2]


def test_the_hook_passes_good_files_and_names_the_line_of_a_bad_one(
    hook: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    bad = tmp_path / "bad.jsonl"
    bad.write_text(Path(CORPUS).read_text() + json.dumps({"messages": []}) + "\n")
    program, *words = shlex.split(hook["entry"])
    assert program in PROJECT["scripts"]
    assert run([*words, str(CORPUS)]) == 0
    assert run([*words, str(CORPUS), str(bad)]) != 0
    assert f"{bad}:41" in capsys.readouterr().err


def test_the_page_shows_the_hook(hook: dict[str, Any]):
    (shown,) = [yaml.safe_load(one.text) for one in fences(ROOT / "docs" / "ci.md") if "repos:" in one.text]
    (repository,) = shown["repos"]
    assert repository["repo"] == PROJECT["urls"]["Source"]
    assert [one["id"] for one in repository["hooks"]] == [hook["id"]]
    assert repository["rev"] == f"v{PROJECT['version']}"


def instructions() -> list[tuple[str, str]]:
    """The lines of the container file as instruction and arguments."""
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines]


def copied() -> list[str]:
    """The files and folders that the container file copies."""
    return [name for kind, rest in instructions() if kind == "COPY" for name in rest.split()[:-1]]


def test_the_container_installs_extras_that_exist_on_a_python_that_is_supported():
    kinds = dict(instructions())
    (installed,) = re.findall(r"pip install [^&]*", kinds["RUN"])
    words = shlex.split(installed)
    (extras,) = re.findall(r"^\.\[([\w,]+)\]$", words[-1])
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
    assert (ROOT / words[words.index("-c") + 1]).is_file()
    (version,) = re.findall(r"^python:(3\.\d+)-slim$", kinds["FROM"])
    assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]


def test_the_container_runs_the_tool_as_a_user_who_is_not_root():
    found = instructions()
    kinds = [kind for kind, _ in found]
    assert kinds.count("USER") == kinds.count("ENTRYPOINT") == 1
    assert max(at for at, kind in enumerate(kinds) if kind in ("RUN", "COPY")) < kinds.index("USER")
    user = dict(found)["USER"]
    assert user != "root"
    assert f"useradd --create-home {user}" in dict(found)["RUN"]
    assert json.loads(dict(found)["ENTRYPOINT"])[0] in PROJECT["scripts"]
    assert json.loads(dict(found)["CMD"]) == ["--help"]


def test_what_the_container_copies_is_not_ignored_and_nothing_else_is_sent():
    lines = [line for line in (ROOT / ".dockerignore").read_text().split() if line[0] in "*!"]
    assert lines[0] == "*"
    assert {line.removeprefix("!") for line in lines if line.startswith("!")} == set(copied())


@pytest.mark.slow
def test_the_package_is_built_from_what_the_container_copies(tmp_path: Path):
    for name in copied():
        (tmp_path / name).symlink_to(ROOT / name)
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert wheel.stat().st_size > 1e6
