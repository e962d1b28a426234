"""Files of every format that `convert` reads, built from a list of turns; `tests/table_sources.py` adds tables.

`SOURCES` has one entry for each form of each format; `tests/every_form.py` has all of them. `build` makes the content
of the file from turns, `store` writes it, and `expected` says which dialogues must come out of it.
"""

import csv
import html
import io
import json
import shutil
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from turnwise.logs.readers.source import Options
from turnwise.types import Role

Said = list[tuple[Role, str]]
Written = tuple[Path, Options]

EVERY: tuple[Role, ...] = ("system", "user", "assistant", "tool")
SPOKEN: tuple[Role, ...] = ("user", "assistant")
TOLD: tuple[Role, ...] = ("system", "user", "assistant")
NAMES = {"user": "Ann", "assistant": "Bot"}


def _same(said: Said) -> list[Said]:
    return [said]


def other(said: Said) -> Said:
    """The turns with another last reply, for the second side of a pair."""
    role, text = said[-1]
    return [*said[:-1], (role, f"{text} (other)")]


def both(said: Said) -> list[Said]:
    return [said, other(said)]


def as_json(value: Any, folder: Path) -> Path:
    path = folder / "in.json"
    path.write_text(json.dumps(value))
    return path


def as_lines(value: Any, folder: Path) -> Path:
    path = folder / "in.jsonl"
    path.write_text(
        "".join(f"{json.dumps(one)}\n" for one in (value if isinstance(value, list) else [value]))
    )
    return path


def as_text(value: Any, folder: Path) -> Path:
    path = folder / "in.txt"
    path.write_bytes(value if isinstance(value, bytes) else str(value).encode())
    return path


def as_zip(value: Any, folder: Path) -> Path:
    path = folder / "in.zip"
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in _files(value).items():
            packed.writestr(zipfile.ZipInfo(name), json.dumps(content))
    return path


def as_folder(value: Any, folder: Path) -> Path:
    path = folder / "in"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    for name, content in _files(value).items():
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text(json.dumps(content))
    return path


def _files(value: Any) -> Mapping[str, Any]:
    """The files whose names a program of this kind may write."""
    return (
        {name: one for name, one in value.items() if name.endswith((".json", ".jsonl"))}
        if isinstance(value, dict)
        else {}
    )


