"""All commands in README and docs print what the page shows, and all other blocks are valid."""

import io
import json
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from glob import glob
from pathlib import Path

import click
import pytest
import yaml

from tests.console import ROOT, examples, fences, matches, output, pages, run, run_python
from tests.stand_ins import ELSEWHERE, SMALLER, judging, provided, smaller
from turnwise.metrics.judge.rubric import rubric
from turnwise.web.study.definition import read_study

KINDS = {"console", "python", "sh", "json", "toml", "yaml", "text"}
# Pages that train, simulate, or run the whole loop: 5 to 60 seconds each, where the others take less than 3.
LONG = {
    "adem.md", "attack.md", "calibrate.md", "compare.md", "critic.md", "demo.md", "distances.md", "extend.md", "ope.md",
    "play.md", "power.md", "simulate.md", "tutorial.md",
}  # fmt: skip
ADDRESS = re.compile(r"https?://[\w.:]+/v1")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.slow] if page.name in LONG else [])
        for page in pages()
    ],
)
def test_the_examples_of_a_page_print_what_the_page_shows(page: Path, tmp_path: Path):
    with judging(page.name) as environment:
        for fence in fences(page):
            place = f"{page.name}:{fence.line}"
            if fence.kind == "console":
                for example in examples(fence.text):
                    came = output(example, tmp_path)
                    assert matches(example.shown, came), f"{place}\n$ {example.command}\n{came}"
            elif fence.kind == "python":
                code = ADDRESS.sub(environment.get("TURNWISE_JUDGE_ADDRESS", ""), fence.text)
                status, came = run_python(code, provided(page.name, tmp_path), environment)
                assert status == 0, f"{place}\n{came}"
            elif fence.kind == "sh":
                run_shell(fence.text, provided(page.name, tmp_path), environment, place)
            elif fence.kind == "json":
                one_line = json.dumps(json.loads(fence.text))
                (tmp_path / "shown.jsonl").write_text(one_line)
                status, came = run("turnwise validate shown.jsonl", tmp_path)
                assert status == 0, f"{place}\n{came}"
            elif fence.kind == "toml" and page.name == "judge.md":
                (tmp_path / "rubric.toml").write_text(fence.text)
                assert rubric(str(tmp_path / "rubric.toml")).question
            elif fence.kind == "toml":
                (tmp_path / "study.toml").write_text(fence.text)
                assert read_study(str(tmp_path / "study.toml")).questions
            elif fence.kind == "yaml":
                assert yaml.safe_load(fence.text), place


def run_shell(block: str, folder: Path, environment: dict[str, str], place: str) -> None:
    """Each command on what stands in for a reader's data; `make` only says what it would do."""
    known = dict(environment)
    for line in block.splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            known.setdefault(name, value)
        elif words[0] == "make":
            status, came = run(shlex.join(["make", "-n", *words[1:]]), ROOT)
            assert status == 0, f"{place}\n{line}\n{came}"
        elif any(what in line for what in ELSEWHERE):
            parse(words)
        else:
            status, came = called(words, folder, known)
            assert status == 0, f"{place}\n{line}\n{came}"


def called(words: list[str], folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """A command of ours in this process, as loading torch takes longer than most of them; its code and words."""
    from turnwise.cli.common.group import run as run_turnwise

    assert words[0] == "turnwise"
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as here, redirect_stdout(said), redirect_stderr(said):
        here.chdir(folder)
        for name, value in environment.items():
            here.setenv(name, value)
        given = [found for word in words[1:] for found in sorted(glob(word)) or [word]]
        return run_turnwise([*given, *smaller(shlex.join(words))]), said.getvalue()


def parse(words: list[str]) -> None:
    """Whether a command and its options exist, and its values are of the right kind."""
    from turnwise.cli.common.group import cli

    assert words[0] == "turnwise"
    command = cli.get_command(click.Context(cli), words[1])
    assert command is not None
    command.make_context(words[1], words[2:], resilient_parsing=False)


def test_every_fenced_block_has_a_language():
    unsaid = [f"{page.name}:{one.line}" for page in pages() for one in fences(page) if one.kind not in KINDS]
    assert unsaid == []


def test_every_table_of_a_page_fits_80_columns():
    rule = re.compile(r"-+(  -+)+")
    wide = [
        f"{page.name}: {line}"
        for page in pages()
        for fence in fences(page)
        if fence.kind == "console"
        for example in examples(fence.text)
        if not re.search(r" (-v|--wide)\b", example.command)
        for line in example.shown.splitlines()
        if rule.fullmatch(line) and len(line) > 80
    ]
    assert wide == []


def test_every_command_that_is_made_smaller_is_on_a_page():
    shown = [
        shlex.join(shlex.split(line, comments=True))
        for page in pages()
        for fence in fences(page)
        if fence.kind == "sh"
        for line in fence.text.splitlines()
    ]
    assert [start for start in SMALLER if not any(line.startswith(start) for line in shown)] == []


def test_a_wrong_output_is_noticed():
    assert matches("a ... c", "a b\nb c")
    assert not matches("a ... c", "a b")
    assert not matches("", "something")


def test_a_block_that_fails_is_noticed(tmp_path: Path):
    assert run_python("import nowhere\n", tmp_path, {})[0] != 0
    assert run_python("def test_x():\n    assert False\n", tmp_path, {})[0] != 0
    with pytest.raises(AssertionError, match="cannot be read"):
        run_shell("turnwise validate nowhere.jsonl  # a file", tmp_path, {}, "x.md:1")
    with pytest.raises(click.NoSuchOption):
        parse(["turnwise", "rate", "logs.jsonl", "--no-such-option"])
