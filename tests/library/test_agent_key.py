"""Two prompts of one model are two agents, where a key tells them apart."""

from pathlib import Path
from typing import Any

import pytest

import turnwise as tw
from turnwise.errors import DataError


def record(number: int, prompt: str, said: str) -> dict[str, Any]:
    return {
        "agent": "m",
        "meta": {"prompt": prompt},
        "messages": [
            {"role": "system", "content": f"Be {prompt}."},
            {"role": "user", "content": f"How much is {number} and {number}?"},
            {"role": "assistant", "content": said},
        ],
    }


DATA = [
    record(at, prompt, said)
    for at in range(12)
    for prompt, said in (("brief", "Four."), ("polite", "It is four."))
]


def test_two_prompts_are_compared_on_the_same_questions() -> None:
    found = tw.compare(DATA, metrics="length", agent_key="meta.prompt", agents="polite,brief")
    (record,) = found.findings
    assert (record.n_items, record.sampling, record.estimate) == (12, "paired", 2.0)


def test_the_keys_are_recorded_with_the_result_and_only_where_given() -> None:
    options = tw.score(DATA, metrics="length", agent_key="agent,meta.prompt").document.origin.settings.options
    assert options["agent_key"] == ("agent", "meta.prompt")
    assert "agent_key" not in tw.score(DATA, metrics="length").document.origin.settings.options


def test_several_files_are_read_with_their_own_ids_and_their_names_are_no_agents(tmp_path: Path) -> None:
    import json

    for name in "ab":
        lines = [json.dumps({key: one[key] for key in ("messages", "meta")}) for one in DATA]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    found = tw.score(paths, metrics="length", agent_key="meta.prompt")
    assert {one.agent: one.n_items for one in found.findings} == {"brief": 24, "polite": 24}


def test_a_record_without_the_key_is_named() -> None:
    with pytest.raises(DataError, match=r"record '25' has no key `meta\.prompt`"):
        tw.score([*DATA, {"messages": DATA[0]["messages"]}], metrics="length", agent_key="meta.prompt")
