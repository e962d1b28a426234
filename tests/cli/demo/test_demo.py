"""What the demo prints fits the terminal, and can be typed again."""

import shlex

import pytest

from turnwise.cli.common.group import run
from turnwise.cli.demo import steps
from turnwise.cli.demo.stage import stage
from turnwise.types import Dialogue, Rating, Reply, Turn


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


def test_every_step_names_only_what_is_known_by_then(tmp_path):
    facts = steps.Player(tmp_path, "--dialogues 20", quiet=True)._facts()
    learnt = {"best": "rouge-l", "first": "a", "second": "b", "others": "length"}
    for step in steps.STEPS:
        step.question.format_map(facts)
        assert all("{" not in word for part in step.line.split() for word in steps._words(part, facts))
        facts |= learnt if step.to == "meta" else {}


def test_the_small_corpora_are_written_without_a_run(tmp_path, capsys: pytest.CaptureFixture[str]):
    assert run(["demo", "--corpus", "-o", str(tmp_path / "demo")]) == 0
    names = sorted(path.name for path in (tmp_path / "demo").iterdir())
    assert names == ["JI2022-LICENSE", "demo.jsonl", "ji2022.jsonl.gz"]
    assert run(["validate", *(str(tmp_path / "demo" / name) for name in names[1:])]) == 0


def test_staging_sets_people_and_the_new_agent_apart(tmp_path):
    from turnwise.logs import native

    said = {name: (Reply(f"{name} says"),) for name in ("p", "new", "a")}
    talks = [
        Dialogue(
            name,
            name,
            (Turn("user", "hi"), Turn("assistant", "logged", alternatives=said)),
            (Rating(name, "overall", 3.0),),
        )
        for name in ("p", "new", "a")
    ]
    native.write(talks, str(tmp_path / "all.jsonl"))
    staged = stage(tmp_path / "all.jsonl", tmp_path, people="p", new="new")
    (logged,) = native.read(str(staged.logs))
    (person,) = native.read(str(staged.people))
    assert logged.agent == "a"
    assert logged.turns[1].references == ("p says",)
    assert set(logged.turns[1].alternatives) == {"new", "a"}
    assert (person.agent, person.ratings, person.turns[1].alternatives) == ("human", (), {})