def as_csv(value: Any, folder: Path) -> Path:
    """A table with a row for each record; a value that is no text as a Python literal."""
    rows = [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
    header = list(dict.fromkeys(key for row in rows for key in row))
    stream = io.StringIO()
    table = csv.DictWriter(stream, header)
    table.writeheader()
    table.writerows(rows)
    path = folder / "in.csv"
    path.write_text(stream.getvalue(), newline="")
    return path


@dataclass(frozen=True, slots=True)
class Source:
    """One form of a format."""

    reader: str
    build: Callable[[Said], Any]
    store: Callable[[Any, Path], Path] = as_json
    roles: tuple[Role, ...] = SPOKEN  # that the form can hold
    turns: int | None = None  # how many, where the form has a fixed number
    alternating: bool = False  # whether the user begins and the roles alternate
    replied: bool = False  # whether the last turn is the agent's
    one_line: bool = False  # whether a text is one line
    expected: Callable[[Said], list[Said]] = _same
    options: Mapping[str, Any] = field(default_factory=dict)
    more: tuple[str, ...] = ()  # further files beside the first
    named: bool = True  # whether the format is recognised

    def write(self, value: Any, folder: Path) -> Written:
        if self.more:
            path = as_folder(value, folder)
            first, *rest = (str(path / name) for name in self.more)
            return Path(first), Options(more=tuple(rest), **self.options)
        return self.store(value, folder), Options(**self.options)


def messages(said: Said) -> list[dict[str, Any]]:
    return [
        {"role": role, "content": text} | ({"tool_call_id": "c1"} if role == "tool" else {})
        for role, text in said
    ]


def _calling(said: Said) -> list[dict[str, Any]]:
    """Messages, of which those of the agent have a tool call as OpenAI writes it."""
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    return [one | ({"tool_calls": [call]} if one["role"] == "assistant" else {}) for one in messages(said)]


def tau_bench(said: Said) -> Any:
    info = {"task": {"user_id": "u"}, "user_cost": 0.1}
    return [{"task_id": 3, "trial": 1, "reward": 1.0, "info": info, "traj": _calling(said)}]


def _tau2_about() -> dict[str, Any]:
    return {
        "info": {"agent_info": {"llm": "m"}, "environment_info": {"domain_name": "d"}},
        "tasks": [{"id": "1", "description": {}}],
    }


def _tau2_simulation(said: Said) -> dict[str, Any]:
    call = {"id": "c1", "name": "find", "arguments": {"a": 1}, "requestor": "assistant"}
    turns = [
        {"role": role, "content": text, "turn_idx": place}
        | ({"tool_calls": [call]} if role == "assistant" else {"id": "c1"} if role == "tool" else {})
        for place, (role, text) in enumerate(said)
    ]
    return {"id": "s1", "task_id": "1", "messages": turns, "reward_info": {"reward": 1.0}, "trial": 0}


def tau2(said: Said) -> Any:
    return {**_tau2_about(), "simulations": [_tau2_simulation(said)]}


def tau2_folder(said: Said) -> Any:
    return {"results.json": _tau2_about(), "simulations/s1.json": _tau2_simulation(said)}


def tau2_voice(said: Said) -> Any:
    """Each text in two pieces; the other side is silent meanwhile."""
    ticks = []
    for role, text in said:
        side, silent = ("user_chunk", "agent_chunk") if role == "user" else ("agent_chunk", "user_chunk")
        middle = len(text) // 2
        for piece in (text[:middle], text[middle:]):
            ticks.append(
                {
                    "tick_id": len(ticks),
                    side: {"content": piece, "contains_speech": True},
                    silent: {"content": "", "contains_speech": False},
                }
            )
    return {**_tau2_about(), "simulations": [{"id": "s1", "task_id": "1", "ticks": ticks}]}


def tau2_voice_script(said: Said) -> Any:
    """The user's words as a script with marks, which each tick repeats; the agent calls a tool while it speaks."""
    ticks: list[dict[str, Any]] = []
    for turn, (role, text) in enumerate(said):
        middle = len(text) // 2
        pieces = [text[:middle], text[middle:]]
        chunks = "".join(f"<chunk id={place}>{html.escape(one)}</chunk>" for place, one in enumerate(pieces))
        for place, piece in enumerate(pieces):
            tick: dict[str, Any] = {"tick_id": len(ticks), "timestamp": "t"}
            if role == "user":
                script = (
                    f'<message uuid="u{turn}" active="{place}">{chunks}<chunk id=9>never</chunk></message>'
                )
                tick["user_chunk"] = {"role": "user", "contains_speech": True, "audio_script_gold": script}
            else:
                tick["agent_chunk"] = {
                    "content": piece,
                    "contains_speech": True,
                    "utterance_ids": [f"a{turn}"],
                }
            if role == "assistant" and place == 0:
                call = {"id": "c1", "name": "find", "arguments": {"a": 1}, "requestor": "assistant"}
                result = {"id": "c1", "role": "tool", "content": "result", "requestor": "assistant"}
                tick |= {"agent_tool_calls": [call], "agent_tool_results": [result]}
            ticks.append(tick)
    return {**_tau2_about(), "simulations": [{"id": "s1", "task_id": "1", "messages": [], "ticks": ticks}]}


def _with_results(said: Said) -> list[Said]:
    """The result of a tool after each message of the agent."""
    called: Said = []
    for role, text in said:
        called += [(role, text), ("tool", "result")] if role == "assistant" else [(role, text)]
    return [called]


def _inspect_sample(said: Said) -> dict[str, Any]:
    call = {"id": "c1", "function": "find", "arguments": {"a": "attachment://k"}, "type": "function"}
    turns = []
    for role, text in said:
        one: dict[str, Any] = {"role": role, "content": text, "source": "input"}
        if role == "assistant":
            one |= {"content": [{"type": "text", "text": text}], "tool_calls": [call]}
        turns.append(one)
    return {
        "id": 1,
        "epoch": 1,
        "input": "i",
        "target": "a",
        "messages": turns,
        "scores": {"match": {"value": "C", "explanation": "e"}},
        "attachments": {"k": "v"},
    }


def inspect_json(said: Said) -> Any:
    return {"version": 2, "eval": {"task": "t", "model": "m"}, "plan": {}, "samples": [_inspect_sample(said)]}


def inspect_eval(said: Said) -> Any:
    header = {"version": 2, "eval": {"task": "t", "model": "m"}}
    return {"header.json": header, "samples/1_epoch_1.json": _inspect_sample(said)}


def promptfoo(said: Said) -> Any:
    """The prompt is a chat."""
    result = {
        "id": "r",
        "provider": {"id": "p", "label": ""},
        "prompt": {"raw": json.dumps(messages(said[:-1])), "label": "l"},
        "response": {"output": said[-1][1]},
        "score": 1,
        "success": True,
        "namedScores": {"n": 0.5},
        "gradingResult": {"pass": True, "reason": "r"},
        "vars": {"a": "b"},
    }
    return {"evalId": "e", "results": {"version": 3, "results": [result]}, "config": {}}


def promptfoo_text(said: Said) -> Any:
    """The prompt is a text."""
    result = {"provider": "p", "prompt": {"raw": said[0][1]}, "response": {"output": said[1][1]}, "score": 1}
    return {"evalId": "e", "results": {"results": [result]}, "config": {}}


def deepeval(said: Said) -> Any:
    call = {"name": "find", "inputParameters": {"a": 1}, "output": "o"}
    turns = [
        {"role": role, "content": text} | ({"toolsCalled": [call]} if role == "assistant" else {})
        for role, text in said
    ]
    marks = [{"name": "m", "score": 0.5, "reason": "r", "evaluationModel": "j"}]
    case = {"name": "n", "scenario": "s", "turns": turns, "metricsData": marks}
    return {"testCases": [], "conversationalTestCases": [case]}


def deepeval_plain(said: Said) -> Any:
    return [{"input": said[0][1], "actual_output": said[1][1], "expected_output": "e", "context": ["c"]}]


def mt_bench(said: Said) -> Any:
    asked, replied = ([text for role, text in said if role == wanted] for wanted in SPOKEN)
    judgment = {"question_id": 81, "model": "org/m", "judge": ["gpt-4", "single"], "turn": 1, "score": 7,
              "judgment": "j"}  # fmt: skip
    choices = [{"index": 0, "turns": replied}]
    return {
        "questions.jsonl": {"question_id": 81, "category": "writing", "turns": asked},
        "answers.jsonl": {"question_id": 81, "answer_id": "a", "model_id": "m", "choices": choices},
        "judgments.jsonl": judgment,
    }


def acute_eval(said: Said) -> Any:
    def dialogue(agent: str, turns: Said) -> dict[str, Any]:
        acts = [
            {"id": agent if role == "assistant" else "other_speaker", "text": text} for role, text in turns
        ]
        return {"context": [], "dialogue": acts}

    pair = {
        "speakers_to_eval": ["m1", "m2"],
        "dialogue_ids": [4, 7],
        "m1": dialogue("m1", said),
        "m2": dialogue("m2", other(said)),
    }
    return [
        {
            "worker": "1",
            "worker_name": "w",
            "question": "q",
            "winner": "m1",
            "loser": "m2",
            "eval_choice_0": "m1",
            "eval_choice_1": "m2",
            "reason": "r",
            "is_onboarding": "False",
            "pairs_to_eval": pair,
        }
    ]


def arena(said: Said) -> Any:
    sides = {"conversation_a": messages(said), "conversation_b": messages(other(said))}
    return [{"question_id": "q", "model_a": "m1", "model_b": "m2", "winner": "tie", "judge": "j", **sides}]


def hh_rlhf(said: Said) -> Any:
    def text(turns: Said) -> str:
        names = {"user": "Human", "assistant": "Assistant"}
        return "".join(f"\n\n{names[role]}: {one}" for role, one in turns)

    return [{"chosen": text(said), "rejected": text(other(said))}]


def dpo_messages(said: Said) -> Any:
    return [
        {
            "prompt": "p",
            "chosen": messages(said),
            "rejected": messages(other(said)),
            "score_chosen": 8.0,
            "score_rejected": 2.0,
        }
    ]


def dpo_lists(said: Said) -> Any:
    """The prompt and both sides are lists of messages, as TRL has them."""
    return [
        {"prompt": messages(said[:-1]), "chosen": messages(said[-1:]), "rejected": messages(other(said)[-1:])}
    ]


def dpo_question(said: Said) -> Any:
    return [{"system": "s", "question": said[0][1], "chosen": said[1][1], "rejected": other(said)[1][1]}]


def _prompted(said: Said) -> list[Said]:
    """Both sides, each after a system prompt."""
    return [[("system", "s"), *one] for one in both(said)]


def dpo_prompt(said: Said) -> Any:
    return [{"prompt": messages(said[:-1]), "chosen": said[-1][1], "rejected": other(said)[-1][1]}]


def alpaca_eval(said: Said) -> Any:
    return [
        {
            "instruction": said[0][1],
            "output_1": said[1][1],
            "output_2": other(said)[1][1],
            "generator_1": "m1",
            "generator_2": "m2",
            "annotator": "j",
            "preference": 1.2,
        }
    ]


def ultrafeedback(said: Said) -> Any:
    def completion(text: str) -> dict[str, Any]:
        marks = {"honesty": {"Rating": "4", "Rationale": "r"}}
        return {"model": "m", "response": text, "overall_score": 7.5, "annotations": marks}

    completions = [completion(said[1][1]), completion(other(said)[1][1])]
    return [{"source": "s", "instruction": said[0][1], "completions": completions}]


def fed(said: Said) -> Any:
    names = {"user": "User", "assistant": "System"}
    lines = [f"{names[role]}: {text}" for role, text in said]
    marks = {"Interesting": [1, 2, "N/A (not applicable)"]}
    return [
        {"context": "\n".join(lines[:-1]), "response": lines[-1], "annotations": marks, "system": "Meena"}
    ]


def usr(said: Said) -> Any:
    replies = [
        {"response": side[-1][1], "model": "m", "Overall": [3, 4], "Natural": [1]} for side in both(said)
    ]
    return [{"context": "\n".join(text for _, text in said[:-1]), "fact": "", "responses": replies}]


def _attribute(key: str, value: Any) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value if isinstance(value, str) else json.dumps(value)}}


