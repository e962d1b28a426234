"""A report from finished runs: every figure of the papers, in three forms, from results alone."""

import json
import re
from pathlib import Path

import pytest

from tests.finished_runs import CORPUS, KINDS, ran, write_hostile, write_runs
from turnwise.errors import DataError, UsageError
from turnwise.report.headlines import told
from turnwise.report.report import report, write
from turnwise.report.runs import Run

NEURAL = {"tuning", "iterations", "estimates"}  # what only trained estimators and policies have here


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_runs(tmp_path_factory.mktemp("finished"), neural=False)


def test_every_kind_of_figure_is_made_and_says_what_stands_behind_it(runs: Path):
    made = report([str(runs)])
    assert {figure.kind for figure in made.figures} == KINDS - NEURAL
    for figure in made.figures:
        told = " ".join(figure.notes)
        assert "n = " in told, figure.title
        assert "interval" in told, figure.title
        assert "signature" in told, figure.title
        assert figure.rows, figure.title
        assert all(len(row) == len(figure.head) for row in figure.rows), figure.title
        assert figure.svg or figure.exchanges


def test_the_regression_plot_has_the_numbers_of_the_results(runs: Path):
    document = json.loads((runs / "ope-all" / "results.json").read_bytes())
    figure = next(f for f in report([str(runs / "ope-all")]).figures if f.kind == "regression")
    known = {row["target"]: (row["truth"], row["estimate"]) for row in document["results"]}
    assert {row[0]: (row[1], row[2]) for row in figure.rows} == known
    assert figure.svg.count("<circle") == len(known)
    assert figure.svg.count('class="band') == 1


def test_errors_of_several_runs_are_laid_over_each_other_and_told_apart_by_their_settings(runs: Path):
    figures = [f for f in report([str(runs)]).figures if f.kind == "errors"]
    assert {row[0] for figure in figures for row in figure.rows} == {"fraction 1.0", "fraction 0.5"}
    (alone,) = (f for f in report([str(runs / "ope-half")]).figures if f.kind == "errors")
    assert {row[0] for row in alone.rows} == {str(runs / "ope-half")}


def test_the_scatter_joins_what_the_metric_said_with_what_people_said(runs: Path):
    figure = next(f for f in report([str(runs / "meta")]).figures if f.kind == "scatter")
    people = [json.loads(line) for line in (runs / "meta" / "people.jsonl").read_text().splitlines()]
    rated = {(one["id"], one["people"]) for one in people}
    assert figure.rows
    assert all((row[0], row[2]) in rated for row in figure.rows)


def test_the_same_results_give_the_same_bytes(runs: Path, tmp_path: Path):
    for name in ("a", "b"):
        write(report([str(runs)]), tmp_path / f"{name}.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_the_page_stands_alone(runs: Path, tmp_path: Path):
    write(report([str(runs)]), tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text()
    assert "<script" not in html
    assert not re.findall(r"""(?:src|href)=["'](?!#|data:,)""", html)
    assert re.findall(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", html) == []
    assert html.count("<svg") == html.count("</svg>") > 15
    assert html.count("<table>") == html.count("<figure ")


def test_markdown_has_its_pictures_beside_it(runs: Path, tmp_path: Path):
    written = write(report([str(runs)]), tmp_path / "report.md")
    text = (tmp_path / "report.md").read_text()
    linked = re.findall(r"!\[.*?\]\((.*?)\)", text)
    assert [str(path.relative_to(tmp_path)) for path in written[1:]] == linked
    assert all((tmp_path / name).read_text().startswith("<svg") for name in linked)


def test_json_has_every_table_whole(runs: Path, tmp_path: Path):
    made = report([str(runs)])
    write(made, tmp_path / "report.json")
    document = json.loads((tmp_path / "report.json").read_bytes())
    figures = [figure for section in document["sections"] for figure in section["figures"]]
    assert [len(figure["rows"]) for figure in figures] == [len(figure.rows) for figure in made.figures]


def test_hostile_names_and_texts_stay_texts(tmp_path: Path):
    write_hostile(tmp_path)
    assert (
        ran("report", str(tmp_path / "out"), "-o", str(tmp_path / "x.html"), "-o", str(tmp_path / "x.md"))
        == 0
    )
    html, text = (tmp_path / "x.html").read_text(), (tmp_path / "x.md").read_text()
    assert "<script" not in html
    assert "<img" not in html
    assert "&lt;script&gt;" in html
    assert "<script" not in text.replace("\\<", "")


def test_a_folder_without_results_is_an_error_that_says_what_would_write_them(tmp_path: Path):
    with pytest.raises(UsageError, match="holds no results"):
        report([str(tmp_path)])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "results.json"),
        ("{}", "lacks schema_version"),
        ('{"schema_version": 99, "command": "score", "results": []}', "schema_version 99"),
    ],
)
def test_a_broken_result_is_named_with_its_place(tmp_path: Path, content: str, says: str):
    (tmp_path / "results.json").write_text(content)
    with pytest.raises(DataError, match=says):
        report([str(tmp_path)])


def test_an_unknown_form_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert ran("score", CORPUS, "-m", "length", "-o", str(tmp_path / "out")) == 0
    assert ran("report", str(tmp_path / "out"), "-o", str(tmp_path / "report.pdf")) == 2
    assert ".html, .md or .json" in capsys.readouterr().err
    assert not (tmp_path / "report.pdf").exists()


def _run(command: str, results: list[dict], **more: object) -> Run:
    return Run("x", Path("/dev/null"), {"command": command, "results": results, **more})


def test_agreement_without_an_interval_is_believed_by_its_p_alone():
    record = {
        "metric": "bad", "statistic": "spearman", "level": "system", "dimension": "overall", "status": "ok",
        "estimate": 0.4, "interval": None, "p": 0.75,
    }  # fmt: skip
    assert told(_run("meta", [record]))[0].startswith("Trust none")
    assert told(_run("meta", [{**record, "p": 0.01}]))[0].startswith("bad agrees")
    assert told(_run("meta", [{**record, "p": 0.01, "estimate": -0.4}]))[0].startswith("Trust none")


def test_a_run_in_which_all_was_refused_says_why():
    refused = {
        "target": "a",
        "rating": "overall",
        "estimate": None,
        "reason": "too few agents",
        "status": "refused",
    }
    check = {
        "estimator": "robust",
        "rating": "overall",
        "n_agents": 0,
        "pearson": None,
        "mae": None,
        "coverage": None,
    }
    assert told(_run("ope", [refused], validation=[check])) == [
        "Agents left out in turn could not be foretold: too few agents"
    ]
    assert "too few agents" in told(_run("compare", [{**refused, "agent_a": "a", "agent_b": "b"}]))[0]


def test_coverage_that_is_not_known_is_left_out_and_a_known_mean_is_no_truth():
    given = {"target": "a", "rating": "overall", "estimate": 1.0, "truth": None, "status": "ok"}
    check = {
        "estimator": "robust",
        "rating": "overall",
        "n_agents": 5,
        "pearson": 0.9,
        "mae": 0.1,
        "coverage": None,
    }
    assert "intervals" not in told(_run("ope", [given], validation=[check]))[0]
    assert "hold the known mean" in told(_run("ope", [given], validation=[{**check, "coverage": 0.8}]))[0]
