"""Tool calls and their results as texts to read."""

from collections.abc import Mapping
from typing import Any

import msgspec


def called(call: Mapping[str, Any]) -> tuple[str, str]:
    """Name and arguments of a tool call in OpenAI's form, also of an older `function_call`; "" where it has none.

    Arguments that are no text are written as JSON.
    """
    inner = call.get("function", call)
    values = inner if isinstance(inner, Mapping) else {}
    arguments = values.get("arguments")
    text = (
        arguments
        if isinstance(arguments, str)
        else ""
        if arguments is None
        else msgspec.json.encode(arguments).decode()
    )
    return str(values.get("name") or ""), text


def indented(text: str) -> str:
    """JSON text with indentation; any other text as it is."""
    try:
        return msgspec.json.format(text.encode(), indent=2).decode()
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text
