"""Logs that Inspect AI itself wrote (tools/make_inspect_fixture.py): what was said is what the reader gives."""

import json
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from turnwise.errors import DataError, MissingExtra
from turnwise.logs import native
from turnwise.logs.conversion import convert

FOLDER = Path(__file__).parents[3] / "fixtures" / "written"


@pytest.fixture(params=["json", "eval"])
def log(request: pytest.FixtureRequest) -> str:
    if request.param == "eval":
        pytest.importorskip("zstandard")
    return str(FOLDER / f"inspect_written.{request.param}")


def test_messages_scores_and_calls_are_those_of_the_run(log: str, tmp_path: Path) -> None:
    expected = json.loads((FOLDER / "said.json").read_bytes())
    found = convert(None, log, str(tmp_path / "out.jsonl"))
    assert found.name == "inspect"
    dialogues = list(native.read(str(tmp_path / "out.jsonl")))
    assert [[[turn.role, turn.text] for turn in one.turns] for one in dialogues] == expected["said"]
    assert [[rating.value for rating in one.ratings] for one in dialogues] == [
        [value] for value in expected["scores"]
    ]
    assert {one.agent for one in dialogues} == {"mockllm/model"}
    (call,) = [call for one in dialogues for turn in one.turns for call in turn.tool_calls]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == ("add", {"x": 2, "y": 2})
    assert found.account.parts == {"image_url": 1}
    reasons = {reason.partition(" (")[0]: count for reason, count in found.dropped.items()}
    of_run = {"settings and totals of the whole run": 8} if log.endswith("json") else {
        "settings and totals of the whole run": 7,
        "other files of the log": 6,
    }  # fmt: skip
    assert reasons == {"event logs of samples": 3, **of_run}
    assert any("`status`" in reason for reason in found.dropped)
    assert all(one.meta["output"]["choices"][0]["stop_reason"] == "stop" for one in dialogues)
    assert all("events_data" not in one.meta for one in dialogues)


def test_the_two_forms_of_a_log_differ_in_ids_and_times_only(tmp_path: Path) -> None:
    pytest.importorskip("zstandard")
    said = []
    for form in ("json", "eval"):
        convert(None, str(FOLDER / f"inspect_written.{form}"), str(tmp_path / form))
        said.append(
            [
                [(turn.role, turn.content, turn.references) for turn in one.turns]
                for one in native.read(str(tmp_path / form))
            ]
        )
    assert said[0] == said[1]


def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtra, match=r"compressed with Zstandard, needs the extra `tables`"):
        convert(None, str(FOLDER / "inspect_written.eval"), str(tmp_path / "out.jsonl"))
    assert not list(tmp_path.iterdir())


def test_damaged_bytes_are_an_error_that_names_the_file(tmp_path: Path) -> None:
    pytest.importorskip("zstandard")
    path = tmp_path / "damaged.eval"
    shutil.copy(FOLDER / "inspect_written.eval", path)
    with zipfile.ZipFile(path) as packed:
        about = packed.getinfo("samples/s0_epoch_1.json")
    data = bytearray(path.read_bytes())
    start = about.header_offset + 30 + len(about.filename)
    data[start + 40 : start + 60] = bytes(20)
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"samples/s0_epoch_1.json in it is damaged"):
        convert(None, str(path), str(tmp_path / "out.jsonl"))
