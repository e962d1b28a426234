"""Notes under a table: why there is no result, and what was not scored."""

import json
from pathlib import Path
from typing import Any

from msgspec.structs import replace

import turnwise as tw
from turnwise.commands.calibrate import Calibration
from turnwise.commands.compare import pairing
from turnwise.commands.ope import Estimates, whole_scales
from turnwise.commands.score import coverage
from turnwise.errors import Refused
from turnwise.library.notes import item_notes, notes, thinned, verdict_notes
from turnwise.library.results import cells
from turnwise.meta.verdicts import with_verdicts
from turnwise.records import ChangeRecord, DifferenceRecord, EstimateDiagnostics, EstimateRecord, ScoreRecord


def finding(agent: str, **given: Any) -> ScoreRecord:
    return ScoreRecord(metric="rouge-l", agent=agent, **{"estimate": None, "status": "refused", **given})


def test_a_reason_is_told_where_items_were_not_scored_either() -> None:
    lost = {"no reference": 3}
    found = notes(
        [
            finding("a", reason="its ratings are of one cluster", unscored=lost),
            finding("b", reason="its ratings are of one cluster", unscored=lost),
            finding("c", estimate=1.0, status="ok", unscored=lost),
        ]
    )
    assert found == [
        "note: rouge-l: 9 items not scored: no reference",
        "note: rouge-l a and 1 more: refused: its ratings are of one cluster",
    ]


def test_a_reason_that_repeats_why_items_were_not_scored_is_told_once() -> None:
    lost = {"no reference": 3, "an empty reply; skipped": 1}
    same = "no reference (3 items); an empty reply; skipped (1 item)"
    repeated = finding("a", status="skipped", reason=same, only_unscored=True, unscored=lost)
    assert notes([repeated]) == [
        "note: rouge-l: 3 items not scored: no reference",
        "note: rouge-l: 1 item not scored: an empty reply; skipped",
    ]
    more = notes([finding("a", status="skipped", reason=f"mine.of_sums returned NaN; {same}", unscored=lost)])
    assert more[-1] == f"note: rouge-l a: skipped: mine.of_sums returned NaN; {same}"


def test_an_estimate_of_less_than_half_of_the_items_is_a_warning() -> None:
    lost = {"unlike the replies that the model was fitted to": 87}
    few = finding("a", estimate=1.0, status="ok", n_items=13, unscored=lost)
    said = "covers only 13 of 100 items; the others were not scored, and may differ from these"
    assert coverage(few) == f"warning: rouge-l of a {said}"
    of_group = replace(few, group="b")
    assert coverage(of_group) == f"warning: rouge-l in b of a {said}"
    assert coverage(finding("a", estimate=1.0, status="ok", n_items=87, unscored=lost)) is None
    assert not any(
        "covers" in line for line in notes([few])
    )  # counts of `meta` and `diff` are of other items


def test_items_left_out_of_a_change_are_those_of_a_run() -> None:
    change = ChangeRecord(metric="rouge-l", agent="a", estimate=1.0, n_items=13, thinned_b=7)
    (said,) = item_notes([change], limits=thinned)
    assert "7 items of the old run, chosen by a hash of names, left out" in said


def test_a_missing_interval_has_its_reason_in_a_note() -> None:
    found = notes(
        [
            finding("a", estimate=1.0, status="ok", unvarying=True),
            finding("b", estimate=1.0, status="ok", unvarying=True),
            finding("c", estimate=1.0, status="ok", interval=(0, 2)),
            finding("d", estimate=1.0, status="ok", method="none: fewer than 2 clusters"),
        ]
    )
    assert found == ["note: rouge-l of a, b: no interval, as the values do not vary"]


def test_reasons_that_differ_in_fractions_alone_are_one_line_with_their_ranges() -> None:
    def refused(agent: str, **fields: float) -> ScoreRecord:
        words = "their estimates correlate {correlation:.2f} with their means (p {p:.2f}); {n} agents"
        return ScoreRecord.refusal(Refused(words, "not-ranked", **fields), metric="rouge-l", agent=agent)

    pairs = {"a": (0.58, 0.15), "b": (-0.49, 0.80), "c": (0.10, 0.15)}
    found = notes([refused(agent, correlation=r, p=p, n=5) for agent, (r, p) in pairs.items()])
    assert found == [
        "note: rouge-l a and 2 more: refused: their estimates correlate -0.49 to 0.58 with their means "
        "(p 0.15 to 0.80); 5 agents"
    ]
    assert len(notes([refused("a", correlation=0.58, p=0.15, n=n) for n in (4, 5)])) == 2


