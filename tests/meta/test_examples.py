"""Which replies are shown as those on which a metric and people disagree."""

import numpy as np

from tests.meta.test_correlate import people, scored
from turnwise.meta.examples import EACH, disagreements, with_texts
from turnwise.types import Item, Turn


def items_of(table, lengths) -> dict[str, Item]:
    return {
        name: Item(name, name, "a", (Turn("user", "hi"), Turn("assistant", "w " * int(n))), 1, name, name)
        for name, n in zip(table.ids, lengths, strict=True)
    }


def test_the_replies_with_the_largest_difference_of_ranks_come_first_and_last():
    lengths = np.arange(1, 21)
    ratings = np.arange(1.0, 21.0)
    ratings[[0, 19]] = ratings[[19, 0]]  # the shortest reply is rated best, the longest worst
    table = scored(lengths, agents=["a"] * 20)
    found = with_texts(
        disagreements(table, people(table, ratings), group=""), items_of(table, lengths).values()
    )
    assert len(found) == 2 * EACH
    assert (found[0]["score"], found[0]["people"]) == (20, 1)
    assert (found[-1]["score"], found[-1]["people"]) == (1, 20)
    assert found[0]["context"] == "hi"


def test_ranks_are_those_inside_an_agent():
    """Agent b's replies are all longer and all rated worse; inside the agents there is no disagreement."""
    lengths = np.concatenate([np.arange(1, 11), np.arange(101, 111)])
    ratings = np.concatenate([np.arange(101.0, 111.0), np.arange(1.0, 11.0)])
    table = scored(lengths, agents=["a"] * 10 + ["b"] * 10)
    found = with_texts(
        disagreements(table, people(table, ratings - 60), group=""), items_of(table, lengths).values()
    )
    assert {example["rank_difference"] for example in found} == {0}


def test_few_replies_have_no_examples():
    few = scored(np.arange(1, 6), agents=["a"] * 5)
    assert disagreements(few, people(few, np.arange(5.0)), group="") == []
