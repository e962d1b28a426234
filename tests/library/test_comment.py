"""The report as a comment on a pull request: its order, its length, and what text of the data can do in it."""

import json
import re
import shutil
from pathlib import Path

import pytest

import turnwise as tw
from tests.finished_runs import CORPUS, EVIL, write_hostile
from turnwise.cli.common.group import run
from turnwise.library.comment import MOST_BYTES


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    tw.score(CORPUS, metrics="rouge-l,length", output=folder / "score", figures=False)
    tw.meta_evaluate(CORPUS, metrics="rouge-l,length", output=folder / "meta", figures=False)
    tw.compare(
        CORPUS,
        metrics="rouge-l",
        agents="good,dull",
        pair="meta.topic",
        output=folder / "compare",
        figures=False,
    )
    for agent in ("good", "rude"):
        where = {"agent": agent}
        tw.score(
            CORPUS, metrics="length", where=where, pair="meta.topic", output=folder / agent, figures=False
        )
    tw.diff(folder / "rude", folder / "good", output=folder / "diff", figures=False)
    return folder


def comment(folder: Path) -> str:
    return tw.make_report(folder, output=()).comment


def test_conclusions_come_first_and_each_run_has_one_folded_table(runs: Path):
    text = comment(runs)
    head, *sections = text.split("<details>")
    claims = tw.make_report(runs, output=()).claims
    assert head.startswith("## turnwise report\n\n* Do the agents differ? **People rate good above dull**: ")
    assert head.count("\n* ") == 4  # agents, what changed, metrics, what to do next
    assert len(sections) == 7
    assert sections[0].count("\n* ") == len(claims)
    for section in sections[1:]:
        assert len(re.findall(r"^\| --- \|", section, re.MULTILINE)) == 1
        assert section.rstrip().endswith("</details>")
    assert "![" not in text
    assert "### " not in text


def test_the_numbers_are_those_of_the_results(runs: Path):
    found = json.loads((runs / "compare" / "results.json").read_text())["results"][0]
    (section,) = [part for part in comment(runs).split("<details>") if ": turnwise compare" in part]
    row = next(line for line in section.splitlines() if line.startswith("| rouge-l"))
    low, high = found["interval"]
    assert f"{found['estimate']:.3f} | \\[{low:.3f}, {high:.3f}\\]" in row


def test_the_items_that_changed_most_are_named(runs: Path):
    (line,) = [line for line in comment(runs).splitlines() if "changed most at" in line]
    found = json.loads((runs / "diff" / "results.json").read_text())["results"][0]["flips"][0]
    assert found["id_new"].replace("#", "\\#") in line


def test_a_long_table_is_cut_and_says_so(tmp_path: Path):
    tw.score(CORPUS, metrics="length", by="id", output=tmp_path / "out", figures=False)
    text = comment(tmp_path)
    assert text.count("\n| length") == 12
    assert "28 more rows in results.json." in text


def test_many_runs_fit_a_comment(runs: Path, tmp_path: Path):
    for k in range(400):
        shutil.copytree(runs / "score", tmp_path / f"{k:03d}-{'x' * 100}")
    text = comment(tmp_path)
    assert MOST_BYTES / 2 < len(text.encode()) <= MOST_BYTES
    assert "left out: the text would be too long for a comment" in text
    assert text.count("<details>") == text.count("</details>")


def test_text_of_the_data_is_neither_markup_nor_a_mention_nor_a_control_character(tmp_path: Path):
    write_hostile(tmp_path)
    text = comment(tmp_path / "out")
    assert EVIL not in text
    tags = re.findall(r"(?<!\\)<(?:/?)(\w+)", text)
    assert set(tags) == {"details", "summary"}
    records = [json.loads(line) for line in Path(CORPUS).read_text().splitlines()]
    for record in records:
        record["agent"] = f"@{record['agent']}\x1b[2J"
    (tmp_path / "named.jsonl").write_text("\n".join(map(json.dumps, records)))
    tw.score(tmp_path / "named.jsonl", metrics="length", output=tmp_path / "named", figures=False)
    text = comment(tmp_path / "named")
    assert "@\u200bgood\\\\x1b\\[2J" in text
    assert not re.search(r"@\w", text)
    assert "\x1b" not in text


def test_the_command_prints_the_comment_and_writes_files_only_if_they_are_named(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert run(["report", str(runs), "--format", "markdown"]) == 0
    assert capsys.readouterr() == (comment(runs), "")
    assert list(tmp_path.iterdir()) == []
    assert run(["report", str(runs), "--format", "markdown", "-o", "page.html"]) == 0
    shown = capsys.readouterr()
    assert shown.out == comment(runs)
    assert shown.err.startswith("page.html: ")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
