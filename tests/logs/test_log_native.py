"""The native format: every rule has a line that breaks it, and a message that says where and what instead."""

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from turnwise.errors import DataError, UsageError
from turnwise.logs import native
from turnwise.types import Dialogue, Preference, Rating, Reply, Turn

GOOD = {
    "id": "a",
    "agent": "bot",
    "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}],
}


def parsed(record: Any) -> Dialogue:
    return native.parse(json.dumps(record), file="f.jsonl", line_number=7)


def problem(record: Any) -> str:
    with pytest.raises(DataError) as caught:
        parsed(record)
    return str(caught.value)


def with_rating(**rating: Any) -> dict[str, Any]:
    return {**GOOD, "ratings": [{"dimension": "overall", "value": 3, **rating}]}


def with_preference(**preference: Any) -> dict[str, Any]:
    return {**GOOD, "id": "d", "preferences": [{"other": "e", "winner": "tie", **preference}]}


def with_message(**message: Any) -> dict[str, Any]:
    return {**GOOD, "messages": [{"role": "assistant", "content": "yo", **message}]}


def test_only_messages_are_required() -> None:
    assert parsed({"messages": [{"role": "user", "content": "hi"}]}) == Dialogue(
        "7", "unknown", (Turn("user", "hi"),)
    )


