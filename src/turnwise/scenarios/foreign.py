"""Scenarios in the forms of other tools: DeepEval's conversational goldens, tau2's tasks, promptfoo's simulated users.

What has no counterpart here is left out, and `left_out` counts it: tau2's comparison of its database and its assertions
on it (its tools need --tools), and assertions of promptfoo that are neither about words nor a rubric. Expected turns of
DeepEval are not read.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

NAMES = "DeepEval's goldens, tau2's tasks, promptfoo's tests with a simulated user"
SIMULATED = "promptfoo:simulated-user"
_SAID, _NEVER_SAID = (
    ("icontains", "contains", "contains-all", "icontains-all"),
    ("not-icontains", "not-contains"),
)
_RUBRIC = "llm-rubric"
_VARIABLE = re.compile(r"\{\{\s*([\w.]+)\s*\}\}")

Found = list[tuple[dict[str, Any], str]]  # scenarios as our own files have them, each with its place


class Form(NamedTuple):
    """A form of another tool."""

    name: str
    fits: Callable[[Any], bool]
    read: Callable[[Any], Found]
    left_out: Callable[[Any], Iterable[str]]  # in words, of each thing that scenarios ask for and we do not


def form_of(value: Any) -> Form | None:
    """The form of another tool that a file has; None for our own."""
    return next((form for form in FORMS if form.fits(value)), None)


def _first(value: Any, *keys: str) -> Mapping[str, Any]:
    """The first record of a list, or of the list under one of the keys; empty if there is none."""
    records, _ = _records(value, *keys)
    return records[0] if records and isinstance(records[0], Mapping) else {}


def _records(value: Any, *keys: str) -> tuple[list[Any], str]:
    """The records of a file and their place: the file is a list, or has one under one of the keys."""
    if isinstance(value, list):
        return value, "$"
    for key in keys:
        if isinstance(value, Mapping) and isinstance(value.get(key), list):
            return value[key], f"$.{key}"
    return [], "$"


def _text(*parts: object) -> str:
    """The texts that are there, as sentences."""
    return " ".join(" ".join(str(part).split()) for part in parts if part)


def _without_nothing(scenario: dict[str, Any]) -> dict[str, Any]:
    """The scenario without keys that have nothing."""
    return {key: value for key, value in scenario.items() if value not in (None, "", [], {})}


def _is_deepeval(value: Any) -> bool:
    """Whether the records have a scenario or an input, and what is expected of it."""
    first = _first(value, "goldens", "conversational_goldens")
    expected = ("expected_outcome", "expectedOutcome", "expected_output", "expectedOutput", "user_description",
                "userDescription")  # fmt: skip
    said = isinstance(first.get("scenario"), str) or isinstance(first.get("input"), str)
    return said and "id" not in first and any(key in first for key in expected)


def _deepeval(value: Any) -> Found:
    """Each golden: its scenario is the goal, or its input the first turn; what is expected is a rubric."""
    records, root = _records(value, "goldens", "conversational_goldens")
    made: Found = []
    for index, golden in enumerate(records):
        known = golden if isinstance(golden, Mapping) else {}
        expected = _either(known, "expected_outcome", "expected_output")
        turns = [
            turn["content"]
            for turn in known.get("turns") or ()
            if isinstance(turn, Mapping) and turn.get("role") == "user" and turn.get("content")
        ]
        single = known.get("input")
        scenario = {
            "id": str(known.get("name") or f"golden-{index + 1}"),
            "persona": _either(known, "user_description"),
            "goal": known.get("scenario"),
            "turns": [single] if single else turns,
            "max_turns": 1 if single and not known.get("scenario") else None,
            "briefing": "\n".join(map(str, known.get("context") or ())),
            "success": {"judge": expected} if expected else None,
        }
        made.append((_without_nothing(scenario), f"{root}[{index}]"))
    return made


def _either(values: Mapping[str, Any], *names: str) -> Any:
    """The value under the first of the names that is there, in snake case or camel case."""
    for name in names:
        head, *rest = name.split("_")
        for key in (name, head + "".join(part.title() for part in rest)):
            if values.get(key):
                return values[key]
    return None


def _is_tau2(value: Any) -> bool:
    """Whether the records are tasks with a user scenario."""
    return "user_scenario" in _first(value, "tasks")


def _tau2(value: Any) -> Found:
    """Each task: what the user is told becomes the goal, and the expected actions and words what must hold."""
    records, root = _records(value, "tasks")
    return [(_tau2_task(task, index), f"{root}[{index}]") for index, task in enumerate(records)]


def _tau2_task(task: Mapping[str, Any], index: int) -> dict[str, Any]:
    """One task of tau2."""
    user = task.get("user_scenario") or {}
    told = user.get("instructions") or {}
    if isinstance(told, str):
        told = {"task_instructions": told}
    unknown = f"You do not know: {told['unknown_info']}" if told.get("unknown_info") else ""
    known = f"You know: {told['known_info']}" if told.get("known_info") else ""
    criteria = task.get("evaluation_criteria") or {}
    actions = [
        {"name": action["name"], "arguments": action.get("arguments") or {}}
        for action in criteria.get("actions") or ()
        # Actions of the user's own tools are no calls of the agent.
        if action.get("requestor", "assistant") == "assistant"
    ]
    rubric = [str(one) for one in criteria.get("nl_assertions") or ()]
    return _without_nothing(
        {
            "id": str(task.get("id", index)),
            "kind": told.get("domain"),
            "persona": user.get("persona"),
            "goal": _text(told.get("reason_for_call"), known, unknown, told.get("task_instructions")),
            "success": _without_nothing(
                {
                    "calls": actions,
                    "says": [str(one) for one in criteria.get("communicate_info") or ()],
                    "judge": " ".join(rubric),
                }
            ),
        }
    )


def _tau2_left_out(value: Any) -> Iterator[str]:
    """Checks on the database that the task is rewarded for, and assertions on it."""
    for task in _records(value, "tasks")[0]:
        criteria = task.get("evaluation_criteria") or {}
        if "DB" in (criteria.get("reward_basis") or ()):
            yield "the database's state at the end (tau2); the calls that lead there are asked for"
        for _ in criteria.get("env_assertions") or ():
            yield "an assertion on the environment (tau2)"


def _is_promptfoo(value: Any) -> bool:
    """Whether a configuration has tests with a simulated user."""
    if not isinstance(value, Mapping) or not isinstance(value.get("tests"), list):
        return False
    return any(_provider(test) is not None for test in [*value["tests"], value.get("defaultTest")])


def _provider(test: Any) -> Mapping[str, Any] | None:
    """The simulated user of a test; None if it has none."""
    provider = test.get("provider") if isinstance(test, Mapping) else None
    if isinstance(provider, str):
        provider = {"id": provider}
    simulated = isinstance(provider, Mapping) and provider.get("id") == SIMULATED
    return provider if simulated else None


def _promptfoo(value: Mapping[str, Any]) -> Found:
    """Each test with a simulated user: its instructions are the goal."""
    default = value.get("defaultTest") or {}
    made: Found = []
    for index, test in enumerate(value["tests"]):
        provider = _provider(test) or _provider(default)
        if provider is None or not isinstance(test, Mapping):
            continue
        config = {**((_provider(default) or {}).get("config") or {}), **(provider.get("config") or {})}
        variables = {**(default.get("vars") or {}), **(test.get("vars") or {})}
        wanted = _filled(str(config.get("instructions") or "{{instructions}}"), variables)
        checks = [*(default.get("assert") or ()), *(test.get("assert") or ())]
        scenario = {
            "id": str(test.get("description") or f"test-{index + 1}"),
            "goal": wanted,
            "max_turns": config.get("maxTurns") or 10,
            "success": _without_nothing(
                {
                    "says": _values(checks, *_SAID),
                    "never_says": _values(checks, *_NEVER_SAID),
                    "judge": " ".join(_values(checks, _RUBRIC)),
                }
            ),
        }
        made.append((_without_nothing(scenario), f"$.tests[{index}]"))
    return made


def _promptfoo_left_out(value: Mapping[str, Any]) -> Iterator[str]:
    """Assertions that are neither about words nor a rubric."""
    for test in [*value["tests"], value.get("defaultTest") or {}]:
        for one in test.get("assert") or () if isinstance(test, Mapping) else ():
            if isinstance(one, Mapping) and one.get("type") not in (*_SAID, *_NEVER_SAID, _RUBRIC):
                yield f"an assertion `{one.get('type')}` (promptfoo)"


def _filled(template: str, variables: Mapping[str, Any]) -> str:
    """The template with its variables; one without a value stays as it is."""
    return _VARIABLE.sub(lambda match: str(variables.get(match[1], match[0])), template).strip()


def _values(checks: Sequence[Any], *kinds: str) -> list[str]:
    """The values of assertions of these types."""
    chosen: Iterable[Any] = (one for one in checks if isinstance(one, Mapping) and one.get("type") in kinds)
    values = [one["value"] for one in chosen if one.get("value")]
    return [str(text) for value in values for text in (value if isinstance(value, list) else [value])]


def _nothing(_: Any) -> tuple[str, ...]:
    """Nothing is left out."""
    return ()


FORMS = (
    Form("tau2", _is_tau2, _tau2, _tau2_left_out),
    Form("deepeval", _is_deepeval, _deepeval, _nothing),
    Form("promptfoo", _is_promptfoo, _promptfoo, _promptfoo_left_out),
)