def _otlp(attributes: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    about = [_attribute("gen_ai.request.model", "m"), _attribute("gen_ai.conversation.id", "c"), *attributes]
    span = {"traceId": "t", "spanId": "s", "startTimeUnixNano": "1", "attributes": about, **more}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


def _otel_parts(said: Said) -> list[dict[str, Any]]:
    return [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in said]


def otel(said: Said) -> Any:
    sent, returned = _otel_parts(said[:-1]), _otel_parts(said[-1:])
    return _otlp([_attribute("gen_ai.input.messages", sent), _attribute("gen_ai.output.messages", returned)])


def otel_mixed(said: Said) -> Any:
    """Results of tools are parts of the message that the user says after them."""
    sent: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for place, (role, text) in enumerate(said[:-1]):
        if role == "tool":
            results.append({"type": "tool_call_response", "id": f"c{place}", "response": text})
            continue
        spoken = {"type": "text", "content": text}
        if results and role != "user":
            sent.append({"role": "user", "parts": results})
            results = []
        sent.append({"role": role, "parts": [*results, spoken], "name": f"n{place}"})
        results = []
    if results:
        sent.append({"role": "tool", "parts": results})
    returned = [
        {"role": "assistant", "parts": [{"type": "text", "content": said[-1][1]}], "finish_reason": "stop"}
    ]
    return _otlp([_attribute("gen_ai.input.messages", sent), _attribute("gen_ai.output.messages", returned)])


def otel_events(said: Said) -> Any:
    events = [
        {"name": f"gen_ai.{role}.message", "attributes": [_attribute("content", text)]}
        for role, text in said[:-1]
    ]
    message = {"role": "assistant", "content": said[-1][1]}
    choice = {"name": "gen_ai.choice", "attributes": [_attribute("message", message)]}
    return _otlp([], events=[*events, choice])


def otel_logs(said: Said) -> Any:
    def text(value: str) -> dict[str, Any]:
        return {"stringValue": value}

    def entry(name: str, body: list[dict[str, Any]]) -> dict[str, Any]:
        return {"spanId": "s", "traceId": "t", "eventName": name, "body": {"kvlistValue": {"values": body}}}

    entries = [
        entry(f"gen_ai.{role}.message", [{"key": "content", "value": text(one)}]) for role, one in said[:-1]
    ]
    held = {"kvlistValue": {"values": [{"key": "content", "value": text(said[-1][1])}]}}
    number = {"key": "index", "value": {"intValue": "0"}}
    entries.append(entry("gen_ai.choice", [number, {"key": "message", "value": held}]))
    return {**_otlp([]), "resourceLogs": [{"scopeLogs": [{"logRecords": entries}]}]}


def _numbered(said: Said, sent: str, returned: str, between: str) -> list[dict[str, Any]]:
    found = []
    for place, (role, text) in enumerate(said):
        key = f"{sent}.{place}" if place < len(said) - 1 else f"{returned}.0"
        found += [_attribute(f"{key}.{between}role", role), _attribute(f"{key}.{between}content", text)]
    return found


def otel_numbered(said: Said) -> Any:
    return _otlp(_numbered(said, "gen_ai.prompt", "gen_ai.completion", ""))


def otel_openinference(said: Said) -> Any:
    return _otlp(_numbered(said, "llm.input_messages", "llm.output_messages", "message."))


def otel_sdk(said: Said) -> Any:
    """A span as the SDK prints it."""
    attributes = {
        "gen_ai.request.model": "m",
        "gen_ai.input.messages": json.dumps(_otel_parts(said[:-1])),
        "gen_ai.output.messages": json.dumps(_otel_parts(said[-1:])),
    }
    context = {"trace_id": "0xt", "span_id": "0xs"}
    return {"name": "chat m", "context": context, "start_time": "2024-12-31T09:15:00Z", "attributes": attributes,
            "events": []}  # fmt: skip


def langfuse(said: Said) -> Any:
    calls = [
        {
            "type": "GENERATION",
            "model": "m",
            "startTime": "2024-12-31T09:15:00Z",
            "input": {"messages": messages(said[:-1])},
            "output": {"role": "assistant", "content": said[-1][1]},
        },
        {"type": "SPAN", "input": "i", "output": "o"},
    ]
    marks = [{"name": "helpful", "value": 1, "source": "API"}, {"name": "tone", "value": "good"}]
    return [
        {"id": "t", "sessionId": "s", "input": "i", "output": "o", "observations": calls, "scores": marks}
    ]


def langfuse_text(said: Said) -> Any:
    """A trace without observations, whose input and output are texts."""
    return [{"id": "t", "userId": "u", "input": said[0][1], "output": said[1][1], "timestamp": 1}]


def langsmith(said: Said) -> Any:
    run = {
        "id": "r",
        "trace_id": "t",
        "run_type": "llm",
        "start_time": "2024-12-31T09:15:00",
        "inputs": {"messages": messages(said[:-1])},
        "outputs": {"choices": [{"message": {"role": "assistant", "content": said[-1][1]}}]},
        "extra": {"metadata": {"session_id": "s", "ls_model_name": "m"}},
        "feedback_stats": {"helpful": {"n": 1, "avg": 1.0}},
        "feedback": [{"key": "k", "score": 1, "feedback_source": {"type": "api"}}],
    }
    return [run, {"id": "q", "trace_id": "t", "run_type": "chain", "parent_run_id": "r", "inputs": {}}]


def langsmith_langchain(said: Said) -> Any:
    kinds = {"user": "HumanMessage", "assistant": "AIMessage", "system": "SystemMessage"}
    sent = [
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", kinds[role]],
            "kwargs": {"content": text},
        }
        for role, text in said[:-1]
    ]
    reply = {"type": "ai", "data": {"content": said[-1][1]}}
    outputs = {"generations": [[{"text": said[-1][1], "message": reply}]]}
    return [
        {"id": "r", "trace_id": "t", "run_type": "llm", "inputs": {"messages": [sent]}, "outputs": outputs}
    ]