def test_every_key_arrives() -> None:
    dialogue = parsed(
        {
            "id": "d",
            "agent": "bot",
            "messages": [
                {"role": "user", "content": "hi", "name": "Ann"},
                {
                    "role": "assistant",
                    "content": "yo",
                    "references": ["hello"],
                    "alternatives": {
                        "one": "hey",
                        "two": ["a", {"content": "b", "outcome": {"won": 1}, "relabelled": {"won": 0}}],
                    },
                    "outcome": {"won": 1},
                    "state": {"hotel": {"area": "east"}},
                    "acts": [["Greet", "", ""]],
                },
            ],
            "ratings": [
                {"dimension": "overall", "value": 2, "rater": "r1", "turn": 1, "scale": [1, 5], "seconds": 9},
                {"dimension": "rude", "value": 0.5, "direction": "lower"},
            ],
            "goal": {"hotel": {}},
            "meta": {"corpus": "x"},
            "source": "web",
        }
    )
    reply = Turn(
        "assistant",
        "yo",
        references=("hello",),
        alternatives={"one": (Reply("hey"),), "two": (Reply("a"), Reply("b", {"won": 1.0}, {"won": 0.0}))},
        outcome={"won": 1.0},
        state={"hotel": {"area": "east"}},
        acts=(["Greet", "", ""],),
    )
    assert dialogue == Dialogue(
        "d",
        "bot",
        (Turn("user", "hi", extra={"name": "Ann"}), reply),
        (
            Rating("d#1", "overall", 2.0, "r1", 1, (1.0, 5.0), extra={"seconds": 9}),
            Rating("d", "rude", 0.5, direction="lower"),
        ),
        {"hotel": {}},
        {"corpus": "x"},
        {"source": "web"},
    )
    assert parsed(json.loads(native.dump(dialogue))) == dialogue


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([1], "f.jsonl:7: is [1]; expected an object"),
        ({}, "f.jsonl:7: $.messages is missing"),
        ({"messages": []}, "f.jsonl:7: $.messages is []; expected one message or more"),
        ({"messages": {}}, "f.jsonl:7: $.messages is {}; expected a list"),
        ({**GOOD, "id": 3}, "f.jsonl:7: $.id is 3; expected a string that is not empty"),
        ({**GOOD, "agent": ""}, 'f.jsonl:7: $.agent is ""; expected a string that is not empty'),
        ({**GOOD, "meta": []}, "f.jsonl:7: $.meta is []; expected an object"),
        (
            with_message(role="bot"),
            'f.jsonl:7: $.messages[0].role is "bot"; expected one of user, assistant, system, tool; '
            "name its role with: turnwise convert --roles NAME=ROLE",
        ),
        (with_message(role=None), "f.jsonl:7: $.messages[0].role is null; expected one of user"),
        (with_message(role=["user"]), 'f.jsonl:7: $.messages[0].role is ["user"]; expected one of user'),
        (with_message(content=None), "f.jsonl:7: $.messages[0].content is null; expected a string"),
        (with_message(content=5), "f.jsonl:7: $.messages[0].content is 5; expected a string"),
        (with_message(content=None, tool_calls=[]), "$.messages[0].content is null"),
        ({"messages": [{"role": "user"}]}, "$.messages[0].content is missing"),
        (with_message(references="x"), '$.messages[0].references is "x"; expected a list'),
        (with_message(references=["x", 1]), "$.messages[0].references[1] is 1; expected a string"),
        (with_message(alternatives={"a b": []}), '.alternatives["a b"] is []; expected a string or a list'),
        (with_message(alternatives={"b": [3]}), ".alternatives.b[0] is 3; expected a string or an object"),
        (with_message(alternatives={"b": [{"text": "x"}]}), ".alternatives.b[0].text is unknown"),
        (with_message(alternatives={"b": [{}]}), ".alternatives.b[0].content is missing"),
        (with_message(outcome={"won": True}), "$.messages[0].outcome.won is true; expected a finite number"),
        (with_message(acts="x"), '$.messages[0].acts is "x"; expected a list'),
        (with_rating(value="3"), '$.ratings[0].value is "3"; expected a finite number'),
        (with_rating(value=10**400), "$.ratings[0].value is 1000"),
        (with_rating(value=1e51), "$.ratings[0].value is 1e51; expected a number between -1e+50 and 1e+50"),
        (with_rating(scale=[-1e60, 5]), "$.ratings[0].scale[0] is -1e60; expected a number between"),
        (with_message(outcome={"won": -1e300}), "$.messages[0].outcome.won is -1e300; expected a number between"),
        (with_rating(value=6, scale=[1, 5]), ".value is 6; expected a number on the scale 1 to 5"),
        (with_rating(scale=[5, 1]), ".scale is [5,1]; expected two numbers, [low, high], in order"),
        (with_rating(scale=[3]), "$.ratings[0].scale is [3]; expected two numbers"),
        (with_rating(turn=2), "$.ratings[0].turn is 2; expected the index of a message, 0 to 1"),
        (with_rating(turn=-1), "$.ratings[0].turn is -1"),
        (with_rating(turn=1.0), "$.ratings[0].turn is 1.0; expected an integer"),
        (with_rating(dimension=""), '$.ratings[0].dimension is ""; expected a string that is not empty'),
        (with_rating(direction="up"), '$.ratings[0].direction is "up"; expected one of higher, lower'),
        ({**GOOD, "ratings": [{"value": 1}]}, "$.ratings[0].dimension is missing"),
        (with_message(content=["x"]), '$.messages[0].content[0] is "x"; expected an object'),
        (with_message(content=[{"text": "x"}]), "$.messages[0].content[0].type is missing"),
        (with_message(content=[{"type": "text"}]), "$.messages[0].content[0].text is missing"),
        (with_preference(winner="left"), '.winner is "left"; expected one of this, other, tie, both_bad'),
        (with_preference(other="d"), '$.preferences[0].other is "d"; expected the id of another dialogue'),
        (with_preference(turn=2), "$.preferences[0].turn is 2; expected the index of a message, 0 to 1"),
        (with_preference(shown="left"), '$.preferences[0].shown is "left"; expected one of first, second'),
        ({**GOOD, "preferences": [{"winner": "tie"}]}, "$.preferences[0].other is missing"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_named_with_its_place(record: Any, message: str) -> None:
    assert message in problem(record)


def test_a_long_value_is_cut_in_the_message() -> None:
    said = problem({**GOOD, "meta": "x" * 10_000_000})
    assert len(said) < 120
    assert "..." in said


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"messages": NaN}', 'is not JSON: JSON is malformed: invalid character (byte 13), near "NaN}"'),
        (b'{"messages": [1e999]}', "is not JSON: Number out of range"),
        (b'{"messages": ', "is not JSON: Input data was truncated"),
        (b'{"messages": "\\ud83d', "is not JSON: Input data was truncated"),
        (b'{"messages": "\\\\\\ud83d"}', "has half a character, the surrogate \\ud83d at byte 16"),
        (
            b'{"messages": "\\uDE00 \\ud83d"}',
            "has half a character, the surrogate \\uDE00 at byte 14 without the other half",
        ),
        (b'{"messages": "\\ud83d\\u0041"}', "has half a character, the surrogate \\ud83d at byte 14"),
        ('{"messages": "ü"}'.encode("latin-1"), "is not UTF-8: invalid start byte at byte 14"),
        ('{"messages": []}'.encode("utf-16"), "is not UTF-8: invalid start byte at byte 0"),
        (b"[" * 200_000, "is nested too deeply to be read"),
        ('{"id": "\ud800"}', "cannot be UTF-8: surrogates not allowed at character 8"),
    ],
)
def test_a_line_that_is_not_json_in_utf8_says_so(line: bytes | str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        native.parse(line, file="f", line_number=1)
    assert str(caught.value).startswith(f"f:1: {message}")


def test_null_content_beside_tool_calls_is_kept() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    dialogue = parsed(with_message(content=None, tool_calls=[call]))
    assert dialogue.turns[0] == Turn("assistant", None, extra={"tool_calls": [call]})
    assert json.loads(native.dump(dialogue))["messages"][0] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [call],
    }


def test_content_in_parts_is_native_and_its_text_is_what_metrics_read() -> None:
    parts = [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "x"}},
        {"type": "text", "text": "this"},
    ]
    dialogue = parsed(with_message(content=parts))
    assert dialogue.turns[0].text == "see\nthis"
    assert dialogue.turns[0].parts == tuple(parts)
    assert json.loads(native.dump(dialogue))["messages"][0]["content"] == parts
    assert parsed(json.loads(native.dump(dialogue))) == dialogue


