"""The tool that compares the results of two runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from tools.compare_runs import ROOT, compare, demos, main

RESULT = {"metric": "length", "estimate": 3.5, "signature": "length|v1", "reason": "none"}


def folder(path: Path, result: dict[str, Any], *, more: tuple[str, ...] = ()) -> str:
    path.mkdir()
    document = {"results": [result], "origin": {"commit": path.name}}
    (path / "results.json").write_text(json.dumps(document))
    (path / "items.jsonl").write_text('{"id": "a"}\n{"id": "b"}\n')
    (path / "report.html").write_text(f"<p>3.5</p>\n<footer>{path.name}</footer>\n")  # names the commit
    for name in more:
        (path / name).write_text("{}")
    return str(path)


def test_equal_results_of_two_commits_pass(tmp_path: Path) -> None:
    assert main([folder(tmp_path / "before", RESULT), folder(tmp_path / "after", RESULT)]) == 0


@pytest.mark.parametrize(
    ("changed", "option"),
    [
        ({"estimate": 3.5000001}, None),
        ({"metric": None}, None),
        ({"signature": "length|v2"}, "--allow-signatures"),
        ({"reason": "another"}, "--allow-texts"),
    ],
)
def test_a_difference_fails_unless_its_kind_is_allowed(
    tmp_path: Path, changed: dict[str, Any], option: str | None
) -> None:
    folders = [folder(tmp_path / "before", RESULT), folder(tmp_path / "after", {**RESULT, **changed})]
    assert main(folders) == 1
    allowed = {"--allow-signatures", "--allow-texts", "--allow-absent", "--allow-missing"}
    assert main([*folders, *sorted(allowed - {option})]) == 1
    if option is not None:
        assert main([*folders, option]) == 0


def test_keys_of_one_side_are_listed_apart_and_only_missing_ones_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fewer, more = folder(tmp_path / "fewer", RESULT), folder(tmp_path / "more", {**RESULT, "new": 1})
    assert main([fewer, more]) == 0
    printed = capsys.readouterr().out
    assert "1 differences of added keys\n  results.json.results[0].new: 'absent' -> '1'" in printed
    assert "0 differences of numbers" in printed
    assert main([more, fewer]) == 1
    assert "1 differences of missing keys" in capsys.readouterr().out
    assert main([more, fewer, "--allow-missing"]) == 0


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_file_that_one_folder_lacks_fails_unless_it_is_allowed(tmp_path: Path, side: str) -> None:
    folders = [
        folder(tmp_path / name, RESULT, more=("truth.json",) if name == side else ())
        for name in ("before", "after")
    ]
    assert main(folders) == 1
    assert main([*folders, "--allow-texts", "--allow-signatures"]) == 1
    assert main([*folders, "--allow-absent"]) == 0


def test_a_list_of_another_length_fails(tmp_path: Path) -> None:
    folders = [folder(tmp_path / "before", RESULT), folder(tmp_path / "after", RESULT)]
    (tmp_path / "after" / "items.jsonl").write_text('{"id": "a"}\n')
    assert main([*folders, "--allow-texts", "--allow-signatures", "--allow-absent"]) == 1


def test_two_folders_without_results_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert main([str(tmp_path / "empty"), str(tmp_path / "absent")]) == 1
    assert "nothing to compare" in capsys.readouterr().err


def test_a_line_of_another_text_is_a_text_and_the_commit_is_masked(tmp_path: Path) -> None:
    folders = [folder(tmp_path / "before", RESULT), folder(tmp_path / "after", RESULT)]
    (tmp_path / "after" / "report.html").write_text("<p>3.6</p>\n<footer>after</footer>\n")
    found = compare(*map(Path, folders))
    assert [(one.kind, one.place) for one in found["report.html"]] == [("text", "report.html:1")]
    assert main(folders) == 1
    assert main([*folders, "--allow-texts"]) == 0


def test_other_bytes_of_a_binary_file_fail(tmp_path: Path) -> None:
    folders = [folder(tmp_path / "before", RESULT), folder(tmp_path / "after", RESULT)]
    for path, content in zip(folders, (b"\xff\x00", b"\xff\x01"), strict=True):
        (Path(path) / "rows.npy").write_bytes(content)
    assert main([*folders, "--allow-texts", "--allow-signatures", "--allow-absent"]) == 1


@pytest.mark.parametrize(
    "arguments", [[], ["one"], ["one", "two", "three"], ["one", "two", "--before", "HEAD"]]
)
def test_two_folders_or_a_commit_must_be_given(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no git checkout")
def test_the_demo_runs_with_the_sources_of_a_commit_and_of_the_working_tree(tmp_path: Path) -> None:
    before, after = demos("HEAD", tmp_path, ["--corpus"])  # only the embedded corpus, which takes a second
    assert (tmp_path / "source" / "src" / "turnwise" / "__init__.py").is_file()
    assert (before / "demo.jsonl").is_file()
    assert main([str(before), str(after)]) == 0
