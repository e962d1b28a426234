"""ChatGPT's data export: calls of tools, hidden messages, branches."""

import json
from pathlib import Path
from typing import Any

from turnwise.logs.conversion import convert
from turnwise.logs.dialogue import as_record
from turnwise.logs.readers import READERS
from turnwise.logs.readers.source import Options
from turnwise.types import Dialogue

UNSHOWN = (
    "messages that people were not shown (profiles, thoughts, empty ones) are kept in meta.hidden_messages"
)


def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    held = {"content_type": "text", "parts": [content]} if isinstance(content, str) else content
    return {"author": {"role": role}, "content": held, "recipient": "all", **more}


def export(folder: Path, *messages: dict[str, Any] | None, **branch: dict[str, Any]) -> str:
    """A dialogue of these messages, one after another; `branch` has another reply to the first of them."""
    nodes: dict[str, Any] = {
        f"n{place}": {
            "id": f"n{place}",
            "message": one,
            "parent": f"n{place - 1}" if place else None,
            "children": [f"n{place + 1}"] if place + 1 < len(messages) else [],
        }
        for place, one in enumerate(messages)
    }
    for key, one in branch.items():
        nodes[key] = {"id": key, "message": one, "parent": "n0", "children": []}
    path = folder / "conversations.json"
    whole = {"title": "t", "mapping": nodes, "current_node": f"n{len(messages) - 1}", "conversation_id": "c"}
    path.write_text(json.dumps([whole]))
    return str(path)


def read(path: str, options: Options | None = None) -> Dialogue:
    (dialogue,) = READERS["chatgpt"].read(path, options or Options())
    return dialogue


def test_what_the_assistant_writes_to_a_tool_is_a_tool_call_and_no_reply(tmp_path: Path) -> None:
    code = {"content_type": "code", "language": "python", "text": "print(1)"}
    path = export(
        tmp_path,
        said("user", "draw a cat"),
        said("assistant", '{"prompt":"a cat"}', recipient="dalle.text2im"),
        said("assistant", code, recipient="python"),
        said("assistant", "User likes cats.", recipient="bio"),
        said("assistant", "Here is your cat!", metadata={"model_slug": "m1"}),
    )
    found = convert(None, path, str(tmp_path / "out.jsonl"), strict=True)
    assert (found.account.judged, found.account.tool_calls, dict(found.account.messages)) == (
        1,
        3,
        {"user": 1, "assistant": 4},
    )
    dialogue = read(path)
    assert [turn.content for turn in dialogue.turns] == ["draw a cat", None, None, None, "Here is your cat!"]
    calls = [call["function"] for turn in dialogue.turns for call in turn.tool_calls]
    assert [(one["name"], one["arguments"]) for one in calls] == [
        ("dalle.text2im", '{"prompt":"a cat"}'),
        ("python", "print(1)"),
        ("bio", "User likes cats."),
    ]
    assert dialogue.turns[2].extra["source_content"] == {"content_type": "code", "language": "python"}
    assert dialogue.agent == "m1"


def test_what_people_were_not_shown_is_no_turn_and_is_kept(tmp_path: Path) -> None:
    hidden = [
        said("system", ""),
        said(
            "user",
            {"content_type": "user_editable_context", "user_profile": "I am Bob"},
            metadata={"is_visually_hidden_from_conversation": True},
        ),
        said("assistant", {"content_type": "thoughts", "thoughts": [{"content": "hm"}]}),
        said("assistant", {"content_type": "reasoning_recap", "content": "Thought for 3 seconds"}),
        said("critic", "a role of no format"),
    ]
    path = export(tmp_path, *hidden[:2], said("user", "hi"), *hidden[2:], said("assistant", "hello"))
    options = Options()
    dialogue = read(path, options)
    assert [(turn.role, turn.text) for turn in dialogue.turns] == [("user", "hi"), ("assistant", "hello")]
    assert [one["message"] for one in dialogue.meta["hidden_messages"]] == hidden
    assert (options.notes, dict(options.dropped)) == ([UNSHOWN], {})


def test_what_a_tool_returns_is_a_tool_message_in_any_form(tmp_path: Path) -> None:
    path = export(
        tmp_path,
        said("user", "hi"),
        said("tool", {"content_type": "execution_output", "text": "1"}),
        said("tool", {"content_type": "tether_browsing_display", "result": "page", "summary": None}),
        said("assistant", "hello"),
    )
    dialogue = read(path)
    assert [(turn.role, turn.text) for turn in dialogue.turns] == [
        ("user", "hi"),
        ("tool", "1"),
        ("tool", '{"result":"page"}'),
        ("assistant", "hello"),
    ]
    kinds = [one.get("source_content") for one in as_record(dialogue)["messages"]]
    assert kinds == [
        None,
        {"content_type": "execution_output"},
        {"content_type": "tether_browsing_display"},
        None,
    ]


def test_all_messages_of_other_branches_are_counted(tmp_path: Path) -> None:
    thoughts = {"content_type": "thoughts", "thoughts": []}
    path = export(
        tmp_path,
        said("user", "hi"),
        said("assistant", "hello"),
        first=said("assistant", "another reply"),
        second=said("assistant", thoughts),
    )
    options = Options()
    assert len(read(path, options).turns) == 2
    assert options.dropped == {"messages of branches that were not shown last": 2}
