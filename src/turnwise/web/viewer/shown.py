"""What a page says about a dialogue: its messages with everything that was logged with them.

All texts are plain; templates escape them and make hidden characters visible.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from turnwise.logs.dialogue import CALLS, TEXT_PARTS
from turnwise.logs.scan import PART_KINDS
from turnwise.types import Dialogue, Turn
from turnwise.web.pages.tool_calls import called, indented
from turnwise.web.viewer.index import Index
from turnwise.web.viewer.item_numbers import FOLDED, LONG, DialogueNumbers, Note, Numbers, as_json
from turnwise.web.viewer.table import UNPAIRED, WHOLE

BRIEF = 100  # characters of a folded text that are shown


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a message: text, or the name of an image, audio or file."""

    text: str
    kind: str = ""  # "" for text
    cut: int = 0  # characters that are not shown


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool."""

    name: str
    arguments: str

    @property
    def brief(self) -> str:
        """The beginning of the arguments."""
        return brief(self.arguments)


@dataclass(frozen=True, slots=True)
class Alternative:
    """What another agent would have said."""

    agent: str
    sample: int
    part: Part
    numbers: Numbers


@dataclass(frozen=True, slots=True)
class Message:
    """One message as a page shows it."""

    place: int
    role: str
    name: str  # of a tool; "" for others
    parts: tuple[Part, ...]
    calls: tuple[Call, ...]
    folded: bool
    brief: str
    numbers: Numbers
    notes: tuple[Note, ...]  # references, state, acts, unknown keys
    alternatives: tuple[Alternative, ...]
    n_beside: int = 0  # replies of other agents to the same context


def brief(text: str, length: int = BRIEF) -> str:
    """The beginning of a text on one line, with … if there is more."""
    line = " ".join(text[: 2 * length].split())
    return line if len(line) <= length and len(text) <= 2 * length else f"{line[:length]}…"


def messages(
    index: Index,
    row: int,
    dialogue: Dialogue,
    numbers: DialogueNumbers,
    places: range,
    *,
    whole: int | None = None,
    cut: bool = True,
) -> list[Message]:
    """The messages at these places; with `cut` a long one is cut, unless it is at `whole`, where nothing is folded."""
    rows = {
        int(index.replies.rows.turn[at]): at
        for at in index.replies_of(row)
        if index.replies.rows.sample[at] == WHOLE
    }
    return [
        _message(
            place,
            dialogue.turns[place],
            numbers,
            whole=place == whole,
            cut=cut and place != whole,
            n_beside=_n_beside(index, rows[place]) if place in rows else 0,
        )
        for place in places
    ]


def _n_beside(index: Index, reply: int) -> int:
    """How many replies of other agents have the same context as a reply.

    Only replies with numbers count, where there are some: the turns before these are often copies of one dialogue.
    """
    table, about = index.replies, index.replies.rows
    if about.pair[reply] == UNPAIRED or not table.numbered()[reply]:
        return 0
    there = table.beside(reply)
    return int((table.numbered()[there] & (about.agent[there] != about.agent[reply])).sum())


def _message(
    place: int, turn: Turn, numbers: DialogueNumbers, *, whole: bool, cut: bool, n_beside: int
) -> Message:
    """One message; tool results and long system messages are folded."""
    parts = tuple(_parts(turn, cut=cut))
    text = turn.text or " ".join(part.text for part in parts)
    calls = tuple(
        Call(name or "tool", indented(arguments)) for name, arguments in map(called, turn.tool_calls)
    )
    folded = turn.role == "tool" or (turn.role == "system" and len(text) > FOLDED)
    return Message(
        place=place,
        role=turn.role,
        name=str(turn.extra.get("name") or "") if turn.role == "tool" else "",
        parts=parts,
        calls=calls,
        folded=folded and not whole,
        brief=brief(text),
        numbers=numbers.at(place),
        notes=tuple(_turn_notes(turn)),
        alternatives=tuple(_alternatives(place, turn, numbers, cut=cut)),
        n_beside=n_beside,
    )


def _parts(turn: Turn, *, cut: bool) -> Iterator[Part]:
    """The parts of a message's content; a message without words or calls is one empty part."""
    if turn.parts:
        for part in turn.parts:
            kind = str(part.get("type", ""))
            yield (_text_part(str(part["text"]), cut=cut) if kind in TEXT_PARTS else _other_part(kind, part))
    elif turn.content or not turn.tool_calls:
        text = turn.text
        yield _text_part(indented(text) if turn.role == "tool" else text, cut=cut)


def _text_part(text: str, *, cut: bool) -> Part:
    """A text; with `cut` only its beginning, if it is long."""
    return Part(text) if not cut or len(text) <= LONG else Part(text[:LONG], cut=len(text) - LONG)


def _other_part(kind: str, part: Mapping[str, Any]) -> Part:
    """An image, audio or file by name: its address or name, or how large it is. Nothing is fetched."""
    inner = part.get(kind)
    values = inner if isinstance(inner, Mapping) else part if inner is None else {"": inner}
    texts = [str(value) for value in values.values() if isinstance(value, str) and value != kind]
    shown = [
        f"{text[:60]}… ({len(text):,} characters)" if len(text) > 200 or text.startswith("data:") else text
        for text in texts
    ]
    return Part(", ".join(shown), kind=PART_KINDS.get(kind, kind))


def _turn_notes(turn: Turn) -> Iterator[Note]:
    """What else was logged with a message."""
    for number, text in enumerate(turn.references, 1):
        yield Note("reference" if len(turn.references) == 1 else f"reference {number}", text)
    for label, value in (("outcome", turn.outcome), ("state", turn.state), ("acts", turn.acts)):
        if value:
            yield Note(label, as_json(value), plain=False)
    others = {key: value for key, value in turn.extra.items() if key not in CALLS and value is not None}
    if others:
        yield Note("other keys", as_json(others), plain=False)


def _alternatives(place: int, turn: Turn, numbers: DialogueNumbers, *, cut: bool) -> Iterator[Alternative]:
    """What other agents would have said here, sample by sample."""
    for agent, samples in turn.alternatives.items():
        for number, sample in enumerate(samples):
            known = numbers.of_alternatives.get((place, agent, number), Numbers())
            yield Alternative(agent, number, _text_part(sample.content, cut=cut), known)


def dialogue_notes(dialogue: Dialogue) -> list[Note]:
    """What else was logged with a dialogue."""
    parts = (("goal", dialogue.goal), ("meta", dialogue.meta), ("other keys", dialogue.extra))
    return [Note(label, as_json(value), plain=False) for label, value in parts if value]
