"""A report from finished runs: every figure of the papers, in three forms, from results alone."""

import base64
import json
import re
from hashlib import sha256
from pathlib import Path

import pytest

import turnwise as tw
from tests.finished_runs import CORPUS, ran, write_hostile
from tests.made_runs import made_run
from turnwise.errors import DataError, UsageError
from turnwise.report.bundles import read_pages
from turnwise.report.claims import claims_of
from turnwise.report.documents import document_types
from turnwise.report.report import in_order, report, write
from turnwise.report.runs import Run

pytestmark = pytest.mark.xdist_group("report")  # one process, so that the runs are made once


def test_signatures_that_are_only_counted_are_in_the_table(runs: Path, tmp_path: Path):
    metrics = "rouge-l,rouge-1,chrf,length,question-rate"
    asked = ("meta", CORPUS, "-m", metrics, "--dimension", "all", "--by", "meta.topic", "--draws", "100")
    assert ran(*asked, "--level", "turn", "-o", str(tmp_path)) == 0
    made = [*report([str(runs)]).figures, *report([str(tmp_path)]).figures]
    left = [figure for figure in made if any("one a row of the table" in note for note in figure.notes)]
    assert {figure.kind for figure in left} >= {"heatmap", "boxes"}
    for figure in left:
        assert figure.head[-1] == "signature"
        assert all("|v:" in row[-1] for row in figure.rows), figure.title
    for figure in made:
        assert figure in left or any(
            note.startswith(("signature: ", "no signature: ")) for note in figure.notes
        )


def test_the_same_results_give_the_same_bytes(runs: Path, tmp_path: Path):
    for name in ("a", "b"):
        write(report([str(runs)]), tmp_path / f"{name}.html")
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_the_page_needs_no_other_file(runs: Path, tmp_path: Path):
    write(report([str(runs)]), tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text()
    assert script_hash(html) in html.partition("<title>")[0]
    assert not re.findall(r"""(?:src|href)=["'](?!#|data:,)""", html)
    assert re.findall(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", html) == []
    assert html.count("<svg") == html.count("</svg>") > 15
    assert html.count("<table>") == html.count("<figure ")


def script_hash(html: str) -> str:
    """The hash of the page's only script, as its policy must have it."""
    (script,) = re.findall("<script>(.*?)</script>", html, re.DOTALL)
    assert html.count("<script") == 1
    return f"script-src 'sha256-{base64.b64encode(sha256(script.encode()).digest()).decode()}';"


def test_what_differs_most_is_open_with_ids_that_lead_to_the_viewers_pages(tmp_path: Path):
    asked = ("compare", CORPUS, "-m", "rouge-l,length", "--agents", "good,dull", "--pair", "meta.topic")
    assert ran(*asked, "-o", str(tmp_path / "out")) == 0
    assert ran("view", CORPUS, "--bundle", str(tmp_path / "share of us"), "--no-open") == 0
    (tmp_path / "sent").mkdir()
    for name, words in {"plain": (), "linked": ("--bundle", str(tmp_path / "share of us"))}.items():
        assert ran("report", str(tmp_path / "out"), "-o", str(tmp_path / f"sent/{name}.html"), *words) == 0
    plain, linked = ((tmp_path / f"sent/{name}.html").read_text() for name in ("plain", "linked"))
    for html in (plain, linked):
        before = html.partition("differ most by")[0]
        assert before.count("<details") == before.count("</details>")  # nothing folds it
        told = re.search('<figure data-kind="flips">.*?</figure>', html, re.DOTALL)[0]
        assert "differ most by" in told
    items = re.findall(r'<span class="who">(?:<a href="([^"]+)">)?([\w-]+#\d+)', told)
    assert len(items) >= 2
    for address, item in items:
        identity, _, turn = item.partition("#")
        assert address == f"../share%20of%20us/dialogue-{identity}.html#t{turn}"
        assert f'id="t{turn}"' in (tmp_path / f"share of us/dialogue-{identity}.html").read_text()
    assert "dialogue-" not in plain
    assert [item for _, item in items] == re.findall(r'<span class="who">([\w-]+#\d+)', plain)[: len(items)]


def test_links_lead_only_to_a_bundle(tmp_path: Path):
    assert ran("score", CORPUS, "-m", "length", "-o", str(tmp_path / "out")) == 0
    with pytest.raises(UsageError, match=r"expected a folder that `turnwise view --bundle` wrote"):
        tw.make_report(tmp_path / "out", output=(), bundle=tmp_path)
    (tmp_path / "bundle.json").write_text(
        '{"dialogues": {"a": "https://example.org/", "b": "dialogue-b.html"}}'
    )
    pages = read_pages(tmp_path)
    found = [pages.link(item, tmp_path) for item in ("a", "b", "b#12", "b#x", "b#", "c", "")]
    assert found == ["", "./dialogue-b.html", "./dialogue-b.html#t12", "", "", "", ""]


def test_markdown_has_its_pictures_in_a_folder(runs: Path, tmp_path: Path):
    written = write(report([str(runs)]), tmp_path / "report.md")
    text = (tmp_path / "report.md").read_text()
    linked = re.findall(r"!\[.*?\]\((.*?)\)", text)
    assert [str(path.relative_to(tmp_path)) for path in written[1:]] == linked
    assert all((tmp_path / name).read_text().startswith("<svg") for name in linked)


def test_json_has_every_row_of_every_table(runs: Path, tmp_path: Path):
    made = report([str(runs)])
    write(made, tmp_path / "report.json")
    document = json.loads((tmp_path / "report.json").read_bytes())
    figures = [figure for section in document["sections"] for figure in section["figures"]]
    assert [len(figure["rows"]) for figure in figures] == [len(figure.rows) for figure in made.figures]


def test_markup_in_names_and_texts_is_escaped(tmp_path: Path):
    write_hostile(tmp_path)
    assert (
        ran("report", str(tmp_path / "out"), "-o", str(tmp_path / "x.html"), "-o", str(tmp_path / "x.md"))
        == 0
    )
    html, text = (tmp_path / "x.html").read_text(), (tmp_path / "x.md").read_text()
    assert script_hash(html)
    assert "<img" not in html
    assert "&lt;script&gt;" in html
    assert "<script" not in text.replace("\\<", "")


def test_a_folder_without_results_is_an_error_with_the_command_that_writes_them(tmp_path: Path):
    with pytest.raises(UsageError, match="holds no results"):
        report([str(tmp_path)])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "results.json"),
        ("{}", "lacks schema_version"),
        ('{"schema_version": 99, "command": "score", "results": []}', "schema_version 99"),
        (
            '{"schema_version": 1, "command": "sing", "results": []}',
            "`sing`, which this turnwise does not know",
        ),
        ('{"schema_version": 1, "command": "score", "results": [{"metric": 1}]}', "results"),
    ],
)
def test_an_invalid_result_is_an_error_with_its_path(tmp_path: Path, content: str, says: str):
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
    return made_run(command, *results, **more)


