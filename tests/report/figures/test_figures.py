"""Every figure of a report: what it shows, its table and its notes."""

import json
import re
from pathlib import Path

import pytest

from tests.finished_runs import CORPUS, KINDS, ran, write_neural
from tests.made_runs import made_run
from turnwise.records import plain
from turnwise.report.claims import claims_of
from turnwise.report.figures.errors import run_labels
from turnwise.report.figures.tuning import tuning
from turnwise.report.report import figures, report
from turnwise.report.runs import Run, find_runs

pytestmark = pytest.mark.xdist_group("report")  # one process, so that the runs are made once

NEURAL = {"tuning", "iterations", "estimates"}  # what only trained estimators and policies have here


def test_every_kind_of_figure_is_made_with_its_notes(runs: Path):
    made = report([str(runs)])
    assert {figure.kind for figure in made.figures} == KINDS - NEURAL
    for figure in made.figures:
        notes = " ".join(figure.notes)
        assert "n = " in notes, figure.title
        assert "interval" in notes, figure.title
        assert "signature" in notes, figure.title
        assert figure.rows, figure.title
        assert all(len(row) == len(figure.head) for row in figure.rows), figure.title
        assert figure.svg or figure.exchanges


def test_five_metrics_along_a_dialogue_have_five_signatures(tmp_path: Path):
    metrics = ("rouge-l", "rouge-1", "chrf", "length", "question-rate")
    assert ran("score", CORPUS, "-m", ",".join(metrics), "--draws", "100", "-o", str(tmp_path)) == 0
    figure = next(f for f in report([str(tmp_path)]).figures if f.kind == "dialogue")
    drawn = [name for name in metrics if name in figure.head]
    assert len(drawn) > 3
    assert all(any(note.startswith(f"signature: {name}|") for note in figure.notes) for name in drawn)


def test_every_figure_of_a_metric_of_which_lower_is_better_says_so(tmp_path: Path):
    distance = "fbd[model=hashing,fewest=15]"
    asked = ("-m", f"rouge-l,{distance}", "--draws", "100")
    assert ran("score", CORPUS, *asked, "-o", str(tmp_path / "score")) == 0
    assert ran("meta", CORPUS, *asked, "--statistic", "spearman", "-o", str(tmp_path / "meta")) == 0
    assert ran("compare", CORPUS, *asked, "--agents", "good,dull", "-o", str(tmp_path / "compare")) == 0
    made = report([str(tmp_path)]).figures
    (scores,) = (f for f in made if f.kind == "scores" and f.title.startswith(distance))
    assert "the lowest number, which is the best" in scores.meaning
    assert "(lower is better)" in scores.svg
    estimates = [row[1] for row in scores.rows]
    assert estimates == sorted(estimates)
    (other,) = (f for f in made if f.kind == "scores" and f.title.startswith("rouge-l"))
    assert "lower" not in other.meaning
    map_ = next(f for f in made if f.kind == "agreement" and "system level" in f.title)
    (dots,) = (f for f in made if f.kind == "systems" and distance in f.title)
    (gaps,) = (f for f in made if f.kind == "differences")
    for figure in (map_, dots, gaps):
        assert f"Lower is better by {distance}" in figure.meaning, figure.title
    assert "Lower is better by rouge-l" not in gaps.meaning


def test_the_reward_of_a_policy_and_peoples_score_have_the_same_sign():
    record = {"metric": "ppl", "strategy": "rl: 1", "better": "lower", "signature": "ppl|v:1", "n_items": 9,
              "n_clusters": 9, "method": "", "interval": None, "status": "ok"}  # fmt: skip
    repetition = {"repetition": 0, "curves": {"reward": [-40.0, -20.0]}}
    run = _run("attack", [record], people={"score": 30.0}, repetitions=[repetition])
    (figure,) = tuning(run)
    assert "sign is turned" in figure.meaning
    ticks = [float(tick) for tick in re.findall(r'class="tick">(-?[\d.]+)</text>', figure.svg)]
    assert (
        max(ticks) <= 1
    )  # nothing above zero but the epochs: people stand at -30, between the epochs' rewards


def test_raters_alone_make_a_report(runs: Path):
    made = report([str(runs / "raters")])
    assert made.sections[0].title == "How far do people agree?"
    assert {figure.kind for figure in made.figures} == {"raters"}
    overall = made.figures[0]
    assert {"alpha-ordinal", "leave-one-out", "ceiling"} <= {row[0] for row in overall.rows}
    assert "3 raters" in " ".join(overall.notes)
    assert str(made.claims[0]).startswith("On overall one rater follows the others by 0.69")


