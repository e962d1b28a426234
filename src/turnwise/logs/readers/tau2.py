"""Results of tau2-bench: one JSON object of `info`, `tasks` and `simulations`.

The reward of a simulation becomes a rating of the whole dialogue on the dimension `reward`; it is computed,
so its rater is `tau2`. The task, with what it expects, is the goal, and `meta.task_id` pairs agents on the
same task. Tool calls and tool messages are kept. What is said once for the whole run (policies, settings of
the simulated user) would be repeated on every line: only the domain and the two models are kept of it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from turnwise.logs.checks import RuleError, each, name, number, optional, others, record, required
from turnwise.logs.conversation import beside, checked
from turnwise.logs.readers.source import Options, members, refuse, whole
from turnwise.types import Dialogue

SIMULATION = frozenset({"id", "messages"})
MESSAGE = frozenset({"role", "content"})


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    dropped = (options or Options()).dropped
    try:
        results = record(whole(path))
        info = optional(results, "info", record, default={})
        tasks = dict(optional(results, "tasks", each(_task), default=()))
        simulations = required(results, "simulations", each(record))
        agent = _model(info, "agent_info")
        about = {"domain": _inner(info, "environment_info", "domain_name"), "user": _model(info, "user_info")}

        def dialogue(values: Any, place: str) -> Dialogue:
            goal = tasks.get(optional(values, "task_id", name, default=""))
            return checked(_native(values, agent=agent, goal=goal, about=about), default_id=place)

        spoken = [(place, one) for place, one in enumerate(simulations) if one.get("messages")]
        yield from members(spoken, dialogue, "simulations")
    except RuleError as error:
        refuse(error, path)
    if info:
        dropped["settings of the whole run (`info`)"] += 1
    if len(spoken) < len(simulations):
        dropped["simulations without messages"] += len(simulations) - len(spoken)


def _task(value: Any) -> tuple[str, dict[str, Any]]:
    values = record(value)
    return required(values, "id", name), values


def _native(
    values: dict[str, Any], *, agent: str | None, goal: dict[str, Any] | None, about: Mapping[str, Any]
) -> dict[str, Any]:
    """A simulation as a record of the native format."""
    reward = optional(optional(values, "reward_info", record, default={}), "reward", number, default=None)
    rating: dict[str, Any] = {"dimension": "reward", "value": reward, "rater": "tau2"}
    if reward is not None and 0 <= reward <= 1:
        rating["scale"] = [0, 1]
    return {
        "id": optional(values, "id", name, default=None),
        "agent": agent,
        "messages": [one for several in required(values, "messages", each(_messages)) for one in several],
        "ratings": [] if reward is None else [rating],
        "goal": goal,
        "meta": _present(about) | _present(others(values, SIMULATION)),
    }


def _messages(value: Any) -> list[dict[str, Any]]:
    """A message; or the several results that one of the benchmark's tool messages may hold."""
    values = record(value)
    if "tool_messages" in values:
        return [one for several in required(values, "tool_messages", each(_messages)) for one in several]
    kept = _present(beside(values, MESSAGE))
    content = values.get("content")
    silent = content is None and not kept.get("tool_calls")  # an empty result of a tool
    return [{"role": values.get("role"), "content": "" if silent else content, **kept}]


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _inner(values: Mapping[str, Any], *keys: str) -> str | None:
    found: Any = values
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) and found else None


def _model(info: Mapping[str, Any], side: str) -> str | None:
    return _inner(info, side, "llm") or _inner(info, side, "implementation")
