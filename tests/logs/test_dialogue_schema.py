"""The published schema of the native format is that of the types, and accepts what the reader accepts."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.property.test_logs_native_fuzz import dialogues
from tests.wild_corpora import WILD, needs_wild
from turnwise.logs import native, schema
from turnwise.logs.checks import RuleError
from turnwise.logs.dialogue import as_record, from_record
from turnwise.types import Dialogue

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is absent: pip install jsonschema")

DOCS = Path(__file__).parents[2] / "docs"
EXCERPTS = Path(__file__).parents[1] / "fixtures" / "wild"
SAID = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
VALIDATOR = jsonschema.Draft202012Validator(json.loads(schema.published()))


def problems(record: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(record)]


def test_the_published_schema_is_that_of_the_types() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(schema.published()))
    assert schema.published() == schema.text(), "write it again: python -m tools.make_schemas"


def test_validate_prints_the_schema_without_files(capsys: pytest.CaptureFixture[str]) -> None:
    from turnwise.cli.common.group import run

    assert run(["validate", "--schema"]) == 0
    assert capsys.readouterr().out == schema.published()


def test_the_examples_of_the_format_page_are_valid() -> None:
    page = (DOCS / "format.md").read_text()
    examples = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]
    assert any("preferences" in one for one in examples)
    assert any("ratings" in one for one in examples)
    for one in examples:
        assert problems(one) == []
        from_record(one, default_id="1")


def test_the_corpus_of_the_package_and_converted_excerpts_are_valid() -> None:
    corpora = [Path(str(files("turnwise.data") / "demo.jsonl")), *sorted(EXCERPTS.glob("*.expected.jsonl"))]
    assert len(corpora) > 10
    for path in corpora:
        for line in path.read_text().splitlines():
            assert problems(json.loads(line)) == [], path.name


@given(dialogue=dialogues())
def test_what_the_reader_accepts_the_schema_accepts(dialogue: Dialogue) -> None:
    record = json.loads(native.dump(dialogue))
    from_record(record, default_id="1")
    assert problems(record) == []
    assert as_record(from_record(record, default_id="1")).keys() == record.keys()


@pytest.mark.parametrize(
    "record",
    [
        {
            "messages": SAID,
            "id": None,
            "agent": None,
            "ratings": None,
            "preferences": None,
            "meta": None,
            "x": 1,
        },
        {"messages": [*SAID, CALL, {"role": "tool", "content": ""}]},
        {"messages": [{"role": "assistant", "content": None, "function_call": {"name": "f"}}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url"}, {"type": "text", "text": ""}]}]},
        {
            "messages": SAID,
            "preferences": [{"other": "2", "winner": "both_bad", "shown": "second", "why": "x"}],
        },
        {"messages": SAID, "preferences": [{"other": "2", "winner": "tie", "turn": 1, "other_turn": 5}]},
        {"messages": SAID, "preferences": [{"other": "2", "winner": "tie", "automatic": True}]},
        {"messages": SAID, "ratings": [{"dimension": "overall", "value": 1, "automatic": True}]},
        {
            "messages": [
                {**SAID[1], "alternatives": {"a": "x", "b": ["y", {"content": "z", "outcome": {"o": 1}}]}}
            ]
        },
    ],
)
def test_both_accept(record: dict[str, Any]) -> None:
    from_record(record, default_id="1")
    assert problems(record) == []


@pytest.mark.parametrize(
    "record",
    [
        [],
        {},
        {"messages": []},
        {"messages": [{"role": "bot", "content": "hi"}]},
        {"messages": [{"role": "assistant", "content": None}]},
        {"messages": [{"role": "assistant", "content": None, "tool_calls": []}]},
        {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
        {"messages": [{"role": "user", "content": [{"text": "hi"}]}]},
        {"messages": SAID, "id": ""},
        {"messages": SAID, "meta": []},
        {"messages": SAID, "ratings": [{"dimension": "overall"}]},
        {"messages": SAID, "ratings": [{"dimension": "overall", "value": True}]},
        {"messages": SAID, "ratings": [{"dimension": "overall", "value": 1, "turn": -1}]},
        {"messages": SAID, "ratings": [{"dimension": "overall", "value": 1, "scale": [1]}]},
        {"messages": SAID, "ratings": [{"dimension": "overall", "value": 1, "direction": "up"}]},
        {"messages": SAID, "ratings": [{"dimension": "overall", "value": 1, "automatic": "gpt-4"}]},
        {"messages": SAID, "preferences": [{"other": "2", "winner": "this", "automatic": 1}]},
        {"messages": SAID, "preferences": [{"winner": "this"}]},
        {"messages": SAID, "preferences": [{"other": "2", "winner": "a"}]},
        {"messages": SAID, "preferences": [{"other": "2", "winner": "this", "shown": "left"}]},
        {"messages": SAID, "preferences": [{"other": "2", "winner": "this", "other_turn": "1"}]},
        {"messages": SAID, "preferences": [{"other": "2", "winner": "this", "other_turn": -1}]},
        {"messages": SAID, "preferences": {"other": "2", "winner": "this"}},
        {"messages": [{**SAID[1], "alternatives": {"a": []}}]},
        {"messages": [{**SAID[1], "alternatives": {"a": [{"content": "x", "score": 1}]}}]},
        {"messages": [{**SAID[1], "references": ["x", 1]}]},
        {"messages": [{**SAID[1], "outcome": {"o": "high"}}]},
    ],
)
def test_both_refuse(record: Any) -> None:
    with pytest.raises(RuleError):
        from_record(record, default_id="1")
    assert problems(record)


@needs_wild
def test_converted_preferences_of_others_are_valid(tmp_path: Path) -> None:
    from turnwise import convert

    convert(WILD / "hh_rlhf_pairs.jsonl", tmp_path / "hh.jsonl")
    records = [json.loads(line) for line in (tmp_path / "hh.jsonl").read_text().splitlines()]
    assert sum("preferences" in one for one in records) == 150
    assert [problem for one in records for problem in problems(one)] == []
