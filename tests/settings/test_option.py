"""Settings are checked and normalised by their types, and stand in an order that callers can rely on."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pytest
from msgspec import Meta

from turnwise.errors import UsageError
from turnwise.settings.groups import Command
from turnwise.settings.option import Names, Option, Pairs, Paths, settings, split_paths


@dataclass(frozen=True, kw_only=True)
class Shared(Command):
    """A group."""

    source: Annotated[Paths, Option("What is read.")] = field(kw_only=False)
    shared: Annotated[int, Meta(ge=1), Option("A number.")] = 1


@dataclass(frozen=True, kw_only=True)
class Example(Shared):
    """A command."""

    command = "example"

    target: Annotated[str, Option("What is written.")] = field(kw_only=False)
    optional: Annotated[Names, Option("Names.")] = ()
    needed: Annotated[float, Option("A number that must be given.")]
    where: Annotated[Pairs | None, Option("Conditions.", repeatable=True)] = None


def test_arguments_keep_their_order_and_what_is_required_comes_before_what_is_not():
    names = [setting.name for setting in settings(Example)]
    assert names == ["source", "target", "needed", "optional", "where", "shared"]


def test_values_are_normalised_to_tuples_of_texts():
    example = Example(Path("a"), "b", needed=1, optional="x, y[z=1,2]", where={"k": "v"})
    assert (example.source, example.needed, example.shared) == (("a",), 1.0, 1)
    assert (example.optional, example.where) == (("x", "y[z=1,2]"), (("k", "v"),))
    assert split_paths(["a", Path("b")]) == ("a", "b")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"needed": "much"}, "example: `needed` must be a float, not 'much'"),
        ({"needed": float("nan")}, "example: `needed` must be a float, not nan"),
        ({"shared": 0}, "example: `shared` must be an int >= 1, not 0"),
        ({"optional": 3}, "example: `optional` must be a str or a sequence of str values, not 3"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(given: dict[str, Any], message: str):
    with pytest.raises(UsageError) as raised:
        Example("a", "b", **{"needed": 1.0, **given})
    assert str(raised.value) == message
