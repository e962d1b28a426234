"""The formats that `convert` reads, by name; a reader's module is imported when it is used.

A reader's module has `read(path, options)`, which yields dialogues, and `recognises(sample)`, which says from the
beginning of a file whether it has the format. `recognise` asks all of them, special formats before general ones.
"""

import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from turnwise import registry
from turnwise.conformance.plugins import dialogues_problem, reader_problem
from turnwise.errors import (
    DataError,
    PluginError,
    Problem,
    TurnwiseError,
    UsageError,
    WrongForFile,
    convert_option,
    counted,
    unknown,
)
from turnwise.logs.checks import RuleError
from turnwise.logs.dialogue import from_record
from turnwise.logs.readers import mapped_ratings
from turnwise.logs.readers.columns import RATED
from turnwise.logs.readers.sniff import Sample, sample
from turnwise.logs.readers.source import Options
from turnwise.plugin_code import described, plugin_code
from turnwise.types import Dialogue


@dataclass(frozen=True, slots=True)
class Reader:
    """One format: the module of its `read` function or its entry point, what it reads, and which options it takes."""

    module: str  # with a function `read`; empty for a plugin
    summary: str
    example: str  # an example of the expected input
    tabular: bool = False  # whether it takes a column map (--map) and --split
    several: bool = False  # whether one source may be several files
    roles: bool = False  # whether a source never says who is the agent, so that --roles is needed
    packed: bool = False  # whether it reads zip files itself
    preferences: bool = False  # whether a source has preferences
    offer: registry.Offer | None = None  # the entry point of another package
    extra: str | None = None  # the extra that it needs

    def read(self, path: str, options: Options) -> Iterator[Dialogue]:
        """The dialogues of a source; `UsageError` for --map, --split or further files if the format takes none.

        A format that is no table takes a --map of ratings, which are looked for in what is kept beside its messages.
        """
        others = [
            meaning for meaning in options.columns if meaning.partition(":")[0] not in (*RATED, "rater")
        ]
        if (others or options.split) and not self.tabular:
            tabular = ", ".join(name for name, reader in READERS.items() if reader.tabular)
            raise UsageError(
                f"{convert_option('--map')} and {convert_option('--split')} are for tables ({tabular}), not for "
                f"{self.module.rpartition('.')[2]}, where only ratings are mapped: rating:NAME=PATH"
            )
        if options.more and not self.several:
            raise WrongForFile(
                path,
                "this format is read from one file; convert the others one by one, then merge "
                "them: turnwise convert --from native A.jsonl B.jsonl merged.jsonl",
            )
        if self.offer is not None:
            return _of_plugin(self.offer, path, options)
        found: Iterator[Dialogue] = importlib.import_module(self.module).read(path, options)
        if options.columns and not self.tabular:
            return mapped_ratings.with_ratings(found, options, path)
        return found

    def recognises(self, looked: Sample) -> bool:
        """Whether a file that begins so has this format; False if the reader has no test, as readers of other
        packages.
        """
        if self.offer is not None:
            return False
        test = getattr(importlib.import_module(self.module), "recognises", None)
        return bool(test is not None and test(looked))


def _of_plugin(offer: registry.Offer, path: str, options: Options) -> Iterator[Dialogue]:
    """The dialogues that another package's reader yields; raises `PluginError` for anything else, also for an
    unexpected exception.
    """
    read = _function(offer)
    number = 0
    try:
        with plugin_code():
            found = read(path, options)
            if (problem := dialogues_problem(found)) is not None:
                raise offer.error(problem)
            dialogues = iter(found)
        while True:
            with plugin_code():
                dialogue = next(dialogues, _END)
            if dialogue is _END:
                return
            number += 1
            if not isinstance(dialogue, Dialogue):
                raise offer.error(
                    f"dialogue {number} is a {type(dialogue).__name__}; expected a turnwise.plugins.Dialogue"
                )
            yield dialogue
    except (TurnwiseError, OSError, GeneratorExit):
        raise
    except UnicodeDecodeError as error:
        about = f"is not in {error.encoding}, which {offer} reads: {error.reason} at byte {error.start}"
        raise DataError(Problem(path, None, "", about)) from error
    except Exception as error:  # foreign code may raise anything
        raise offer.error(
            f"raised {described(error, offer.target)} in {path} after {counted(number, 'dialogue')}; "
            "expected a turnwise.plugins.DataError for malformed input"
        ) from error


