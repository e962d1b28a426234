"""The cross-encoder beside `turnwise`, on a BERT of a few thousand weights: it learns, and reads what it must."""

from pathlib import Path

import numpy as np
import pytest

from tests.tiny_models import WORDS, write_bert
from turnwise.types import Dialogue, Item, Turn

pytest.importorskip("torch")

from papers.cross_encoder import CrossEncoder, examples_of, joined


def talks(count: int) -> list[Dialogue]:
    """Both speakers stay with one word."""
    rng = np.random.default_rng(0)
    return [
        Dialogue(f"d{n}", "human", tuple(
            Turn(("user", "assistant")[at % 2], f"{said} {word} {word} {rng.choice(WORDS)}")
            for at, said in enumerate(("i like", "you play", "we see", "they hear"))
        ))
        for n in range(count) for word in [rng.choice(["guitar", "piano", "cat", "dog"])]
    ]  # fmt: skip


def test_a_cross_encoder_learns_to_tell_given_replies_from_others(tmp_path: Path) -> None:
    given = examples_of(talks(150), most=400, rng=np.random.default_rng(0))
    context, replies = given[0]
    assert len(replies) == 4
    assert replies[0] not in context
    assert context.endswith(replies[3])  # the parrot
    encoder = CrossEncoder(write_bert(tmp_path / "bert", max_length=64), "cpu")
    losses = [loss for seed in range(4) for loss in encoder.train(given, rate=3e-3, seed=seed)]
    assert np.mean(losses[-5:]) < 0.9 * np.mean(losses[:3])


def test_it_scores_every_item_that_has_a_context_and_no_other(tmp_path: Path) -> None:
    encoder = CrossEncoder(write_bert(tmp_path / "bert", max_length=64), "cpu")
    turns = (Turn("user", "i like the guitar " * 40), Turn("assistant", "you play the guitar"))
    known = Item("a#1", "a", "bot", turns, 1, cluster="a", pair="a")
    bare = Item("b#0", "b", "bot", turns[1:], 0, cluster="b", pair="b")
    found = encoder.scores([known, bare, known])
    assert np.isfinite(found[0])
    assert found[0] == pytest.approx(found[2], abs=1e-5)
    assert np.isnan(found[1])


def test_a_context_is_read_oldest_turn_first_and_not_further_back_than_three() -> None:
    assert joined(["newest", "older", "oldest", "forgotten"]) == "oldest . older . newest"
