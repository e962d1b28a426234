"""What changed between two runs of an agent: pairs by item, texts of the items, and what cannot be compared."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import turnwise as tw
from tests.finished_runs import CORPUS
from turnwise.cli.common.group import run
from turnwise.errors import UsageError
from turnwise.logs import native
from turnwise.report.report import report
from turnwise.report.schema import published
from turnwise.types import Dialogue, Rating, Turn

N = 20  # dialogues


def dialogue(k: int, words: Sequence[int], *, agent: str = "bot", name: str | None = None) -> Dialogue:
    """A dialogue whose replies have these numbers of words; the later contexts hold the earlier replies."""
    turns = []
    for place, count in enumerate(words):
        turns += [Turn("user", f"question {place} of {k}"), Turn("assistant", " ".join(["word"] * count))]
    return Dialogue(name or f"d{k}", agent, tuple(turns))


def words(k: int, longer: int = 0) -> list[int]:
    return [3 + (k * 7) % 5 + longer * (k % 3 > 0), 4 + (k * 3) % 4 - longer * (k % 4 == 0)]


Score = Callable[..., str]


@pytest.fixture
def score(tmp_path: Path) -> Score:
    """Scores dialogues under a name and returns the folder of the run."""

    def scored(name: str, talks: Sequence[Dialogue], *, metrics: str = "length", **more: object) -> str:
        data = tmp_path / f"{name}.jsonl"
        native.write(talks, str(data))
        tw.score(data, metrics=metrics, output=tmp_path / name, figures=False, **more)
        return str(tmp_path / name)

    return scored


@pytest.fixture
def runs(score: Score) -> tuple[str, str]:
    old = score("old", [dialogue(k, words(k)) for k in range(N)])
    return old, score("new", [dialogue(k, words(k, 2)) for k in range(N)])


def test_items_are_paired_by_id_although_later_contexts_differ(runs: tuple[str, str]):
    (found,) = tw.diff(*runs)
    change = [2 * (k % 3 > 0) for k in range(N)] + [-2 * (k % 4 == 0) for k in range(N)]
    assert found["estimate"] == pytest.approx(np.mean(change))
    assert (found["n_items"], found["n_clusters"]) == (2 * N, N)
    assert (found["rose"], found["fell"]) == (sum(c > 0 for c in change), sum(c < 0 for c in change))
    assert (found["only_old"], found["only_new"], found["paired_by"]) == (0, 0, "id")
    assert found["new"] - found["old"] == pytest.approx(found["estimate"])
    assert found["verdict"] == "rose"
    (by_context,) = tw.compare([runs[1], runs[0]])
    assert by_context["n_items"] < 2 * N


def test_the_change_is_the_comparison_of_the_new_run_with_the_old_one(score: Score):
    old = score("old", [dialogue(k, words(k)[:1]) for k in range(N)])
    new = score("new", [dialogue(k, words(k, 2)[:1]) for k in range(N)])
    (change,), (comparison,) = tw.diff(old, new), tw.compare([new, old])
    for key in (
        "estimate",
        "effect_size",
        "minimum_detectable_difference",
        "n_items",
        "n_clusters",
        "method",
    ):
        assert change[key] == pytest.approx(comparison[key]), key
    assert change["p"] == pytest.approx(comparison["p"])
    assert change["interval"] == pytest.approx(comparison["interval"])
    assert (change["new"], change["old"]) == (comparison["a"], comparison["b"])


@pytest.mark.parametrize("metric", ["length", "distinct-2"])
def test_a_run_that_has_not_changed_passes_a_gate_on_the_change(
    score: Score, metric: str, capsys: pytest.CaptureFixture[str]
):
    talks = [dialogue(k, words(k)) for k in range(N)]
    old, new = score("old", talks, metrics=metric), score("new", talks[1:], metrics=metric)
    (found,) = tw.diff(old, new)
    assert (found["estimate"], found["interval"], found["p"], found["verdict"]) == (0, (0, 0), 1, "the same")
    assert not found.get("flips")
    assert run(["diff", old, new, "--gate", f"{metric} >= -0.1"]) == 0
    assert run(["diff", old, new, "--gate", f"{metric} > 0"]) == 1


def test_a_change_that_cancels_out_is_not_called_the_same(score: Score):
    old = score("old", [dialogue(k, [3, 5]) for k in range(N)])
    (found,) = tw.diff(old, score("new", [dialogue(k, [5, 3]) for k in range(N)]))
    assert (found["estimate"], found["rose"], found["fell"], found["verdict"]) == (0, N, N, "not shown")


def test_records_that_were_numbered_in_another_order_are_paired_by_context(score: Score):
    old = score("old", [dialogue(k, words(k)[:1], name=f"{k}") for k in range(N)])
    new = score("new", [dialogue(k, words(k)[:1], name=f"{N - 1 - k}") for k in range(N)])
    found = tw.diff(old, new)
    assert found.records()[0]["paired_by"] == "context"
    assert found.records()[0]["estimate"] == 0
    assert found.records()[0]["rose"] == 0
    assert "paired by their contexts" in str(found)


def test_the_items_that_changed_most_have_both_replies_and_the_context(runs: tuple[str, str]):
    flips = tw.diff(*runs).flips
    assert flips[0]["change"] == 2
    assert flips[-1]["change"] == -2
    first = flips[0]
    k, turn = int(first["id_new"][1:].split("#")[0]), int(first["id_new"].split("#")[1])
    assert first["context"] == f"question {turn // 2} of {k}"
    assert len(first["reply_new"].split()) == first["new"]
    assert len(first["reply_old"].split()) == first["old"]


def test_unrated_turns_of_a_run_over_all_turns_are_quoted(score: Score):
    def talks(longer: int) -> list[Dialogue]:
        made = [dialogue(k, words(k, longer)) for k in range(N)]
        return [replace(one, ratings=(Rating(f"{one.id}#1", "overall", 3.0, turn=1),)) for one in made]

    found = tw.diff(*(score(name, talks(longer), items="all") for name, longer in (("old", 0), ("new", 2))))
    assert {flip["id_new"].split("#")[1] for flip in found.flips} == {"1", "3"}
    assert all(flip["reply_old"] and flip["reply_new"] for flip in found.flips)


def test_a_file_that_has_changed_since_is_not_quoted(runs: tuple[str, str]):
    Path(f"{runs[0]}.jsonl").write_text('{"messages": []}\n')
    found = tw.diff(*runs)
    assert all(flip["reply_old"] is None and flip["reply_new"] for flip in found.flips)
    assert "note: no texts of the old run" in str(found)
    Path(f"{runs[1]}.jsonl").unlink()
    found = tw.diff(*runs)
    assert all(flip["reply_new"] is None for flip in found.flips)
    assert f"note: no texts of the new run: {runs[1]}.jsonl is not here" in found.notes()


def test_items_of_one_run_only_are_counted_and_left_out(score: Score):
    old = score("old", [dialogue(k, words(k)) for k in range(N)], metrics="length,distinct-2")
    new = score(
        "new", [dialogue(k, [1, 1] if k == 4 else words(k)) for k in range(3, N)], metrics="length,distinct-2"
    )
    found = tw.diff(old, new)
    length, distinct = found
    assert (length["only_old"], length["only_new"], length["n_items"]) == (6, 0, 2 * (N - 3))
    assert (distinct["only_old"], distinct["only_new"]) == (6, 0)  # what has no score is still in both runs
    assert sum(distinct["unscored"].values()) == 2
    assert (length["left_out_old"], length["left_out_new"]) == (6, 0)
    # The two replies of one word have no pair of words in the new run, so that their partners are left out, too.
    assert (distinct["left_out_old"], distinct["left_out_new"]) == (8, 0)
    why = "items of bot left out, as the other run does not have them or could not score them"
    assert [note for note in found.notes() if "left out" in note] == [
        f"note: length: {why}: 6 of the old run and 0 of the new one",
        f"note: distinct-2: {why}: 8 of the old run and 0 of the new one",
    ]


def test_runs_with_few_items_in_common_are_independent_samples(score: Score):
    old = score("old", [dialogue(k, words(k)) for k in range(N)])
    new = score("new", [dialogue(k, words(k)) for k in range(N - 4, 2 * N)])
    (found,) = tw.diff(old, new)
    assert "independent samples" in found["method"]
    assert (found["only_old"], found["only_new"]) == (2 * (N - 4), 2 * N)
    assert (found["left_out_old"], found["left_out_new"]) == (0, 0)
    notes = tw.diff(old, new).notes()
    assert not any("left out" in note for note in notes)
    assert any("compared as independent samples of all items" in note for note in notes)


@pytest.mark.parametrize("metric", ["length", "distinct-2"])
def test_the_change_back_is_the_mirror_of_the_change(score: Score, metric: str):
    old = score("old", [dialogue(k, words(k)) for k in range(N)], metrics=metric)
    new = score("new", [dialogue(k, words(k, 2)) for k in range(N)], metrics=metric)
    (forth,), (back,) = tw.diff(old, new), tw.diff(new, old, seed=5)
    assert forth["estimate"] == -back["estimate"] != 0
    assert tuple(forth["interval"]) == tuple(-end for end in back["interval"][::-1])
    assert (forth["p"], forth.get("rose")) == (back["p"], back.get("fell"))
    assert {forth["verdict"], back["verdict"]} <= {"rose", "fell", "not shown"}


def test_a_margin_and_a_gate_on_it_say_that_the_new_run_is_no_worse(
    score: Score, capsys: pytest.CaptureFixture[str]
):
    old = score("old", [dialogue(k, words(k)) for k in range(N)])
    new = score("new", [dialogue(k, [count + (-1) ** k for count in words(k)]) for k in range(N)])
    (found,) = tw.diff(old, new, margin=3.0, higher_is_better="length")
    assert (found["verdict"], found["equivalent"], found["no_worse"]) == ("equal within 3", True, True)
    assert (
        run(["diff", old, new, "--margin", "3", "--higher-is-better", "length", "--gate", "length no-worse"])
        == 0
    )
    assert run(["diff", old, new, "--gate", "length equal 3"]) == 0
    assert run(["diff", old, new, "--gate", "length equal 0.01"]) == 1
    assert run(["diff", old, new, "--gate", "length no-worse 3"]) == 1
    assert "nothing says which end of this metric is good" in capsys.readouterr().err


def test_a_metric_that_depends_on_the_amount_of_text_is_compared_on_equally_many_items(score: Score):
    old = score("old", [dialogue(k, words(k), name=f"o{k}") for k in range(30)], metrics="distinct-2")
    new = score("new", [dialogue(k + 100, words(k), name=f"n{k}") for k in range(12)], metrics="distinct-2")
    found = tw.diff(old, new, figures=False)
    assert found.records()[0]["n_items"] == 48
    assert any(
        "36 items of the old run, chosen by a hash of names, left out" in note for note in found.notes()
    )


def test_a_metric_that_was_not_measured_alike_is_refused_and_the_others_are_compared(score: Score):
    metrics = "length,specificity"
    old = score("old", [dialogue(k, words(k)) for k in range(N)], metrics=metrics)
    new = score("new", [dialogue(k, words(k, 2)) for k in range(N)], metrics=metrics)
    found = tw.diff(old, new)
    length, specificity = found
    assert length["estimate"] is not None
    assert (specificity["estimate"], specificity["status"], specificity["verdict"]) == (
        None,
        "refused",
        "refused",
    )
    assert "not measured alike: specificity|" in specificity["reason"]
    assert found.exit_code == 0
    alone = tw.diff(old, new, metrics="specificity")
    assert alone.exit_code == 4


def test_signatures_may_be_ignored_by_force(score: Score, tmp_path: Path):
    old = score("old", [dialogue(k, words(k)) for k in range(N)])
    new = score("new", [dialogue(k, words(k, 2)) for k in range(N)])
    parts = json.loads((Path(old) / "rows.json").read_text())
    parts["length"]["signature"] = "length|unit:words|v:0"
    (Path(old) / "rows.json").write_text(json.dumps(parts))
    assert tw.diff(old, new).records()[0]["status"] == "refused"
    assert tw.diff(old, new, force=True).records()[0]["estimate"] > 0


def test_metrics_of_one_run_only_are_named(score: Score):
    talks = [dialogue(k, words(k)) for k in range(N)]
    found = tw.diff(score("old", talks, metrics="length,distinct-1"), score("new", talks, metrics="length"))
    assert [record["metric"] for record in found] == ["length"]
    assert "note: only the old run has distinct-1" in found.notes()


def test_one_agent_may_have_another_name_in_each_run(score: Score):
    old = score("old", [dialogue(k, words(k), agent="bot-1") for k in range(N)])
    new = score("new", [dialogue(k, words(k, 2), agent="bot-2") for k in range(N)])
    (found,) = tw.diff(old, new)
    assert (found["agent_old"], found["agent"], found["n_items"]) == ("bot-1", "bot-2", 2 * N)


def test_of_several_agents_each_is_compared_with_itself(score: Score):
    agents = ("good", "poor")
    talks = {
        longer: [
            dialogue(k, words(k, longer), agent=one, name=f"{one}{k}") for one in agents for k in range(N)
        ]
        for longer in (0, 2)
    }
    old, new = score("old", talks[0]), score("new", talks[2])
    assert [record["agent"] for record in tw.diff(old, new)] == ["good", "poor"]
    assert [record["agent"] for record in tw.diff(old, new, agents="poor")] == ["poor"]
    with pytest.raises(UsageError, match="has no agent `best`; it has good, poor"):
        tw.diff(old, new, agents="best")
    other = score(
        "other", [dialogue(k, words(k), agent=one, name=f"{one}{k}") for one in "ab" for k in range(N)]
    )
    with pytest.raises(UsageError, match="no agent in common"):
        tw.diff(old, other)


def test_groups_are_compared_each(score: Score):
    talks = {
        longer: [
            Dialogue(one.id, one.agent, one.turns, meta={"topic": "ab"[k % 2]})
            for k in range(N)
            for one in (dialogue(k, words(k, longer)),)
        ]
        for longer in (0, 2)
    }
    found = tw.diff(score("old", talks[0], by="meta.topic"), score("new", talks[2], by="meta.topic"))
    assert [(record["group"], record["n_items"]) for record in found] == [("a", N), ("b", N)]


def test_folders_of_compare_are_runs_too(tmp_path: Path):
    folders = []
    for name, longer in (("old", 0), ("new", 2)):
        talks = [
            dialogue(k, words(k, longer if agent == "bot" else 0)[:1], agent=agent, name=f"{agent}{k}")
            for agent in ("bot", "human")
            for k in range(N)
        ]
        native.write(talks, str(tmp_path / f"{name}.jsonl"))
        folders.append(tmp_path / name)
        tw.compare(tmp_path / f"{name}.jsonl", metrics="length", output=folders[-1], figures=False)
    bot, human = tw.diff(*folders)
    assert (bot["agent"], bot["verdict"]) == ("bot", "rose")
    assert (human["agent"], human["estimate"]) == ("human", 0)


def test_folders_that_are_no_runs_are_refused(runs: tuple[str, str], tmp_path: Path):
    with pytest.raises(UsageError, match="is no folder"):
        tw.diff(runs[0], tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="is not a finished run"):
        tw.diff(runs[0], tmp_path / "empty")
    with pytest.raises(UsageError, match="has no rows of `rouge-l`; it has length"):
        tw.diff(*runs, metrics="rouge-l")


def test_a_run_of_another_command_is_named(runs: tuple[str, str], tmp_path: Path):
    power = tmp_path / "power"
    tw.power(CORPUS, metrics="rating:overall", difference=0.3, pair="meta.topic", output=power)
    said = r"power is a run of `turnwise power`, .*; expected the folder of a run of `turnwise score -o` or"
    with pytest.raises(UsageError, match=said):
        tw.diff(runs[0], power)
    with pytest.raises(UsageError, match=said):
        tw.export_scores(power, output=tmp_path / "scores.csv")


def test_the_command_prints_changes_and_items_and_applies_gates(
    runs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    junit = tmp_path / "gates.xml"
    code = run(["diff", *runs, "--gate", "length >= 0", "--junit", str(junit), "-o", str(tmp_path / "out")])
    shown = capsys.readouterr()
    assert code == 0
    assert "items that changed most by length (13 rose and 5 fell of 40):" in shown.out
    assert "(+2.000)" in shown.out
    assert "(-2.000)" in shown.out
    assert "  old:     word" in shown.out
    assert "pass  length >= 0  (bot, system)" in shown.err
    assert "<testcase" in junit.read_text()
    assert run(["diff", *runs, "--gate", "length >= 1.5"]) == 1
    document = json.loads((tmp_path / "out" / "results.json").read_text())
    jsonschema.validate(document, json.loads(published()))
    assert [Path(one["path"]).name for one in document["origin"]["inputs"]] == ["old", "new"]


def test_a_report_has_a_section_on_the_changes(runs: tuple[str, str], tmp_path: Path):
    found = tw.diff(*runs, output=tmp_path / "out")
    (section,) = report([str(tmp_path / "out")]).sections
    assert section.title == "What changed between two runs?"
    assert [figure.kind for figure in section.figures] == ["differences", "flips"]
    assert [figure.kind for figure in found.figures()] == ["differences", "flips"]
    assert section.figures[0].title == "bot, the new run minus bot, the old run"
