"""Realism: equal users are at the floor, others are not, and too little data is refused."""

import numpy as np
import pytest

from turnwise.encode import load
from turnwise.run.play.realism import MEASURES, Said, _area, act, realism

OPENINGS = (
    "i need a hotel",
    "hello, a table for two please",
    "is there a taxi",
    "thanks, bye",
    "what is the address",
)
PLACES = (
    "in the north",
    "near the station",
    "for monday",
    "with parking",
    "that is cheap",
    "tonight",
    "at seven",
)


def messages(count: int, seed: int, *, polite: bool = False) -> list[Said]:
    rng = np.random.default_rng(seed)
    tail = " I would be most grateful for your kind assistance." if polite else ""
    return [
        Said(f"{seed}-{number // 4}", f"{rng.choice(OPENINGS)} {rng.choice(PLACES)}{tail}")
        for number in range(count)
    ]


def by_measure(simulated: list[Said], real: list[Said]) -> dict[str, object]:
    found = realism(simulated, real, encoder=load("hashing"), kind="all")
    return {one.measure: one for one in found}


def test_users_of_the_same_kind_are_at_the_floor_of_every_measure():
    found = by_measure(messages(200, 1), messages(200, 2))
    assert list(found) == list(MEASURES)
    for name, one in found.items():
        low, high = one.interval
        assert low <= one.estimate <= high
        assert one.estimate == pytest.approx(one.floor, abs=0.12), name
    assert found["classifier"].interval[0] < 0.5
    assert found["fbd"].interval[0] < found["fbd"].floor_interval[1]


def test_users_who_talk_otherwise_are_far_from_the_floor():
    found = by_measure(messages(200, 1, polite=True), messages(200, 2))
    assert found["classifier"].estimate > 0.95
    assert found["classifier"].interval[0] > 0.9
    assert found["words"].estimate > 0.9
    assert found["words"].simulated > found["words"].real + 5
    assert found["fbd"].interval[0] > found["fbd"].floor_interval[1]
    assert found["prd"].estimate < found["prd"].floor


def test_the_same_messages_give_the_same_numbers_and_their_order_does_not_matter():
    simulated, real = messages(80, 1), messages(80, 2)
    assert by_measure(simulated, real) == by_measure(simulated, real)


def test_too_few_messages_are_refused_with_what_is_needed():
    found = realism(messages(12, 1), messages(200, 2), encoder=load("hashing"), kind="taxi")
    assert {one.status for one in found} == {"refused"}
    assert str(found[0].reason) == (
        "12 messages of simulated users in 3 scenarios of kind `taxi` are too few; it takes 30 messages in 4 scenarios"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Goodbye!", 0), ("thanks a lot", 1), ("Is it open?", 2), ("Hello there", 3), ("No, not that", 4),
     ("Yes please do", 5), ("I need a room", 6), ("The north.", 7)],
)  # fmt: skip
def test_acts_are_told_by_words(text: str, expected: int):
    assert act(text) == expected


def test_the_area_counts_pairs_that_are_ordered_rightly():
    # positive 2 and 1 against negative 1 and 0: right, right, tie, right: 3.5 of 4
    assert _area(np.array([2.0, 1.0, 1.0, 0.0]), np.array([1.0, 1.0, 0.0, 0.0]), np.ones(4)) == 0.875