def phoenix(said: Said) -> Any:
    flat = [{"message.role": role, "message.content": text} for role, text in said]
    return [
        {
            "name": "ChatCompletion",
            "span_kind": "LLM",
            "start_time": 1,
            "context.trace_id": "t",
            "attributes.llm.model_name": "m",
            "attributes.session.id": "s",
            "attributes.llm.input_messages": flat[:-1],
            "attributes.llm.output_messages": flat[-1:],
        }
    ]


def phoenix_nested(said: Said) -> Any:
    sent, returned = (
        [{"message": {"role": role, "content": text}} for role, text in part]
        for part in (said[:-1], said[-1:])
    )
    attributes = {"llm": {"input_messages": sent, "output_messages": returned, "model_name": "m"}}
    return [{"context": {"trace_id": "t"}, "attributes": attributes, "start_time": 1}]


def openai(said: Said) -> Any:
    return [{"id": "1", "model": "m", "messages": _calling(said)}]


def openai_batch(said: Said) -> Any:
    return [{"custom_id": "1", "method": "POST", "body": {"model": "m", "messages": _calling(said)}}]


def openai_choices(said: Said) -> Any:
    """The reply is the first of two choices of the response."""
    choices = [
        {"index": place, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        for place, text in enumerate((said[-1][1], "another"))
    ]
    response = {
        "id": "x",
        "model": "m-1",
        "choices": choices,
        "usage": {"total_tokens": 7},
        "system_fingerprint": "f",
    }
    return [{"messages": messages(said[:-1]), "model": "m", "response": response}]


def openai_joined_batch(said: Said) -> Any:
    """A line of a batch's input with its output beside it."""
    choices = [{"index": 0, "message": {"role": "assistant", "content": said[-1][1]}}]
    body = {"id": "x", "object": "chat.completion", "model": "m", "choices": choices}
    return [
        {
            "id": "b",
            "custom_id": "1",
            "body": {"model": "m", "messages": messages(said[:-1])},
            "response": {"status_code": 200, "request_id": "q", "body": body},
        }
    ]


def openai_response(said: Said) -> Any:
    items: list[dict[str, Any]] = []
    for role, text in said:
        if role == "tool":
            items.append({"type": "function_call_output", "call_id": "c1", "output": text})
        elif role == "assistant":
            parts = [{"type": "output_text", "text": text, "annotations": []}]
            items.append({"type": "message", "role": role, "content": parts})
        else:
            items.append({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]})
    return {"id": "resp", "object": "response", "model": "m", "input": items[:-1], "output": items[-1:]}


