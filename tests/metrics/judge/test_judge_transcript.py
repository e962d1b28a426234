"""What a judge sees of a dialogue, and the count of what it does not see."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.metrics.judge.transcript import Sees, left_out_text, transcript
from turnwise.types import Turn


def call(name: str, arguments: Any, identity: str = "c1") -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def objects(turns: list[Turn], **sees: Any) -> list[dict[str, Any]]:
    shown = transcript(turns, Sees(**sees), role="assistant")
    return [json.loads(line.text) for line in shown.lines]


ORDER = [
    Turn("system", "Be brief."),
    Turn("user", "Where is order 12?"),
    Turn("assistant", None, extra={"tool_calls": [call("find", '{"order": 12}')]}),
    Turn("tool", '{"status": "sent"}', extra={"tool_call_id": "c1"}),
    Turn("assistant", "It was sent."),
]


def test_calls_are_shown_with_their_arguments_and_results_with_the_name_of_the_tool():
    system, _, called, result, reply = objects(ORDER)
    assert system == {"role": "system", "content": "Be brief."}
    assert called == {
        "role": "assistant", "content": "", "tool_calls": [{"name": "find", "arguments": {"order": 12}}]
    }  # fmt: skip
    assert result == {"role": "tool", "name": "find", "content": '{"status": "sent"}'}
    assert reply == {"role": "assistant", "content": "It was sent."}


def test_arguments_that_are_no_json_and_older_calls_are_shown_as_they_are():
    turns = [
        Turn("assistant", None, extra={"tool_calls": [call("find", "{order: 12")]}),
        Turn("assistant", None, extra={"function_call": {"name": "old", "arguments": '{"a": 1}'}}),
    ]
    assert [one["tool_calls"] for one in objects(turns)] == [
        [{"name": "find", "arguments": "{order: 12"}],
        [{"name": "old", "arguments": {"a": 1}}],
    ]


def test_what_is_left_out_is_counted():
    shown = transcript(ORDER, Sees(tools=False, system=False), role="assistant")
    assert [json.loads(line.text)["role"] for line in shown.lines] == ["user", "assistant"]
    assert dict(shown.left_out) == {"system prompt": 1, "tool call": 1, "tool result": 1}
    assert left_out_text(shown.left_out) == "1 system prompt, 1 tool call, 1 tool result"
    assert not shown.tools


def test_a_long_result_is_shortened_in_the_middle_by_a_stated_number():
    turns = [Turn("tool", "a" * 700 + "b" * 600)]
    shown = transcript(turns, Sees(result=400), role="assistant")
    text = json.loads(shown.lines[0].text)["content"]
    assert text == "a" * 300 + " [900 characters left out here] " + "b" * 100
    assert left_out_text(shown.left_out) == "900 characters of tool calls and results"


@given(st.integers(1, 60), st.integers(1, 80))
def test_nothing_of_a_shortened_result_is_lost_without_a_count(most, length):
    text = "".join(chr(ord("a") + at % 26) for at in range(length))
    shown = transcript([Turn("tool", text)], Sees(result=most), role="assistant")
    kept = json.loads(shown.lines[0].text)["content"]
    cut = shown.left_out.get("character of tool calls and results", 0)
    assert length - cut == min(most, length)
    assert (kept == text) is (cut == 0)


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
SOUND = {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}
FILE = {"type": "input_file", "file": {"file_id": "f"}}


def spoken(*parts: dict[str, Any]) -> Turn:
    return Turn("user", "Look:", parts=({"type": "text", "text": "Look:"}, *parts))


def test_images_and_audio_are_named_and_counted_or_attached():
    turns = [spoken(IMAGE, SOUND, FILE)]
    named = transcript(turns, Sees(), role="assistant")
    assert json.loads(named.lines[0].text)["content"] == (
        "Look:\n[an image was shown]\n[audio was shown]\n[a file was shown]"
    )
    assert left_out_text(named.left_out) == "1 image, 1 audio part, 1 file"
    sent = transcript(turns, Sees(media="send"), role="assistant", first=2)
    assert json.loads(sent.lines[0].text)["content"] == (
        "Look:\n[image 3, attached]\n[audio 4, attached]\n[a file was shown]"
    )
    assert sent.attached == (IMAGE, SOUND)
    assert left_out_text(sent.left_out) == "1 file"


def test_an_image_that_is_only_a_reference_cannot_be_attached():
    reference = {"type": "image", "image": "attachment://0d72"}
    there = {"type": "image", "image": "data:image/png;base64,AA=="}
    shown = transcript([spoken(reference, there)], Sees(media="send"), role="assistant")
    assert shown.attached == ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},)
    assert dict(shown.left_out) == {"image": 1}


LONG = [
    Turn("system", "Rules."),
    *(Turn("user" if at % 2 else "assistant", f"{at:02d}" * 20) for at in range(20)),
]


def test_a_long_conversation_keeps_its_beginning_and_its_end():
    whole = transcript(LONG, Sees(), role="assistant")
    short = whole.shortened(500)
    contents = [line.text for line in short.lines]
    assert contents[0] == whole.lines[0].text
    assert contents[1] == whole.lines[1].text
    assert contents[2].startswith("[")
    assert contents[-1] == whole.lines[-1].text
    dropped = short.left_out["message of the middle"]
    assert dropped == len(whole.lines) - (len(contents) - 1)
    assert contents[2] == f"[{dropped} messages left out here]"
    assert len(short.text) <= 500 + len(contents[2]) + 1
    assert whole.shortened(10_000) is whole


@pytest.mark.parametrize("window", [1, 200, 500, 10_000])
def test_parts_of_a_long_dialogue_hold_every_message_once(window):
    whole = transcript(LONG, Sees(), role="assistant")
    parts = whole.chunks(window)
    assert [line for part in parts for line in part.lines] == list(whole.lines)
    assert all(len(part.text) <= window or len(part.lines) == 1 for part in parts)
    assert sum(part.n_scored for part in parts) == whole.n_scored == 10


@given(
    st.recursive(
        st.text() | st.integers() | st.none(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_a_call_cannot_leave_its_line(arguments):
    turn = Turn("assistant", "x", extra={"tool_calls": [call("f", arguments)]})
    (line,) = transcript([turn], Sees(), role="assistant").lines
    assert line.text.isprintable()
    assert "<" not in line.text
    assert json.loads(line.text)["tool_calls"][0]["name"] == "f"
