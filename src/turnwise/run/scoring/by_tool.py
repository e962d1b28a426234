"""Calls by tool: how many there were, failed, were not valid or were repeated, how long they took, and how often a tool
was the first to fail in a dialogue that failed.

A dialogue failed if a rating of the whole dialogue on a scale from 0 to 1 (`reward`, `pass`, `success`) is below 1;
where it has no such rating, if any of its calls failed.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnwise.errors import DataError
from turnwise.extras import is_installed
from turnwise.logs.items.items import Selection, all_items
from turnwise.logs.scan import Census
from turnwise.metrics.tools.calls import ToolCall, tool_calls
from turnwise.metrics.tools.failures import repeated_calls
from turnwise.metrics.tools.validity import problem, schemas_of
from turnwise.records import ToolRecord
from turnwise.types import Item, Rating, Turn

METRICS = "tool-"  # how the names of metrics of tool calls begin
PASSED = (0.0, 1.0)  # the scale of a rating that says whether a dialogue passed
SECONDS = ("latency", "duration", "elapsed")  # keys of a result: the seconds that the tool took
TIMES = ("timestamp", "created_at", "time")  # keys of a message: when it was


@dataclass(slots=True)
class _Tool:
    """The calls of one tool by one agent."""

    calls: int = 0
    dialogues: int = 0
    errors: int = 0
    invalid: int | None = None
    repeated: int = 0
    seconds: list[float] = field(default_factory=list)
    failed_first: int = 0


@dataclass(slots=True)
class _Agent:
    """The tools of one agent."""

    tools: dict[str, _Tool] = field(default_factory=dict)
    failed: int = 0  # dialogues


def tools_of(
    metrics: Iterable[str], paths: Sequence[str], selection: Selection, census: Census
) -> tuple[ToolRecord, ...]:
    """A record for each tool of each agent, the most called first, if one of the metrics is of tool calls."""
    if not any(name.startswith(METRICS) for name in metrics):
        return ()
    agents: dict[tuple[str, str], _Agent] = {}
    try:
        for item in all_items(paths, selection, census, whole=True, silent=True):
            _add(agents.setdefault((item.group, item.agent), _Agent()), item)
    # Nothing to judge: the metrics say so.
    except DataError:
        return ()
    return tuple(
        _record(name, tool, agent, group, of_agent.failed)
        for (group, agent), of_agent in agents.items()
        for name, tool in sorted(of_agent.tools.items(), key=lambda pair: (-pair[1].calls, pair[0]))
    )


def _record(name: str, tool: _Tool, agent: str, group: str, failed: int) -> ToolRecord:
    """The record of one tool."""
    return ToolRecord(
        agent=agent,
        group=group or None,
        tool=name,
        calls=tool.calls,
        dialogues=tool.dialogues,
        errors=tool.errors,
        invalid=tool.invalid,
        repeated=tool.repeated,
        latency=sum(tool.seconds) / len(tool.seconds) if tool.seconds else None,
        failed_first=tool.failed_first,
        failed_first_share=tool.failed_first / failed if failed else None,
    )


def _add(agent: _Agent, item: Item) -> None:
    """Count the calls of one dialogue."""
    calls = tool_calls(item.turns)
    schemas = dict(schemas_of(item.meta.get("tools"))) if is_installed("tools") else {}
    wrong = [bool(schemas) and bool(problem(call, schemas)) for call in calls]
    again = Counter(id(call) for failed in (True, False) for call, _ in repeated_calls(calls, failed=failed))
    for call, is_wrong in zip(calls, wrong, strict=True):
        tool = agent.tools.setdefault(call.name, _Tool())
        tool.calls += 1
        tool.errors += call.failed
        tool.repeated += again[id(call)] > 0
        if schemas:
            tool.invalid = (tool.invalid or 0) + is_wrong
        seconds = _seconds(call, item.turns)
        if seconds is not None:
            tool.seconds.append(seconds)
    for name in {call.name for call in calls}:
        agent.tools[name].dialogues += 1
    faulty = [call for call, is_wrong in zip(calls, wrong, strict=True) if call.failed or is_wrong]
    if has_failed(item.ratings, bool(faulty)):
        agent.failed += 1
        if faulty:
            agent.tools[faulty[0].name].failed_first += 1


def has_failed(ratings: Sequence[Rating], has_fault: bool) -> bool:
    """Whether a dialogue failed: by its ratings from 0 to 1, else by its calls."""
    passed = [
        rating.value >= PASSED[1] for rating in ratings if rating.scale == PASSED and rating.turn is None
    ]
    return not all(passed) if passed else has_fault


def _seconds(call: ToolCall, turns: Sequence[Turn]) -> float | None:
    """How long a call took: as its result says, else by the times of the two messages."""
    if call.answered is None:
        return None
    result = turns[call.answered].extra
    told = next((result[key] for key in SECONDS if isinstance(result.get(key), int | float)), None)
    if told is not None:
        return float(told)
    start, end = _time(turns[call.turn].extra), _time(result)
    return end - start if start is not None and end is not None and end >= start else None


def _time(extra: Any) -> float | None:
    """When a message was, in seconds; None if it does not say."""
    for key in TIMES:
        value = extra.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        if isinstance(value, str):
            try:
                return datetime.fromisoformat(value).timestamp()
            except ValueError:
                continue
    return None