def openai_thread(said: Said) -> Any:
    """The newest message first, as the API lists them."""
    found = [
        {
            "id": f"msg_{place}",
            "object": "thread.message",
            "created_at": place,
            "thread_id": "t",
            "role": role,
            "assistant_id": "a" if role == "assistant" else None,
            "content": [{"type": "text", "text": {"value": text, "annotations": []}}],
        }
        for place, (role, text) in enumerate(said)
    ]
    return {"object": "list", "data": found[::-1]}


def anthropic(said: Said) -> Any:
    found: list[dict[str, Any]] = []
    for role, text in said:
        if role == "tool":
            block = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": text}]}
            found.append({"role": "user", "content": [block]})
        elif role == "assistant":
            use = {"type": "tool_use", "id": "c1", "name": "find", "input": {"a": 1}}
            thought = {"type": "thinking", "thinking": "t"}
            found.append({"role": role, "content": [thought, {"type": "text", "text": text}, use]})
        else:
            found.append({"role": role, "content": text})
    return [{"id": "1", "model": "m", "max_tokens": 9, "messages": found}]


def anthropic_batch(said: Said) -> Any:
    """A request of a batch with its result beside it."""
    (asked,) = anthropic(said[:-1])
    answered = {"id": "m", "type": "message", "role": "assistant", "model": "c",
                "content": [{"type": "text", "text": said[-1][1]}], "stop_reason": "end_turn"}  # fmt: skip
    params = {key: one for key, one in asked.items() if key != "id"}
    return [{"custom_id": "1", "params": params, "result": {"type": "succeeded", "message": answered}}]


def _gemini_contents(said: Said) -> list[dict[str, Any]]:
    """Results of functions are parts of the user's contents."""
    found: list[dict[str, Any]] = []
    for place, (role, text) in enumerate(said):
        if role == "tool":
            part: dict[str, Any] = {"functionResponse": {"id": f"c{place}", "name": "f", "response": text}}
            found.append({"role": "user", "parts": [part]})
        elif role == "assistant":
            call = {
                "functionCall": {"id": f"c{place}", "name": "f", "args": {"a": 1}},
                "thoughtSignature": "z",
            }
            thought = {"text": "why", "thought": True}
            found.append({"role": "model", "parts": [thought, {"text": text}, call]})
        else:
            found.append({"role": "user", "parts": [{"text": text}]})
    return found


