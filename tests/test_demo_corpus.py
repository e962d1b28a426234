"""The corpus that ships with the package is valid, balanced, and marked as made up."""

from collections import Counter
from importlib import resources

import numpy as np
import pytest

from turnwise.logs.native import problems, read
from turnwise.ratings.aggregate import aggregate
from turnwise.ratings.matrix import rating_matrix
from turnwise.stats.agreement import krippendorff_alpha
from turnwise.types import Dialogue, Rating

DEMO = str(resources.files("turnwise") / "data" / "demo.jsonl")
AGENTS = ("good", "dull", "rude", "broken")


@pytest.fixture(scope="module")
def demo() -> list[Dialogue]:
    return list(read(DEMO))


@pytest.fixture(scope="module")
def ratings(demo: list[Dialogue]) -> list[Rating]:
    return [rating for dialogue in demo for rating in dialogue.ratings]


def test_the_demo_corpus_is_valid() -> None:
    assert list(problems(DEMO)) == []


def test_every_topic_is_answered_once_by_each_agent(demo: list[Dialogue]) -> None:
    topics = {dialogue.meta["topic"] for dialogue in demo}
    assert len(topics) == 10
    assert Counter((d.meta["topic"], d.agent) for d in demo) == Counter(
        {(t, a): 1 for t in topics for a in AGENTS}
    )
    assert {d.id for d in demo} == {f"{t}-{a}" for t in topics for a in AGENTS}


def test_every_dialogue_is_marked_as_made_up(demo: list[Dialogue]) -> None:
    assert all(dialogue.meta["made_up"] is True for dialogue in demo)


def test_the_first_message_of_a_topic_is_shared_by_all_agents(demo: list[Dialogue]) -> None:
    first = {(dialogue.meta["topic"], dialogue.turns[0].content) for dialogue in demo}
    assert len(first) == 10


def test_dialogues_alternate_and_end_with_the_assistant(demo: list[Dialogue]) -> None:
    for dialogue in demo:
        assert len(dialogue.turns) in (4, 6)
        assert [turn.role for turn in dialogue.turns] == ["user", "assistant"] * (len(dialogue.turns) // 2)


def test_every_reply_has_references_that_are_not_the_reply_itself(demo: list[Dialogue]) -> None:
    for dialogue in demo:
        for turn in dialogue.turns[1::2]:
            assert 1 <= len(turn.references) <= 2
            assert turn.content not in turn.references


def test_no_reply_is_used_twice_except_where_an_agent_repeats_itself(demo: list[Dialogue]) -> None:
    replies = Counter(t for d in demo for t in {turn.content for turn in d.turns[1::2]})
    assert max(replies.values()) == 1


def test_three_raters_rated_every_reply_and_every_dialogue(
    demo: list[Dialogue], ratings: list[Rating]
) -> None:
    for dimension, n in (("overall", sum(len(d.turns) // 2 for d in demo)), ("satisfaction", 40)):
        matrix = rating_matrix(ratings, dimension)
        assert matrix.raters == ("ann", "ben", "cho")
        assert matrix.identity == "people"
        assert matrix.values.shape == (3, n)
        assert not np.isnan(matrix.values).any()
        assert set(np.unique(matrix.values)) == {1.0, 2.0, 3.0, 4.0, 5.0}


@pytest.mark.parametrize("dimension", ["overall", "satisfaction"])
def test_raters_disagree_as_people_do(ratings: list[Rating], dimension: str) -> None:
    matrix = rating_matrix(ratings, dimension)
    assert 0.55 < krippendorff_alpha(matrix.values, level="interval") < 0.8
    assert 0.55 < krippendorff_alpha(matrix.values, level="ordinal") < 0.8


@pytest.mark.parametrize("dimension", ["overall", "satisfaction"])
def test_agents_are_ordered_on_average_but_not_reply_by_reply(
    demo: list[Dialogue], ratings: list[Rating], dimension: str
) -> None:
    agent = {dialogue.id: dialogue.agent for dialogue in demo}
    of: dict[str, list[float]] = {name: [] for name in AGENTS}
    for item, value in aggregate(rating_matrix(ratings, dimension)).by_item().items():
        of[agent[item.partition("#")[0]]].append(value)
    means = [np.mean(of[name]) for name in AGENTS]
    assert means == sorted(means, reverse=True)
    assert min(of["good"]) < max(of["dull"])
    assert min(of["dull"]) < max(of["rude"])
    assert min(of["rude"]) < max(of["broken"])
