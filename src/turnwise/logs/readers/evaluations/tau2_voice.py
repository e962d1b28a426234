"""Voice runs of tau2-bench: `ticks` in place of `messages`, each with a piece of what either side says.

Pieces of one side are joined to a message: those that name the same utterance (`utterance_ids`, or the `uuid` of a
script), also if the other side speaks meanwhile, and else those that follow each other. A message stands where it
began. A call of a tool ends a message, unless the pieces after it belong to the same utterance; calls and results are
kept in the order of the ticks, as tool calls of the side that calls and as tool messages.

The user's words are a script with marks, `<message uuid="u" active="1"><chunk id=0>Hello, </chunk><chunk
id=1>hi</chunk> </message>`, which each tick repeats whole: `active` names the chunks that are spoken in this tick. Each
chunk is taken once, and chunks that are never spoken are counted. A message without any words has an audio part in
place of text.
"""

import html
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from turnwise.logs.checks import RuleError, each, optional, others, record, wrong
from turnwise.logs.readers.messages import present

Side = Literal["user", "agent"]
Message = dict[str, Any]
SIDES: tuple[Side, ...] = ("user", "agent")
ROLES = {"user": "user", "agent": "assistant"}
TICK = frozenset(
    {"tick_id"} | {f"{side}_{what}" for side in SIDES for what in ("chunk", "tool_calls", "tool_results")}
)
PIECE = frozenset({"role", "contains_speech", "utterance_ids"})
WORDS = ("content", "audio_script_gold", "transcript")  # where a piece of speech has its words
SCRIPT = "audio_script_gold"
MARKED = re.compile(
    r'<message uuid="(?P<uuid>[^"]*)"(?: active="(?P<active>[^"]*)")?[^>]*>(?P<body>.*?)</message>', re.DOTALL
)
CHUNK = re.compile(r'<chunk id="?(\d+)"?>(.*?)</chunk>', re.DOTALL)
OF_TICKS = "times and other keys of ticks"
OF_PIECES = "effects, audio and other keys of pieces of speech"
UNSPOKEN = "pieces of a script that were never spoken"


@dataclass(slots=True)
class _Spoken:
    """A message as its pieces come in."""

    side: Side
    utterance: str | None  # which its pieces name
    words: list[str] = field(default_factory=list)
    span: list[Any] = field(default_factory=list)  # ticks
    calls: list[Message] = field(default_factory=list)

    def native(self) -> Message:
        """The native message; `ticks` has the first and the last tick. Without words and calls it has an audio part."""
        about = {"ticks": [self.span[0], self.span[-1]]}
        words = "".join(self.words)
        if not words and not self.calls:
            return {"role": ROLES[self.side], "content": [{"type": "input_audio", **about}]}
        calls = {"tool_calls": self.calls} if self.calls else {}
        return {"role": ROLES[self.side], "content": words or None, **about, **calls}


@dataclass(slots=True)
class Speech:
    """What is read of the ticks of a simulation: `messages` in native form, and what was not kept, with counts."""

    messages: list[Message]
    dropped: Counter[str]


def speech(ticks: Sequence[Mapping[str, Any]], call: Any, results: Any) -> Speech:
    """The messages of the ticks in order; in one tick the user's come before the agent's, and words before calls.

    `call` is the check that makes a native tool call of a call, and `results` the one that makes native messages of a
    result. Values of another form raise `RuleError`.
    """
    joined = _Joined()
    for place, tick in enumerate(ticks):
        try:
            for side in SIDES:
                joined.hear(side, optional(tick, f"{side}_chunk", record, default={}), tick)
                joined.act(side, optional(tick, f"{side}_tool_calls", each(call), default=()), tick)
                several = optional(tick, f"{side}_tool_results", each(results), default=())
                joined.said += [one for some in several for one in some]
        except RuleError as error:
            raise error.inside(place) from None
        if more := present(others(tick, TICK)):
            joined.dropped[OF_TICKS] += len(more)
    joined.count_unspoken()
    return Speech([one.native() if isinstance(one, _Spoken) else one for one in joined.said], joined.dropped)