def test_a_run_in_which_all_was_refused_has_the_reason():
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
    (claim,) = claims_of(_run("ope", [refused], validation=[check]))
    assert str(claim) == "Agents left out in turn could not be predicted: too few agents."
    compared = {**refused, "metric": "chrf", "agent_a": "a", "agent_b": "b"}
    (claim,) = claims_of(_run("compare", [compared]))
    assert "too few agents" in str(claim)


def test_unknown_coverage_is_left_out_and_a_known_mean_is_not_called_truth():
    given = {"target": "a", "rating": "overall", "estimate": 1.0, "truth": None, "status": "ok"}
    check = {
        "estimator": "robust",
        "rating": "overall",
        "n_agents": 5,
        "pearson": 0.9,
        "mae": 0.1,
        "coverage": None,
    }
    (claim,) = claims_of(_run("ope", [given], validation=[check]))
    assert "intervals" not in str(claim)
    (claim,) = claims_of(_run("ope", [given], validation=[{**check, "coverage": 0.8}]))
    assert "hold the known mean" in str(claim)


def test_sections_are_in_the_order_of_the_types_of_documents():
    given = [made_run(command, name=command) for command in ("play", "diff", "score", "meta", "compare")]
    assert [run.command for run in in_order(given)] == ["compare", "score", "meta", "diff", "play"]


def test_every_document_that_a_report_shows_has_figures_and_claims_of_its_own():
    without = {
        name for name, kind in document_types().items() if "figures" not in vars(kind) and kind.question
    }
    assert without == set(), "a document with a `question` states its `figures`, too"
    silent = {name for name, kind in document_types().items() if "claims" not in vars(kind) and kind.question}
    assert silent == {"score", "play"}
