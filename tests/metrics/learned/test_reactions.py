"""`reactions`: what it reads, what it leaves unscored, and that it can be had without any one of its corpora."""

import numpy as np
import pytest

from turnwise.encode.models.folder import Folder
from turnwise.errors import UsageError
from turnwise.metrics.learned.reactions import (
    FittedReactions,
    Reactions,
    hashes,
    known_dialogues,
    long_turns,
    predicted,
    repeated_share,
)
from turnwise.metrics.learned.trained import load_trained
from turnwise.types import Item, Turn


def item(number: int, agent: str, *users: str) -> Item:
    turns = tuple(turn for text in users for turn in (Turn("user", text), Turn("assistant", "I see.")))
    name = f"{agent}{number}"
    return Item(name, name, agent, turns, None, name, name)


@pytest.fixture(scope="module")
def folder() -> Folder:
    return load_trained("reactions", "")


def test_the_model_has_a_row_without_each_of_its_corpora(folder: Folder) -> None:
    corpora = folder.config["corpora"]
    weights = folder.tensors["weights"]
    assert len(weights) == len(corpora) + 1
    assert all(not np.allclose(weights[0], row) for row in weights[1:])
    assert {one["corpus"]: bool(one["licence"]) for one in folder.card["data"]} == dict.fromkeys(
        corpora, True
    )


def test_its_card_says_where_it_ranks_backwards(folder: Folder) -> None:
    held_out = folder.card["held_out"]
    assert held_out["ji2022"]["pearson_agents"] < 0
    assert held_out["ieval"]["pearson_agents"] > 0.9


def test_a_model_without_a_corpus_is_another_model_and_an_unknown_corpus_an_error(folder: Folder) -> None:
    vectors = np.random.default_rng(0).normal(size=(4, folder.tensors["weights"].shape[1]))
    for corpus in folder.config["corpora"]:
        assert not np.allclose(predicted(folder, corpus, vectors), predicted(folder, "", vectors))
    with pytest.raises(UsageError, match="was not fitted to a corpus `mine`"):
        predicted(folder, "mine", vectors)


def test_dialogues_of_its_training_are_known_by_what_the_user_says() -> None:
    mine = (Turn("user", "Hello!"), Turn("assistant", "Hi."), Turn("user", "How are you?"))
    other = (Turn("user", "hello"), Turn("assistant", "Something else."), Turn("user", "How are you"))
    model = Folder(
        None,  # type: ignore[arg-type]
        "reactions",
        {"seen a": hashes([mine]), "seen b": np.array([], dtype=np.uint64)},
        {"corpora": ["a", "b"]},
        {},
        "",
    )
    assert known_dialogues(model, [other, other]) == {"a": 2}
    assert known_dialogues(model, [mine[:2]]) == {}


def test_users_that_say_the_same_long_turns_in_every_dialogue_are_a_program() -> None:
    said = "I would like to book a flight"
    programs = [item(number, "robot", said, f"To gate {number} please my friend") for number in range(10)]
    people = [
        item(number, "met-people", f"Well number {number} is nice I think", "ok") for number in range(10)
    ]
    fitted = Reactions().fit([*programs, *people])
    assert set(fitted.programs) == {"robot"}
    assert fitted.programs["robot"] == pytest.approx(0.5)
    assert "look like a program: 50% of their longer turns" in fitted.why_unscored(programs[0])
    assert (
        fitted.why_unscored(item(0, "met-people", "one turn")) == "1 of 2 turns of the user that are needed"
    )
    assert np.isnan(FittedReactions(programs={"robot": 0.5}).rows([programs[0]])[0, 0])


def test_repetition_inside_one_dialogue_and_short_turns_do_not_count() -> None:
    turns = (
        Turn("user", "yes"),
        Turn("user", "this is a longer turn"),
        Turn("user", "this is a longer turn"),
    )
    assert long_turns(turns) == ["this is a longer turn"] * 2
    assert repeated_share([long_turns(turns), ["quite another long turn here"]]) == 0.0
