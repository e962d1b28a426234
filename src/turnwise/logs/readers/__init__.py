"""The formats that `convert` reads, by name; a reader's module is imported when it is used.

A reader's module has `read(path, options)`, which yields dialogues, and `recognises(sample)`, which says from the
beginning of a file whether it has the format. `recognise` asks all of them, special formats before general ones.
"""

import hashlib
import importlib
import inspect
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from typing import NamedTuple

from turnwise import __version__, registry
from turnwise.errors import DataError, PluginError, Problem, TurnwiseError, UsageError, counted, unknown
from turnwise.logs import native, typed
from turnwise.logs.checks import RuleError, shown
from turnwise.logs.dialogue import from_record
from turnwise.logs.draft import Draft, State, can_resume
from turnwise.logs.files import PIPE, Advance, counting, replacing
from turnwise.logs.ids import IdSet
from turnwise.logs.readers.account import Account
from turnwise.logs.readers.sniff import Sample, sample, utf16
from turnwise.logs.readers.source import Options, decoded, records, refuse
from turnwise.types import Dialogue

CONTINUED = "an interrupted conversion was continued after"
AFRESH = (
    "an interrupted conversion to this file had another input or options; this one started from the beginning"
)
UNKNOWN = "unknown"  # the agent of records that name none
IDENTIFIERS = (
    "ids, agents or raters look like personal data; they are not redacted, because results are joined by them"
)


