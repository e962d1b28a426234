"""Faults of simulated users: each kind is found, and what people write is not called one."""

import pytest

from turnwise.scenarios.scenario import Scenario
from turnwise.types import Turn
from turnwise.users.faults import KINDS, fault
from turnwise.users.model import INSTRUCTIONS
from turnwise.users.user import Stage, UserMessage

STAGE = Stage(
    Scenario(
        id="a",
        persona="A visitor who is in a hurry and has little money to spend.",
        goal="a cheap hotel in the north for order W1201",
        facts={"hotel area": "north", "people": 4, "arrival day": "friday", "order": "W1201"},
    ),
    0,
)
QUESTION = "For how many people shall it be?"


def said(*texts: str) -> list[Turn]:
    roles = ("user", "assistant")
    return [Turn(roles[at % 2], text) for at, text in enumerate(texts)]  # type: ignore[arg-type]


def kind(text: str, *before: str, leaving=None, reached: bool = False) -> str | None:
    found = fault(UserMessage(text, leaving), STAGE, said(*before), reached=reached)
    return None if found is None else found.kind


@pytest.mark.parametrize(
    ("text", "before", "expected"),
    [
        ("", (), "empty"),
        ("(waits)", ("Hi", QUESTION), "empty"),
        ("...", ("Hi", QUESTION), "empty"),
        ("So, for how many people shall it be?", ("Hi", QUESTION), "echo"),
        (
            "I need a cheap hotel in the north",
            ("I need a cheap hotel in the north.", "What price range?"),
            "repeat",
        ),
        ("How can I help you today?", (), "role-swap"),
        ("I have found 3 hotels for you.", ("Hi", QUESTION), "role-swap"),
        ("What price range would you like?", ("Hi", QUESTION), "role-swap"),
        ("The user wants a cheap hotel.", (), "leak"),
        (" ".join(INSTRUCTIONS.split()[:14]), (), "leak"),
        ("I am a visitor who is in a hurry and has little money.", (), "leak"),
        ("It is friday.", ("Hi", QUESTION), "unasked"),
        ("My order is W9999.", ("Hi", "Which order is it?"), "invented"),
    ],
)
def test_a_fault_of_each_kind_is_found(text: str, before: tuple[str, ...], expected: str):
    assert kind(text, *before) == expected


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("Hi", ()),
        ("I need a cheap hotel in the north, please.", ()),
        ("Yes, please.", ("Yes, please.", "Shall I book it?")),
        ("For four people, from friday.", ("Hi", QUESTION)),
        ("4", ("Hi", QUESTION)),
        ("It does not matter, but it has to be on friday.", ("Hi", QUESTION)),
        ("It is W1201.", ("Hi", "Which order is it?")),
        ("I need it on the 24th at 7pm.", ("Hi", "Anything else?")),
        ("I need a cheap hotel in the north.", ("I need a cheap hotel in the north.", "Could you say that again?")),
        ("Do you have one with parking?", ("Hi", "There are three cheap ones.")),
        ("Can you book it for me?", ("Hi", "There are three cheap ones.")),
    ],
)  # fmt: skip
def test_what_a_person_would_write_is_no_fault(text: str, before: tuple[str, ...]):
    assert kind(text, *before) is None


def test_a_content_user_leaves_too_early_before_help_and_in_place_of_an_answer():
    assert kind("Thanks, bye!", leaving="goal") == "early-end"
    assert kind("Thanks, bye!", "Hi", QUESTION, leaving="goal") == "early-end"
    assert kind("Thanks, bye!", "Hi", QUESTION, leaving="goal", reached=True) is None
    assert kind("Thanks, bye!", "Hi", "It is booked. Is there anything else?", leaving="goal") is None
    assert kind("I give up.", "Hi", QUESTION, leaving="gave-up") is None
    assert kind("", "Hi", "It is booked.", leaving="goal") is None


def test_there_are_eight_kinds():
    assert len(set(KINDS)) == 8