def test_a_critic_ranks_systems_with_controls_and_a_fooled_one_is_reported(runs: Path):
    run = find_runs([str(runs / "critic")])[0]
    (worths,) = (f for f in figures(run) if f.kind == "worths")
    assert {row[1] for row in worths.rows} == {"system", "logged", "control"}
    ((name, critic),) = run.document.critics.items()
    (said,) = claims_of(run)
    assert ("Do not rank" in str(said)) == critic.fooled
    document = plain(run.document)
    fooled = {name: {**document["critics"][name], "fooled": True, "fooled_by": ["control:parrot"]}}
    (warned,) = claims_of(_run("ope", document["results"], critics=fooled))
    assert str(warned).startswith(f"Do not rank systems by {name}: it values control:parrot as")


def test_hardening_has_a_figure_of_its_rounds():
    def attack(gain: float) -> dict:
        return {"contexts": "talks", "people": 0.7, "best": "x", "description": "says x", "score": 0.7 + gain,
                "gain": gain, "gameable": gain > 0.1}  # fmt: skip

    rounds = [
        {"round": n, "metric": f"m{n}", "attacked": [attack(gain)]} for n, gain in enumerate((0.2, -0.1))
    ]
    last = {"metric": "m1", "estimate": 0.6, "gain": -0.1, "strategy": "x", "status": "ok"}
    run = _run("attack", [last], rounds=rounds, hardened="m1", summary="nothing found scores above people")
    assert [figure.kind for figure in figures(run)] == ["hardening"]
    assert [str(one) for one in claims_of(run)] == [
        "m1 was hardened in 2 rounds: nothing found scores above people."
    ]
    gamed = _run(
        "attack", [last], rounds=rounds, hardened="m1", summary="STILL GAMEABLE after the last round"
    )
    assert "GAMEABLE" in str(claims_of(gamed)[0])


def test_training_curves_are_drawn_with_the_truth(tmp_path: Path):
    pytest.importorskip("torch", reason="needs the extra `neural`")
    write_neural(tmp_path)
    made = report([str(tmp_path / "runs")]).figures
    assert {figure.kind for figure in made} >= NEURAL
    (estimate,) = (f for f in made if f.kind == "iterations" and ": estimate of" in f.title)
    assert "dashed line is the truth" in estimate.meaning
    assert estimate.svg.count('class="band') == 1
    (reward,) = (f for f in made if f.kind == "tuning" and f.title.startswith("reward"))
    assert {row[0] for row in reward.rows} == {1, 2}  # repetitions


def test_the_regression_plot_has_the_numbers_of_the_results(runs: Path):
    document = json.loads((runs / "ope-all" / "results.json").read_bytes())
    figure = next(f for f in report([str(runs / "ope-all")]).figures if f.kind == "regression")
    known = {row["target"]: (row["truth"], row["estimate"]) for row in document["results"]}
    assert {row[0]: (row[1], row[2]) for row in figure.rows} == known
    assert figure.svg.count("<circle") == len(known)
    assert figure.svg.count('class="band') == 1


def test_errors_of_several_runs_are_in_one_figure_and_labelled_by_their_settings(runs: Path):
    figures = [f for f in report([str(runs)]).figures if f.kind == "errors"]
    assert {row[0] for figure in figures for row in figure.rows} == {"fraction 1.0", "fraction 0.5"}
    (alone,) = (f for f in report([str(runs / "ope-half")]).figures if f.kind == "errors")
    assert {row[0] for row in alone.rows} == {"ope-half"}
    assert str(runs) not in alone.meaning + " ".join(alone.notes)


def test_runs_of_the_same_name_are_labelled_by_their_folders():
    runs = [made_run("ope", name=name) for name in ("/a/march/ope", "/a/april/ope")]
    assert list(run_labels(runs).values()) == ["march/ope", "april/ope"]


def test_the_scatter_plot_joins_scores_and_ratings(runs: Path):
    figure = next(f for f in report([str(runs / "meta")]).figures if f.kind == "scatter")
    people = [json.loads(line) for line in (runs / "meta" / "people.jsonl").read_text().splitlines()]
    rated = {(one["id"], one["people"]) for one in people}
    assert figure.rows
    assert all((row[0], row[2]) in rated for row in figure.rows)


def _run(command: str, results: list[dict], **more: object) -> Run:
    return made_run(command, *results, **more)