class _Joined:
    """Joins pieces of speech to messages."""

    def __init__(self) -> None:
        self.said: list[_Spoken | Message] = []  # in the order in which they began
        self.dropped: Counter[str] = Counter()
        self._last: dict[Side, _Spoken] = {}  # of each side
        self._scripts: dict[str, dict[str, str]] = {}  # uuid -> chunks
        self._spoken: dict[str, set[str]] = {}  # uuid -> ids of chunks

    def hear(self, side: Side, piece: Mapping[str, Any], tick: Mapping[str, Any]) -> None:
        """Add a piece to the message that it continues, or as a new one; nothing happens in silence."""
        if piece.get("role") not in (None, ROLES[side]):
            raise wrong(piece["role"], ROLES[side]).inside("role").inside(f"{side}_chunk")
        if more := present(others(piece, PIECE | set(WORDS))):
            self.dropped[OF_PIECES] += len(more)
        utterance, words, source = self._words(piece)
        if unread := [key for key in WORDS if key != source and piece.get(key) not in (None, "", words)]:
            self.dropped[f"other wordings of pieces of speech (`{unread[0]}`)"] += 1
        if not words and not piece.get("contains_speech"):
            return
        spoken = self._open(side, utterance)
        spoken.words += [words] if words else []
        spoken.span.append(tick.get("tick_id"))

    def act(self, side: Side, calls: Sequence[Message], tick: Mapping[str, Any]) -> None:
        """Add calls of tools to the message of the side that is last of all, or to a new message."""
        if not calls:
            return
        spoken = self._last.get(side)
        if spoken is None or self.said[-1] is not spoken:
            spoken = self._new(side, None)
            spoken.span.append(tick.get("tick_id"))
        spoken.calls += calls

    def count_unspoken(self) -> None:
        """Count as dropped the chunks of scripts that no tick has as active."""
        for uuid, chunks in self._scripts.items():
            if silent := len(chunks.keys() - self._spoken[uuid]):
                self.dropped[UNSPOKEN] += silent

    def _open(self, side: Side, utterance: str | None) -> _Spoken:
        """The message that a piece of this utterance continues; a new one if there is none."""
        last = self._last.get(side)
        if last is None or last.utterance != utterance:
            return self._new(side, utterance)
        follows = last is self.said[-1] and not last.calls
        return last if follows or utterance is not None else self._new(side, utterance)

    def _new(self, side: Side, utterance: str | None) -> _Spoken:
        """A new message at the end."""
        self._last[side] = spoken = _Spoken(side, utterance)
        self.said.append(spoken)
        return spoken

    def _words(self, piece: Mapping[str, Any]) -> tuple[str | None, str, str | None]:
        """The utterance that a piece names, the words that it adds, and the key that they are from; None, no text and
        None if there are none.
        """
        named = piece.get("utterance_ids")
        utterance = str(named) if named else None
        script = piece.get(SCRIPT)
        marked = list(MARKED.finditer(script)) if isinstance(script, str) else []
        if marked:
            return utterance or marked[-1]["uuid"], "".join(map(self._active, marked)), SCRIPT
        for key in WORDS:
            if isinstance(piece.get(key), str) and piece[key]:
                return utterance, piece[key], key
        return utterance, "", None

    def _active(self, marked: re.Match[str]) -> str:
        """The words of a script's active chunks that no tick before has said."""
        uuid, chunks = marked["uuid"], dict(CHUNK.findall(marked["body"]))
        self._scripts.setdefault(uuid, {}).update(chunks)
        spoken = self._spoken.setdefault(uuid, set())
        active = [one.strip() for one in (marked["active"] or "").split(",")]
        new = [one for one in chunks if one in active and one not in spoken]
        spoken.update(new)
        return html.unescape("".join(chunks[one] for one in new))
