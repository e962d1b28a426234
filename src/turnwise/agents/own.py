"""A user's own agent, `module:function`: it gets the messages so far and returns what it says.

Messages are a list of `{"role", "content"}`, with what else the logged message had (tool calls, a name). A reply is a
string or `{"content": str, "outcome"?: {dimension: number}, "relabelled"?: {dimension: number}}`. A function with a
parameter `rng` is given a `numpy.random.Generator` seeded for this reply: with it, a reply can be had again.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from turnwise.errors import UsageError
from turnwise.plugins import own_function
from turnwise.types import Reply, Scores, Signature, Turn, digest

_KEYS = ("content", "outcome", "relabelled")


@dataclass(frozen=True, slots=True)
class Own:
    name: str  # module:function
    source: str  # digest of its file
    function: Callable[..., Any]
    seeded: bool  # whether it takes a generator

    @property
    def signature(self) -> Signature:
        return Signature("own", (("function", self.name), ("source", self.source)))

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        messages = [message(turn) for turn in turns]
        return self._reply(self.function(messages, rng=rng) if self.seeded else self.function(messages))

    def _reply(self, said: Any) -> Reply:
        if isinstance(said, Reply):
            return said
        if isinstance(said, str):
            return Reply(str(said))  # numpy's strings are strings too, and no JSON
        if not isinstance(said, Mapping):
            raise UsageError(f"returned {_shown(said)}; expected a string, or an object with `content`")
        for key in said:
            if key not in _KEYS:
                raise UsageError(f"returned an object with `{key}`; expected only {', '.join(_KEYS)}")
        if not isinstance(said.get("content"), str):
            raise UsageError(f"returned {_shown(said.get('content'))} as `content`; expected a string")
        return Reply(str(said["content"]), _scores(said, "outcome"), _scores(said, "relabelled"))


def own(name: str) -> Own:
    """The agent for a `module:function` that can be imported from here."""
    function, source = own_function(name, "agent")
    return Own(name, digest(source), function, "rng" in _parameters(function))


def message(turn: Turn) -> dict[str, Any]:
    return {"role": turn.role, "content": turn.content, **turn.extra}


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # some built-in functions have none to show
        return {}


def _scores(said: Mapping[str, Any], key: str) -> Scores | None:
    scores = said.get(key)
    if scores is None:
        return None
    if not isinstance(scores, Mapping) or not all(
        isinstance(name, str) and isinstance(value, Real) and isfinite(value)
        for name, value in scores.items()
    ):
        raise UsageError(f"returned {_shown(scores)} as `{key}`; expected an object of finite numbers")
    return {name: float(value) for name, value in scores.items()}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
