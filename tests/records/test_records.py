"""Results of version 0.2 are read, and no key of theirs is lost."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from turnwise.records import DifferenceRecord, Record, ScoreRecord, both_ends, plain
from turnwise.report.documents import CompareDocument, decoded, document_type
from turnwise.report.report import report
from turnwise.report.results import to_json

FILES = sorted((Path(__file__).parents[1] / "fixtures" / "results_0_2").glob("*.json"))


def lost(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """The places where JSON has a value that the JSON made from its types lacks or has otherwise."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key in after:
                yield from lost(value, after[key], f"{path}.{key}")
            elif value not in (None, [], {}):
                yield f"{path}.{key}"
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for one, other in zip(before, after, strict=True):
            yield from lost(one, other, f"{path}[]")
    elif before != after:
        yield path


def of_one_estimator(path: str) -> bool:
    """Whether a place is what one estimator says of its own estimates, which only its run knows."""
    return path.startswith(".results[].diagnostics.")


def names_agents(path: str) -> bool:
    """Whether a place says which agent is better, in which version 0.2 had A and B for their names."""
    return path in [f".{part}[].{key}" for part in ("results", "people") for key in ("leads", "verdict")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_of_version_0_2_is_read_and_loses_nothing(path: Path):
    document = decoded(path.read_bytes())
    again = json.loads(to_json(plain(document)))
    changed = lost(json.loads(path.read_bytes()), again)
    assert [where for where in changed if not (of_one_estimator(where) or names_agents(where))] == []
    assert decoded(to_json(plain(document))) == document


def test_the_files_are_of_every_command_that_wrote_one():
    commands = {"score", "compare", "diff", "meta", "calibrate", "power", "attack", "ope"}
    assert {decoded(path.read_bytes()).command for path in FILES} == commands


def test_a_command_without_results_has_no_type_of_document():
    assert document_type("validate") is None
    assert document_type("sing") is None
    with pytest.raises(msgspec.ValidationError, match="`sing` is no command that has results"):
        decoded(b'{"schema_version": 1, "command": "sing", "results": []}')


def test_files_of_version_0_2_can_be_reported(tmp_path: Path):
    for path in FILES:
        (tmp_path / path.stem).mkdir()
        (tmp_path / path.stem / "results.json").write_bytes(path.read_bytes())
    made = report([str(tmp_path)])
    assert len(made.sections) > len(FILES)  # and the errors of all runs of `ope --all`
    assert made.claims
    assert made.figures


def test_keys_of_other_packages_stand_among_those_of_the_record():
    made = decoded((FILES[-1].parent / "score.json").read_bytes())
    first = ScoreRecord(estimate=1.0, metric="mine", more={"depth": 3.0})
    (record,) = plain(msgspec.structs.replace(made, results=(first,)))["results"]
    assert record["depth"] == 3.0
    assert "more" not in record
    assert list(record)[:4] == ["metric", "agent", "group", "level"]


def test_what_a_record_is_about_is_what_it_names():
    record = ScoreRecord(estimate=None, metric="length", agent="good", level="system")
    assert record.about == {"metric": "length", "agent": "good", "level": "system"}
    assert Record(estimate=1.0).about == {}


def test_an_interval_without_an_end_has_no_ends():
    assert both_ends((0.5, None)) is None
    assert both_ends(None) is None
    assert both_ends((0.0, 1.0)) == (0.0, 1.0)


@pytest.mark.parametrize("name", ["compare", "people", "preferences"])
def test_a_verdict_of_version_0_2_names_the_agent_where_it_had_a_letter(name: str):
    raw = (FILES[0].parent / f"{name}.json").read_bytes()
    before, document = json.loads(raw), decoded(raw)
    for written, record in zip(before["results"], document.results, strict=True):
        if "leads" not in written:
            assert record.leads is None
            continue
        letter, said = written["leads"].split(" ", 1)
        agent = written[f"agent_{letter.lower()}"]
        assert (record.leader, record.leads) == (agent, f"{agent} {said}")
        expected = record.leads if written["verdict"] == written["leads"] else written["verdict"]
        assert record.verdict == expected


def test_agents_that_are_called_a_and_b_keep_their_names_in_verdicts():
    record = DifferenceRecord(
        estimate=1.0,
        metric="m",
        agent_a="B",
        agent_b="A",
        leads="B is better",
        leader="B",
        verdict="B is better",
    )
    assert record.mirrored().verdict == "B is better"
    old = DifferenceRecord(
        estimate=1.0, metric="m", agent_a="B", agent_b="A", leads="A is better", verdict="A is better"
    )
    assert (old.leader, old.verdict) == ("B", "B is better")
    again = decoded(to_json(plain(msgspec.structs.replace(decoded_compare(), results=(record,)))))
    assert again.results[0].verdict == "B is better"


def decoded_compare() -> CompareDocument:
    document = decoded((FILES[0].parent / "compare.json").read_bytes())
    assert isinstance(document, CompareDocument)
    return document