def test_estimates_of_ope_have_a_column_even_if_there_are_none() -> None:
    refused, columns = [{"estimate": None, "raw": 3.1}], ("estimate", "interval", "raw")
    assert cells(refused, columns, Estimates.layout)[0] == ["estimate", "raw"]
    assert cells(refused, columns, Calibration.layout)[0] == ["raw"]


def test_intervals_that_are_the_whole_scale_have_a_note() -> None:
    record = EstimateRecord(
        target="a", rating="overall", estimator="robust", estimate=1.0, refused=False,
        diagnostics=EstimateDiagnostics(whole_scale=True),
    )  # fmt: skip
    narrow = replace(record, diagnostics=EstimateDiagnostics())
    (said,) = whole_scales([record, replace(record, target="b"), narrow])
    assert said.startswith("note: a overall robust and 1 more: the interval is the whole scale")
    assert whole_scales([narrow]) == []


def test_a_null_result_says_what_it_excludes_and_what_more_data_would_show():
    (record,) = with_verdicts(
        [
            DifferenceRecord(
                estimate=0.1, interval=(-0.2, 0.4), p=0.5, standard_error=0.1530, degrees=1e6, metric="rating:overall",
                agent_a="old", agent_b="new", points=4.0,
            )
        ]
    )  # fmt: skip
    (said,) = verdict_notes([record])
    # 1.960 + .842 standard errors are found in 4 of 5 studies; four times the ratings halve them: .214.
    assert said == (
        "note: rating:overall: old and new, at most 0.400 of 4 points apart; four times as many ratings would show "
        "0.214 in 4 of 5 studies"
    )
    (by_metric,) = verdict_notes(with_verdicts([replace(record, metric="rouge-l", points=1.0)]))
    assert "at most 0.400 apart; four times as many runs" in by_metric


def test_where_nothing_is_excluded_no_impossible_difference_is_told():
    record = DifferenceRecord(
        estimate=0.5, interval=(-7.0, 8.0), p=0.8, standard_error=1.7, degrees=2.0, metric="rating:overall",
        agent_a="old", agent_b="new", points=4.0,
    )  # fmt: skip
    (said,) = verdict_notes(with_verdicts([record]))
    # 4.303 + 1.061 standard errors, halved, are 4.56 of 4 points.
    assert said == "note: rating:overall: old and new, no difference is excluded"
    (less,) = verdict_notes(with_verdicts([replace(record, standard_error=1.3)]))
    assert less.endswith(
        "no difference is excluded; four times as many ratings would show 3.486 in 4 of 5 studies"
    )


def test_comparisons_without_pairs_are_one_line_for_each_metric():
    def pair(a: str, b: str, pairs: int | None = None) -> DifferenceRecord:
        return DifferenceRecord(
            estimate=0.1, metric="length", agent_a=a, agent_b=b, sampling="unpaired",
            better_pair_key=None if pairs is None else "meta.item", better_pair_key_pairs=pairs,
        )  # fmt: skip

    plain, keyed = pairing([pair("a", "b"), pair("a", "c"), pair("b", "c", 4), pair("a", "d", 9)])
    assert "of the items of a and b, or of a and c have a partner with the same context" in plain
    assert keyed.endswith("independent samples; --pair meta.item makes 4 to 9 pairs")


def test_of_many_pairs_the_widest_is_told_and_a_verdict_at_the_edge_is_named():
    def pair(other: str, high: float, p: float) -> DifferenceRecord:
        return DifferenceRecord(
            estimate=high / 2, interval=(-high, high), p=p, standard_error=high / 2, degrees=20.0, metric="m",
            agent_a="a", agent_b=other, leads="a is higher", leader="a",
        )  # fmt: skip

    null, edge = verdict_notes(
        with_verdicts([pair("b", 0.3, 0.6), pair("c", 0.9, 0.7), pair("d", 0.1, 0.016)])
    )
    assert "2 pairs without a difference that was shown, of which the widest is a and c" in null
    assert edge.endswith("may turn the verdict: a and d (p .048)")


def test_ratings_that_the_rating_app_set_apart_are_told_with_the_reason(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello there"}]
    ratings = [{"dimension": "overall", "value": 4, "rater": "ann"}]
    apart = [{"dimension": "overall", "value": 1, "rater": "ben", "reason": "failed an attention check"}] * 2
    log = tmp_path / "log.jsonl"
    lines = [
        {"id": f"{agent}{n}", "agent": agent, "messages": said, "ratings": ratings, "ratings_apart": apart}
        for agent in "ab"
        for n in range(3)
    ]
    log.write_text("\n".join(map(json.dumps, lines)))
    told = "note: set apart and not used: 12 ratings (failed an attention check 12)"
    assert told in tw.compare(log, metrics="rating:overall").notes()
    assert told in tw.score(log, metrics="rating:overall").notes()
