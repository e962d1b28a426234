"""Calls that failed, that were repeated after a failure without a change, and that asked for what was already known."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from turnwise.metrics.tools.calls import ToolCall, tool_calls
from turnwise.metrics.tools.faults import Fault, Faults, Inspection
from turnwise.types import Card, Item

_CITATION = "Yao et al. 2024, tau-bench (logs of agents with tools)"


class ToolErrors(Faults):
    """`tool-errors`: the share of tool calls that failed."""

    __slots__ = ()

    name: ClassVar[str] = "tool-errors"
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="The share of tool calls whose result reports a failure.",
        range="0-1",
        limits="A failure is recognised by a mark of the log (`error`, `is_error`), a result that begins with `Error`, "
        "or an object with an error. A tool that fails silently is not seen, and a failure may be the tool's fault.",
        citation=_CITATION,
    )

    def inspect(self, item: Item, /) -> Inspection:
        """The calls that failed."""
        calls = tool_calls(item.turns)
        faults = [Fault(one.turn, f"{one.name} failed: {_brief(one.result)}") for one in calls if one.failed]
        return Inspection(len(calls), tuple(faults))


class ToolRetries(Faults):
    """`tool-retries`: the share of tool calls that repeat a failed call without a change."""

    __slots__ = ()

    name: ClassVar[str] = "tool-retries"
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="The share of tool calls that repeat a call that had failed, with the same arguments.",
        range="0-1",
        limits="A retry after a temporary failure of a server is right, and counts too.",
        citation=_CITATION,
    )

    def inspect(self, item: Item, /) -> Inspection:
        """The calls that equal an earlier call that failed."""
        calls = tool_calls(item.turns)
        return Inspection(len(calls), tuple(repeats(calls, failed=True)))


class ToolRepeats(Faults):
    """`tool-repeats`: the share of tool calls that were not needed, as the same call had given the same result."""

    __slots__ = ()

    name: ClassVar[str] = "tool-repeats"
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="The share of tool calls that repeat a successful call with equal arguments, and got the same result.",
        range="0-1",
        limits="A call that checks whether something has changed counts too, if nothing had.",
        citation=_CITATION,
    )

    def inspect(self, item: Item, /) -> Inspection:
        """The calls that equal an earlier call that succeeded, and have its result."""
        calls = tool_calls(item.turns)
        return Inspection(len(calls), tuple(repeats(calls, failed=False)))


def repeats(calls: Sequence[ToolCall], *, failed: bool) -> list[Fault]:
    """The calls that repeat an earlier one which failed, or which succeeded with the same result."""
    why = "after it had failed" if failed else "with the same result"
    return [
        Fault(call.turn, f"{call.name} repeated {why} (first in message {earlier.turn})")
        for call, earlier in repeated_calls(calls, failed=failed)
    ]


def repeated_calls(calls: Sequence[ToolCall], *, failed: bool) -> Iterator[tuple[ToolCall, ToolCall]]:
    """Each call that repeats an earlier one which failed, or which succeeded with the same result; and that one."""
    before: dict[str, ToolCall] = {}
    for call in calls:
        earlier = before.get(call.key)
        if earlier is not None and earlier.failed is failed and (failed or earlier.result == call.result):
            yield call, earlier
        before[call.key] = call


def _brief(text: str | None) -> str:
    """The beginning of a result."""
    line = " ".join((text or "").split())
    return line if len(line) <= 100 else f"{line[:99]}…"
