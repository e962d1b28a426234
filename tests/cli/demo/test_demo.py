"""What the demo prints fits the terminal, and can be typed again."""

import json
import shlex

import pytest

from turnwise.cli.common.group import run
from turnwise.cli.demo import steps
from turnwise.cli.demo.stage import stage
from turnwise.commands.demo import CORPORA, LICENCES
from turnwise.logs import native
from turnwise.types import Dialogue, Rating, Turn


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_a_command_is_printed_in_lines_that_fit_and_reads_back(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("COLUMNS", str(columns))
    words = ["score", "a folder/logs.jsonl", "-m", "fbd[model=minilm],rouge-l", *["--where", "meta.x=1"] * 9]
    steps._command(words)
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= columns
    assert shlex.split(printed.replace("\\\n", "").removeprefix("> turnwise")) == words


@pytest.mark.parametrize("columns", [60, 200])
def test_sentences_are_wrapped(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("COLUMNS", str(columns))
    steps._say("many words " * 40)
    room = min(columns, steps.WIDEST)
    assert room - len("words many") <= max(map(len, capsys.readouterr().out.splitlines())) <= room


@pytest.mark.parametrize("ready", [True, False])
def test_every_word_of_a_step_is_filled_in(tmp_path, monkeypatch: pytest.MonkeyPatch, ready: bool):
    monkeypatch.setattr(steps, "has_models", lambda: ready)
    lines = [" ".join(steps.words(step, tmp_path)) for step in steps.steps_here()]
    assert not [line for line in lines if "{" in line or "}" in line]
    assert any("turnwise" in line.split() for line in lines) == ready
    assert len(lines) == len(steps.STEPS) - 2 * (not ready)


def test_the_small_corpora_are_written_without_a_run(tmp_path, capsys: pytest.CaptureFixture[str]):
    assert run(["demo", "--corpus", "-o", str(tmp_path / "demo")]) == 0
    names = sorted(path.name for path in (tmp_path / "demo").iterdir())
    assert names == sorted([*CORPORA, *LICENCES])
    assert run(["validate", *(str(tmp_path / "demo" / name) for name in CORPORA)]) == 0
    said = {line.split(": ")[0]: int(line.split(": ")[1].split()[0]) for line in capsys.readouterr().out.splitlines()
            if line.split(": ")[0].endswith(("demo.jsonl", "ji2022.jsonl.gz", "assistants.jsonl.gz"))}  # fmt: skip
    assert said == {name: sum(1 for _ in native.read(name)) for name in said}
    assert len(said) == 3


def test_one_bot_loses_its_ratings_and_people_become_the_agent(tmp_path):
    talks = [
        Dialogue(
            f"{name}-{number}", name, (Turn("user", "hi"), Turn("assistant", "hello"), Turn("user", "bye")),
            (Rating(f"{name}-{number}", "overall", value),),
        )
        for name in ("a", "new")
        for number, value in enumerate((3.0, 5.0))
    ]  # fmt: skip
    native.write(talks, str(tmp_path / "all.jsonl"))
    stage(tmp_path / "all.jsonl", tmp_path, new="new", dimension="overall")
    rated, new = (list(native.read(str(tmp_path / name))) for name in ("rated.jsonl", "new.jsonl"))
    assert {one.agent for one in rated} == {"a"}
    assert [(one.agent, one.ratings) for one in new] == [("new", ()), ("new", ())]
    uncovered = json.loads((tmp_path / "uncovered.json").read_text())
    assert uncovered == {"agents": {"new": {"overall": {"mean": 4.0, "se": 1.0}}}}  # sd 1.41 of two values
    person = next(native.read(str(tmp_path / "people.jsonl")))
    assert (person.agent, person.ratings) == ("human", ())
    assert [(turn.role, turn.content) for turn in person.turns] == [("user", "hello"), ("assistant", "bye")]
