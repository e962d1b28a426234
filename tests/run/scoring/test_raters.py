"""The raters alone: the same items, clusters and selection as beside a metric."""

import json
from pathlib import Path

import pytest

from tests.corpus import corpus, write
from turnwise.cli.common.group import run
from turnwise.errors import UsageError
from turnwise.run.scoring.raters import with_direction
from turnwise.types import Rating


@pytest.fixture
def records(tmp_path: Path) -> list[dict]:
    return [json.loads(line) for line in corpus(tmp_path / "a.jsonl", 20).read_text().splitlines()]


@pytest.fixture
def asked(capsys, tmp_path, records):
    """(options) -> the document of `meta`, of the records as they are by then."""

    def meta(*options: str) -> dict:
        data = str(write(tmp_path / "logs.jsonl", records))
        assert run(["meta", data, "--format", "json", *options]) == 0
        return json.loads(capsys.readouterr().out)

    return meta


def counts(document: dict, **what: str) -> tuple[int, int]:
    rows = [row for row in document["results"] if what.items() <= row.items()]
    assert len({(row["n_items"], row["n_clusters"]) for row in rows}) == 1
    return rows[0]["n_items"], rows[0]["n_clusters"]


def test_replies_to_one_context_are_one_cluster(asked, records):
    for record in records:  # one rated reply a record, the same question for three agents
        record["messages"] = record["messages"][:2]
        record["messages"][0]["content"] = f"question {record['meta']['number']}"
        record["ratings"] = [rating for rating in record["ratings"] if rating["turn"] == 1]
    assert counts(asked()) == counts(asked("-m", "length", "--level", "turn")) == (60, 20)


def test_the_raters_of_published_replies_are_clustered_by_context(capsys, corpora):
    data = str(corpora / "usr_persona.jsonl")
    assert run(["meta", data, "--dimension", "overall", "--format", "json", "-q"]) == 0
    assert counts(json.loads(capsys.readouterr().out)) == (300, 60)


def test_the_wider_cluster_makes_the_wider_interval(asked, records):
    def width(document: dict) -> float:
        row = next(row for row in document["results"] if row["statistic"] == "alpha-interval")
        return row["interval"][1] - row["interval"][0]

    for record in records:  # what is shared in a block makes the blocks differ, and not the dialogues in them
        record["meta"]["block"] = record["meta"]["number"] // 5
        for rating in record["ratings"]:
            rating["value"] = min(5, 1 + record["meta"]["block"] + (rating["rater"] == "ann"))
    assert width(asked("--cluster", "meta.block")) > 1.5 * width(asked())
    assert counts(asked("--cluster", "meta.block")) == (120, 4)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--limit", "6"], (12, 6)),
        (["--where", "agent=good"], (40, 20)),
        (["--items", "last"], (60, 60)),  # contexts differ
        (["--items", "last", "--limit", "3"], (3, 3)),
    ],
)
def test_the_selection_holds_for_raters_too(asked, options, expected):
    assert counts(asked(*options)) == expected


def test_each_group_has_its_own_agreement(asked):
    document = asked("--by", "agent")
    assert [counts(document, group=name) for name in ("good", "fair", "poor")] == [(40, 20)] * 3


def test_dialogue_ratings_and_turn_ratings_are_both_answered(asked, records):
    for record in records:
        record["ratings"] += [
            {"dimension": "overall", "value": v, "rater": r} for v, r in [(1, "ann"), (2, "ben")]
        ]
    document = asked()
    assert counts(document, level="turn") == (120, 60)
    assert counts(document, level="dialogue") == (60, 60)
    assert {row["level"] for row in asked("--level", "dialogue")["results"]} == {"dialogue"}


@pytest.mark.parametrize("metric", [[], ["-m", "length"]])
def test_screening_looks_at_the_kept_conversations_only(asked, records, metric):
    for record in records[30:]:
        for rating in record["ratings"]:
            if rating["rater"] == "cho":  # contrary in the second half
                rating["value"] = 6 - rating["value"]
    everywhere = {row["rater"]: row for row in asked("--screen", *metric)["raters"]}
    chosen = {row["rater"]: row for row in asked("--screen", "--limit", "30", *metric)["raters"]}
    assert (everywhere["cho"]["ratings"], everywhere["cho"]["dropped"]) == (120, True)
    assert (chosen["cho"]["ratings"], chosen["cho"]["dropped"]) == (60, False)


def test_where_every_rater_fails_the_check_it_is_said(capsys, tmp_path, records):
    for record in records:
        check = {"dimension": "overall", "value": 1, "expected": 5, "turn": 1}
        record["ratings"] += [{**check, "rater": name} for name in ("ann", "ben", "cho")]
    assert run(["meta", str(write(tmp_path / "checks.jsonl", records)), "--screen"]) == 3
    captured = capsys.readouterr()
    assert "--screen set every rating apart" in captured.err
    assert "attention checks" in captured.out


def test_turning_a_dimension_leaves_the_others():
    ratings = [Rating("a", "rude", 1.0), Rating("a", "kind", 5.0)]
    assert [rating.direction for rating in with_direction(ratings, ["rude"])] == ["lower", "higher"]
    assert with_direction(ratings, ()) == ratings
    with pytest.raises(UsageError, match=r"`rued`; there are rude, kind"):
        with_direction(ratings, ["rued"])
