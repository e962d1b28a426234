"""The tables of ten chat scores: refusals are counted, and each method of a case is kept on its own."""

import json
from pathlib import Path

import pytest

from papers import enigma_chat
from turnwise.worlds.chat.quality import DIMENSIONS


def row(score: str, estimator: str, pearson: float | None, answered: int, *, setting: str = "all") -> dict:
    figures = {"pearson": pearson, "spearman": pearson, "mae": 0.1, "coverage": 1.0, "half_width": 0.5}
    case = {"family": "failings", "seed": 21, "setting": setting, "score": score, "rating": score}
    counts = {"n_agents": answered, "refused": 12 - answered}
    return {**case, "spread": 2.0, "estimator": estimator, **figures, **counts}


def test_the_summary_counts_refused_agents_and_the_methods_stand_side_by_side() -> None:
    rows = [
        row("overall", "robust", 0.8, 12),
        row("sense", "robust", 0.6, 7),
        *(row("overall", method, 0.9, 12) for method in ("dice-linear", "features", "BLEU", "BERTScore")),
        row("overall", "robust", 0.7, 12, setting="50 %"),
        {**row("overall", "robust", 0.1, 12), "family": "mixed"},  # no other method was run on it
    ]
    shown = enigma_chat.tables(rows)
    both = "0.700, 0.600, 0.800"
    assert f"| all | failings | 1 | robust | 19 of 24 | {both} | {both} | 1.000 |" in shown
    assert "| 50 % | failings | 1 | robust | 12 of 12 |" in shown
    assert "| failings | 21 | overall | 0.800 | 0.900 | 0.900 | 0.900 | 0.900 |" in shown
    assert "| failings | 21 | sense | 0.600 (7 of 12) | - | - | - | - |" in shown
    assert "| mixed | 21 | overall | 0.1" not in shown.partition("## By score")[0]


def test_rows_of_a_second_method_are_added_and_those_that_are_there_are_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, more, page = tmp_path / "kept.json", tmp_path / "more.json", tmp_path / "page.md"
    kept.write_text(json.dumps([row("overall", "robust", 0.8, 12)]))
    more.write_text(json.dumps([row("overall", "features", 0.9, 12), row("overall", "robust", 0.1, 12)]))
    page.write_text("Text.\n<!-- tables -->\nold\n")
    monkeypatch.setattr(enigma_chat, "KEPT", kept)
    monkeypatch.setattr(enigma_chat, "PAGE", page)
    monkeypatch.setattr("sys.argv", ["enigma_chat.py", "add", str(more)])
    enigma_chat.main()
    found = {one["estimator"]: one["pearson"] for one in json.loads(kept.read_text())}
    assert found == {"robust": 0.8, "features": 0.9}
    assert "old" not in page.read_text()


def test_bleu_ranks_agents_by_their_distance_from_agents_without_faults(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(enigma_chat, "METRICS", {"BLEU": "bleu-4"})
    agents = enigma_chat.family("graded", agents=enigma_chat.AGENTS)
    flaws = {name: dict.fromkeys(DIMENSIONS, -float(number)) for number, name in enumerate(agents)}
    flaws = {name: {**means, "fluent": 4.6} for name, means in flaws.items()}
    found = {one["rating"]: one for one in enigma_chat.by_metrics("graded", 21, flaws)}
    assert found["overall"]["pearson"] > 0.9
    assert (found["overall"]["n_agents"], found["overall"]["refused"]) == (12, 0)
    assert found["fluent"]["pearson"] is None  # all true means are equal
