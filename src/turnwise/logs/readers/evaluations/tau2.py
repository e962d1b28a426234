"""Results of tau2-bench: one JSON file, or a run's folder with `results.json` and `simulations/ID.json`.

The reward of a simulation becomes a rating of the whole dialogue on the dimension `reward`; it is computed, so its
rater is `tau2`. The task, with what it expects, is the goal; `task` is its id with the domain, and `trial` the number
of the trial. A simulation that ended for a reason of `FAILURES` has that as its `failure`, and no rating. Tool
calls (in OpenAI's form) and tool messages are kept. What is said once for the whole run (policies, settings of the
simulated user) would be repeated on every line: only the domain and the two models are kept of it.

A voice run has `ticks` in place of `messages` (`tau2_voice.py`). A simulation without messages or speech, which a crash
leaves behind, has an empty message of the user if it has a `failure`; else it is counted.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from turnwise.errors import DataError, Problem
from turnwise.logs.checks import RuleError, each, name, number, optional, others, record, required
from turnwise.logs.dialogue import from_record, other_entries
from turnwise.logs.readers.evaluations.tau2_voice import speech
from turnwise.logs.readers.messages import NOTHING_SAID, present, rating, text_at, tool_call, trial_of
from turnwise.logs.readers.protocol_marks import without_marks
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, listed, raise_data_error, read_json
from turnwise.types import Dialogue

SIMULATION = frozenset({"id", "messages", "ticks"})
MESSAGE = frozenset({"role", "content", "tool_calls"})
RESULTS, FOLDER = "results.json", "simulations"
RUN = frozenset({"info", "tasks", "simulations"})
SILENT = "simulations without messages or speech"
# Reasons of an end that are not the agent's: the infrastructure, or the simulated user.
FAILURES = frozenset({"infrastructure_error", "unexpected_error", "user_error"})
Build = Callable[[dict[str, Any], str], Dialogue | None]
VOICE = "voice run: pieces of speech (`ticks`) of one side that belong together are joined to one message"


def recognises(sample: Sample) -> bool:
    """Whether a folder has `results.json` and simulations, or a JSON file is a run's: it has `simulations` and `info`,
    or it is `results.json` of such a folder.
    """
    if sample.form == "folder":
        return RESULTS in sample.names and any(one.startswith(f"{FOLDER}/") for one in sample.names)
    return sample.has("simulations", "info") or (sample.has("info", "tasks") and _is_of_folder(sample.path))


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a simulation that has messages or speech; others are counted as dropped."""
    options = options or Options()
    is_folder = os.path.isdir(path)
    file = os.path.join(path, RESULTS) if is_folder else path
    try:
        results, simulations = listed(file, "simulations")
        build = _Builder(results, options)
        if is_folder or (simulations is None and _is_of_folder(file)):
            yield from _folder(os.path.join(os.path.dirname(file), FOLDER), build)
            if index := sum(1 for _ in simulations or ()):
                options.dropped["rows of the index of simulations (`results.json`)"] += index
        elif simulations is None:
            raise RuleError(
                f"is missing; expected them here or in a folder `{FOLDER}` beside {RESULTS}"
            ).inside("simulations")
        else:
            yield from _members(simulations, build)
    except RuleError as error:
        raise_data_error(error, file)
    if left := len(build.tasks.keys() - build.used):
        options.dropped["tasks without a simulation"] += left
    if results.get("info"):
        options.dropped["settings of the whole run (`info`)"] += 1
    if more := others(results, RUN):
        options.dropped["other keys of the whole run"] += len(more)


def _is_of_folder(file: str) -> bool:
    """Whether a file is the `results.json` of a run's folder, with the simulations in files beside it."""
    return os.path.basename(file) == RESULTS and os.path.isdir(os.path.join(os.path.dirname(file), FOLDER))


def _members(simulations: Iterable[Any], build: Build) -> Iterator[Dialogue]:
    """The dialogues of the simulations in a file; an error names the index."""
    for place, value in enumerate(simulations):
        try:
            found = build(record(value), str(place + 1))
        except RuleError as error:
            raise error.inside(place).inside("simulations") from None
        if found is not None:
            yield found


