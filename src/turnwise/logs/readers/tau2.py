"""Results of tau2-bench: one JSON file, or a run's folder with `results.json` and `simulations/ID.json`.

The reward of a simulation becomes a rating of the whole dialogue on the dimension `reward`; it is computed, so its
rater is `tau2`. The task, with what it expects, is the goal, and `meta.task_id` pairs agents on the same task. Tool
calls (in OpenAI's form) and tool messages are kept. What is said once for the whole run (policies, settings of the
simulated user) would be repeated on every line: only the domain and the two models are kept of it.

A voice run has `ticks` in place of `messages`: each tick has a piece of what either side says. Successive pieces of one
side are one message; a message without a transcript has an audio part in place of text.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from turnwise.errors import DataError, Problem
from turnwise.logs.checks import RuleError, each, name, number, optional, others, record, required
from turnwise.logs.dialogue import from_record, other_entries
from turnwise.logs.readers.messages import present, rating, text_at, tool_call
from turnwise.logs.readers.sniff import Sample
from turnwise.logs.readers.source import Options, build_each, raise_data_error, read_json
from turnwise.types import Dialogue

SIMULATION = frozenset({"id", "messages", "ticks"})
MESSAGE = frozenset({"role", "content", "tool_calls"})
RESULTS, FOLDER = "results.json", "simulations"
RUN = frozenset({"info", "tasks", "simulations"})
TICK = frozenset({"tick_id", "user_chunk", "agent_chunk"})
PIECE = frozenset({"contains_speech", "content", "audio_script_gold", "transcript"})
SPOKEN = ("content", "audio_script_gold", "transcript")  # where a piece of speech has its words


def recognises(sample: Sample) -> bool:
    """Whether a folder has `results.json` and simulations, or the first JSON record has `simulations` and `info`."""
    if sample.form == "folder":
        return RESULTS in sample.names and any(one.startswith(f"{FOLDER}/") for one in sample.names)
    return sample.has("simulations", "info")


def read(path: str, options: Options | None = None) -> Iterator[Dialogue]:
    """One dialogue a simulation that has messages or ticks; others are counted as dropped in a single file, and raise
    `DataError` in a run's folder.
    """
    options = options or Options()
    file = os.path.join(path, RESULTS) if os.path.isdir(path) else path
    try:
        results = record(read_json(file))
        build = _builder(results, options)
        if os.path.isdir(path):
            yield from _folder(os.path.join(path, FOLDER), build)
        else:
            simulations = required(results, "simulations", each(record))
            spoken = [(index, one) for index, one in enumerate(simulations) if _has_turns(one)]
            yield from build_each(spoken, build, "simulations")
            if lost := len(simulations) - len(spoken):
                options.dropped["simulations without messages"] += lost
    except RuleError as error:
        raise_data_error(error, file)
    if results.get("info"):
        options.dropped["settings of the whole run (`info`)"] += 1
    if more := others(results, RUN):
        options.dropped["other keys of the whole run"] += len(more)


def _folder(folder: str, build: Callable[[Any, str], Dialogue]) -> Iterator[Dialogue]:
    """The dialogues of the files `ID.json` in a folder, sorted by name; no such file raises `DataError`."""
    names = (
        sorted(one for one in os.listdir(folder) if one.endswith(".json")) if os.path.isdir(folder) else []
    )
    if not names:
        raise DataError(Problem(folder, None, "", "has no simulation; expected files ID.json"))
    for file in (os.path.join(folder, one) for one in names):
        try:
            yield build(record(read_json(file)), os.path.basename(file).removesuffix(".json"))
        except RuleError as error:
            raise_data_error(error, file)


def _has_turns(values: Mapping[str, Any]) -> bool:
    """Whether a simulation has messages or ticks."""
    return bool(values.get("messages") or values.get("ticks"))


def _builder(results: Mapping[str, Any], options: Options) -> Callable[[Any, str], Dialogue]:
    """The function that makes a dialogue of a simulation and its place, with the run's agent and tasks."""
    info = optional(results, "info", record, default={})
    tasks = dict(optional(results, "tasks", each(_task), default=()))
    agent = _model(info, "agent_info")
    about = {"domain": text_at(info, "environment_info", "domain_name"), "user": _model(info, "user_info")}

    def dialogue(values: Any, place: str) -> Dialogue:
        """A simulation as a dialogue with its task, if that is known, as the goal."""
        goal = tasks.get(optional(values, "task_id", name, default=""))
        native = _native(values, agent=agent, goal=goal, about=about, options=options)
        return from_record(native, default_id=place)

    return dialogue