def _function(offer: registry.Offer) -> Callable[[str, Options], Any]:
    """The function of another package's reader; raises `PluginError` if it cannot be called with a path and options."""
    function: Callable[[str, Options], Any] = offer.load()
    if (problem := reader_problem(function)) is not None:
        raise offer.error(f"{offer.target} {problem}")
    return function


_END = object()  # after the last dialogue


# In the order in which a file is recognised: special formats before general ones.
READERS: Mapping[str, Reader] = {
    "native": Reader(
        "turnwise.logs.native",
        "turnwise's own JSON Lines, to check, merge or compress",
        '{"id": "1", "agent": "bot", "messages": [{"role": "user", "content": "hi"}, ...]}',
        several=True,
    ),
    "tau-bench": Reader(
        "turnwise.logs.readers.evaluations.tau_bench",
        "results of tau-bench (v1); the reward becomes a rating",
        '[{"task_id": 0, "trial": 0, "reward": 1.0, "info": {...}, "traj": [...]}]',
    ),
    "tau2": Reader(
        "turnwise.logs.readers.evaluations.tau2",
        "results of tau2-bench, a file or a run folder, text or voice; the reward becomes a rating",
        '{"info": {...}, "tasks": [...], "simulations": [{"messages": [...], "reward_info": {...}}]}',
    ),
    "inspect": Reader(
        "turnwise.logs.readers.evaluations.inspect_ai",
        "logs of Inspect AI, .json or .eval; scores become ratings",
        '{"eval": {"model": ...}, "samples": [{"messages": [...], "scores": {...}}]}',
        packed=True,
    ),
    "promptfoo": Reader(
        "turnwise.logs.readers.evaluations.promptfoo",
        "exports of promptfoo; scores become ratings",
        '{"results": {"results": [{"prompt": {"raw": ...}, "response": {"output": ...}}]}}',
    ),
    "deepeval": Reader(
        "turnwise.logs.readers.evaluations.deepeval",
        "test cases and test runs of DeepEval",
        '{"turns": [{"role": "user", "content": "hi"}, ...], "scenario": ...}',
    ),
    "mt-bench": Reader(
        "turnwise.logs.readers.evaluations.mt_bench",
        "questions, answers and judgments of MT-bench, several files",
        '{"question_id": 81, "turns": [...]}',
        several=True,
    ),
    "acute-eval": Reader(
        "turnwise.logs.readers.evaluations.acute_eval",
        "preferences of ParlAI's ACUTE-Eval (CSV)",
        "a table with the columns winner, loser, pairs_to_eval, question",
        preferences=True,
    ),
    "preferences": Reader(
        "turnwise.logs.readers.evaluations.preferences",
        "pairs of Arena, LMSYS (also as CSV), HH-RLHF, AlpacaEval, UltraFeedback and DPO files",
        '{"chosen": ..., "rejected": ...}',
        preferences=True,
    ),
    "oasst": Reader(
        "turnwise.logs.readers.evaluations.oasst",
        "OpenAssistant's trees of messages, also as rows; ranks become preferences",
        '{"message_tree_id": ..., "prompt": {"text": ..., "role": "prompter", "replies": [...]}}',
        preferences=True,
    ),
    "fed-usr": Reader(
        "turnwise.logs.readers.evaluations.fed_usr",
        "rated replies of FED and USR as published",
        '{"context": "User: ...", "response": "System: ...", "annotations": {...}}',
    ),
    "enigma": Reader(
        "turnwise.logs.readers.enigma",
        "ENIGMA's off-policy data: a target's data.json, or a folder of targets",
        '{"dialog": [{"text": e}, {"text": a}, {"text": a of the target}], "reward": {...}}',
    ),
    "otel": Reader(
        "turnwise.logs.readers.traces.otel",
        "OpenTelemetry GenAI spans: OTLP JSON, a request a line, or the SDK's own JSON",
        '{"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": [...]}]}]}]}',
    ),
    "langfuse": Reader(
        "turnwise.logs.readers.traces.langfuse",
        "traces and observations of Langfuse; scores become ratings",
        '{"id": ..., "sessionId": ..., "input": [...], "output": {...}, "observations": [...]}',
    ),
    "langsmith": Reader(
        "turnwise.logs.readers.traces.langsmith",
        "runs of LangSmith; feedback becomes ratings",
        '{"run_type": "llm", "inputs": {"messages": [...]}, "outputs": {...}}',
    ),
    "phoenix": Reader(
        "turnwise.logs.readers.traces.phoenix",
        "spans of Phoenix (OpenInference), as records",
        '{"context.trace_id": ..., "attributes.llm.input_messages": [{"message.role": "user", ...}]}',
    ),
    "chatgpt": Reader(
        "turnwise.logs.readers.chats.chatgpt",
        "ChatGPT's data export; the branch that was shown last",
        '[{"title": ..., "mapping": {"NODE": {"message": ..., "parent": ..., "children": [...]}}}]',
    ),
    "vercel": Reader(
        "turnwise.logs.readers.chats.vercel",
        "messages of Vercel's AI SDK, of its user interface or of a model",
        '{"messages": [{"role": "assistant", "parts": [{"type": "text", "text": "hi"}, ...]}]}',
    ),
    "livekit": Reader(
        "turnwise.logs.readers.chats.livekit",
        "LiveKit's chat history of a session",
        '{"items": [{"type": "message", "role": "user", "content": ["hi"]}, ...]}',
    ),
    "frameworks": Reader(
        "turnwise.logs.readers.chats.frameworks",
        "messages of LangChain and LangGraph, Pydantic AI and LlamaIndex",
        '[{"type": "human", "data": {"content": "hi"}}, {"type": "ai", "data": {...}}]',
    ),
    "anthropic": Reader(
        "turnwise.logs.readers.chats.anthropic",
        "Anthropic's messages with content blocks",
        '{"system": ..., "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}',
    ),
    "gemini": Reader(
        "turnwise.logs.readers.chats.gemini",
        "Gemini's requests and responses with contents of parts",
        '{"contents": [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [...]}]}',
    ),
    "rasa": Reader(
        "turnwise.logs.readers.chats.rasa",
        "Rasa trackers",
        '{"sender_id": ..., "events": [{"event": "user", "text": "hi"}, ...]}',
    ),
    "slack": Reader(
        "turnwise.logs.readers.chats.slack",
        "Slack exports, a zip file or a folder; needs --roles",
        "CHANNEL/2024-12-31.json and users.json",
        roles=True,
        packed=True,
    ),
    "whatsapp": Reader(
        "turnwise.logs.readers.chats.whatsapp",
        "WhatsApp's exported text; needs --roles",
        "31.12.24, 09:15 - Name: text",
        roles=True,
    ),
    "parlai": Reader(
        "turnwise.logs.readers.parlai",
        "ParlAI: chat logs, model chats, self-chats, task-oriented logs, tasks as text",
        '{"dialog": [[{"id": "human", "text": "hi"}, {"id": "bot", "text": "hello"}]]}',
    ),
    "multiwoz": Reader(
        "turnwise.logs.readers.multiwoz",
        "MultiWOZ 2.0 and 2.1 data.json, with states, acts and goals",
        '{"SNG01856.json": {"goal": {...}, "log": [{"text": ..., "metadata": {...}}]}}',
    ),
    "convlab": Reader(
        "turnwise.logs.readers.convlab",
        "ConvLab-3's unified format, a file, a folder or a zip file, with states and acts",
        '[{"dialogue_id": ..., "turns": [{"speaker": "user", "utterance": ..., "state": {...}}]}]',
        packed=True,
    ),
    "sharegpt": Reader(
        "turnwise.logs.readers.sharegpt",
        "ShareGPT files: JSON Lines or a JSON list",
        '{"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}]}',
    ),
    "openai": Reader(
        "turnwise.logs.readers.openai",
        "OpenAI chat files, batches, responses and threads: JSON Lines, a JSON list or an object",
        '{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}',
    ),
    "messages": Reader(
        "turnwise.logs.readers.chats.message_records",
        "any records with a list of messages (`conversation`, `dialogue`, ...), or one list: WildChat, LMSYS, your own",
        '{"conversation": [{"role": "user", "content": "hi"}, ...], "model": ...}',
    ),
    "json": Reader(
        "turnwise.logs.readers.mapped_json",
        "any JSON or JSON Lines, with --map, --each and --roles",
        '{"task_id": 7, "traj": [{"author": "user", "text": "hi"}, ...], "reward": 1}',
        tabular=True,
    ),
    "hf": Reader(
        "turnwise.logs.readers.hf",
        "a folder of Hugging Face datasets: save_to_disk's Arrow files, or Parquet",
        "a folder with state.json or dataset_dict.json",
        tabular=True,
        extra="tables",
    ),
    "parquet": Reader(
        "turnwise.logs.readers.parquet",
        "Parquet: as csv, or with a column `messages`, `conversation` or `conversations`",
        "a file of columns conv_id, speaker, text, score",
        tabular=True,
        extra="tables",
    ),
    "csv": Reader(
        "turnwise.logs.readers.csv_table",
        "CSV or TSV with a header and --map: one row a message, or a context and a response a row",
        "conv_id,speaker,text,score",
        tabular=True,
    ),
}


