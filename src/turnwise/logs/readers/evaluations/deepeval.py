"""DeepEval's test cases: conversational ones with `turns`, plain ones with `input` and `actual_output`, and test runs.

A test run (`{"testCases": [...], "conversationalTestCases": [...]}`) has both, with `metricsData`: each metric's score
becomes a rating of the dialogue, with the reason beside it. `expected_output` is a reference, `scenario` and
`expected_outcome` are the goal. Keys are read in snake case and in camel case, as different versions write them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from turnwise.logs.checks import each, number, optional, others, record, required, text, wrong
from turnwise.logs.dialogue import from_record, other_entries
from turnwise.logs.readers.messages import beside_rating, present, rating, text_at, tool_call
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, records
from turnwise.types import Dialogue

CAMEL = re.compile(r"(?<=[a-z])([A-Z])")
RUN = ("test_cases", "conversational_test_cases")
# Keys that are kept elsewhere in a dialogue.
GOAL = ("scenario", "expected_outcome", "user_description")
CASE = frozenset(
    {"turns", "input", "actual_output", "expected_output", "chatbot_role", "id", "metrics_data", *GOAL}
)
TURN = frozenset({"role", "content", "tools_called"})
CALL = frozenset({"name", "input_parameters"})
METRIC = frozenset({"name", "score", "evaluation_model", "reason"})


def recognises(sample: Sample) -> bool:
    """Whether the first record is a test run, or a test case with `turns` of roles, or with `input` and
    `actual_output`.
    """
    values = _snake(sample.first)
    if any(isinstance(values.get(key), list) for key in RUN):
        return True
    turns = values.get("turns")
    conversational = (
        isinstance(turns, list) and bool(turns) and isinstance(turns[0], dict) and "role" in turns[0]
    )
    return conversational or {"input", "actual_output"} <= values.keys()


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a test case; other keys of a test run are counted as dropped."""
    options = options or Options()
    for value, place, located in records(path):
        with located():
            values = _snake(record(value))
            if not any(key in values for key in RUN):
                yield _dialogue(values, place)
                continue
            if more := others(values, frozenset(RUN)):
                options.dropped["settings and totals of the whole test run"] += len(more)
            for key in RUN:
                for index, case in enumerate(optional(values, key, each(record), default=()), 1):
                    yield _dialogue(_snake(case), f"{key}-{index}")


def _snake(values: Mapping[str, Any]) -> dict[str, Any]:
    """The object with its own keys in snake case; nested keys stay as they are."""
    return {CAMEL.sub(r"_\1", key).lower(): value for key, value in values.items()}


def _dialogue(values: dict[str, Any], place: str) -> Dialogue:
    """A test case, with keys in snake case, as a dialogue; raises `RuleError` if it has neither `turns` nor
    `actual_output`.
    """
    if values.get("turns") is not None:
        messages = [_message(_snake(one)) for one in required(values, "turns", each(record))]
    elif values.get("actual_output") is not None:
        reply: dict[str, Any] = {"role": "assistant", "content": required(values, "actual_output", text)}
        if text_at(values, "expected_output"):
            reply["references"] = [values["expected_output"]]
        messages = [{"role": "user", "content": required(values, "input", text)}, reply]
    else:
        raise wrong(sorted(values), "`turns`, or `input` and `actual_output`")
    goal = present({key: values.get(key) for key in GOAL})
    if text_at(values, "chatbot_role"):
        messages.insert(0, {"role": "system", "content": values["chatbot_role"]})
    metrics = optional(values, "metrics_data", each(record), default=())
    unscored = [one for one in metrics if _snake(one).get("score") is None]
    native = {
        "id": text_at(values, "id") or place,
        "messages": messages,
        "ratings": list(_ratings(values)),
        "goal": goal or None,
        "meta": present(others(values, CASE)) | ({"metrics": unscored} if unscored else {}),
    }
    return from_record(native, default_id=place)


def _message(values: dict[str, Any]) -> dict[str, Any]:
    """A turn, with keys in snake case, as a native message with its tool calls."""
    native: dict[str, Any] = {"role": values.get("role"), "content": values.get("content")}
    calls = optional(values, "tools_called", each(record), default=())
    if calls:
        native["tool_calls"] = [_call(_snake(call)) for call in calls]
    return native | present(other_entries(values, TURN))


def _call(values: dict[str, Any]) -> dict[str, Any]:
    """A called tool as a tool call in OpenAI's form, with its other keys, such as the output."""
    call = tool_call(required(values, "name", text), values.get("input_parameters") or {})
    return present(others(values, CALL)) | call


def _ratings(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each metric's score as a rating of the dialogue, 0 to 1; metrics without a score are left out."""
    for one in optional(values, "metrics_data", each(record), default=()):
        about = _snake(one)
        score = optional(about, "score", number, default=None)
        if score is not None:
            rater = text_at(about, "evaluation_model") or "deepeval"
            yield rating(
                required(about, "name", text),
                score,
                rater=rater,
                scale=(0, 1),
                automatic=True,
                **{**beside_rating(about, METRIC), "reason": text_at(about, "reason")},
            )
