"""The tools of a scenario: recorded results, or functions of the user, that work on the state of one conversation."""

import copy
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from turnwise.errors import UsageError
from turnwise.metrics.tools.calls import call_parts
from turnwise.plugin_code import plugin_code
from turnwise.registry import NoFunction, own_function, own_module
from turnwise.scenarios.scenario import Scenario, Tool
from turnwise.types import Turn


@dataclass
class Toolbox:
    """The tools of one conversation, and what they have changed."""

    tools: Sequence[Tool]
    functions: Mapping[str, Callable[..., Any]]  # of the user, by the tool's name
    state: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, scenario: Scenario, functions: Mapping[str, Callable[..., Any]]) -> "Toolbox":
        """The tools of a scenario with a state of their own."""
        return cls(scenario.tools, functions, copy.deepcopy(scenario.state))

    @property
    def definitions(self) -> tuple[dict[str, Any], ...]:
        """The tools in OpenAI's form."""
        return tuple(tool.definition() for tool in self.tools)

    def run(self, call: Mapping[str, Any], number: int) -> Turn:
        """The message with the result of a call; what goes wrong is the result, as an agent would see it."""
        name, arguments = call_parts(call)
        result = self._result(name, arguments)
        text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
        identity = str(call.get("id") or f"call_{number}")
        return Turn("tool", text, extra={"tool_call_id": identity, "name": name})

    def _result(self, name: str, arguments: Any) -> Any:
        """What a tool returns for these arguments."""
        tool = next((tool for tool in self.tools if tool.name == name), None)
        if tool is None:
            return f"Error: there is no tool `{name}`"
        if not isinstance(arguments, Mapping):
            return "Error: the arguments are no JSON object"
        for outcome in tool.results:
            if holds(outcome.arguments, arguments):
                for path, value in outcome.sets.items():
                    set_at(self.state, path, value)
                return outcome.result
        if name in self.functions:
            return self._called(self.functions[name], arguments)
        return f"Error: `{name}` has no result for these arguments"

    def _called(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """What a function of the user returns; with a parameter `state` it gets the state."""
        parameters = inspect.signature(function).parameters
        more = {"state": self.state} if "state" in parameters else {}
        try:
            with plugin_code():
                return function(**arguments, **more)
        except (
            Exception
        ) as error:  # an agent that calls a tool wrongly sees the error, as it would in production
            return f"Error: {error}"


def tool_functions(scenarios: Sequence[Scenario], module: str | None) -> dict[str, Callable[..., Any]]:
    """The functions of a module by the names of the scenarios' tools.

    A tool that has neither results nor a function raises `UsageError`.
    """
    found: dict[str, Callable[..., Any]] = {}
    for scenario in scenarios:
        for tool in scenario.tools:
            if tool.name in found:
                continue
            function = None if module is None else _function(module, tool.name)
            if function is not None:
                found[tool.name] = function
            elif not tool.results:
                where = f"`{module}` has no function of this name" if module else "there is no --tools MODULE"
                raise UsageError(
                    f"the tool `{tool.name}` of scenario `{scenario.id}` has no `results`, and {where}"
                )
    return found


def described(scenarios: Sequence[Scenario], module: str | None) -> tuple[Scenario, ...]:
    """The scenarios; those without tools that ask for calls have the public functions of the module as tools."""
    if module is None or all(one.tools or not one.success.calls for one in scenarios):
        return tuple(scenarios)
    there = own_module(module, "tools", module)
    own = [
        _tool(name, function)
        for name, function in inspect.getmembers(there, inspect.isfunction)
        if function.__module__ == there.__name__ and not name.startswith("_")
    ]
    return tuple(
        one if one.tools or not one.success.calls else msgspec.structs.replace(one, tools=own)
        for one in scenarios
    )


def _tool(name: str, function: Callable[..., Any]) -> Tool:
    """A function as a tool: its docstring and its parameters, without the state."""
    parameters = {key: one for key, one in inspect.signature(function).parameters.items() if key != "state"}
    return Tool(
        name=name,
        description=(inspect.getdoc(function) or "").partition("\n\n")[0],
        parameters={
            "type": "object",
            "properties": {key: _schema(one.annotation) for key, one in parameters.items()},
            "required": [key for key, one in parameters.items() if one.default is one.empty],
        },
    )


def _schema(annotation: Any) -> dict[str, Any]:
    """The JSON Schema of an annotation; anything, where there is none or it has none."""
    try:
        return {} if annotation is inspect.Parameter.empty else msgspec.json.schema(annotation)
    except TypeError:
        return {}


def _function(module: str, name: str) -> Callable[..., Any] | None:
    """The module's function of this name, None if it has none; one that cannot be imported raises `UsageError`."""
    try:
        return own_function(f"{module}:{name}", "tool")[0]
    except NoFunction:
        return None


def holds(wanted: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
    """Whether everything that is wanted is there, with the same values; texts are compared without capitals."""
    return all(key in there and same(value, there[key]) for key, value in wanted.items())


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same; numbers as texts are numbers, and capitals and outer spaces do not count."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return holds(one, other) and len(one) == len(other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other) or _plain(one) == _plain(other)


def _plain(value: Any) -> Any:
    """A text in lower case without outer spaces, a number as a number."""
    text = str(value).strip().lower()
    try:
        return float(text)
    except ValueError:
        return text


def at(state: Any, path: str) -> Any:
    """The value at a path such as `order.status`; None if there is none."""
    for key in path.split("."):
        if isinstance(state, Mapping):
            state = state.get(key)
        elif isinstance(state, list) and key.isdigit() and int(key) < len(state):
            state = state[int(key)]
        else:
            return None
    return state


def set_at(state: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a path; mappings on the way are made."""
    *before, last = path.split(".")
    for key in before:
        inner = state.get(key)
        if not isinstance(inner, dict):
            inner = state[key] = {}
        state = inner
    state[last] = copy.deepcopy(value)
