"""`import turnwise as tw`: the commands as functions."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import turnwise as tw
from tests.corpus import corpus
from turnwise.cli.group import run
from turnwise.errors import DataError, Refused, UsageError


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return corpus(tmp_path / "logs.jsonl", 12)


def test_a_function_gives_what_its_command_prints(logs, capsys):
    found = tw.score(logs, metrics=["bleu-2", "length"], draws=200)
    run(["score", str(logs), "-m", "bleu-2,length", "--draws", "200"])
    assert str(found) == capsys.readouterr().out.rstrip("\n")
    run(["score", str(logs), "-m", "bleu-2,length", "--draws", "200", "--format", "json"])
    assert json.loads(capsys.readouterr().out)["results"] == json.loads(json.dumps(found.records()))


def test_conversations_may_be_records_instead_of_files(logs):
    records = [json.loads(line) for line in logs.read_text().splitlines()]
    there = tw.score(records, metrics="length", draws=100)
    assert there.records() == tw.score(str(logs), metrics="length", draws=100).records()
    with pytest.raises(UsageError, match="conversations as dicts"):
        tw.score([1, 2], metrics="length")


def test_flags_and_several_values_are_given_as_python_has_them(logs):
    found = tw.meta_evaluate(
        [logs],
        metrics=("length",),
        statistic=["spearman", "pearson"],
        differences=False,
        level="turn",
        draws=100,
    )
    assert {one["statistic"] for one in found} == {"spearman", "pearson"}
    assert len(found) == len(found.records())


def test_wrong_keywords_and_values_are_errors_that_name_the_right_ones(logs):
    with pytest.raises(UsageError, match="draws"):
        tw.score(logs, metrics="length", draw=3)
    with pytest.raises(UsageError, match="not in the range"):
        tw.score(logs, metrics="length", draws=-1)
    with pytest.raises(DataError, match="cannot be read"):
        tw.score("nowhere.jsonl", metrics="length")


def test_a_refusal_is_a_result_and_not_an_error(logs):
    found = tw.score(logs, metrics="fbd", model="hashing", draws=100)
    assert {one["status"] for one in found} == {"refused"}
    assert issubclass(Refused, Exception)


def test_a_notebook_gets_a_table_and_figures_in_which_nothing_runs(logs):
    page = tw.score(logs, metrics="length", draws=100)._repr_html_()
    assert "<table>" in page
    assert "<svg" in page
    evil = [
        {"id": "1", "agent": "<script>alert(1)</script>", "messages": [
            {"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]}
    ]  # fmt: skip
    assert "<script" not in tw.score(evil, metrics="length", draws=100)._repr_html_()


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import sys, turnwise; print([m for m in ('numpy', 'scipy', 'click', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="no `nothing`"):
        _ = tw.nothing