def gemini(said: Said) -> Any:
    return [{"model": "m", "contents": _gemini_contents(said), "generation_config": {"top_k": 1}}]


def gemini_batch(said: Said) -> Any:
    candidate = {"content": {"role": "model", "parts": [{"text": said[-1][1]}]}, "finishReason": "STOP"}
    request = {"contents": _gemini_contents(said[:-1]), "systemInstruction": {"parts": [{"text": "s"}]}}
    response = {"candidates": [candidate], "modelVersion": "m", "usageMetadata": {"totalTokenCount": 7}}
    return [{"key": "k", "request": request, "response": response}]


def _after_prompt(said: Said) -> list[Said]:
    return [[("system", "s"), *said]]


def chatgpt_tools(said: Said) -> Any:
    """The assistant writes to a tool before each reply; thoughts and a profile are hidden."""
    hidden = {"content_type": "user_editable_context", "user_profile": "p", "user_instructions": "i"}
    spoken: list[dict[str, Any]] = [
        {
            "author": {"role": "user"},
            "content": hidden,
            "metadata": {"is_visually_hidden_from_conversation": True},
        }
    ]
    for role, text in said:
        if role == "assistant":
            code = {"content_type": "code", "language": "python", "text": "print(1)"}
            thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "h", "content": "hm"}]}
            spoken.append({"author": {"role": role}, "recipient": "all", "content": thoughts})
            spoken.append({"author": {"role": role}, "recipient": "python", "content": code})
        content = {"content_type": "text", "parts": [text]}
        name = {"name": "python"} if role == "tool" else {}
        spoken.append(
            {"author": {"role": role, **name}, "recipient": "all", "content": content, "metadata": {}}
        )
    nodes = {
        f"n{place}": {
            "id": f"n{place}",
            "message": {"id": f"m{place}", **one},
            "parent": f"n{place - 1}" if place else None,
            "children": [f"n{place + 1}"] if place + 1 < len(spoken) else [],
        }
        for place, one in enumerate(spoken)
    }
    return [{"title": "t", "mapping": nodes, "current_node": f"n{len(spoken) - 1}", "conversation_id": "c"}]


def _after_calls(said: Said) -> list[Said]:
    """Each reply after a message that calls a tool and has no text."""
    called: Said = []
    for role, text in said:
        called += [(role, ""), (role, text)] if role == "assistant" else [(role, text)]
    return [called]


def chatgpt(said: Said) -> Any:
    nodes: dict[str, Any] = {"n-1": {"id": "n-1", "message": None, "parent": None, "children": ["n0"]}}
    for place, (role, text) in enumerate(said):
        message = {
            "author": {"role": role},
            "create_time": place,
            "content": {"content_type": "text", "parts": [text]},
            "metadata": {"model_slug": "m"},
        }
        after = [f"n{place + 1}"] if place + 1 < len(said) else []
        nodes[f"n{place}"] = {"message": message, "parent": f"n{place - 1}", "children": after}
    return [{"title": "t", "mapping": nodes, "current_node": f"n{len(said) - 1}", "conversation_id": "c"}]


def rasa(said: Said) -> Any:
    kinds = {"user": "user", "assistant": "bot"}
    parsed = {"intent": {"name": "greet"}}
    events: list[dict[str, Any]] = [{"event": "action", "name": "action_session_start"}]
    events += [{"event": "session_started", "timestamp": 0.5}]
    events += [
        {"event": kinds[role], "text": text, "timestamp": 1.0, "parse_data": parsed, "data": {"image": None}}
        for role, text in said
    ]
    events += [{"event": "slot", "name": "s", "value": 1}]
    return {"sender_id": "u", "events": events, "latest_input_channel": "rest"}


def slack(said: Said) -> Any:
    ids = {"user": "U1", "assistant": "U2"}
    day = [
        {"type": "message", "user": ids[role], "text": text, "ts": f"17356{place:05d}.000100"}
        for place, (role, text) in enumerate(said)
    ]
    return {
        "users.json": [{"id": ids[role], "name": NAMES[role]} for role in SPOKEN],
        "general/2024-12-31.json": [{"type": "message", "subtype": "channel_join", "ts": "1.0"}, *day],
    }


def whatsapp(said: Said) -> str:
    """Each message a minute after the one before; a notice first."""
    lines = ["31.12.24, 09:00 - Messages are end-to-end encrypted."]
    lines += [f"31.12.24, 09:{place:02d} - {NAMES[role]}: {text}" for place, (role, text) in enumerate(said)]
    return "\n".join([*lines, ""])


