"""`import turnwise as tw`: the commands as functions."""

import json
import subprocess
import sys
from importlib import resources
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


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("world") / "sales.jsonl"
    asked = "--agents 6 --dialogues 12 --samples 1 --truth 0 -q"
    assert run(["simulate", "booking", *asked.split(), "-o", str(path)]) == 0
    return path


@pytest.mark.parametrize(
    ("command", "options", "kinds"),
    [
        ("score", {"metrics": "length,rouge-l"}, {"scores", "conversation"}),
        ("compare", {"metrics": "length", "agents": "good,dull", "pair": "meta.topic"}, {"differences", "flips"}),
        ("meta_evaluate", {"metrics": "rouge-l,length", "statistic": "spearman"}, {"heatmap", "scatter", "systems"}),
        ("meta_evaluate", {}, {"raters"}),
        ("ope", {"target": "noise-01", "rating": "reward", "model": "hashing"}, {"estimates", "pairs"}),
        ("ope", {"all": True, "rating": "reward", "model": "hashing"}, {"regression"}),
        ("attack", {"count": 60, "budget": 900, "perturb": False}, {"strategies", "transcripts"}),
    ],
)  # fmt: skip
def test_a_notebook_shows_the_table_and_every_figure_of_each_command(
    command: str, options: dict, kinds: set[str], world: Path
):
    corpus = str(resources.files("turnwise") / "data" / "demo.jsonl")
    if command == "attack":
        found = tw.attack("question-rate", corpus, **options)
    else:
        found = getattr(tw, command)(world if command == "ope" else corpus, **options)
    assert kinds <= {figure.kind for figure in found.figures()}
    page = found._repr_html_()
    assert page.index("<table>") < page.index("<figure ")
    assert all(f'data-kind="{kind}"' in page for kind in kinds)
    assert page.count("<figure ") == len(found.figures())
    assert "<script" not in page


def test_a_hardened_metric_wants_a_folder_of_its_own(logs):
    with pytest.raises(UsageError, match="give its folder with -o"):
        tw.attack("usr-ret", logs, harden=True)


def test_what_a_run_writes_on_the_way_is_gone_unless_a_folder_was_named(logs, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "passing"))
    (tmp_path / "passing").mkdir()
    tw.score(logs, metrics="length", draws=100)
    assert not list((tmp_path / "passing").iterdir())
    for name in ("output", "o"):
        tw.score(logs, metrics="length", draws=100, **{name: tmp_path / name})
        assert (tmp_path / name / "results.json").exists()
