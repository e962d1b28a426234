"""The tool calls of a dialogue, each with its result and whether it failed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from turnwise.types import Turn

_FAILED = ("error", "exception", "traceback")  # the first word of a result that reports a failure


class ToolCall(NamedTuple):
    """One call of a tool."""

    turn: int  # index of the message that calls it
    name: str
    arguments: Any  # decoded, where they are JSON
    result: str | None = None  # None where the log has none
    failed: bool = False
    answered: int | None = None  # index of the message with the result

    @property
    def key(self) -> str:
        """The call as text: equal calls have equal texts."""
        return f"{self.name} {json.dumps(self.arguments, sort_keys=True, ensure_ascii=False, default=str)}"


def tool_calls(turns: Sequence[Turn]) -> list[ToolCall]:
    """The tool calls of all messages, in order. A result belongs to the call with its id, or to the first call before
    it that has no result.
    """
    found: list[ToolCall] = []
    ids: list[str] = []
    for place, turn in enumerate(turns):
        if turn.role == "tool":
            at = _answered(found, ids, str(turn.extra.get("tool_call_id") or ""))
            if at is not None:
                found[at] = found[at]._replace(result=turn.text, failed=is_failure(turn), answered=place)
            continue
        for call in turn.tool_calls:
            name, arguments = call_parts(call)
            found.append(ToolCall(place, name, arguments))
            ids.append(str(call.get("id") or ""))
    return found


def call_parts(call: Mapping[str, Any]) -> tuple[str, Any]:
    """The name of a tool call, and its arguments: decoded if they are a text that is JSON, else as they are."""
    inner = call.get("function", call)
    values = inner if isinstance(inner, Mapping) else {}
    arguments = values.get("arguments")
    if isinstance(arguments, str):
        with suppress(ValueError):  # a text that is no JSON stays a text
            arguments = json.loads(arguments)
    return str(values.get("name") or ""), {} if arguments is None else arguments


def is_failure(turn: Turn) -> bool:
    """Whether a tool's result reports a failure: it is marked so, begins with `Error`, or has an `error`."""
    for mark in ("error", "is_error"):
        if isinstance(turn.extra.get(mark), bool):
            return bool(turn.extra[mark])
    text = turn.text.strip()
    if text.lower().startswith(_FAILED):
        return True
    value = decoded(text)
    if isinstance(value, Mapping):
        return bool(value.get("error")) or str(value.get("status", "")).lower() in (
            "error",
            "failed",
            "failure",
        )
    return False


def decoded(text: str) -> Any:
    """The JSON value of a text; None if it is no JSON object or list."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The path and the value of each text, number and truth value inside a JSON value."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for at, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{at}]")
    elif value is not None:
        yield path, value


def _answered(calls: Sequence[ToolCall], ids: Sequence[str], identity: str) -> int | None:
    """The index of the call that a result belongs to; None if there is none."""
    open_ = [at for at, call in enumerate(calls) if call.result is None]
    if identity and identity in ids:
        return next((at for at in open_ if ids[at] == identity), None)
    return open_[0] if open_ else None
