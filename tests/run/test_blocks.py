from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from turnwise.errors import Refused, UsageError
from turnwise.metrics import resolve
from turnwise.run.blocks import content_key, item_scores, score
from turnwise.types import Card, Item, Signature, Turn


def item(reply: str, *, references: tuple[str, ...] = ("a b c d",), name: str = "d#1") -> Item:
    turns = (Turn("user", "hello"), Turn("assistant", reply, references))
    return Item(name, "d", "bot", turns, 1, "d", "p")


@dataclass(frozen=True)
class Picky:
    """Fails on the word `boom`, has no number for the word `nothing`."""

    level: ClassVar = "turn"
    needs: ClassVar = frozenset({"references"})
    higher_is_better: ClassVar = True
    card: ClassVar = Card("feature", "", "", "", "")
    unscored: ClassVar = "it said nothing"

    @property
    def signature(self) -> Signature:
        return Signature("picky")

    def rows(self, items: Sequence[Item]):
        if any(one.reply == "boom" for one in items):
            raise ValueError("boom is not allowed")
        return np.array(
            [[np.nan if one.reply == "nothing" else len(one.reply), 1.0] for one in items]
        ).reshape(-1, 2)

    def reduce(self, rows):
        return float(rows[:, 0].sum() / rows[:, 1].sum())


def test_an_error_is_pinned_to_the_item_that_causes_it():
    block = score(Picky(), [item("one"), item("boom"), item("three")])
    assert block.scored.tolist() == [0, 2]
    assert [(f.position, f.status, f.reason) for f in block.failures] == [
        (1, "error", "ValueError: boom is not allowed")
    ]


def test_an_item_whose_needs_are_not_met_is_skipped_with_the_reason():
    block = score(Picky(), [item("one", references=()), item("two")])
    assert block.scored.tolist() == [1]
    assert [(f.position, f.status, f.reason) for f in block.failures] == [(0, "skipped", "no reference")]


def test_a_row_with_nan_is_unscored_and_never_zero():
    block = score(Picky(), [item("nothing"), item("two")])
    assert block.scored.tolist() == [1]
    assert block.failures[0].reason == "it said nothing"
    assert not np.isnan(block.rows).any()


def test_when_every_item_fails_there_are_no_rows():
    block = score(Picky(), [item("boom"), item("boom")])
    assert block.rows.shape == (0, 2)
    assert len(block.failures) == 2


class Strict(Picky):
    """Raises what the reply names."""

    def rows(self, items, /):
        for one in items:
            if error := {"refuse": Refused("too few"), "misuse": UsageError("no such layer")}.get(one.reply):
                raise error
        return super().rows(items)


def test_a_failure_keeps_its_status_and_a_usage_error_ends_the_run():
    block = score(Strict(), [item("refuse"), item("boom"), item("fine")])
    assert [(failure.position, failure.status) for failure in block.failures] == [
        (0, "refused"),
        (1, "error"),
    ]
    assert block.scored.tolist() == [2]
    for shard in ([item("misuse")], [item("boom"), item("misuse")]):
        with pytest.raises(UsageError, match="no such layer"):
            score(Strict(), shard)


def test_the_key_changes_with_what_a_metric_may_see_and_not_with_the_name():
    assert content_key([item("one")]) == content_key([item("one", name="other#1")])
    assert content_key([item("one")]) != content_key([item("two")])
    assert content_key([item("one")]) != content_key([item("one", references=("other",))])
    assert content_key([item("one"), item("two")]) != content_key([item("two"), item("one")])


def test_item_scores_are_the_reduction_of_single_rows():
    metric = resolve("bleu-4")
    rows = metric.rows([item("a b c d"), item("a b x y"), item("")])
    alone = [metric.reduce(rows[at : at + 1]) for at in range(3)]
    np.testing.assert_allclose(item_scores(metric, rows), alone)
