"""Scores of a run in the forms of other tools; tools/check_exported_scores.py gives them to the tools themselves."""

import csv
import json
import re
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

import turnwise
from tests import exported_scores
from turnwise.cli.common.group import run as turnwise_command
from turnwise.errors import DataError, UsageError

METRICS = ["length", "question-rate"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The logs, runs and exported files of all tools."""
    place = tmp_path_factory.mktemp("exported")
    exported_scores.write(place)
    return place


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of JSON Lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def scored(run: Path) -> Iterator[tuple[str, str, float]]:
    """Item, metric and score of everything that a run scored."""
    for line in lines(run / "items.jsonl"):
        for metric, score in line["scores"].items():
            if score is not None:
                yield line["id"], metric, score


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_tidy_table_has_a_row_for_each_score_with_its_signature(
    folder: Path, suffix: str, tmp_path: Path
) -> None:
    run, target = folder / "langfuse_run", tmp_path / f"scores.{suffix}"
    done = turnwise.export_scores(run, output=target)
    if suffix == "csv":
        with target.open(newline="") as file:
            rows = [{**row, "score": float(row["score"])} for row in csv.DictReader(file)]
    else:
        rows = pytest.importorskip("polars").read_parquet(target).to_dicts()
    assert sorted((row["item"], row["metric"], row["score"]) for row in rows) == sorted(scored(run))
    assert {row["signature"].split("|")[0] for row in rows} == {*METRICS}
    assert done.n_scores == len(rows) == 6


def test_langfuse_scores_stand_on_the_trace_and_the_call_of_the_reply(folder: Path) -> None:
    found = lines(folder / "langfuse.jsonl")
    places = {(one["trace_id"], one.get("observation_id")) for one in found}
    assert places == {("trace-0", None), ("trace-1", None), ("trace-2", "call-7")}
    run = {(item, metric): score for item, metric, score in scored(folder / "langfuse_run")}
    assert {(one["metadata"]["item"], one["name"]): one["value"] for one in found} == run
    assert len({one["score_id"] for one in found}) == len(found)
    assert all(one["comment"] == one["metadata"]["signature"] for one in found)


def test_langsmith_feedback_is_of_the_run_and_by_a_program(folder: Path) -> None:
    found = lines(folder / "langsmith.jsonl")
    assert {one["run_id"] for one in found} == {run["id"] for run in exported_scores.langsmith_runs()}
    assert {one["feedback_source_type"] for one in found} == {"model"}
    run = {(item, metric): score for item, metric, score in scored(folder / "langsmith_run")}
    assert {(one["source_info"]["item"], one["key"]): one["score"] for one in found} == run


def test_events_of_opentelemetry_are_read_by_its_own_package_with_the_spans_that_were_scored(
    folder: Path,
) -> None:
    proto = pytest.importorskip("opentelemetry.proto.collector.logs.v1.logs_service_pb2")
    from google.protobuf import json_format

    # OTLP writes ids in hexadecimal, protobuf's JSON in base 64.
    text = re.sub(
        r'"(traceId|spanId)":"([0-9a-f]+)"',
        lambda found: f'"{found[1]}":"{b64encode(bytes.fromhex(found[2])).decode()}"',
        (folder / "otel.scores.json").read_text(),
    )
    request = json_format.Parse(text, proto.ExportLogsServiceRequest())
    (scope,) = request.resource_logs[0].scope_logs
    assert (scope.scope.name, scope.scope.version) == ("turnwise", turnwise.__version__)
    held = {}
    for entry in scope.log_records:
        values = {one.key: one.value for one in entry.attributes}
        assert entry.event_name == "gen_ai.evaluation.result"
        assert values["turnwise.signature"].string_value.startswith(
            values["gen_ai.evaluation.name"].string_value
        )
        key = values["turnwise.item"].string_value, values["gen_ai.evaluation.name"].string_value
        held[key] = values["gen_ai.evaluation.score.value"].double_value
        assert int.from_bytes(entry.trace_id) == int.from_bytes(entry.span_id) > 0
    assert held == {(item, metric): score for item, metric, score in scored(folder / "otel_run")}


def test_inspect_gets_a_record_a_sample_with_the_means_of_its_replies(folder: Path) -> None:
    found = lines(folder / "inspect.jsonl")
    samples = json.loads((folder / "inspect.json").read_bytes())["samples"]
    assert [(one["id"], one["epoch"]) for one in found] == [(str(one["id"]), one["epoch"]) for one in samples]
    means = {line["dialogue"]: line["scores"] for line in lines(folder / "inspect_run" / "dialogues.jsonl")}
    assert sorted(json.dumps(one["value"]) for one in found) == sorted(map(json.dumps, means.values()))


def test_scores_whose_dialogues_have_no_id_of_the_tool_are_an_error(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(
        '{"id": "s", "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}\n'
    )
    with pytest.raises(DataError, match="belongs to a dialogue with an id of langfuse in the logs"):
        turnwise.export_scores(
            folder / "langfuse_run", to="langfuse", logs=log, output=tmp_path / "out.jsonl"
        )
    assert not (tmp_path / "out.jsonl").exists()


def test_a_tidy_table_of_another_name_and_a_folder_that_is_no_run_are_errors(
    folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"ends in \.csv or \.parquet"):
        turnwise.export_scores(folder / "langfuse_run", output=tmp_path / "scores.txt")
    with pytest.raises(UsageError, match="is not a finished run"):
        turnwise.export_scores(tmp_path, output=tmp_path / "scores.csv")


@pytest.mark.parametrize("content", ["[]", "{}", '{"origin": {"inputs": 3}}', "{"])
def test_a_folder_whose_results_are_no_results_is_an_error(
    folder: Path, tmp_path: Path, content: str
) -> None:
    run = Path(copytree(folder / "langfuse_run", tmp_path / "bad"))
    (run / "results.json").write_text(content)
    words = ["export", str(run), "-o", str(tmp_path / "x.jsonl"), "--to", "langfuse"]
    assert turnwise_command(words) == 2
    assert not (tmp_path / "x.jsonl").exists()


def test_the_command_says_what_it_wrote(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "scores.csv"
    assert turnwise_command(["export", str(folder / "langfuse_run"), "-o", str(target)]) == 0
    assert capsys.readouterr().err == f"{target}: 6 scores written\n"


@pytest.mark.parametrize("form", ["latex", "markdown"])
def test_tables_for_a_paper_have_the_numbers_of_the_run(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.jsonl"
    with log.open("w") as file:
        for number in range(6):
            said = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b " * number + "c"}]
            file.write(json.dumps({"id": str(number), "agent": f"bot_{number % 2}", "messages": said}) + "\n")
    assert turnwise_command(["score", str(log), "-m", "length", "--format", form, "-q"]) == 0
    printed = capsys.readouterr().out
    expected = {
        one["agent"]: f"{one['estimate']:.3f}" for one in turnwise.score(log, metrics="length").records()
    }
    rows = [re.split(r" & | \| ", line) for line in printed.splitlines() if "length" in line]
    assert {cells[1].replace("\\_", "_"): cells[2] for cells in rows} == expected
    if form == "latex":
        assert printed.startswith("\\begin{tabular}{llr")
        assert printed.rstrip().endswith("\\end{tabular}")
