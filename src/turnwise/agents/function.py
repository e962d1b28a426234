"""A Python function as an agent, `module:function`: it gets the messages so far and returns a reply.

Messages are a list of `{"role", "content"}` with the other keys of the logged message (tool calls, a name). A reply
is a string or `{"content": str, "outcome"?: {dimension: number}, "relabelled"?: {dimension: number}}`. A function that
yields strings gives its reply piece by piece; what it returns at the end, if anything, replaces them. A function with a
parameter `rng` gets a `numpy.random.Generator` with a seed for this reply, so replies are reproducible.
"""

import inspect
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from turnwise.errors import UsageError
from turnwise.registry import own_function
from turnwise.session_functions import finished
from turnwise.types import DimensionScores, Reply, Signature, Turn, digest

_KEYS = ("content", "outcome", "relabelled")


@dataclass(frozen=True, slots=True)
class FunctionAgent:
    """An agent that calls a function of the user."""

    name: str  # module:function
    source: str  # digest of its file
    function: Callable[..., Any]
    takes_rng: bool  # whether it takes a generator

    @property
    def signature(self) -> Signature:
        """The function's name and the digest of its source file."""
        return Signature("own", (("function", self.name), ("source", self.source)))

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        pieces = list(self.stream(turns, rng))
        last = pieces[-1] if pieces else ""
        return last if isinstance(last, Reply) else Reply("".join(map(str, pieces)))

    def stream(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Iterator[str | Reply]:
        """The pieces that the function yields, then the reply if it returns one; raises `UsageError` as `_reply`."""
        messages = [to_message(turn) for turn in turns]
        returned: Any = finished(
            self.function(messages, rng=rng) if self.takes_rng else self.function(messages)
        )
        if inspect.isgenerator(returned):
            returned = yield from _pieces(returned)
            if returned is None:
                return
        yield self._reply(returned)

    def _reply(self, returned: Any) -> Reply:
        """The returned value as a reply; raises `UsageError` for an invalid value."""
        if isinstance(returned, Reply):
            return returned
        if isinstance(returned, str):
            return Reply(str(returned))  # a numpy string cannot be written as JSON
        if not isinstance(returned, Mapping):
            raise UsageError(f"returned {_shown(returned)}; expected a string, or an object with `content`")
        for key in returned:
            if key not in _KEYS:
                raise UsageError(f"returned an object with `{key}`; expected only {', '.join(_KEYS)}")
        if not isinstance(returned.get("content"), str):
            raise UsageError(f"returned {_shown(returned.get('content'))} as `content`; expected a string")
        return Reply(str(returned["content"]), _scores(returned, "outcome"), _scores(returned, "relabelled"))


def _pieces(generator: Iterator[Any]) -> Generator[str, None, Any]:
    """The strings that a generator yields; its return value. Raises `UsageError` for a piece that is no string."""
    while True:
        try:
            piece = next(generator)
        except StopIteration as end:
            return end.value
        if not isinstance(piece, str):
            raise UsageError(f"yielded {_shown(piece)}; expected strings, and a reply as its return value")
        yield str(piece)


def function_agent(name: str) -> FunctionAgent:
    """The agent for a `module:function`, which is imported now; raises `UsageError` if that fails."""
    function, source = own_function(name, "agent")
    return FunctionAgent(name, digest(source), function, "rng" in _parameters(function))


def to_message(turn: Turn) -> dict[str, Any]:
    """The turn as a chat message: role, content and the other keys of the logged message (`extra`)."""
    return {"role": turn.role, "content": turn.content, **turn.extra}


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """The parameters of a function; empty if Python cannot tell."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # some built-in functions have no signature
        return {}


def _scores(returned: Mapping[str, Any], key: str) -> DimensionScores | None:
    """The scores under a key of a returned object, as floats; None if there are none.

    Raises a `UsageError` if they are not finite numbers by name.
    """
    scores = returned.get(key)
    if scores is None:
        return None
    if not isinstance(scores, Mapping) or not all(
        isinstance(name, str) and isinstance(value, Real) and isfinite(value)
        for name, value in scores.items()
    ):
        raise UsageError(f"returned {_shown(scores)} as `{key}`; expected an object of finite numbers")
    return {name: float(value) for name, value in scores.items()}


def _shown(value: object) -> str:
    """The `repr` of the value for an error message, shortened to 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
