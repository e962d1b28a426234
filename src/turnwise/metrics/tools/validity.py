"""Tool calls against the JSON schemas of the tools.

The schemas are in the record (`tools`, or `meta.tools`), as chat completions take them, or in a file. The forms of
OpenAI (`{"type": "function", "function": {"name", "parameters"}}`), of Anthropic (`{"name", "input_schema"}`), and an
object of schemas by name are read.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from turnwise.errors import DataError, UsageError
from turnwise.extras import require
from turnwise.metrics.tools.calls import ToolCall, tool_calls
from turnwise.metrics.tools.faults import Fault, Faults, Inspection
from turnwise.types import Card, Item, Signature, digest

_KEYS = ("parameters", "input_schema", "inputSchema")


@dataclass(frozen=True, slots=True)
class ToolValidity(Faults):
    """`tool-invalid`: the share of tool calls that the schemas of the tools do not allow."""

    name: ClassVar[str] = "tool-invalid"
    unscored: ClassVar[str] = (
        "no tool call, or no schema of the tools (`tools` of the record, or tool-invalid[tools=FILE])"
    )
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="The share of tool calls that name an unknown tool, or whose arguments its JSON schema does not allow.",
        range="0-1",
        limits="As strict as the schemas: a wrong value of the right type is not seen.",
        citation="JSON Schema, draft 2020-12; Patil et al. 2025, The Berkeley Function Calling Leaderboard",
    )

    tools: str = ""  # JSON text of the schemas; "": those of the record

    @property
    def signature(self) -> Signature:
        """With a digest of the schemas, if they are from a file; raises `MissingExtra` without `jsonschema`."""
        require("tools", f"`{self.name}`")
        return Signature(self.name, (("tools", digest(self.tools)),) if self.tools else ())

    def inspect(self, item: Item, /) -> Inspection:
        """The calls that are not valid."""
        given: Any = json.loads(self.tools) if self.tools else item.meta.get("tools")
        schemas = dict(schemas_of(given))
        calls = tool_calls(item.turns)
        if not schemas:
            return Inspection(0, ())
        faults = [Fault(one.turn, why) for one in calls if (why := problem(one, schemas))]
        return Inspection(len(calls), tuple(faults))


def tool_invalid(*, tools: str | None = None) -> ToolValidity:
    """The metric, with the schemas of a JSON file, or those of the records; `UsageError` for a file without schemas."""
    if tools is None:
        return ToolValidity()
    try:
        given = json.loads(Path(tools).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"the schemas of tools {tools} cannot be read: {error}") from error
    if not dict(schemas_of(given)):
        raise UsageError(
            f"{tools} has no schemas of tools: expected a list of tools, or an object of schemas by name"
        )
    return ToolValidity(json.dumps(given, sort_keys=True))


def schemas_of(given: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The name and the schema of each tool."""
    if isinstance(given, Mapping):
        yield from ((str(name), one) for name, one in given.items() if isinstance(one, Mapping))
        return
    for one in given if isinstance(given, Sequence) and not isinstance(given, str) else ():
        inner = one.get("function", one) if isinstance(one, Mapping) else {}
        if isinstance(inner, Mapping) and inner.get("name"):
            schema: Mapping[str, Any] = next(
                (inner[key] for key in _KEYS if isinstance(inner.get(key), Mapping)), {}
            )
            yield str(inner["name"]), schema


def problem(call: ToolCall, schemas: Mapping[str, Mapping[str, Any]]) -> str:
    """What is wrong with a call; "" if nothing is."""
    if call.name not in schemas:
        return f"there is no tool `{call.name}`"
    if not isinstance(call.arguments, Mapping):
        return f"the arguments of {call.name} are no JSON object"
    errors = _validator(json.dumps(schemas[call.name], sort_keys=True)).iter_errors(call.arguments)
    first = min(errors, key=lambda one: str(one.json_path), default=None)
    return "" if first is None else f"{call.name}, {first.json_path}: {first.message}"


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    """The validator of a schema, which is JSON text; raises `DataError` if it is no schema.

    A schema that does not say otherwise allows no further arguments, as tools take none that they do not name.
    """
    from jsonschema import Draft202012Validator, SchemaError

    values = json.loads(schema)
    if "properties" in values:
        values.setdefault("additionalProperties", False)
    try:
        Draft202012Validator.check_schema(values)
    except SchemaError as error:
        raise DataError(f"a tool's parameters are no JSON schema: {error.message}") from error
    return Draft202012Validator(values)