def all_readers() -> dict[str, Reader]:
    """Name -> reader: ours, then usable ones of other packages (functions of a path and options, in the group
    `turnwise.readers`).
    """
    return dict(READERS) | {
        name: Reader("", f"of the package {offer.owner}", "see there", tabular=True, offer=offer)
        for name, offer in _plugins().usable.items()
    }


def broken() -> tuple[PluginError, ...]:
    """The errors of other packages' readers that cannot be used because of their names."""
    return tuple(_plugins().problems.values())


def describe(reader: Reader) -> str:
    """What a reader reads, in a line: of another package's reader the first line of its docstring.

    Raises `PluginError` where the function of another package's reader cannot be imported.
    """
    if reader.offer is None:
        return reader.summary
    function = _function(reader.offer)
    return (inspect.getdoc(function) or "").partition("\n")[0] or reader.summary


@cache
def _plugins() -> registry.Offers:
    """What other packages offer as readers, looked up once; a name that one of ours has is a problem."""
    return registry.offered("readers", (*READERS, "convlab-unified"))


# Other names that are accepted and not listed: of data sets, packages and earlier versions.
ALIASES = {
    "convlab-unified": "convlab",
    **dict.fromkeys(("alpaca-eval", "arena", "dpo", "hh-rlhf", "ultrafeedback"), "preferences"),
    **dict.fromkeys(("fed", "usr"), "fed-usr"),
    **dict.fromkeys(("opentelemetry", "otlp"), "otel"),
    **dict.fromkeys(("ai-sdk", "vercel-ai-sdk"), "vercel"),
    **dict.fromkeys(("langchain", "langgraph", "pydantic-ai", "llamaindex"), "frameworks"),
    **dict.fromkeys(("oasst1", "oasst2", "openassistant"), "oasst"),
    **dict.fromkeys(("pipecat", "lmsys-chat"), "messages"),
    "inspect-ai": "inspect",
    "tau2-bench": "tau2",
    "wildchat": "messages",
}
NEAR_NATIVE = ("openai", "messages")  # formats whose rules a native file obeys, too
OF_OPENAI = frozenset(
    {"object", "custom_id", "body", "response", "choices"}
)  # keys that `openai` takes apart
COLUMN = re.compile(r"[\w .:/()\[\]-]{1,60}")  # a name that a table's column may have


