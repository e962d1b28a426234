"""A batch at once, and item by item only where the batch fails."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from turnwise.errors import UsageError
from turnwise.metrics.features.surface import Length
from turnwise.metrics.rows import batch_or_each, rows_or_errors
from turnwise.types import Floats, Item, Turn

ITEMS = [
    Item(str(n), str(n), "bot", (Turn("assistant", text),), 0, str(n), str(n))
    for n, text in enumerate("abcd")
]


class Asked:
    """Answers with the replies in upper case, unless one of them is to raise."""

    def __init__(self, **raising: Exception) -> None:
        self.raising, self.batches = raising, list[str]()

    def __call__(self, items: Sequence[Item]) -> str:
        replies = "".join(item.reply for item in items)
        self.batches.append(replies)
        for reply in replies:
            if reply in self.raising:
                raise self.raising[reply]
        return replies.upper()


def test_a_batch_that_succeeds_is_asked_once() -> None:
    ask = Asked()
    assert batch_or_each(ask, ITEMS) == (["ABCD"], {})
    assert ask.batches == ["abcd"]


def test_an_item_that_raises_costs_no_other_item_its_answer() -> None:
    error = ValueError("b")
    ask = Asked(b=error)
    assert batch_or_each(ask, ITEMS) == (["A", "C", "D"], {1: error})
    assert ask.batches == ["abcd", "a", "b", "c", "d"]


def test_a_single_item_that_raises_is_asked_once() -> None:
    error = ValueError("a")
    ask = Asked(a=error)
    assert batch_or_each(ask, ITEMS[:1]) == ([], {0: error})
    assert ask.batches == ["a"]


def test_a_fatal_error_is_raised_at_once() -> None:
    ask = Asked(c=KeyError("c"))
    with pytest.raises(KeyError):
        batch_or_each(ask, ITEMS, fatal=lambda error, count: isinstance(error, KeyError))
    assert ask.batches == ["abcd"]


@dataclass(frozen=True)
class Brittle(Length):
    """Length, with some replies that raise."""

    ask: Asked

    def rows(self, items: Sequence[Item], /) -> Floats:
        self.ask(items)
        return super().rows(items)


def test_rows_of_a_metric_leave_out_the_items_that_raise() -> None:
    error = ValueError("b")
    rows, errors = rows_or_errors(Brittle(Asked(b=error)), ITEMS)
    assert errors == {1: error}
    np.testing.assert_array_equal(rows, Length().rows([ITEMS[0], *ITEMS[2:]]))


def test_rows_of_items_that_all_raise_are_empty() -> None:
    rows, errors = rows_or_errors(Brittle(Asked(a=ValueError(), b=ValueError())), ITEMS[:2])
    assert rows.shape == Length().rows([]).shape
    assert sorted(errors) == [0, 1]


def test_a_batch_that_runs_out_of_memory_is_tried_item_by_item_and_a_single_item_raises() -> None:
    metric = Brittle(Asked(d=MemoryError()))
    with pytest.raises(MemoryError):
        rows_or_errors(metric, ITEMS)
    assert metric.ask.batches == ["abcd", "a", "b", "c", "d"]


def test_an_error_of_usage_is_raised_at_once() -> None:
    metric = Brittle(Asked(d=UsageError("no such layer")))
    with pytest.raises(UsageError, match="no such layer"):
        rows_or_errors(metric, ITEMS)
    assert metric.ask.batches == ["abcd"]