def _task(value: Any) -> tuple[str, dict[str, Any]]:
    """The id of a task, and the task."""
    values = record(value)
    return required(values, "id", name), values


def _native(
    values: dict[str, Any],
    *,
    agent: str | None,
    goal: dict[str, Any] | None,
    about: Mapping[str, Any],
    options: Options,
) -> dict[str, Any]:
    """A simulation as a native record; `goal` is its task, and `about` goes to `meta`.

    No messages and no speech raises `RuleError`.
    """
    reward = optional(optional(values, "reward_info", record, default={}), "reward", number, default=None)
    if values.get("messages"):
        messages = [one for several in required(values, "messages", each(_messages)) for one in several]
    else:
        messages = list(_speech(required(values, "ticks", each(record))))
        if not messages:
            raise RuleError("has no speech; expected pieces with `contains_speech`").inside("ticks")
        options.dropped["pieces of speech with other keys (times, audio, ...)"] += _more_keys(values["ticks"])
        note = "voice run: successive pieces of speech (`ticks`) of one side are joined to one message"
        if note not in options.notes:
            options.notes.append(note)
    return {
        "id": optional(values, "id", name, default=None),
        "agent": agent,
        "messages": messages,
        "ratings": [] if reward is None else [rating("reward", reward, rater="tau2", scale=(0, 1))],
        "goal": goal,
        "meta": present(about) | present(others(values, SIMULATION)),
    }


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
    return [native | ({"tool_calls": list(calls)} if calls else {})]


def _call(value: Any) -> dict[str, Any]:
    """A tool call in OpenAI's form; one that has that form already is unchanged. Who requested it is kept."""
    values = record(value)
    if "function" in values:
        return values
    call = tool_call(required(values, "name", name), values.get("arguments") or {}, values.get("id"))
    return call | {key: one for key, one in values.items() if key not in ("id", "name", "arguments")}


def _speech(ticks: tuple[dict[str, Any], ...]) -> Iterator[dict[str, Any]]:
    """Successive pieces of one side as one message, in order; in one tick the user's piece comes before the agent's."""
    open_role: str | None = None
    words: list[str] = []
    span: list[Any] = []
    for tick in ticks:
        for side in ("user_chunk", "agent_chunk"):
            piece = optional(tick, side, record, default={})
            said = next(
                (piece[key] for key in SPOKEN if isinstance(piece.get(key), str) and piece[key]), None
            )
            if said is None and not piece.get("contains_speech"):
                continue
            role = "user" if side == "user_chunk" else "assistant"
            if role != open_role:
                if open_role is not None:
                    yield _spoken(open_role, words, span)
                open_role, words, span = role, [], []
            words += [said] if said else []
            span.append(tick.get("tick_id"))
    if open_role is not None:
        yield _spoken(open_role, words, span)


def _more_keys(ticks: list[dict[str, Any]]) -> int:
    """How many ticks, and pieces of speech in them, have keys that are not kept."""
    pieces = (
        optional(tick, side, record, default={}) for tick in ticks for side in ("user_chunk", "agent_chunk")
    )
    return sum(bool(others(tick, TICK)) for tick in ticks) + sum(bool(others(one, PIECE)) for one in pieces)


def _spoken(role: str, words: list[str], span: list[Any]) -> dict[str, Any]:
    """The message of pieces of speech; `ticks` has the first and the last of `span`.

    Without words it has an audio part in place of text.
    """
    about = {"ticks": [span[0], span[-1]]}
    if words:
        return {"role": role, "content": "".join(words), **about}
    return {"role": role, "content": [{"type": "input_audio", **about}]}


def _model(info: Mapping[str, Any], side: str) -> str | None:
    """The name of a side's language model, else of its implementation; None if there is neither."""
    return text_at(info, side, "llm") or text_at(info, side, "implementation")
