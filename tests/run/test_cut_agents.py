"""The note on agents of the data that --limit cuts off."""

import json
from pathlib import Path
from typing import Any

import pytest

import turnwise as tw
from turnwise.cli.common.group import run


def dialogue(agent: str, number: int) -> dict[str, Any]:
    messages = [
        {"role": "user", "content": f"Question {number}?"},
        {"role": "assistant", "content": " ".join(["yes"] * (number % 3 + len(agent)))},
    ]
    ratings = [{"dimension": "overall", "value": number % 5, "turn": 1}]
    return {
        "id": f"{agent}-{number}",
        "agent": agent,
        "meta": {"part": number % 2},
        "messages": messages,
        "ratings": ratings,
    }


DATA = [dialogue(agent, number) for agent in ("a", "bb", "ccc") for number in range(10)]
NOTE = "note: limit=20 takes the first dialogues, and none of them is of ccc"


def test_agents_that_the_limit_cuts_off_are_named() -> None:
    assert NOTE in tw.score(DATA, metrics="length", limit=20, figures=False).notes()
    compared = tw.compare(DATA, metrics="length", agents="a,bb", limit=20, figures=False).notes()
    assert not [one for one in compared if "limit" in one]  # ccc was not asked for
    assert NOTE in tw.meta_evaluate(DATA, metrics="length", limit=20, figures=False).notes()


def test_the_command_line_names_its_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "logs.jsonl"
    data.write_text("".join(json.dumps(one) + "\n" for one in DATA))
    assert run(["score", str(data), "-m", "length", "--limit", "20"]) == 0
    said = capsys.readouterr()
    assert NOTE.replace("limit=20", "--limit 20") in " ".join((said.out + said.err).split())


def test_agents_without_a_selected_dialogue_are_not_cut_off_by_the_limit() -> None:
    for where, limit in (({"agent": "a"}, 5), ({"meta.part": "1"}, 15), ({}, 30)):
        found = tw.score(DATA, metrics="length", where=where, limit=limit, figures=False)
        assert not [one for one in found.notes() if "limit" in one]
    cut = tw.score(DATA, metrics="length", where={"meta.part": "1"}, limit=5, figures=False).notes()
    assert cut == ["note: limit=5 takes the first dialogues, and none of them is of bb, ccc"]
