"""A Python function as an agent, `module:function`: it gets the messages so far and returns a reply.

Messages are a list of `{"role", "content"}` with the other keys of the logged message (tool calls, a name). A reply
is a string or `{"content": str, "outcome"?: {dimension: number}, "relabelled"?: {dimension: number}}`. With
`"tool_calls"` in OpenAI's form the caller runs the tools and asks again; `"cost"`, `"tokens_in"` and `"tokens_out"` say
what the reply took. A function that runs its tools itself may return the list of messages that it made, its reply last.
A function that yields strings gives its reply piece by piece; what it returns at the end, if anything, replaces them.
The function may be `async`. A function with a parameter `rng` gets a `numpy.random.Generator` with a seed for this
reply, so replies are reproducible. With a parameter `state` it gets a dict that lives as long as the conversation,
with `session` its name, with `tools` the definitions of the tools. A class is made once for each conversation, and the
object is called.
"""

import inspect
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from turnwise.agents.conversing import AgentReply, Conversation
from turnwise.errors import UsageError
from turnwise.logs.checks import RuleError
from turnwise.logs.dialogue import turn_of
from turnwise.registry import own_function
from turnwise.session_functions import finished
from turnwise.types import DimensionScores, Reply, Signature, Turn, digest

_KEYS = ("content", "outcome", "relabelled", "tool_calls", "cost", "tokens_in", "tokens_out")
_NUMBERS = ("cost", "tokens_in", "tokens_out")
_CONTEXT = ("state", "session", "tools")  # parameters that get something of the conversation


@dataclass(frozen=True, slots=True)
class FunctionAgent:
    """An agent that calls a function of the user."""

    name: str  # module:function
    source: str  # digest of its file
    function: Callable[..., Any]
    takes: frozenset[str]  # parameters beside the messages
    context: Mapping[str, Any] = field(default_factory=dict, compare=False)  # of the conversation

    @property
    def signature(self) -> Signature:
        """The function's name and the digest of its source file."""
        return Signature("own", (("function", self.name), ("source", self.source)))

    @property
    def concurrent(self) -> bool:
        """Whether several calls may run at once: those of an async function may."""
        return inspect.iscoroutinefunction(self.function)

    def begin(self, conversation: Conversation, /) -> "FunctionAgent":
        """The agent with a state of its own, or with an object of its own where it is a class."""
        function = self.function() if inspect.isclass(self.function) else self.function
        if not callable(function):
            raise UsageError(
                f"`{self.name}` makes objects that cannot be called; give the class a method `__call__`"
            )
        context = {"state": {}, "session": conversation.session, "tools": list(conversation.tools)}
        return replace(self, function=function, takes=_taken(function), context=context)

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        pieces = list(self.stream(turns, rng))
        last = pieces[-1] if pieces else ""
        return last if isinstance(last, Reply) else Reply("".join(map(str, pieces)))

    def stream(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Iterator[str | Reply]:
        """The pieces that the function yields, then the reply if it returns one; raises `UsageError` as `_reply`."""
        if not self.context and (inspect.isclass(self.function) or self.takes & set(_CONTEXT)):
            yield from self.begin(Conversation("")).stream(turns, rng)
            return
        given = {**self.context, "rng": rng}
        chosen = {name: given[name] for name in sorted(self.takes) if name in given}
        returned: Any = finished(self.function([to_message(turn) for turn in turns], **chosen))
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
        if isinstance(returned, list):
            return _reply_of_messages(returned)
        if not isinstance(returned, Mapping):
            raise UsageError(f"returned {_shown(returned)}; expected a string, or an object with `content`")
        for key in returned:
            if key not in _KEYS:
                raise UsageError(f"returned an object with `{key}`; expected only {', '.join(_KEYS)}")
        calls, content = _tool_calls(returned), returned.get("content")
        if not isinstance(content, str) and not (calls and content is None):
            raise UsageError(f"returned {_shown(content)} as `content`; expected a string")
        scores = _scores(returned, "outcome"), _scores(returned, "relabelled")
        if not returned.keys() & {"tool_calls", *_NUMBERS}:
            return Reply(str(content), *scores)
        took = {name: _number(returned, name) for name in _NUMBERS}
        return AgentReply(str(content or ""), *scores, tool_calls=calls, **took)  # type: ignore[arg-type]


def _reply_of_messages(messages: list[Any]) -> AgentReply:
    """The last of the messages as the reply, and those before it as its steps; raises `UsageError` for others."""
    steps = []
    for message in messages:
        try:
            steps.append(turn_of(message))
        except RuleError as error:
            raise UsageError(f"returned {_shown(message)} as a message, which {error}") from None
    last = steps.pop() if steps else None
    if last is None or last.role != "assistant" or not last.text.strip() or last.tool_calls:
        raise UsageError(
            "returned messages whose last one is no reply; expected one of the assistant with text"
        )
    if wrong := next((step.role for step in steps if step.role not in ("assistant", "tool")), None):
        raise UsageError(f"returned a message of the {wrong}; expected those of the assistant and of tools")
    return AgentReply(last.text, steps=tuple(steps))


def _tool_calls(returned: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The tool calls of a returned object; raises `UsageError` for calls without the name of a function."""
    calls = returned.get("tool_calls") or ()
    expected = 'expected a list of {"id", "type": "function", "function": {"name", "arguments"}}'
    if not isinstance(calls, list | tuple):
        raise UsageError(f"returned {_shown(calls)} as `tool_calls`; {expected}")
    for call in calls:
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise UsageError(f"returned {_shown(call)} as a tool call; {expected}")
    return tuple(calls)


def _number(returned: Mapping[str, Any], name: str) -> float | None:
    """The number under a key of a returned object; None if there is none. Raises `UsageError` for what is none."""
    value = returned.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value) or value < 0:
        raise UsageError(f"returned {_shown(value)} as `{name}`; expected a number of 0 or more")
    return float(value) if name == "cost" else int(float(value))


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
    return FunctionAgent(name, digest(source), function, _taken(function))


def to_message(turn: Turn) -> dict[str, Any]:
    """The turn as a chat message: role, content and the other keys of the logged message (`extra`)."""
    return {"role": turn.role, "content": turn.content, **turn.extra}


def _taken(function: Callable[..., Any]) -> frozenset[str]:
    """The names of a function's parameters that it can be given beside the messages; none if Python cannot tell."""
    if inspect.isclass(function):
        return frozenset()
    try:
        return frozenset({"rng", *_CONTEXT} & inspect.signature(function).parameters.keys())
    except (TypeError, ValueError):  # some built-in functions have no signature
        return frozenset()


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
