"""Parts of native records that several readers build: tool calls, ratings, values as text."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnwise.logs.dialogue import RATING
from turnwise.types import AUTOMATIC, FAILURE, SITTING, TASK, TRIAL

FURTHER = "further candidates of a reply"  # that one call of a model returned, of which the first is kept
ALTERNATING = (
    "who speaks in a context is not said: roles alternate backwards from the reply, which alone is judged"
)
NOTHING_SAID: Mapping[str, Any] = {
    "role": "user",
    "content": "",
}  # of a run that failed before its first message


def as_json(value: Any) -> str:
    """A value as compact JSON text; a string is returned unchanged."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def tool_call(name: str, arguments: Any, identity: str | None = None) -> dict[str, Any]:
    """A call of a tool in OpenAI's form, with the arguments as JSON text; without `identity` it has no id."""
    call = {"type": "function", "function": {"name": name, "arguments": as_json(arguments)}}
    return call if identity is None else {"id": identity, **call}


def rating(
    dimension: str,
    value: float,
    *,
    rater: str | None = None,
    scale: tuple[float, float] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A rating in native form; the scale is left out if the value is not on it.

    `more` is kept beside it, without None.
    """
    values: dict[str, Any] = {"dimension": dimension, "value": value}
    if rater is not None:
        values["rater"] = rater
    if scale is not None and scale[0] <= value <= scale[1]:
        values["scale"] = list(scale)
    return values | {key: one for key, one in more.items() if one is not None}


def beside_rating(values: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """The entries of another format's score that are not in `known`; a key that a native rating has gets the prefix
    `source_`.
    """
    return {
        f"source_{key}" if key in RATING or key == AUTOMATIC else key: value
        for key, value in values.items()
        if key not in known
    }


def trial_of(task: Any, trial: Any, failure: str | None = None) -> dict[str, Any]:
    """The keys of a native record that say of which task it is which trial, and what broke down outside the agent;
    without a task, or without a trial, neither is said.
    """
    known = task is not None and trial is not None
    return present({TASK: task if known else None, TRIAL: trial if known else None, FAILURE: failure})


def sittings(ratings: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Ratings of one reply in native form, in which those of one rater on one dimension are told apart by the number of
    the sitting, from 0; a rating that is the only one of its rater is unchanged.
    """
    raters = [(one.get("rater"), one["dimension"]) for one in ratings]
    several = Counter(raters)
    given: Counter[tuple[Any, Any]] = Counter()
    for rater, one in zip(raters, ratings, strict=True):
        repeated = several[rater] > 1 and rater[0] is not None
        yield {**one, SITTING: given[rater]} if repeated else one
        given[rater] += 1


def without(value: Any, keys: list[str]) -> Any:
    """A value without what is at these keys, one inside another, and without objects that have nothing else.

    An empty key, which is a step into a list, takes nothing away.
    """
    if not isinstance(value, dict) or not keys[0] or keys[0] not in value:
        return value
    left = without(value[keys[0]], keys[1:]) if len(keys) > 1 else {}
    return {
        key: left if key == keys[0] else one for key, one in value.items() if key != keys[0] or left != {}
    }


def present(values: Mapping[str, Any]) -> dict[str, Any]:
    """The entries whose values are not None; empty texts and lists stay."""
    return {key: value for key, value in values.items() if value is not None}


def inner(values: Any, *keys: str) -> Any:
    """The value at a path of keys through nested objects; None if a step is absent or no object."""
    for key in keys:
        values = values.get(key) if isinstance(values, Mapping) else None
    return values


def text_at(values: Any, *keys: str) -> str | None:
    """The value at a path of keys if it is a text that is not empty, else None."""
    found = inner(values, *keys)
    return found if isinstance(found, str) and found else None