def _folder(folder: str, build: Build) -> Iterator[Dialogue]:
    """The dialogues of the files `ID.json` in a folder, sorted by name; no such file raises `DataError`."""
    names = (
        sorted(one for one in os.listdir(folder) if one.endswith(".json")) if os.path.isdir(folder) else []
    )
    if not names:
        raise DataError(Problem(folder, None, "", "has no simulation; expected files ID.json"))
    for file in (os.path.join(folder, one) for one in names):
        try:
            found = build(record(read_json(file)), os.path.basename(file).removesuffix(".json"))
        except RuleError as error:
            raise_data_error(error, file)
        if found is not None:
            yield found


class _Builder:
    """Makes a dialogue of a simulation and its place, with the run's agent and tasks."""

    def __init__(self, results: Mapping[str, Any], options: Options) -> None:
        info = optional(results, "info", record, default={})
        self.tasks = dict(optional(results, "tasks", each(_task), default=()))
        self.used: set[str] = set()  # ids of tasks
        self.agent = _model(info, "agent_info")
        self.about = {
            "domain": text_at(info, "environment_info", "domain_name"),
            "user": _model(info, "user_info"),
        }
        self.options = options

    def __call__(self, values: dict[str, Any], place: str) -> Dialogue | None:
        """A simulation as a dialogue with its task, if that is known, as the goal; None if it has no messages and no
        speech, which is counted as dropped.
        """
        reason = text_at(values, "termination_reason")
        failure = reason if reason in FAILURES else None
        messages = _turns(values, self.options) or ([dict(NOTHING_SAID)] if failure else [])
        if not messages:
            self.options.dropped[SILENT] += 1
            return None
        given = optional(optional(values, "reward_info", record, default={}), "reward", number, default=None)
        reward = None if failure else given
        task = optional(values, "task_id", name, default="")
        self.used.add(task)
        named = f"{self.about['domain']}/{task}" if self.about["domain"] else task
        native = {
            "id": optional(values, "id", name, default=None),
            "agent": self.agent,
            "messages": messages,
            "ratings": []
            if reward is None
            else [rating("reward", reward, rater="tau2", scale=(0, 1), automatic=True)],
            "goal": self.tasks.get(task),
            "meta": present(self.about) | present(others(values, SIMULATION)),
            **trial_of(named or None, values.get("trial"), failure),
        }
        return from_record(native, default_id=place)


def _task(value: Any) -> tuple[str, dict[str, Any]]:
    """The id of a task, and the task."""
    values = record(value)
    return required(values, "id", name), values


def _turns(values: Mapping[str, Any], options: Options) -> list[dict[str, Any]]:
    """The messages of a simulation in native form, of a voice run from its ticks; empty if there are none."""
    if values.get("messages"):
        return [one for several in required(values, "messages", each(_messages)) for one in several]
    if not values.get("ticks"):
        return []
    try:
        found = speech(required(values, "ticks", each(record)), _call, _messages)
    except RuleError as error:
        raise error.inside("ticks") from None
    options.dropped.update(found.dropped)
    if VOICE not in options.notes:
        options.notes.append(VOICE)
    return found.messages


def _messages(value: Any) -> list[dict[str, Any]]:
    """A message in native form; a message that holds several results of tools becomes one for each."""
    values = record(value)
    if "tool_messages" in values:
        return [one for several in required(values, "tool_messages", each(_messages)) for one in several]
    kept = present(other_entries(values, MESSAGE))
    calls = optional(values, "tool_calls", each(_call), default=())
    content = values.get("content")
    empty = content is None and not calls  # an empty result of a tool
    native = {"role": values.get("role"), "content": "" if empty else content, **kept}
    if values.get("role") == "tool" and text_at(values, "id"):
        native["tool_call_id"] = values["id"]
    return [without_marks(native | ({"tool_calls": list(calls)} if calls else {}))]


def _call(value: Any) -> dict[str, Any]:
    """A tool call in OpenAI's form; one that has that form already is unchanged. Who requested it is kept."""
    values = record(value)
    if "function" in values:
        return values
    call = tool_call(required(values, "name", name), values.get("arguments") or {}, values.get("id"))
    return call | {key: one for key, one in values.items() if key not in ("id", "name", "arguments")}


def _model(info: Mapping[str, Any], side: str) -> str | None:
    """The name of a side's language model, else of its implementation; None if there is neither."""
    return text_at(info, side, "llm") or text_at(info, side, "implementation")
