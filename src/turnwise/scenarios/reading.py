"""Scenarios from files: our own form in YAML, TOML or JSON, and the forms of other tools (see `foreign`)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import inspect

from turnwise.errors import DataError, Problem, nearest
from turnwise.scenarios import foreign
from turnwise.scenarios.mistakes import mistakes
from turnwise.scenarios.places import Placed, load
from turnwise.scenarios.scenario import Scenario, ScenarioFile, Tool

_KEYS = [field.encode_name for field in msgspec.structs.fields(ScenarioFile)]


def read(paths: Sequence[str]) -> tuple[Scenario, ...]:
    """The scenarios of files, in their order; every mistake is a line of one `DataError`, with its place."""
    found: list[Scenario] = []
    problems: list[Problem] = []
    places: dict[str, str] = {}
    for path in paths:
        placed = load(path)
        for scenario, place in _scenarios(placed, problems):
            here = str(placed.problem(f"{place}.id", "")).partition(": ")[0]
            if scenario.id in places:
                words = (
                    f"is `{scenario.id}`, which is in {places[scenario.id]} already; expected ids that differ"
                )
                problems.append(placed.problem(f"{place}.id", words))
            places.setdefault(scenario.id, here)
            found.append(scenario)
    if problems:
        raise DataError(*problems)
    return tuple(found)


def left_out(paths: Sequence[str]) -> Counter[str]:
    """What the scenarios of other tools ask for and we do not, in words, with its number."""
    found: Counter[str] = Counter()
    for path in paths:
        value = load(path).value
        if (form := foreign.form_of(value)) is not None:
            found.update(form.left_out(value))
    return found


def from_values(values: Sequence[Mapping[str, Any] | Scenario]) -> tuple[Scenario, ...]:
    """The scenarios of mappings as a file has them; mistakes raise `DataError`."""
    problems: list[Problem] = []
    plain = [msgspec.to_builtins(one) if isinstance(one, Scenario) else dict(one) for one in values]
    found = [one for one, _ in _scenarios(Placed("scenarios", plain), problems)]
    names = [one.id for one in found]
    problems += [
        Problem(
            "scenarios", None, "", f"have the id `{name}` {names.count(name)} times; expected ids that differ"
        )
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    if problems:
        raise DataError(*problems)
    return tuple(found)


def _scenarios(placed: Placed, problems: list[Problem]) -> Iterator[tuple[Scenario, str]]:
    """The scenarios of one file with their places; what is wrong is added to the problems."""
    value = placed.value
    if (form := foreign.form_of(value)) is not None:
        yield from _converted(form.read(value), placed, problems)
        return
    if isinstance(value, list):
        value, root = {"scenarios": value}, "$"
    else:
        root = "$.scenarios"
    if (
        not isinstance(value, Mapping)
        or not isinstance(value.get("scenarios"), list)
        or not value["scenarios"]
    ):
        words = (
            f"has no scenarios; expected a list, or a mapping with `scenarios`, or one of: {foreign.NAMES}"
        )
        problems.append(placed.problem("", words))
        return
    for name in value:
        if name not in _KEYS:
            words = f"is no key of a file of scenarios; {nearest(str(name), _KEYS)}"
            problems.append(placed.problem(f"$.{name}", words))
    shared = _checked(value.get("tools") or [], list[Tool], "$.tools", placed, problems) or []
    for index, one in enumerate(value["scenarios"]):
        place = f"{root}[{index}]"
        scenario: Scenario | None = _checked(one, Scenario, place, placed, problems)
        if scenario is not None:
            own = {tool.name for tool in scenario.tools}
            tools = [*scenario.tools, *(tool for tool in shared if tool.name not in own)]
            scenario = msgspec.structs.replace(scenario, tools=tools)
            problems += [placed.problem(f"{place}{at}", words) for at, words in _broken_rules(scenario)]
            yield scenario, place


def _converted(
    scenarios: Sequence[tuple[dict[str, Any], str]], placed: Placed, problems: list[Problem]
) -> Iterator[tuple[Scenario, str]]:
    """The scenarios that were made from another tool's, with the places of these."""
    for value, place in scenarios:
        scenario: Scenario | None = _checked(value, Scenario, place, placed, problems)
        if scenario is not None:
            problems += [placed.problem(place, words) for _, words in _broken_rules(scenario)]
            yield scenario, place


def _checked(value: Any, kind: Any, place: str, placed: Placed, problems: list[Problem]) -> Any:
    """The value as this type; None if it is not, and the problems say where."""
    try:
        wrong = [placed.problem(*one) for one in mistakes(value, inspect.type_info(kind), place)]
        problems += wrong
        return None if wrong else msgspec.convert(value, kind)
    except RecursionError:
        problems.append(placed.problem(place, "contains itself"))
    except msgspec.ValidationError as error:  # a key of a mapping that is no text
        problems.append(placed.problem(place, f"cannot be read: {error}"))
    return None


def _broken_rules(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Rules that types cannot express: a place inside the scenario, and what is wrong there."""
    if not (scenario.goal or scenario.turns or scenario.world):
        yield "", f"(`{scenario.id}`) gives the user nothing to say: it needs `goal`, `turns` or `world`"
    names = [tool.name for tool in scenario.tools]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield f".tools[{index}].name", f"is `{name}`, which another tool is called already"
    if not names:
        return
    checked = [
        (f".success.calls[{index}].name", call.name) for index, call in enumerate(scenario.success.calls)
    ]
    checked += [(f".success.never_calls[{at}]", name) for at, name in enumerate(scenario.success.never_calls)]
    for place, name in checked:
        if name not in names:
            yield place, f"is `{name}`, which is no tool of the scenario; {nearest(name, names)}"
