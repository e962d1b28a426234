"""Anthropic's content blocks: images in OpenAI's form, and calls of tools that the server runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from turnwise.logs.dialogue import as_record
from turnwise.logs.readers import READERS
from turnwise.logs.readers.account import Account
from turnwise.logs.readers.source import Options
from turnwise.types import Dialogue

TEXT = {"type": "text", "text": "see"}


def read(folder: Path, *messages: dict[str, Any]) -> Dialogue:
    path = folder / "in.jsonl"
    path.write_text(json.dumps({"model": "m", "max_tokens": 9, "messages": messages}))
    (dialogue,) = READERS["anthropic"].read(str(path), Options())
    return dialogue


@pytest.mark.parametrize(
    ("source", "url"),
    [
        ({"type": "base64", "media_type": "image/jpeg", "data": "QUJD"}, "data:image/jpeg;base64,QUJD"),
        ({"type": "url", "url": "https://x.org/a.png"}, "https://x.org/a.png"),
    ],
)
@pytest.mark.parametrize("in_result", [False, True])
def test_an_image_is_openais_part(tmp_path: Path, source: dict[str, str], url: str, in_result: bool) -> None:
    image = {"type": "image", "source": source, "cache_control": {"type": "ephemeral"}}
    blocks = [TEXT, image]
    content = [{"type": "tool_result", "tool_use_id": "c", "content": blocks}] if in_result else blocks
    (message,) = as_record(read(tmp_path, {"role": "user", "content": content}))["messages"]
    part = {"type": "image_url", "image_url": {"url": url}, "cache_control": {"type": "ephemeral"}}
    assert message["content"] == [TEXT, part]


@pytest.mark.parametrize("source", [{"source": {"type": "file", "file_id": "f1"}}, {}])
def test_an_image_without_data_or_address_keeps_what_it_has(tmp_path: Path, source: dict[str, Any]) -> None:
    content = [TEXT, {"type": "image", **source}]
    (message,) = as_record(read(tmp_path, {"role": "user", "content": content}))["messages"]
    assert message["content"] == [TEXT, {"type": "image_url", **source}]


def test_a_call_of_a_tool_of_the_server_is_a_tool_call_and_its_result_a_tool_message(tmp_path: Path) -> None:
    found = [{"type": "web_search_result", "url": "https://x.org", "title": "X"}]
    said = [
        {"type": "thinking", "thinking": "search first"},
        {"type": "text", "text": "I will look."},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": found},
        {"type": "mcp_tool_use", "id": "s2", "name": "find", "server_name": "db", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "s2", "content": [{"type": "text", "text": "2 rows"}]},
        {"type": "text", "text": "It is X."},
    ]
    dialogue = read(
        tmp_path, {"role": "user", "content": "What is it?"}, {"role": "assistant", "content": said}
    )
    asked, looked, searched, called, rows, answered = as_record(dialogue)["messages"]
    assert asked["content"] == "What is it?"
    assert (looked["content"], looked["thinking"]) == ("I will look.", "search first")
    assert looked["tool_calls"][0]["function"] == {"name": "web_search", "arguments": '{"query":"x"}'}
    assert (searched["role"], searched["tool_call_id"]) == ("tool", "s1")
    assert json.loads(searched["content"]) == found
    assert (called["content"], called["tool_calls"][0]["id"]) == (None, "s2")
    assert (rows["role"], rows["content"], rows["tool_call_id"]) == ("tool", "2 rows", "s2")
    assert answered == {"role": "assistant", "content": "It is X."}
    account = Account()
    account.add(dialogue)
    assert (account.tool_calls, account.parts) == (2, {})
