"""From single calls of a model to dialogues: a call that repeats an earlier one continues its dialogue.

A trace has one record a call: the messages that the model was sent, and what it returned. In a chat each call is sent
the whole dialogue so far. So calls of one group (a session, else a trace) are joined in the order of time: a call
whose messages begin with those of an earlier one takes its place, any other begins a dialogue of its own.

What a trace says of a call beside its messages is kept in `call` beside its reply.

The agent is the model. Where calls of a file have several versions (of a prompt, or experiments), the version is part
of the agent's name.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from turnwise.errors import counted
from turnwise.logs.checks import RuleError
from turnwise.logs.dialogue import TEXT_PARTS, from_record
from turnwise.logs.readers.messages import as_json, present
from turnwise.logs.readers.source import Options
from turnwise.logs.readers.traces.logged import Message, parsed
from turnwise.types import Dialogue

SAME = ("role", "content", "tool_calls", "tool_call_id")  # by which messages of two calls are equal


@dataclass(slots=True)
class Call:
    """One call of a model: what it was sent and what it returned, as native messages."""

    group: str  # session or trace
    time: float
    sent: list[Message]
    returned: list[Message]
    model: str | None = None
    version: str | None = None  # of the prompt, or the experiment: agents of one model differ by it
    ratings: list[dict[str, Any]] = field(default_factory=list)  # ratings of the returned text
    meta: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)  # what else the trace says of the call


def dialogues(
    calls: Iterable[Call], options: Options, *, grouped: bool = False, versions: int = 0
) -> Iterator[Dialogue]:
    """The calls, joined to dialogues, group by group; all are held in memory unless they come `grouped`, with the
    number of their `versions`.

    Several dialogues of a group have the ids `GROUP-1`, `GROUP-2` and so on; dialogues without messages are
    counted as dropped.
    """
    apart = 0
    if not grouped:
        calls = list(calls)
        versions = len({call.version for call in calls if call.version})
    for group, several in _one_after_another(calls) if grouped else _gathered(calls):
        if unrated := sum(len(call.ratings) for call in several if not call.returned):
            options.dropped["scores of calls without a reply"] += unrated
        drafts: list[_Draft] = []
        for call in sorted(several, key=lambda one: one.time):
            draft = next((one for one in reversed(drafts) if one.goes_on_with(call)), None)
            if draft is None:
                drafts.append(draft := _Draft(versions > 1))
            draft.add(call)
        apart += len(drafts) > 1
        for number, draft in enumerate(drafts, 1):
            if not draft.messages:
                options.dropped["calls without messages"] += 1
                continue
            identity = group if len(drafts) == 1 else f"{group}-{number}"
            try:
                yield from_record({"id": identity, **draft.record()}, default_id=identity)
            except RuleError as error:
                raise error.inside(identity) from None
    if apart:
        options.notes.append(
            f"{counted(apart, 'group')} of calls (a session, else a trace) became several dialogues: a call that does "
            "not repeat the dialogue so far begins a new one"
        )


def _gathered(calls: Iterable[Call]) -> Iterator[tuple[str, list[Call]]]:
    """Each group and its calls, in the order of the groups' first calls."""
    groups: dict[str, list[Call]] = {}
    for call in calls:
        groups.setdefault(call.group, []).append(call)
    return iter(groups.items())


def _one_after_another(calls: Iterable[Call]) -> Iterator[tuple[str, list[Call]]]:
    """Each group and its calls, which follow each other."""
    for group, several in groupby(calls, key=lambda call: call.group):
        yield group, list(several)


class _Draft:
    """A dialogue as its calls come in."""

    def __init__(self, tell: bool) -> None:
        self.tell = tell  # whether the agent's name has the version
        self.messages: list[Message] = []
        self.ratings: list[dict[str, Any]] = []
        self.models: dict[str, None] = {}
        self.versions: dict[str, None] = {}
        self.meta: dict[str, Any] = {}
        self.calls: list[tuple[int, Call]] = []  # each with the index of its last message

    def goes_on_with(self, call: Call) -> bool:
        """Whether the messages that a call was sent begin with all messages of this dialogue."""
        sent = [_key(one) for one in call.sent]
        said = [_key(one) for one in self.messages]
        return len(sent) >= len(said) and sent[: len(said)] == said

    def add(self, call: Call) -> None:
        """Take the call's messages in place of those before, which keep the keys that only they have; its ratings are
        of its last message, and are left out if it returned none.
        """
        self.messages = _merged(self.messages, [*call.sent, *call.returned])
        last = len(self.messages) - 1
        self.calls.append((last, call))
        self.ratings += [{**one, "turn": last} for one in call.ratings if call.returned]
        if call.model:
            self.models[call.model] = None
        if call.version:
            self.versions[call.version] = None
        self.meta |= call.meta

    def record(self) -> dict[str, Any]:
        """The dialogue as a native record without an id; the agent is the model if calls name just one, else None, with
        its version where these differ.
        """
        agent = next(iter(self.models)) if len(self.models) == 1 else None
        if self.tell and self.versions:
            version = " + ".join(self.versions)
            agent = version if agent is None else f"{agent} ({version})"
        for last, call in self.calls:
            differing = {key: one for key, one in call.meta.items() if self.meta[key] != one}
            if about := present({**differing, **call.more}):
                message = self.messages[last]
                before = message.get("call", {})
                kept = before if isinstance(before, dict) else {"source_call": before}
                self.messages[last] = {**message, "call": {**kept, **about}}
        return {"agent": agent, "messages": self.messages, "ratings": self.ratings, "meta": self.meta}


def _merged(before: list[Message], after: list[Message]) -> list[Message]:
    """The later messages, the first of which are equal to those before and take over the keys that they lack."""
    return [{**old, **new} for old, new in zip(before, after, strict=False)] + after[len(before) :]


def split_repeated(sent: list[Message], returned: list[Message]) -> tuple[list[Message], list[Message]]:
    """What was sent and what is new, where an output repeats its input, also with earlier messages before it.

    Where the output does not hold the input, both are as they were.
    """
    asked, said = [_key(one) for one in sent], [_key(one) for one in returned]
    for end in range(len(said), len(asked) - 1, -1) if asked else ():
        if said[end - len(asked) : end] == asked:
            start = end - len(asked)
            return [*returned[:start], *_merged(sent, returned[start:end])], returned[end:]
    return sent, returned


def _key(message: Message) -> tuple[Any, ...]:
    """What of a message must be equal for two messages to be the same.

    An application may send back `""` for a content that was null, and arguments of a tool in another JSON spelling.
    """
    calls = [
        (call.get("id"), call["function"].get("name"), parsed(call["function"].get("arguments")))
        for call in message.get("tool_calls", ())
    ]
    content = message.get("content") or ""
    if isinstance(content, list) and all(
        isinstance(part, dict) and part.get("type") in TEXT_PARTS and isinstance(part.get("text"), str)
        for part in content
    ):
        content = "\n".join(part["text"] for part in content)
    found = {**message, "content": content, "tool_calls": calls}
    return tuple(as_json(found.get(key)) for key in SAME)


def seconds(value: Any) -> float:
    """A time as a number to sort by: a number or digits as they are (in any unit), ISO 8601 as a Unix time, in UTC if
    it names no zone; 0 for anything else.
    """
    if isinstance(value, str) and not value.isdecimal():
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            return 0.0
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