def whatsapp_brackets(said: Said) -> str:
    """As an iPhone exports a chat: the time in brackets; an image that was left out is last."""
    lines = [
        f"[31/12/2024, 09:{place:02d}:02] {NAMES[role]}: {text}" for place, (role, text) in enumerate(said)
    ]
    return "\n".join([*lines, "\u200e[31/12/2024, 10:00:00] Ann: \u200eimage omitted", ""])


PARLAI = {"system": "context", "user": "human_evaluator", "assistant": "blender"}


def parlai_chat(said: Said) -> Any:
    """Exchanges of two acts."""
    acts = [{"id": PARLAI[role], "text": text, "episode_done": False} for role, text in said]
    return {"dialog": [acts[place : place + 2] for place in range(0, len(acts), 2)], "metadata_path": "p"}


def parlai_model_chat(said: Said) -> Any:
    names = {"user": "Person1", "assistant": "TransformerGenerator"}
    marks = {"bucket_0": False, "none_all_good": True}
    acts: list[dict[str, Any]] = [
        {"agent_idx": int(role == "assistant"), "id": names[role], "text": text}
        | ({"problem_data": marks} if role == "assistant" else {})
        for role, text in said
    ]
    acts[-1]["final_rating"] = "4"
    about = {"annotations_config": None, "model_nickname": "blender_90M"}
    return {"dialog": acts, "personas": [["p"]], "workers": ["w"], "task_description": about}


def parlai_self_chat(said: Said) -> Any:
    names = {"user": "Generator_1", "assistant": "Generator_2"}
    acts = [{"id": names[role], "text": text} for role, text in said]
    return {"dialog": [acts], "context": [], "metadata_path": "p"}


def parlai_task(said: Said) -> Any:
    """A task-oriented log; the call of a tool stands where nothing is called."""
    kinds = {"user": "USER", "assistant": "SYSTEM", "tool": "APIRESP", "system": "APIS"}
    acts = [{"id": f"Sgd_{kinds[role]}", "text": f"{kinds[role]}: {text}"} for role, text in said]
    return {"dialog": [[{"id": "Sgd_call", "text": "APICALL: "}], acts]}


def parlai_text(said: Said) -> str:
    texts = [text.replace("|", "__PIPE__") for _, text in said]  # a bar separates labels
    lines = [f"text:{asked}\tlabels:{reply}" for asked, reply in zip(texts[::2], texts[1::2], strict=True)]
    return "\n".join(lines) + "\tepisode_done:True\n"


def convlab(said: Said) -> Any:
    act = {"intent": "i", "domain": "d", "slot": "s", "value": "v"}
    turns = [
        {
            "speaker": "user" if role == "user" else "system",
            "utterance": text,
            "utt_idx": place,
            "dialogue_acts": {"binary": [act], "categorical": []},
            **({"state": {"hotel": {"area": "north", "name": ""}}} if role == "user" else {}),
        }
        for place, (role, text) in enumerate(said)
    ]
    return [{"dataset": "d", "dialogue_id": "1", "goal": {"inform": {}}, "turns": turns}]


def convlab_files(said: Said) -> Any:
    return {"data/dialogues.json": convlab(said), "data/ontology.json": {}}


def wildchat(said: Said) -> Any:
    return [{"conversation_hash": "h", "model": "m", "conversation": messages(said), "language": "English"}]


def mapped(said: Said) -> Any:
    traj = [{"author": NAMES[role], "text": text, "at": 1} for role, text in said]
    return {"results": [{"task": 7, "traj": traj, "reward": 1, "info": {"model": "m"}, "kind": "k"}]}


def mapped_rows(said: Said) -> Any:
    return [
        {"about": {"conv": "c"}, "who": NAMES[role], "said": {"text": text}, "place": place, "mark": 2}
        for place, (role, text) in enumerate(said)
    ]


WHO: dict[str, Role] = {"Ann": "user", "Bot": "assistant"}
NESTED = {"messages": ("traj",), "role": ("author",), "content": ("text",), "id": ("task",),
          "agent": ("info.model",), "rating:reward[0-1]": ("reward",)}  # fmt: skip
ROWS = {"id": ("about.conv",), "role": ("who",), "content": ("said.text",), "turn": ("place",),
        "rating:mark": ("mark",)}  # fmt: skip
MT_BENCH = ("questions.jsonl", "answers.jsonl", "judgments.jsonl")

