"""`turnwise validate` and `turnwise convert` as a user runs them."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.warm_start import quick_turnwise

GOOD = {
    "id": "a",
    "agent": "bot",
    "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}],
}


def turnwise(*args: str, folder: Path, stdin: bytes = b"") -> tuple[int, str, str]:
    command = [*quick_turnwise(), *args]
    done = subprocess.run(command, cwd=folder, input=stdin, capture_output=True, check=False)
    out, err = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in err
    return done.returncode, out, err


def test_a_valid_file_is_reported_in_one_line(tmp_path: Path) -> None:
    rated = {**GOOD, "ratings": [{"dimension": "overall", "value": 3, "turn": 1, "scale": [1, 5]}]}
    (tmp_path / "a.jsonl").write_text(json.dumps(rated))
    code, out, err = turnwise("validate", "a.jsonl", folder=tmp_path)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].split() == ["a.jsonl", "1", "2", "bot", "1", "overall", "1-5", "-"]


def test_json_contains_all_counts(tmp_path: Path) -> None:
    code, out, _ = turnwise(
        "validate", "-", "--format", "json", folder=tmp_path, stdin=json.dumps(GOOD).encode()
    )
    (record,) = json.loads(out)
    assert code == 0
    assert (record["file"], record["problems"], record["dialogues"], record["agents"]) == (
        "-",
        0,
        1,
        {"bot": 1},
    )


def flat(table: str) -> str:
    """A table whose last column is wrapped, as one line."""
    return " ".join(table.split())


def test_preferences_tool_calls_and_images_are_counted(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    said = [
        {"role": "user", "content": [{"type": "text", "text": "hi"}, picture]},
        {"role": "assistant", "content": None, "tool_calls": [call, call]},
        {"role": "assistant", "content": "yo"},
    ]
    preference = {"other": "b", "winner": "this"}
    (tmp_path / "a.jsonl").write_text(
        json.dumps({"id": "a", "agent": "x", "messages": said, "preferences": [preference]})
        + "\n"
        + json.dumps({"id": "b", "agent": "y", "messages": GOOD["messages"]})
    )
    code, out, _ = turnwise("validate", "a.jsonl", folder=tmp_path)
    assert code == 0
    assert flat(out).endswith("1 preference (overall); 2 tool calls; parts without text: 1 image")
    (record,) = json.loads(turnwise("validate", "a.jsonl", "--format", "json", folder=tmp_path)[1])
    assert (record["preferences"], record["tool_calls"], record["parts"]) == ({"overall": 1}, 2, {"image": 1})


def test_twenty_problems_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("{}\n" * 23)
    (tmp_path / "good.jsonl").write_text(json.dumps(GOOD))
    code, out, err = turnwise("validate", "bad.jsonl", "good.jsonl", folder=tmp_path)
    lines = err.splitlines()
    assert code == 2
    assert lines[19] == "bad.jsonl:20: $.messages is missing"
    assert lines[20:] == ["... and 3 more"]
    assert "good.jsonl" in out
    assert "bad.jsonl" not in out


def test_preferences_are_counted_and_those_over_a_missing_record_are_named(tmp_path: Path) -> None:
    vote = {"winner": "this", "rater": "ann", "turn": 1}
    first = {**GOOD, "preferences": [{"other": "b", **vote}, {"other": "nowhere", **vote}]}
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, [first, {**GOOD, "id": "b"}])))
    code, out, err = turnwise("validate", "a.jsonl", folder=tmp_path)
    assert (code, err) == (0, "")
    assert "2 preferences (overall); 1 names a record that is not here (`nowhere`, in `a`)" in flat(out)
    _, out, _ = turnwise("validate", "a.jsonl", "--format", "json", folder=tmp_path)
    (record,) = json.loads(out)
    assert record["preferences"] == {"overall": 2}
    assert record["missing_others"] == {"nowhere": "a"}


def test_the_other_record_of_a_preference_may_be_in_another_of_the_files(tmp_path: Path) -> None:
    first = {**GOOD, "preferences": [{"other": "b", "winner": "this"}]}
    (tmp_path / "a.jsonl").write_text(json.dumps(first))
    (tmp_path / "b.jsonl").write_text(json.dumps({**GOOD, "id": "b"}))
    assert "is not here" in flat(turnwise("validate", "a.jsonl", folder=tmp_path)[1])
    for files in (("a.jsonl", "b.jsonl"), ("b.jsonl", "a.jsonl")):
        assert "is not here" not in flat(turnwise("validate", *files, folder=tmp_path)[1])


def test_a_quiet_conversion_prints_nothing(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("conv,who,text\n1,user,hi\n1,bot,yo\n")
    columns = "--map=id=conv,role=who,content=text"
    asked = ("--from", "csv", columns, "--roles", "bot=assistant", "in.csv", "out.jsonl")
    assert turnwise("convert", "-q", *asked, folder=tmp_path) == (0, "", "")
    assert (tmp_path / "out.jsonl").exists()
    assert turnwise("convert", *asked, folder=tmp_path)[2] != ""


def test_a_conversion_writes_a_complete_file(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("conv,who,text\n1,user,hi\n1,bot,yo\n")
    mapped = ("--map", "id=conv,role=who", "--map", "content=text")
    code, out, err = turnwise("convert", "--from", "csv", *mapped, "in.csv", "out.jsonl", folder=tmp_path)
    assert (code, out) == (0, "")
    assert err.startswith("out.jsonl: 1 dialogue written, read as csv\n")
    assert turnwise("validate", "out.jsonl", folder=tmp_path)[0] == 0


def test_dropped_data_are_reported(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(
        '{"dialog": [[{"id": "human", "text": "hi"}, {"id": "b", "text": null}]]}'
    )
    code, out, err = turnwise("convert", "--from", "parlai", "log.jsonl", "-", folder=tmp_path)
    assert code == 0
    assert json.loads(out)["messages"] == [{"role": "user", "content": "hi", "id": "human"}]
    assert "not kept: messages without text: 1" in err


@pytest.mark.parametrize("target", ["out.jsonl", "-"])
def test_an_invalid_input_leaves_no_file(tmp_path: Path, target: str) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps(GOOD) + "\n{}\n")
    code, out, err = turnwise("convert", "--from", "openai", "in.jsonl", target, folder=tmp_path)
    assert (code, out) == (2, "")
    assert err == "turnwise: error: in.jsonl:2: $.messages is missing\n"
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("convert", "--from", "opnai", "a", "b"), "there is no reader `opnai`; the nearest are openai"),
        (("convert", "--from", "openai", "none.jsonl", "b"), "none.jsonl: cannot be read: No such file"),
        (("convert", "--from", "csv", "--map", "x", "a", "b"), "--map x: expected MEANING=COLUMN"),
        (("convert", "a", "b"), "a: cannot be read: No such file"),
        (("convert", "a"), "Missing argument"),
        (("validate",), "Missing argument"),
        (("validate", "none.jsonl"), "none.jsonl: cannot be read: No such file"),
    ],
)
def test_a_wrong_command_is_a_one_line_error(tmp_path: Path, args: tuple[str, ...], message: str) -> None:
    code, out, err = turnwise(*args, folder=tmp_path)
    assert (code, out) == (2, "")
    assert message in err