@dataclass(frozen=True, slots=True)
class Reader:
    """One format: the module of its `read` function or its entry point, what it reads, and which options it takes."""

    module: str  # with a function `read`; empty for a plugin
    summary: str
    example: str  # of the expected input
    tabular: bool = False  # whether it takes a column map (--map) and --split
    several: bool = False  # whether one source may be several files
    roles: bool = False  # whether a source never says who is the agent, so that --roles is needed
    offer: registry.Offer | None = None  # the entry point of another package

    def read(self, path: str, options: Options) -> Iterator[Dialogue]:
        """The dialogues of a source; `UsageError` for --map, --split or further files if the format takes none."""
        if (options.columns or options.split) and not self.tabular:
            tabular = ", ".join(name for name, reader in READERS.items() if reader.tabular)
            raise UsageError(
                f"--map and --split are for tables ({tabular}), not for {self.module.rpartition('.')[2]}"
            )
        if options.more and not self.several:
            raise UsageError(
                f"{path}: this format is read from one file; convert the others one by one, then merge "
                "them: turnwise convert --from native A.jsonl B.jsonl merged.jsonl"
            )
        if self.offer is not None:
            return _of_plugin(self.offer, path, options)
        found: Iterator[Dialogue] = importlib.import_module(self.module).read(path, options)
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
    read = offer.load()
    if not callable(read):
        raise offer.error(
            f"{offer.target} is no function; expected read(path, options) -> Iterator[Dialogue]"
        )
    place = 0
    try:
        found = read(path, options)
        if not isinstance(found, Iterable) or isinstance(found, str | bytes | Mapping):
            raise offer.error(f"returned {shown(found)}; expected an iterator of turnwise.plugins.Dialogue")
        for place, dialogue in enumerate(found, 1):
            if not isinstance(dialogue, Dialogue):
                raise offer.error(
                    f"dialogue {place} is a {type(dialogue).__name__}; expected a turnwise.plugins.Dialogue"
                )
            yield dialogue
    except (TurnwiseError, OSError, GeneratorExit):
        raise
    except Exception as error:  # foreign code may raise anything
        raise offer.error(
            f"raised {registry.described(error)} in {path} after {counted(place, 'dialogue')}; "
            "expected a turnwise.plugins.DataError for malformed input"
        ) from error


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
        "turnwise.logs.readers.tau2",
        "results of tau2-bench, a file or a run folder, text or voice; the reward becomes a rating",
        '{"info": {...}, "tasks": [...], "simulations": [{"messages": [...], "reward_info": {...}}]}',
    ),
    "inspect": Reader(
        "turnwise.logs.readers.evaluations.inspect_ai",
        "logs of Inspect AI, .json or .eval; scores become ratings",
        '{"eval": {"model": ...}, "samples": [{"messages": [...], "scores": {...}}]}',
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
    ),
    "preferences": Reader(
        "turnwise.logs.readers.evaluations.preferences",
        "pairs of Arena, HH-RLHF, AlpacaEval, UltraFeedback and DPO files",
        '{"chosen": ..., "rejected": ...}',
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
    "anthropic": Reader(
        "turnwise.logs.readers.chats.anthropic",
        "Anthropic's messages with content blocks",
        '{"system": ..., "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}',
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
        "any records with a list of messages (`conversation`, `dialogue`, ...): WildChat, LMSYS, your own",
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
    ),
    "parquet": Reader(
        "turnwise.logs.readers.parquet",
        "Parquet: as csv, or with a column `messages`, `conversation` or `conversations`",
        "a file of columns conv_id, speaker, text, score",
        tabular=True,
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
    function = reader.offer.load()
    if not callable(function):
        raise reader.offer.error(f"{reader.offer.target} is no function; expected read(path, options)")
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
    "inspect-ai": "inspect",
    "tau2-bench": "tau2",
    "wildchat": "messages",
}
NEAR_NATIVE = ("openai", "messages")  # formats whose rules a native file obeys, too
OF_OPENAI = frozenset(
    {"object", "custom_id", "body", "response", "choices"}
)  # keys that `openai` takes apart
JSON_LIST = re.compile(r'\s*\[\s*[\[{"]')  # begins a JSON list, also one that is cut off in its first element
COLUMN = re.compile(r"[\w .:/()\[\]-]{1,60}")  # a name that a table's column may have


class Converted(NamedTuple):
    """What a conversion wrote, understood and could not keep."""

    n_dialogues: int
    dropped: Mapping[str, int]  # what could not be kept -> how often
    account: Account
    name: str  # of the reader
    notes: tuple[str, ...] = ()  # what the reader took for granted
    redacted: Mapping[str, int] | None = None  # replacements by kind; None where nothing was to be redacted


def recognise(path: str) -> str | None:
    """The name of the first reader whose format a file, a folder or a zip file has; None if there is none."""
    looked = sample(path)
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


def convert(
    name: str | None,
    source: str,
    target: str,
    options: Options | None = None,
    *,
    strict: bool = False,
    redact: bool = False,
    resume: bool = False,
    advance: Advance | None = None,
) -> Converted:
    """Write `source`, in the format `name`, to `target` in the native one: all of it, or nothing.

    Without a name the format is recognised; an unknown name raises `UsageError`. `strict` makes anything that
    cannot be kept a `DataError`. `redact` replaces personal data by placeholders. With `resume` a conversion that was
    interrupted is continued, if source and options are the same; a note says so. `advance` is called with the number
    of bytes that were read, as stored.
    """
    options = options or Options()
    if any(_is_same(one, target) for one in (source, *options.more)):
        raise UsageError(f"{target}: is both read and written; give the output another name")
    found = name or recognised(source)
    readers = all_readers()
    reader = readers.get(found) or readers.get(
        ALIASES.get(found, found)
    )  # a plugin may have a name of ALIASES
    if reader is None:
        _plugins().find(found)
        raise unknown("reader", found, list(readers))
    work = _Conversion(reader, source, options, Counter() if redact else None)
    with ExitStack() as stack:
        if advance is not None:
            stack.enter_context(counting(advance))
        if resume and can_resume(target) and all(map(_is_stored, (source, *options.more))):
            draft = stack.enter_context(Draft(target, _key(found, reader, source, options, redact)))
            work.restore(draft)
            for line in work.lines(strict):
                draft.write(line)
                if draft.is_due:
                    draft.save(work.state(draft.done.key))
        else:
            stream = stack.enter_context(replacing(target))
            for line in work.lines(strict):
                stream.write(line)
                stream.write(b"\n")
    return Converted(
        work.account.dialogues,
        Counter(options.dropped),
        work.account,
        found,
        tuple(dict.fromkeys(options.notes)),
        work.redacted,
    )


@dataclass(slots=True)
class _Conversion:
    """One conversion: what was read so far, and the lines to write."""

    reader: Reader
    source: str
    options: Options
    redacted: Counter[str] | None  # replacements by kind; None where nothing is to be redacted
    account: Account = field(default_factory=Account)
    seen: IdSet = field(default_factory=IdSet)  # ids

    def restore(self, draft: Draft) -> None:
        """Take over what an interrupted conversion wrote, and add a note on it.

        Counts are made anew from the lines of the draft; the journal has those that lines do not hold.
        """
        if draft.is_other:
            self.options.notes.append(AFRESH)
        for number, line in enumerate(draft.written(), 1):
            dialogue = native.parse(line, file=self.source, line_number=number)
            self.account.add(dialogue)
            self.seen.add(dialogue.id)
        done = draft.done
        if not done.dialogues:
            return
        self.options.already.left = done.dialogues
        self.options.already.dropped = done.dropped
        self.options.notes.extend(done.notes)
        if self.redacted is not None:
            self.redacted.update(done.redacted)
        self.options.notes.append(f"{CONTINUED} {counted(done.dialogues, 'dialogue')}")

    def state(self, key: str) -> State:
        """What the journal must have for `restore`; its length is filled in by the draft."""
        return State(
            key,
            self.account.dialogues,
            dropped=dict(self.options.dropped),
            notes=[note for note in self.options.notes if note != AFRESH and not note.startswith(CONTINUED)],
            redacted=dict(self.redacted or {}),
        )

    def lines(self, strict: bool) -> Iterator[bytes]:
        """The lines to write; with `strict`, anything that cannot be kept is a `DataError` at the end."""
        dialogues = _named(_readable(self.reader, self.source, self.options), self.options)
        for dialogue, line in _checked(dialogues, self.source, self.seen, self.account.dialogues):
            if self.redacted is not None:
                dialogue = _redacted(dialogue, self.redacted, self.options)
                line = native.dump(dialogue)
            self.account.add(dialogue)
            yield line
        if strict and self.options.dropped:
            lost = "; ".join(f"{count} {what}" for what, count in self.options.dropped.items())
            raise DataError(
                Problem(self.source, None, "", f"was not kept whole, and --strict is given: {lost}")
            )


def _key(name: str, reader: Reader, source: str, options: Options, redact: bool) -> str:
    """A digest of everything that determines the output: version, reader, options, and sizes and times of the files."""
    described = (
        __version__, name, reader.offer and (reader.offer.owner, reader.offer.target),
        sorted((meaning, columns) for meaning, columns in options.columns.items()), options.split,
        sorted(options.roles.items()), options.agent, options.each, redact,
        [_identity(path) for path in (source, *options.more)],
    )  # fmt: skip
    return hashlib.sha256(repr(described).encode()).hexdigest()


def _is_same(source: str, target: str) -> bool:
    """Whether both are the same regular file, also under two names."""
    return os.path.isfile(source) and os.path.isfile(target) and os.path.samefile(source, target)


def _is_stored(path: str) -> bool:
    """Whether a source can be read again: a file or a folder, not a pipe."""
    return os.path.isfile(path) or os.path.isdir(path)


def _identity(path: str) -> list[tuple[str, int, int]]:
    """Path, size and time of change of a file, or of each file in a folder, without hidden ones such as our drafts."""
    files = [path]
    if os.path.isdir(path):
        visible = ((place, [one for one in names if one[0] != "."]) for place, _, names in os.walk(path))
        files = sorted(os.path.join(place, name) for place, names in visible for name in names)
    found = []
    for file in files:
        about = os.stat(file)
        found.append((os.path.realpath(file), about.st_size, about.st_mtime_ns))
    return found


def size(paths: Iterable[str]) -> int:
    """The bytes of files and of all files in folders; files that are absent count as 0."""
    return sum(size for path in paths if _is_stored(path) for _, size, _ in _identity(path))


def _redacted(dialogue: Dialogue, counts: Counter[str], options: Options) -> Dialogue:
    """The dialogue with placeholders for personal data; adds the replacements by kind to `counts`, and to the notes of
    `options` that identifiers look like personal data.
    """

    from turnwise.logs.redact import redact

    done = redact(dialogue)
    counts.update(done.counts)
    if done.identifiers and IDENTIFIERS not in options.notes:
        options.notes.append(IDENTIFIERS)
    return done.dialogue


def recognised(path: str) -> str:
    """The name of the reader that recognises a file; `DataError` if there is no file, `UsageError` if no reader
    recognises it.
    """
    if path == PIPE:
        raise UsageError("the format of standard input is not recognised; name it with --from")
    found = recognise(path)
    if found is None and not os.path.exists(path):
        raise DataError(Problem(path, None, "", "cannot be read: No such file or directory"))
    looked = sample(path) if found is None else None
    if looked is not None and looked.form in ("folder", "zip"):
        from turnwise.logs.foreign import foreign  # which imports this module

        raise UsageError(str(foreign(path)))
    if looked is not None and (damage := _damage(looked)) is not None:
        raise damage
    if looked is not None and looked.header and all(map(COLUMN.fullmatch, looked.header)):
        kind = "parquet" if looked.form == "parquet" else "csv"
        raise UsageError(
            f"{path}: is a table with the columns {', '.join(looked.header)}; say what they are, for example "
            f"--from {kind} --map 'id=...,role=...,content=...' (a message a row) or --map 'context=...,response=...' "
            "(an item a row)"
        )
    if found is None:
        raise UsageError(
            f"{path}: the format is not recognised; name it with --from (`turnwise ls readers` has all), or map "
            "its fields with --from json --map 'messages=...,role=...,content=...'"
        )
    return found


def _damage(looked: Sample) -> DataError | None:
    """Why the first records of a file cannot be read: it is empty, cut off, no JSON or in UTF-16; else None."""
    if (encoding := utf16(looked.path)) is not None:
        return DataError(Problem(looked.path, None, "", in_utf16(looked.path, encoding)))
    if looked.form in ("json", "jsonl", "empty") or JSON_LIST.match(looked.text):
        try:
            for _ in islice(records(looked.path), len(looked.records) + 1):
                pass
        except DataError as error:
            return error
    return None


def in_utf16(path: str, encoding: str) -> str:
    """What a message says of a file in UTF-16."""
    how = f"iconv -f {encoding} -t UTF-8 {shlex.quote(path)} > utf8.jsonl"
    return f"is in {encoding}; expected UTF-8, which this writes: {how}"


def _readable(reader: Reader, source: str, options: Options) -> Iterator[Dialogue]:
    """The dialogues of a source, without those that an interrupted conversion has written.

    A reader that cannot open the source is an error about the source, not about the target.
    """
    try:
        for dialogue in reader.read(source, options):
            if options.already.left:
                options.already.left -= 1
            else:
                yield dialogue
    except OSError as error:
        raise DataError(Problem(source, None, "", f"cannot be read: {error.strerror or error}")) from None


def _named(dialogues: Iterator[Dialogue], options: Options) -> Iterator[Dialogue]:
    """The dialogues; those whose agent is unknown get the name that --agent gives, if it is given."""
    for dialogue in dialogues:
        if options.agent is not None and dialogue.agent == UNKNOWN:
            yield replace(dialogue, agent=options.agent)
        else:
            yield dialogue


def checked(dialogues: Iterator[Dialogue], source: str) -> Iterator[Dialogue]:
    """The dialogues of a reader, each checked by the native rules; a broken rule, an id that appears twice, or
    no dialogue at all raises `DataError` about `source`.
    """
    return (dialogue for dialogue, _ in _checked(dialogues, source, IdSet(), 0))


def _checked(
    dialogues: Iterator[Dialogue], source: str, seen: IdSet, before: int
) -> Iterator[tuple[Dialogue, bytes]]:
    """As `checked`, each dialogue with its native line; `before` dialogues, whose ids are in `seen`, came earlier."""
    place = before
    for place, dialogue in enumerate(dialogues, before + 1):
        try:
            line = native.dump(dialogue)
            if typed.read(line, place) is None:  # then the slower check says what is wrong, if anything is
                from_record(decoded(line), default_id="")
        except RuleError as error:
            refuse(error, f"{source}: dialogue {place}, as converted")
        except (
            AttributeError,
            TypeError,
            ValueError,
        ) as error:  # fields of a plugin's dialogue with wrong types
            about = f"dialogue {place}, as converted, cannot be written: {registry.described(error)}"
            raise DataError(Problem(source, None, "", about)) from error
        if dialogue.id in seen:
            expected = "expected ids that differ"
            raise DataError(Problem(source, None, "", f"has the id {shown(dialogue.id)} twice; {expected}"))
        seen.add(dialogue.id)
        yield dialogue, line
    if not place:
        raise DataError(Problem(source, None, "", "has no dialogue in it"))
