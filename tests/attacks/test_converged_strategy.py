"""Naming what a policy has converged to: the thresholds of the paper's B.2, and what decides where they do not."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tests.attacks.planted import scorer, talks
from turnwise.attacks.context import Context
from turnwise.attacks.converged_strategy import converged_strategy, policy_candidates
from turnwise.attacks.slots import content_words
from turnwise.attacks.strategy_inference import common_frame, infer_strategy
from turnwise.attacks.target import Target
from turnwise.metrics.words import words
from turnwise.types import Floats, Item

TALKS = talks(40)


def flat(item: Item) -> float:
    return float(len(words(item.reply)))


def replies(answer: Callable[[Context], str]) -> dict[str, str]:
    return {context.item.id: answer(context) for context in TALKS}


@pytest.mark.parametrize(
    ("answer", "kind", "description"),
    [
        (lambda context: "What do you like to do?", "fixed", "What do you like to do?"),
        (lambda context: context.last_turn, "parrot", "repeats parts of the context"),
        (
            lambda context: (
                f"i am not sure about the {' '.join(content_words(context.last_turn))} if you know {context.item.id}"
            ),
            "pattern",
            "i am not sure about the [...] if you know [...]",
        ),
    ],
)
def test_each_kind_of_strategy_is_inferred(
    answer: Callable[[Context], str], kind: str, description: str
) -> None:
    found = converged_strategy(TALKS, replies(answer), Target(scorer(flat), 1000))
    assert found.inferred == found.final == kind
    assert description in found.description


def test_a_policy_without_a_strategy_is_not_conclusive() -> None:
    said = {context.item.id: f"w{place} x{place} y{place}" for place, context in enumerate(TALKS)}
    found = converged_strategy(
        TALKS, said, Target(scorer(lambda item: float(item.reply in said.values()) / 2), 1000)
    )
    assert found.inferred == "not conclusive"
    worse = converged_strategy(
        TALKS, said, Target(lambda items: np.array([_own(item, said) for item in items]), 1000)
    )
    assert worse.final == "not conclusive"
    assert policy_candidates(worse, said)[0].kind == "other"


def _own(item: Item, said: dict[str, str]) -> float:
    """Each reply is good where it was given, and nowhere else."""
    return float(said[item.id] == item.reply)


def test_the_most_frequent_reply_decides_where_it_scores_as_well() -> None:
    said = {
        context.item.id: "go on" if place % 2 else f"a{place} b{place}" for place, context in enumerate(TALKS)
    }
    found = converged_strategy(TALKS, said, Target(scorer(lambda item: float(item.reply == "go on")), 1000))
    assert found.inferred == "not conclusive"
    assert found.final == "fixed"
    policy, fixed = policy_candidates(found, said)
    assert fixed.reply(TALKS[0]) == "go on"
    assert policy.reply(TALKS[0]) == "a0 b0"


def test_a_frequency_of_just_seventy_percent_is_not_enough() -> None:
    said = ["same here"] * 7 + ["one", "two", "three"]
    assert infer_strategy(["context"] * 10, said).strategy == "not conclusive"
    assert infer_strategy(["context"] * 10, [*said[:7], "same here", "two", "three"]).strategy == "fixed"


def test_a_frame_keeps_what_most_replies_share() -> None:
    assert common_frame(["i like tea very much", "i like old trains very much"]) == "i like [...] very much"
    filled = [f"No, I won't send {what} until now" for what in ("it", "the letter", "them", "your money")]
    assert (
        common_frame([*filled, "hello"]) == "No, I won't send [...] until now"
    )  # one odd reply does not undo it
    assert (
        common_frame([one.replace("No", "no") for one in filled[:1]] + filled[1:])
        .lower()
        .startswith("no, i won't")
    )
    assert common_frame(["tea", "old trains", "rain"]) == ""


def test_the_common_frame_is_reported_where_the_measures_are_not_conclusive() -> None:
    things = "tea trains rain books songs dogs hills boats games clouds rivers".split()
    said = [f"yes absolutely {one} then" for one in things]
    found = infer_strategy([f"about {one * 2}" for one in things], said)
    assert found.strategy == "not conclusive"
    assert "most replies share “yes absolutely [...] then”" in found.description


def test_remembered_scores_are_not_computed_again_and_count_as_calls() -> None:
    kept: dict[str, float | str | None] = {}
    asked: list[int] = []

    def score(items: Sequence[Item]) -> Floats:
        asked.append(len(items))
        if any(item.reply == "boom" for item in items):
            raise RuntimeError("boom")
        return np.array([np.inf if item.reply == "" else len(item.reply) for item in items])

    pairs = [(context, text) for context in TALKS[:3] for text in ("yes", "", "boom")]
    first = Target(score, 100, remember=kept.update)
    one = first.scores(pairs)
    first.again(pairs[:1])
    asked.clear()
    second = Target(score, 100, remembered=kept)
    two = second.scores(pairs)
    second.again(pairs[:1])
    assert asked == []
    assert np.array_equal(one, two, equal_nan=True)
    assert (first.calls, first.errors) == (second.calls, second.errors)
    assert np.isnan(one.reshape(3, 3)[:, 1:]).all()  # an infinite score is none, nor is an error
    assert sum(first.errors.values()) == 3
