"""Dialogues as vectors of their two sides."""

import numpy as np
import pytest

from turnwise.encode.hashing import Hashing
from turnwise.encode.sides import FLOW, sides
from turnwise.types import Turn

HELLO, RED, BLUE = "hello there", "the red car is fast", "a blue bird sings"


def talk(*texts: tuple[str, str]) -> tuple[Turn, ...]:
    return tuple(Turn(role, text) for role, text in texts)


def test_vectors_are_means_of_the_turns_of_one_side() -> None:
    encoder = Hashing()
    found = sides([talk(("user", HELLO), ("assistant", RED), ("user", BLUE))], encoder)
    hello, red, blue = (encoder.encode([text])[0].astype(float) for text in (HELLO, RED, BLUE))
    assert found.user[0] == pytest.approx((hello + blue) / 2, abs=1e-6)
    assert found.first[0] == pytest.approx(hello, abs=1e-6)
    assert found.agent[0] == pytest.approx(red, abs=1e-6)
    assert found.flow[0][FLOW.index("reply to user, mean")] == pytest.approx(float(hello @ red), abs=1e-6)
    assert found.flow[0][FLOW.index("user to reply, mean")] == pytest.approx(float(red @ blue), abs=1e-6)


def test_an_agent_that_says_one_thing_again_and_again_is_next_to_itself() -> None:
    turns = talk(("user", HELLO), ("assistant", RED), ("user", BLUE), ("assistant", RED))
    found = sides([turns], Hashing())
    assert found.flow[0][FLOW.index("agent to own last turn")] == pytest.approx(1.0, abs=1e-6)
    assert found.flow[0][FLOW.index("agent to its nearest turn")] == pytest.approx(1.0, abs=1e-6)


def test_a_silent_side_and_an_empty_dialogue_are_zeros() -> None:
    found = sides(
        [talk(("user", HELLO), ("user", BLUE)), talk(("system", "x"), ("assistant", " "))], Hashing()
    )
    assert not found.agent.any()
    assert not found.user[1].any()
    assert not found.flow[1].any()
    assert np.isfinite(found.flow).all()
