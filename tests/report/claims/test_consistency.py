"""Claims that contradict each other are found, and a report has none."""

from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import turnwise as tw
from tests.finished_runs import CORPUS
from turnwise.report.claims import Claim, Fact, claims, contradictions, reconciled
from turnwise.report.report import report
from turnwise.report.run_files import StoredFiles
from turnwise.report.runs import RunOf, find_runs


def above(first: str, second: str, direction: Any = 1, **more: Any) -> Fact:
    given = {"quantity": "rating:overall", **more}
    return Fact(subject=first, relation="above", object=second, direction=direction, **given)


def claim(*facts: Fact, run: str = "x", data: str = "d", verdict: str = "v") -> Claim:
    return Claim(kind="k", question="agents", verdict=verdict, facts=facts, run=run, data=data)


@pytest.mark.parametrize(
    ("one", "other", "contradict"),
    [
        (above("a", "b"), above("a", "b"), False),
        (above("a", "b"), above("a", "b", -1), True),
        (above("a", "b"), above("b", "a"), True),
        (above("a", "b"), above("b", "a", -1), False),
        (above("a", "b"), above("b", "a", 0), True),
        (above("a", "b"), above("a", "b", 0, family=21), False),
        (above("a", "b"), above("a", "b", 0, basis="estimated"), False),
        (above("a", "b"), above("a", "b", -1, basis="estimated"), True),
        (above("a", "b"), above("a", "b", -1, quantity="rating:fun"), False),
        (above("a", "b"), above("a", "b", -1, group="g"), False),
        (above("a", "b"), above("b", "c"), False),
    ],
)
def test_two_facts_contradict_each_other_if_both_cannot_hold(one: Fact, other: Fact, contradict: bool):
    assert bool(contradictions([claim(one), claim(other)])) == contradict
    assert bool(contradictions([claim(other), claim(one)])) == contradict


def test_a_metric_does_not_agree_and_rank_against_people_at_once():
    agrees = Fact(subject="m", relation="agrees", object="people", quantity="spearman", direction=1)
    found = contradictions([claim(agrees), claim(replace(agrees, direction=-1))])
    assert [tuple(fact.direction for fact in pair.facts) for pair in found] == [(1, -1)]


def test_claims_about_different_items_do_not_contradict_each_other():
    assert not contradictions([claim(above("a", "b")), claim(above("b", "a"), data="other items")])


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_three_agents_are_not_above_each_other_in_a_circle(order: tuple[int, ...]):
    made = [claim(above("a", "b")), claim(above("b", "c")), claim(above("c", "a"))]
    assert contradictions([made[at] for at in order])
    assert not contradictions([made[at] for at in order if at != 2])
    assert contradictions([claim(*(fact for one in made for fact in one.facts))])


def test_contested_claims_are_made_with_caution_and_name_each_other():
    first = claim(above("a", "b"), above("a", "c"), run="one", verdict="a is above b")
    second = claim(above("a", "b", -1), above("a", "c", -1), run="two", verdict="b is above a")
    third = claim(above("d", "e"), run="three")
    settled = reconciled([first, second, third])
    assert not contradictions(settled)
    assert [one.badge for one in settled] == ["caution", "caution", "yes"]
    assert settled[0].evidence == "contradicted elsewhere in this report (two): b is above a"
    assert settled[1].evidence == "contradicted elsewhere in this report (one): a is above b"
    assert settled[2] == third


@pytest.mark.xdist_group("report")
def test_the_claims_of_many_runs_on_one_corpus_do_not_contradict_each_other(runs: Path):
    found = find_runs([str(runs)])
    made = [one for run in found for one in claims([run])]
    assert len({one.kind for one in made}) > 5
    assert not contradictions(made)
    assert [one.verdict for one in report([str(runs)]).claims].count("") == 0


@pytest.mark.xdist_group("report")
def test_the_order_in_which_agents_are_named_changes_no_claim(runs: Path):
    (one,), (turned,) = (claims(find_runs([str(runs / name)])) for name in ("compare", "turned"))
    assert (one.verdict, one.number) == (turned.verdict, turned.number)
    assert not contradictions([one, turned])


@pytest.mark.xdist_group("report")
def test_a_claim_has_a_figure_of_its_section_with_its_number(runs: Path):
    checked = 0
    for section in report([str(runs)]).sections:
        for one in section.claims:
            if not (one.number and one.figure):
                continue
            here = [figure for figure in section.figures if figure.kind == one.figure]
            assert here, f"{one.kind} has no figure {one.figure}"
            tips = " ".join(figure.svg for figure in here) + " ".join(
                str(row) for figure in here for row in figure.rows
            )
            quoted = one.number.split("[")[0].split()[-1] if "[" in one.number else ""
            assert quoted in tips, f"{quoted} of `{one}` is in no {one.figure}"
            checked += bool(quoted)
    assert checked >= 6


@pytest.mark.xdist_group("report")
def test_a_report_with_several_agents_begins_with_its_leaderboard(runs: Path):
    made = report([str(runs)])
    assert made.sections[0].claims[0].kind == "leaderboard"
    assert made.figures[0].kind == "leaderboard"
    assert made.tiles[0].verdict == made.sections[0].claims[0].verdict
    assert made.figures[0].title == "the agents by rating:overall"


@pytest.mark.xdist_group("report")
def test_no_sentence_of_a_report_has_a_rounding_error_or_a_letter_for_an_agent(runs: Path):
    for one in report([str(runs)]).claims:
        assert "e-1" not in str(one)
        assert " A is " not in str(one)
        assert " B is " not in str(one)


def test_a_pair_and_all_pairs_of_one_corpus_agree():
    """What one comparison shows alone may not be shown among all, and a report may say both."""
    alone = tw.compare(CORPUS, metrics="rouge-l", agents=["good", "dull"], pair="meta.topic")
    every = tw.compare(CORPUS, metrics="rouge-l", pair="meta.topic")
    documents = {"alone": alone.document, "every": every.document}
    made = claims([RunOf(name, StoredFiles(Path(name)), document) for name, document in documents.items()])
    assert [one.kind for one in made][1] == "leaderboard"
    assert not any("contradicted" in one.evidence for one in made)
