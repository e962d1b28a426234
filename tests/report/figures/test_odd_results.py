"""Figures of results in which something is missing: drawn without it, or left out."""

from pathlib import Path
from typing import Any

import msgspec

from tests.made_runs import made_run
from turnwise.report.figures.agreements import agreements
from turnwise.report.figures.heatmap import heatmaps
from turnwise.report.figures.pairs import pairs
from turnwise.report.figures.scatter import PEOPLE, scatters
from turnwise.report.figures.transcripts import disagreements

RECORD: dict[str, Any] = {
    "metric": "length", "dimension": "overall", "group": None, "level": "turn", "statistic": "kendall", "estimate": 0.5,
    "interval": None, "signature": "length", "n_items": 4, "n_clusters": 4, "better": "higher",
}  # fmt: skip


def written(folder: Path, name: str, *lines: Any) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"\n".join(map(msgspec.json.encode, lines)))


def test_a_scatter_plot_takes_a_statistic_of_the_dimension_that_it_shows(tmp_path: Path) -> None:
    """Only the second dimension has the preferred statistic."""
    records = [RECORD, {**RECORD, "dimension": "rude", "statistic": "spearman"}]
    written(tmp_path, PEOPLE, *(
        {"id": f"{k}", "dimension": "overall", "level": "turn", "group": "", "people": float(k)} for k in range(4)
    ))  # fmt: skip
    written(tmp_path, "items.jsonl", *(
        {"id": f"{k}", "agent": "a", "group": "", "scores": {"length": k / 2}} for k in range(4)
    ))  # fmt: skip
    (figure,) = scatters(made_run("meta", *records, name=str(tmp_path)))
    assert figure.title == "length against people: overall, a dot a turn"
    assert "kendall" in figure.meaning
    assert len(figure.rows) == 4


def test_agents_without_a_mean_rating_or_a_score_have_no_dot(tmp_path: Path) -> None:
    systems = [
        {"agent": "a", "people": 1.0, "metric": 2.0},
        {"agent": "b", "people": None, "metric": 2.0},
        {"agent": "c", "people": 3.0, "metric": None},
        {"agent": "d", "people": 4.0, "metric": 1.0},
    ]
    record = {**RECORD, "level": "system", "systems": systems}
    (figure,) = scatters(made_run("meta", record, name=str(tmp_path)))
    assert [row[0] for row in figure.rows] == ["d", "a"]


def test_a_target_without_pairs_has_no_figure(tmp_path: Path) -> None:
    one = {"logged": [[0.1, 0.2], [0.3, 0.1]], "target": [[0.2, 0.2], [0.1, 0.0]], "variance": [0.5, 0.1]}
    nothing: dict[str, Any] = {"logged": [], "target": [], "variance": []}
    found = {"model": "hashing", "seed": 0, "targets": {"silent": nothing, "new": one}}
    written(tmp_path, "overall/pairs.json", found)
    (figure,) = pairs(made_run("ope", name=str(tmp_path)))
    assert "what new says there" in figure.title


def test_unscored_items_are_not_added_up_over_statistics_and_levels(tmp_path: Path) -> None:
    """chrf left 60 items unscored; the caption said 480, the sum over 4 statistics and 2 levels."""
    records = [
        {**RECORD, "statistic": statistic, "level": level, "p": 0.5, "unscored": {"no reference": 60}}
        for statistic in ("pearson", "spearman", "kendall", "pairwise")
        for level in ("turn", "system")
    ]
    example = {"metric": "length", "dimension": "overall", "group": None, "context": "Hi.", "agent": "a",
               "reply": "Ho.", "score": 1.0, "people": 2.0, "id": "1#1"}  # fmt: skip
    written(tmp_path, "examples.jsonl", example)
    (figure,) = disagreements(made_run("meta", *records, name=str(tmp_path)))
    assert figure.notes[0] == "n = 4 items in 4 clusters; 60 not scored"
    all_scored = {**RECORD, "metric": "other", "statistic": "spearman", "p": 0.5, "unscored": {}}
    (turns, _) = agreements(made_run("meta", *records, all_scored, name=str(tmp_path)))
    assert turns.notes[0] == "n = 4 items in 4 clusters; 0 to 60 not scored"


def test_a_heat_map_names_raters_that_are_no_people(tmp_path: Path) -> None:
    records = [{**RECORD, "statistic": "spearman", "p": 0.5, "dimension": name} for name in ("score", "rude")]
    by = {"automatic_raters": {"rating:score": ["gpt-4"]}, "name": str(tmp_path)}
    (figure,) = agreements(made_run("meta", *records[:1], **by))
    assert figure.title == "agreement with gpt-4 (spearman on score, turn level)"
    assert not list(heatmaps(made_run("meta", *records[:1], **by)))
    (both,) = heatmaps(made_run("meta", *records, **by))
    assert both.title == "agreement with raters, turn level (spearman)"


def test_figures_of_a_metric_that_learned_from_the_items_say_so(tmp_path: Path) -> None:
    learned = {**RECORD, "metric": "turnwise", "statistic": "spearman", "p": 0.5, "in_training": "3 of 4"}
    other = {**RECORD, "statistic": "spearman", "p": 0.5}
    warning = (
        "turnwise learned from 3 of 4 items here: its agreement with people says nothing about new ones."
    )
    (figure,) = agreements(made_run("meta", learned, other, name=str(tmp_path)))
    assert figure.meaning.endswith(warning)
    written(tmp_path, PEOPLE, *(
        {"id": f"{k}", "dimension": "overall", "level": "turn", "group": "", "people": float(k)} for k in range(4)
    ))  # fmt: skip
    written(tmp_path, "items.jsonl", *(
        {"id": f"{k}", "agent": "a", "group": "", "scores": {"length": k / 2, "turnwise": k / 4}} for k in range(4)
    ))  # fmt: skip
    of_learned, of_other = scatters(made_run("meta", learned, other, name=str(tmp_path)))
    assert of_learned.meaning.endswith(warning)
    assert "learned" not in of_other.meaning