def test_tool_calls_can_be_read_whatever_their_form() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    old = {"name": "f", "arguments": "{}"}
    assert parsed(with_message(tool_calls=[call])).turns[0].tool_calls == (call,)
    assert parsed(with_message(function_call=old)).turns[0].tool_calls == (old,)
    assert parsed(with_message(tool_calls="broken")).turns[0].tool_calls == ()


def test_a_preference_names_the_other_dialogue_and_the_winner() -> None:
    chosen = {"other": "e", "winner": "this", "rater": "r1", "turn": 1, "shown": "second", "seconds": 4}
    dialogue = parsed({**GOOD, "id": "d", "preferences": [chosen, {"other": "f", "winner": "both_bad"}]})
    assert dialogue.preferences == (
        Preference("e", "this", "overall", "r1", 1, "second", {"seconds": 4}),
        Preference("f", "both_bad"),
    )
    assert parsed(json.loads(native.dump(dialogue))) == dialogue


def test_a_call_without_a_content_key_is_kept() -> None:
    dialogue = parsed({"messages": [{"role": "assistant", "function_call": {"name": "f"}}]})
    assert dialogue.turns[0].extra == {"function_call": {"name": "f"}}


def test_blank_lines_are_passed_over_but_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\n  \r\n{"messages": [{"role": "user", "content": "hi"}]}\r\n\n')
    assert [dialogue.id for dialogue in native.read(str(path))] == ["3"]


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_a_file_without_a_dialogue_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match="has no dialogue"):
        list(native.read(str(path)))


def test_reading_stops_at_the_first_bad_line_and_problems_names_them_all(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join([json.dumps(GOOD), "{}", "x", json.dumps(GOOD)]))
    stream = native.read(str(path))
    assert next(stream).id == "a"
    with pytest.raises(DataError, match=r"a\.jsonl:2: \$\.messages is missing"):
        next(stream)
    found = [(problem.line, problem.path) for problem in native.problems(str(path))]
    assert found == [(2, "$.messages"), (3, ""), (4, "$.id")]


def test_an_id_occurs_once_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(GOOD) + "\n" + json.dumps(GOOD))
    with pytest.raises(DataError, match=r':2: \$\.id is "a", which is in .*a\.jsonl already'):
        list(native.read(str(path)))


def test_a_line_of_ten_megabytes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    long = Dialogue("a", "bot", (Turn("user", "word " * 2_000_000),))
    native.write([long], str(path))
    assert list(native.read(str(path))) == [long]


def test_gzip_is_known_by_its_bytes_and_not_by_its_name(tmp_path: Path) -> None:
    packed, plain = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(json.dumps(GOOD).encode()))
    plain.write_text(json.dumps(GOOD))
    assert list(native.read(str(packed))) == list(native.read(str(plain)))


def test_a_gzip_file_that_breaks_off_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(GOOD).encode() * 99)[:-20])
    with pytest.raises(DataError, match="cannot be read to its end"):
        list(native.read(str(path)))


def test_an_absent_file_and_a_folder_are_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(DataError, match="cannot be read"):
            list(native.read(str(path)))


def test_standard_input_and_output_are_a_dash(monkeypatch: pytest.MonkeyPatch, capfdbinary: Any) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(GOOD).encode())))
    dialogues = list(native.read("-"))
    native.write(dialogues, "-")
    assert json.loads(capfdbinary.readouterr().out) == GOOD


def test_compressed_bytes_are_the_same_whenever_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    for name, now in (("a.jsonl.gz", 1.0), ("b.jsonl.gz", 2e9)):
        monkeypatch.setattr("time.time", lambda now=now: now)
        native.write([parsed(GOOD)], str(tmp_path / name))
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("old")

    def dialogues() -> Any:
        yield parsed(GOOD)
        raise DataError("broken input")

    with pytest.raises(DataError, match="broken input"):
        native.write(dialogues(), str(path))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "dialogue",
    [
        Dialogue("a", "bot", (Turn("user", "x"),), (Rating("a", "overall", float("nan")),)),
        Dialogue("a", "bot", (Turn("assistant", "x", outcome={"won": float("inf")}),)),
        Dialogue("a", "bot", (Turn("user", "\ud800"),)),
    ],
)
def test_what_json_cannot_hold_is_not_written(tmp_path: Path, dialogue: Dialogue) -> None:
    with pytest.raises(DataError, match="'a' cannot be written"):
        native.write([dialogue], str(tmp_path / "a.jsonl"))
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        native.write([parsed(GOOD)], str(tmp_path / "no" / "a.jsonl"))


def test_a_symbolic_link_keeps_pointing(tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "file.jsonl")
    native.write([parsed(GOOD)], str(tmp_path / "link.jsonl"))
    assert (tmp_path / "link.jsonl").is_symlink()
    assert list(native.read(str(tmp_path / "file.jsonl"))) == [parsed(GOOD)]


def test_a_device_is_written_to_and_not_replaced() -> None:
    native.write([parsed(GOOD)], "/dev/null")
    assert Path("/dev/null").is_char_device()
