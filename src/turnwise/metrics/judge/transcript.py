"""What a judge sees of a dialogue: one line of JSON a message, and a count of everything that it does not see.

Tool calls are shown with their arguments, tool results with the name of the tool. Text of a call or a result that is
longer than `Sees.result` characters is shortened in the middle, and a sign there says by how much. Images, audio and
files are attached to the request (`media="send"`) or named at their place ("[an image was shown]").

A transcript longer than `Sees.window` characters does not fit a model's context. `shortened` leaves out messages in
the middle: it keeps the system prompts, the first other message and as many of the last ones as fit. `chunks` splits a
whole dialogue into consecutive parts instead.

Each text is quoted so that it cannot close its section, form the special tokens of a chat template (`<|im_end|>`,
`[INST]`), or hide words in invisible characters.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from turnwise.errors import counted
from turnwise.logs.dialogue import TEXT_PARTS
from turnwise.logs.scan import PART_KINDS
from turnwise.metrics.tools.calls import call_parts
from turnwise.types import Role, Turn

Media = Literal["name", "send"]
SYSTEM, CALLS, RESULTS = "system prompt", "tool call", "tool result"  # in counts of what is not shown
CUT, MIDDLE = "character of tool calls and results", "message of the middle"
_MARKUP = re.compile(r"<|\[(?=/?[A-Z_]+\])")  # the characters that begin special tokens of chat templates
_HEAD = 0.75  # share of a shortened text that is its beginning
_ARTICLES = {"image": "an image", "audio": "audio", "file": "a file", "video": "a video"}
_NOUNS = {"audio": "audio part"}
_SENT = frozenset({"image_url", "input_audio"})  # parts that chat completions take


@dataclass(frozen=True, slots=True)
class Sees:
    """What a judge is shown."""

    tools: bool = True  # tool calls and their results
    system: bool = True  # system prompts
    media: Media = "name"  # whether images and audio are attached, or only named
    result: int = 4000  # characters of one tool result, or of the arguments of one call
    window: int = 100_000  # characters of a transcript


class Line(NamedTuple):
    """One message as it is quoted."""

    text: str
    role: Role
    scored: bool  # whether it is a message of the scored role


@dataclass(frozen=True, slots=True)
class Transcript:
    """The quoted messages, the parts that are attached, and how many of what are not shown."""

    lines: tuple[Line, ...]
    attached: tuple[Mapping[str, Any], ...] = ()
    left_out: Counter[str] = field(default_factory=Counter)  # what -> how many
    tools: bool = False  # whether a tool call or result is among the lines

    @property
    def text(self) -> str:
        """The lines, one message each."""
        return "\n".join(line.text for line in self.lines)

    @property
    def n_scored(self) -> int:
        """The number of messages of the scored role."""
        return sum(line.scored for line in self.lines)

    def shortened(self, window: int) -> "Transcript":
        """The transcript with messages in the middle left out, if it is longer than `window` characters."""
        if len(self.text) <= window:
            return self
        first = next((at for at, line in enumerate(self.lines) if line.role != "system"), 0)
        head = self.lines[: first + 1]
        room = window - sum(len(line.text) + 1 for line in head)
        tail: list[Line] = []
        for line in reversed(self.lines[first + 1 :]):
            room -= len(line.text) + 1
            if room < 0 and tail:
                break
            tail.insert(0, line)
        dropped = len(self.lines) - len(head) - len(tail)
        if not dropped:
            return self
        mark = Line(f"[{counted(dropped, 'message')} left out here]", "system", False)
        left_out = self.left_out + Counter({MIDDLE: dropped})
        return Transcript((*head, mark, *tail), self.attached, left_out, self.tools)

    def chunks(self, window: int) -> "list[Transcript]":
        """Consecutive parts of at most `window` characters (one message may be longer); attachments go to all."""
        if len(self.text) <= window:
            return [self]
        parts: list[list[Line]] = [[]]
        size = 0
        for line in self.lines:
            if parts[-1] and size + len(line.text) + 1 > window:
                parts.append([])
                size = 0
            parts[-1].append(line)
            size += len(line.text) + 1
        return [Transcript(tuple(part), self.attached, self.left_out, self.tools) for part in parts]


def transcript(turns: Sequence[Turn], sees: Sees, *, role: Role, first: int = 0) -> Transcript:
    """What a judge sees of these turns. `first` is the number of parts that the request has attached before."""
    names = dict(_tool_names(turns))
    writer = _Writer(sees, first)
    lines: list[Line] = []
    for turn in turns:
        message = writer.message(turn, names)
        if message is not None:
            lines.append(Line(quoted(message), turn.role, turn.role == role))
    return Transcript(tuple(lines), tuple(writer.attached), writer.left_out, writer.tools)


def quoted(value: Mapping[str, Any]) -> str:
    """An object as one line of JSON, with unprintable characters and the start of special tokens escaped."""
    plain = json.dumps(value, ensure_ascii=False, default=str)
    safe = "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in plain)
    return _MARKUP.sub(lambda found: f"\\u{ord(found[0]):04x}", safe)


def left_out_text(left_out: Mapping[str, int]) -> str:
    """What is not shown, in words: "1 system prompt, 2 images"."""
    return ", ".join(_count(count, what) for what, count in left_out.items())


def _count(count: int, what: str) -> str:
    """A count in words; the noun comes before `of`, and audio has no plural."""
    noun, of, rest = what.partition(" of ")
    return f"{counted(count, _NOUNS.get(noun, noun))}{of}{rest}"


class _Writer:
    """Writes messages as JSON objects and counts what they leave out."""

    def __init__(self, sees: Sees, first: int) -> None:
        self._sees, self._first = sees, first
        self.attached: list[Mapping[str, Any]] = []
        self.left_out: Counter[str] = Counter()
        self.tools = False

    def message(self, turn: Turn, names: Mapping[str, str]) -> dict[str, Any] | None:
        """The message of a turn; None if the judge does not see it. `names` has the tool of each call's id."""
        if turn.role == "system" and not self._sees.system:
            self.left_out[SYSTEM] += 1
            return None
        if turn.role == "tool" and not self._sees.tools:
            self.left_out[RESULTS] += 1
            return None
        content = self._content(turn)
        if turn.role == "tool":
            self.tools = True
            name = turn.extra.get("name") or names.get(str(turn.extra.get("tool_call_id")))
            return {"role": "tool", **({"name": str(name)} if name else {}), "content": self._cut(content)}
        calls = [self._call(call) for call in turn.tool_calls]
        if calls and not self._sees.tools:
            self.left_out[CALLS] += len(calls)
            calls = []
            if not content:
                return None
        self.tools = self.tools or bool(calls)
        return {"role": turn.role, "content": content, **({"tool_calls": calls} if calls else {})}

    def _content(self, turn: Turn) -> str:
        """The text of a turn, with a sign at the place of each part that is no text."""
        if not turn.parts:
            return turn.text
        return "\n".join(
            str(part["text"]) if part["type"] in TEXT_PARTS else self._part(part) for part in turn.parts
        )

    def _part(self, part: Mapping[str, Any]) -> str:
        """The sign of a part that is no text; one that can be sent is attached, others are counted."""
        kind = PART_KINDS.get(str(part["type"]), str(part["type"]))
        sent = _sendable(part) if self._sees.media == "send" else None
        if sent is not None:
            self.attached.append(sent)
            return f"[{kind} {self._first + len(self.attached)}, attached]"
        self.left_out[kind] += 1
        return f"[{_ARTICLES.get(kind, f'a part of type {kind}')} was shown]"

    def _call(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """Name and arguments of a call; arguments that are JSON as an object, unless they must be shortened."""
        name, arguments = call_parts(call)
        text = (
            arguments
            if isinstance(arguments, str)
            else json.dumps(arguments, ensure_ascii=False, default=str)
        )
        shown = self._cut(text)
        return {"name": name, "arguments": arguments if shown == text else shown}

    def _cut(self, text: str) -> str:
        """The text, shortened in the middle if it is longer than a result may be."""
        most = self._sees.result
        if len(text) <= most:
            return text
        head = int(most * _HEAD)
        dropped = len(text) - most
        self.left_out[CUT] += dropped
        return f"{text[:head]} [{dropped:,} characters left out here] {text[len(text) - (most - head) :]}"


def _tool_names(turns: Sequence[Turn]) -> Iterator[tuple[str, str]]:
    """The id and the tool's name of each call."""
    for turn in turns:
        for call in turn.tool_calls:
            if call.get("id"):
                yield str(call["id"]), call_parts(call)[0]


def _sendable(part: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The part in the form of chat completions; None if it has no such form.

    An image needs an address or its data; Inspect and others keep it under `image`, and may keep only a reference.
    """
    if part["type"] in _SENT:
        return part
    if part["type"] in ("image", "input_image"):
        address = part.get("image_url") or part.get("image")
        if isinstance(address, str) and address.startswith(("data:image/", "https://", "http://")):
            return {"type": "image_url", "image_url": {"url": address}}
    return None
