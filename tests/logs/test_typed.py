"""The structs that native lines are decoded into."""

import json
from typing import Any

import msgspec
import pytest

from turnwise.logs import native, typed
from turnwise.logs.dialogue import from_record
from turnwise.types import Reply, Turn


def test_the_fields_of_a_message_are_the_first_fields_of_a_turn() -> None:
    """They are passed to `Turn` by position."""
    fields = typed._Message.__struct_fields__
    assert Turn.__struct_fields__[: len(fields)] == fields


def test_a_turn_that_msgspec_encodes_is_decoded_as_an_equal_turn() -> None:
    turn = Turn(
        "assistant",
        "hello",
        alternatives={"other": (Reply("hi", outcome={"booked": 1.0}),)},
        state={"hotel": {"area": "east"}},
        extra={"name": "x"},
        parts=({"type": "text", "text": "hello"},),
    )
    assert msgspec.json.decode(msgspec.json.encode(turn), type=Turn) == turn
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(turn), type=Turn) == turn


@pytest.mark.parametrize(
    "more",
    [
        {"extra": {}},
        {"extra": {"name": "x"}},
        {"parts": []},
        {"parts": [{"type": "text", "text": "hello"}]},
        {"references": None},
        {"alternatives": None},
        {"text": "hello"},
    ],
)
def test_a_message_with_a_key_that_the_struct_lacks_or_null_is_left_to_the_checker(
    more: dict[str, Any],
) -> None:
    record = {"messages": [{"role": "user", "content": "hello", **more}]}
    line = json.dumps(record).encode()
    assert typed.read(line, 1) is None
    assert native.parse(line, file="", line_number=1) == from_record(record, default_id="1")


def test_a_line_with_alternatives_is_read_by_the_structs() -> None:
    samples: list[Any] = ["hi", {"content": "hey", "outcome": {"booked": 1}}]
    messages = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "yes", "alternatives": {"a": "no", "b": samples}},
    ]
    read = typed.read(json.dumps({"messages": messages}).encode(), 1)
    assert read is not None
    assert read == from_record({"messages": messages}, default_id="1")
    assert read.turns[1].alternatives["b"] == (Reply("hi"), Reply("hey", outcome={"booked": 1.0}))