def recognise(path: str) -> str | None:
    """The name of the first reader whose format a file, a folder or a zip file has; None if there is none."""
    looked = sample(path)
    if looked.form == "values":  # no reader reads them
        return None
    name = next((name for name, reader in READERS.items() if reader.recognises(looked)), None)
    return "native" if name in NEAR_NATIVE and _is_native(looked) else name


def recognise_records(found: Sequence[Any]) -> str | None:
    """The name of the first reader whose format records have that are in memory; None if there is none."""
    looked = Sample("", "jsonl", records=tuple(found))
    name = next((name for name, reader in READERS.items() if reader.recognises(looked)), None)
    return "native" if name in NEAR_NATIVE and _is_native(looked) else name


def _is_native(looked: Sample) -> bool:
    """Whether JSON Lines are in turnwise's own format: they have keys that OpenAI's files do not have, and the first
    records obey the native rules.
    """
    keys = looked.first.keys()
    rated = (
        bool({"ratings", "preferences"} & keys) and "model" not in keys
    )  # `openai` takes the agent from `model`
    if looked.form != "jsonl" or not (rated or {"id", "agent"} <= keys) or OF_OPENAI & keys:
        return False
    try:
        for record in looked.records:
            from_record(record, default_id="1")
    except RuleError:
        return False
    return True


def find(name: str) -> Reader:
    """The reader of this name or alias; a plugin may have a name of `ALIASES`. An unknown name raises `UsageError`."""
    readers = all_readers()
    reader = readers.get(name) or readers.get(ALIASES.get(name, name))
    if reader is None:
        _plugins().find(name)
        raise unknown("reader", name, list(readers))
    return reader
