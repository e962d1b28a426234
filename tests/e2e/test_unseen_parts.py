"""Text metrics say which parts of messages they do not see."""

import json
from pathlib import Path
from typing import Any

import pytest

from turnwise.cli.common.group import run
from turnwise.report import schema

NOTE = (
    "note: 3 of 6 replies in the data, or their contexts, hold parts that text metrics do not see (3 image)"
)


@pytest.fixture
def logs(tmp_path: Path) -> str:
    def dialogue(number: int, agent: str) -> dict[str, Any]:
        image = {"type": "image_url", "image_url": {"url": f"{number}.png"}}
        asked = (
            [{"type": "text", "text": f"what is {number} ?"}, image] if number % 2 else f"what is {number} ?"
        )
        said = [
            {"role": "user", "content": asked},
            {"role": "assistant", "content": f"a {agent} cat " * number},
        ]
        rating = {"dimension": "overall", "value": number + (agent == "m1"), "turn": 1}
        return {"id": f"{agent}-{number}", "agent": agent, "messages": said, "ratings": [rating]}

    agents = {"m1": (1, 2, 3), "m2": (2, 3, 4)}
    records = [dialogue(number, agent) for agent, numbers in agents.items() for number in numbers]
    path = tmp_path / "logs.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return str(path)


@pytest.mark.parametrize("command", ["score", "compare", "meta"])
def test_images_are_counted_in_a_note_and_in_the_results(command: str, logs: str, tmp_path: Path, capsys):
    jsonschema = pytest.importorskip("jsonschema")
    assert run([command, logs, "-m", "length", "-o", str(tmp_path / "out")]) == 0
    assert NOTE in capsys.readouterr().err.splitlines()
    document = json.loads((tmp_path / "out" / "results.json").read_bytes())
    assert document["unseen_parts"] == {"replies": 3, "n_replies": 6, "parts": {"image": 3}}
    jsonschema.validate(document, json.loads(schema.published()))


def test_data_without_such_parts_has_no_note_and_no_key(tmp_path: Path, capsys):
    said = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "text", "text": "yo"}]},
    ]
    (tmp_path / "a.jsonl").write_text(json.dumps({"messages": said}))
    assert run(["score", str(tmp_path / "a.jsonl"), "-m", "length", "-o", str(tmp_path / "out")]) == 0
    assert "do not see" not in capsys.readouterr().err
    assert "unseen_parts" not in json.loads((tmp_path / "out" / "results.json").read_bytes())
