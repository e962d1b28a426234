"""Joint goal accuracy and slot F1 of the states that a system predicted."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from turnwise.errors import DataError
from turnwise.metrics import resolve
from turnwise.types import Item, Metric, Turn

State = Mapping[str, Mapping[str, Any]]
CHEAP: State = {"restaurant": {"food": "indian", "pricerange": "cheap"}}
DEAR: State = {"restaurant": {"food": "indian", "pricerange": "expensive"}}
NONE: State = {}


def item(logged: Sequence[State], predicted: Sequence[State] | None) -> Item:
    """A dialogue with these states of its system turns."""
    turns: list[Turn] = []
    for state in logged:
        turns += [Turn("user", "and?"), Turn("assistant", "here", state=state)]
    meta = {} if predicted is None else {"predicted_states": {"bot": predicted}}
    return Item("d", "d", "bot", tuple(turns), None, "d", "d", goal={}, meta=meta)


def number(name: str, *items: Item) -> float:
    """The score of dialogues by a metric."""
    metric = resolve(name)
    assert isinstance(metric, Metric)
    return metric.reduce(metric.rows(items))


def test_a_turn_is_right_if_all_its_slots_are() -> None:
    both = item([CHEAP, CHEAP, NONE], [CHEAP, DEAR, NONE])
    assert number("joint-goal-accuracy", both) == pytest.approx(200 / 3)
    # Turns are pooled over dialogues: 2 of 3, then 0 of 1.
    assert number("joint-goal-accuracy", both, item([CHEAP], [NONE])) == 50.0


def test_slot_f1_counts_slots_with_their_values_over_all_states() -> None:
    # Members in both: 2 + 1; predicted: 2 + 2; logged: 2 + 2.
    assert number("slot-f1", item([CHEAP, CHEAP], [CHEAP, DEAR])) == pytest.approx(100 * 2 * 3 / 8)
    assert number("slot-f1", item([NONE], [NONE])) == 100.0
    assert number("slot-f1", item([CHEAP], [NONE])) == 0.0


def test_spellings_and_slots_for_which_any_value_will_do_are_normalised() -> None:
    other: State = {"Restaurant": {"Food": "Indian ", "price range": "cheap", "area": "don't care"}}
    assert number("joint-goal-accuracy", item([CHEAP], [other])) == 100.0


@pytest.mark.parametrize("name", ["joint-goal-accuracy", "slot-f1"])
def test_a_dialogue_without_predicted_states_is_unscored(name: str) -> None:
    metric = resolve(name)
    assert isinstance(metric, Metric)
    rows = metric.rows([item([CHEAP], None), item([CHEAP], [CHEAP])])
    assert np.isnan(rows[0]).all()
    assert not np.isnan(rows[1]).any()


def test_another_number_of_predicted_states_than_of_replies_is_an_error() -> None:
    with pytest.raises(DataError, match="2 predicted states of `bot` for 1 system turn"):
        number("slot-f1", item([CHEAP], [CHEAP, CHEAP]))