SOURCES: dict[str, Source] = {
    "tau-bench": Source("tau-bench", tau_bench, roles=EVERY),
    "tau2": Source("tau2", tau2, roles=EVERY),
    "tau2 folder": Source("tau2", tau2_folder, as_folder, roles=EVERY),
    "tau2 voice": Source("tau2", tau2_voice, alternating=True),
    "tau2 voice script": Source("tau2", tau2_voice_script, alternating=True, expected=_with_results),
    "inspect json": Source("inspect", inspect_json, roles=EVERY),
    "inspect eval": Source("inspect", inspect_eval, as_zip, roles=EVERY),
    "promptfoo": Source("promptfoo", promptfoo, roles=TOLD, replied=True),
    "promptfoo text": Source("promptfoo", promptfoo_text, turns=2, alternating=True),
    "deepeval": Source("deepeval", deepeval),
    "deepeval plain": Source("deepeval", deepeval_plain, turns=2, alternating=True),
    "mt-bench": Source("mt-bench", mt_bench, alternating=True, replied=True, more=MT_BENCH),
    "acute-eval": Source("acute-eval", acute_eval, as_csv, expected=both),
    "arena": Source("preferences", arena, as_lines, expected=both),
    "hh-rlhf": Source("preferences", hh_rlhf, as_lines, expected=both),
    "dpo messages": Source("preferences", dpo_messages, as_lines, roles=TOLD, expected=both),
    "dpo prompt": Source("preferences", dpo_prompt, as_lines, roles=TOLD, replied=True, expected=both),
    "dpo lists": Source("preferences", dpo_lists, as_lines, roles=TOLD, replied=True, expected=both),
    "dpo question": Source(
        "preferences", dpo_question, as_lines, turns=2, alternating=True, expected=_prompted
    ),
    "alpaca-eval": Source("preferences", alpaca_eval, turns=2, alternating=True, expected=both),
    "ultrafeedback": Source("preferences", ultrafeedback, as_lines, turns=2, alternating=True, expected=both),
    "fed": Source("fed-usr", fed, replied=True, one_line=True),
    "usr": Source("fed-usr", usr, alternating=True, replied=True, one_line=True, expected=both),
    "otel": Source("otel", otel, roles=EVERY, replied=True),
    "otel mixed": Source("otel", otel_mixed, roles=EVERY, replied=True),
    "otel events": Source("otel", otel_events, as_lines, roles=EVERY, replied=True),
    "otel logs": Source("otel", otel_logs, roles=EVERY, replied=True),
    "otel numbered": Source("otel", otel_numbered, roles=EVERY, replied=True),
    "otel openinference": Source("otel", otel_openinference, roles=EVERY, replied=True),
    "otel sdk": Source("otel", otel_sdk, as_lines, roles=EVERY, replied=True),
    "langfuse": Source("langfuse", langfuse, as_lines, roles=EVERY, replied=True),
    "langfuse text": Source("langfuse", langfuse_text, turns=2, alternating=True),
    "langsmith": Source("langsmith", langsmith, as_lines, roles=EVERY, replied=True),
    "langsmith langchain": Source("langsmith", langsmith_langchain, roles=TOLD, replied=True),
    "phoenix": Source("phoenix", phoenix, roles=EVERY, replied=True),
    "phoenix nested": Source("phoenix", phoenix_nested, as_lines, roles=EVERY, replied=True),
    "openai": Source("openai", openai, as_lines, roles=EVERY),
    "openai batch": Source("openai", openai_batch, as_lines, roles=EVERY),
    "openai choices": Source("openai", openai_choices, as_lines, roles=EVERY, replied=True),
    "openai joined batch": Source("openai", openai_joined_batch, as_lines, roles=EVERY, replied=True),
    "openai response": Source("openai", openai_response, roles=EVERY, replied=True),
    "openai thread": Source("openai", openai_thread),
    "anthropic": Source("anthropic", anthropic, as_lines, roles=EVERY),
    "anthropic batch": Source("anthropic", anthropic_batch, as_lines, roles=EVERY, replied=True),
    "gemini": Source("gemini", gemini, roles=("user", "assistant", "tool")),
    "gemini batch": Source(
        "gemini",
        gemini_batch,
        as_lines,
        roles=("user", "assistant", "tool"),
        replied=True,
        expected=_after_prompt,
    ),
    "chatgpt": Source("chatgpt", chatgpt, roles=EVERY),
    "chatgpt tools": Source("chatgpt", chatgpt_tools, roles=EVERY, expected=_after_calls),
    "rasa": Source("rasa", rasa),
    "slack zip": Source("slack", slack, as_zip, options={"roles": WHO}),
    "slack folder": Source("slack", slack, as_folder, options={"roles": WHO}),
    "whatsapp": Source("whatsapp", whatsapp, as_text, one_line=True, options={"roles": WHO}),
    "whatsapp brackets": Source(
        "whatsapp", whatsapp_brackets, as_text, one_line=True, options={"roles": WHO}
    ),
    "parlai chat": Source("parlai", parlai_chat, as_lines, roles=TOLD),
    "parlai model chat": Source("parlai", parlai_model_chat, alternating=True),
    "parlai self-chat": Source("parlai", parlai_self_chat, as_lines, alternating=True),
    "parlai task": Source("parlai", parlai_task, as_lines, roles=EVERY),
    "parlai text": Source("parlai", parlai_text, as_text, alternating=True, replied=True, one_line=True),
    "convlab": Source("convlab", convlab),
    "convlab zip": Source("convlab", convlab_files, as_zip),
    "convlab folder": Source("convlab", convlab_files, as_folder),
    "messages": Source("messages", wildchat, as_lines, roles=EVERY),
    "json": Source(
        "json", mapped, options={"columns": NESTED, "roles": WHO, "each": "results[*]"}, named=False
    ),
    "json rows": Source("json", mapped_rows, as_lines, options={"columns": ROWS, "roles": WHO}, named=False),
}
