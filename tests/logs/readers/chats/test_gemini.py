"""Gemini's requests and responses."""

import json
from pathlib import Path
from typing import Any

import pytest

from turnwise.errors import DataError
from turnwise.logs.dialogue import as_record
from turnwise.logs.readers import READERS, recognise
from turnwise.logs.readers.source import Options
from turnwise.types import Dialogue


def read(folder: Path, value: Any, options: Options | None = None) -> Dialogue:
    path = folder / "in.jsonl"
    path.write_text(json.dumps(value) + "\n")
    assert recognise(str(path)) == "gemini"
    (dialogue,) = READERS["gemini"].read(str(path), options or Options())
    return dialogue


def test_calls_results_and_thoughts_are_taken_apart(tmp_path: Path) -> None:
    contents = [
        {"role": "user", "parts": [{"text": "2 + 2?"}]},
        {
            "role": "model",
            "parts": [
                {"text": "I count", "thought": True},
                {"executable_code": {"language": "PYTHON", "code": "2+2"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "4"}},
                {"text": "Four."},
                {"functionCall": {"name": "save", "args": {"x": 4}}},
            ],
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "save", "response": {"ok": True}}}]},
    ]
    messages = as_record(read(tmp_path, {"contents": contents, "model": "g"}))["messages"]
    assert [(one["role"], one["content"]) for one in messages] == [
        ("user", "2 + 2?"),
        ("assistant", None),
        ("tool", "4"),
        ("assistant", "Four."),
        ("tool", '{"ok":true}'),
    ]
    assert messages[1]["tool_calls"][0]["function"] == {
        "name": "code_execution",
        "arguments": '{"language":"PYTHON","code":"2+2"}',
    }
    assert messages[1]["thoughts"] == contents[1]["parts"][:1]
    assert messages[2]["source_outcome"] == "OUTCOME_OK"
    assert messages[3]["tool_calls"][0]["function"]["name"] == "save"
    assert messages[4]["name"] == "save"


def test_images_and_sound_become_parts(tmp_path: Path) -> None:
    parts = [
        {"text": "look"},
        {"inline_data": {"mime_type": "image/png", "data": "AAAA"}},
        {"fileData": {"mimeType": "audio/mp3", "fileUri": "gs://x"}},
    ]
    (message,) = as_record(read(tmp_path, {"contents": [{"parts": parts}]}))["messages"]
    assert message["role"] == "user"  # the role of a single prompt may be left out
    assert [one["type"] for one in message["content"]] == ["text", "image_url", "input_audio"]
    assert message["content"][1]["image_url"] == {"url": "data:image/png;base64,AAAA"}


def test_a_role_that_is_missing_among_several_is_an_error(tmp_path: Path) -> None:
    contents = [{"parts": [{"text": "hi"}]}, {"role": "model", "parts": [{"text": "yo"}]}]
    with pytest.raises(DataError, match=r"contents\[0\]\.role is missing"):
        read(tmp_path, {"contents": contents})


def test_the_first_candidate_ends_the_dialogue_and_others_are_counted(tmp_path: Path) -> None:
    def candidate(text: str) -> dict[str, Any]:
        return {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}

    response = {"candidates": [candidate("one"), candidate("two")], "modelVersion": "g-2"}
    request = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "system_instruction": "be brief"}
    options = Options()
    dialogue = read(tmp_path, {"request": request, "response": response}, options)
    assert [turn.text for turn in dialogue.turns] == ["be brief", "hi", "one"]
    assert (dialogue.agent, dialogue.turns[-1].extra["candidate"]) == ("g-2", {"finishReason": "STOP"})
    assert options.dropped == {"further candidates of a reply": 1}
