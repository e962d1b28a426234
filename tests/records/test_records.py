"""Results of version 0.2 are read, and no key of theirs is lost."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from turnwise.records import COMMANDS, Record, ScoreRecord, both_ends, decoded, plain
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


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_of_version_0_2_is_read_and_loses_nothing(path: Path):
    document = decoded(path.read_bytes())
    again = json.loads(to_json(plain(document)))
    assert [
        where for where in lost(json.loads(path.read_bytes()), again) if not of_one_estimator(where)
    ] == []
    assert decoded(to_json(plain(document))) == document


def test_the_files_are_of_every_command_that_writes_one():
    assert {decoded(path.read_bytes()).command for path in FILES} == COMMANDS.keys() - {"train", "play"}


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
