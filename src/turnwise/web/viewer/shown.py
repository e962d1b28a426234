"""What a page says about a dialogue: its messages with their scores, ratings, preferences and everything else logged.

All texts are plain; templates escape them and make hidden characters visible.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from turnwise.logs.dialogue import CALLS, TEXT_PARTS
from turnwise.logs.scan import PART_KINDS
from turnwise.types import Dialogue, Preference, Rating, Turn, item_id
from turnwise.web.viewer.index import Index
from turnwise.web.viewer.scores import ScoredRun
from turnwise.web.viewer.table import UNPAIRED, WHOLE, Table
from turnwise.web.viewer.texts import called

LONG = 20_000  # characters of a message that are shown at first
BRIEF = 100  # characters of a folded text that are shown
FOLDED = 600  # characters from which system messages and judges' reasons are folded
# Keys of a line of a run that are shown in their own place, or say nothing new about an item.
PLACES = frozenset(
    {"id", "dialogue", "turn", "agent", "group", "cluster", "pair", "weight", "unit", "n_items"}
)
NUMBERS = frozenset({"scores", "intervals", "unscored"})
CRITIC = frozenset({"estimator", "user", "replies", "q"})
WINNER = {"this": "preferred to", "other": "not preferred to", "tie": "as good as", "both_bad": "as bad as"}


@dataclass(frozen=True, slots=True)
class Score:
    """A metric's number for one reply or dialogue."""

    metric: str
    value: float | None
    share: float | None = None  # of all such numbers that are below it
    interval: tuple[float, float] | None = None
    reason: str = ""  # why there is none


@dataclass(frozen=True, slots=True)
class Rated:
    """What people said on one dimension."""

    dimension: str
    mean: float
    scale: tuple[float, float] | None
    by: tuple[tuple[str, float], ...]  # rater ("" where unknown) and rating
    remarks: tuple[tuple[str, str], ...] = ()  # rater, and other texts of the rating


@dataclass(frozen=True, slots=True)
class Choice:
    """A preference between this dialogue and another."""

    rater: str
    words: str
    other: str
    turn: int | None  # of the other dialogue
    dimension: str
    remark: str


@dataclass(frozen=True, slots=True)
class Note:
    """Further text about a message or a dialogue."""

    label: str
    text: str
    plain: bool = True  # False: JSON or another text of a program

    @property
    def folded(self) -> bool:
        """Whether it is long."""
        return len(self.text) > FOLDED


@dataclass(slots=True)
class Numbers:
    """What is known about a reply or a dialogue beside its text."""

    scores: list[Score] = field(default_factory=list)
    ratings: list[Rated] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.scores or self.ratings or self.choices or self.notes)


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


def as_json(value: Any) -> str:
    """A value as indented JSON, a text as it is; either is cut if it is long."""
    text = value if isinstance(value, str) else indented(msgspec.json.encode(value).decode())
    return text if len(text) <= LONG else f"{text[:LONG]}… ({len(text) - LONG:,} more characters)"


def indented(text: str) -> str:
    """JSON text with indentation; any other text as it is."""
    try:
        return msgspec.json.format(text.encode(), indent=2).decode()
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text


class DialogueNumbers:
    """The scores, ratings and preferences of one dialogue, by turn."""

    def __init__(self, index: Index, runs: Sequence[ScoredRun], row: int, dialogue: Dialogue) -> None:
        self._index, self._dialogue = index, dialogue
        self.by_turn: dict[int | None, Numbers] = {}
        self.of_alternatives: dict[tuple[int, str, int], Numbers] = {}
        self._add_ratings(dialogue.ratings)
        for preference in dialogue.preferences:
            self._at(preference.turn).choices.append(_choice(preference))
        whole = self._at(None)
        for column in index.dialogues.of_kind("metric"):
            value = float(column.values[row])
            if value == value:  # not NaN
                whole.scores.append(Score(column.name, value, index.dialogues.share_below(column, value)))
        for run in runs:
            for record in run.records(row):
                self._add_record(run, record)

    def at(self, turn: int | None) -> Numbers:
        """What is known about a turn, or about the whole dialogue (None)."""
        return self.by_turn.get(turn, Numbers())

    def _at(self, turn: int | None) -> Numbers:
        """The entry of a turn, made if there is none."""
        return self.by_turn.setdefault(turn, Numbers())

    def _add_ratings(self, ratings: Sequence[Rating]) -> None:
        """Group the ratings by turn and dimension."""
        groups: dict[tuple[int | None, str], list[Rating]] = {}
        for rating in ratings:
            groups.setdefault((rating.turn, rating.dimension), []).append(rating)
        for (turn, dimension), several in groups.items():
            by = tuple((rating.rater or "", rating.value) for rating in several)
            remarks = tuple(
                (rating.rater or "", f"{key}: {value}")
                for rating in several
                for key, value in rating.extra.items()
                if isinstance(value, str)
            )
            mean = sum(value for _, value in by) / len(by)
            self._at(turn).ratings.append(Rated(dimension, mean, several[0].scale, by, remarks))

    def _add_record(self, run: ScoredRun, record: Mapping[str, Any]) -> None:
        """Add a line of a run: scores with intervals and reasons, and every other field that is not a place."""
        turn = record.get("turn")
        if _suffix(record).startswith("@"):
            if (
                turn is None
            ):  # a whole dialogue in the words of another agent, which is no dialogue of the logs
                return
            target = self._of_alternative(record)
        else:
            target = self._at(turn)
        table = self._index.dialogues if turn is None else self._index.replies
        have = {score.metric for score in target.scores}
        intervals, unscored = _mapping(record.get("intervals")), _mapping(record.get("unscored"))
        for metric, value in _mapping(record.get("scores")).items():
            name = run.keys.get(metric, metric).removeprefix("metric:")
            reason = _mapping(unscored.get(metric)).get("reason", "")
            if name not in have and (turn is not None or reason):
                target.scores.append(
                    _score(table, run.keys.get(metric, ""), name, value, intervals.get(metric), str(reason))
                )
        if record.get("estimator"):
            values = _mapping(record.get("q"))
            text = ", ".join(f"{agent} {value:.3g}" for agent, value in values.items() if value is not None)
            target.notes.append(Note(f"value by {record['estimator']}", text))
        for key, value in record.items():
            if key not in PLACES | NUMBERS | CRITIC and value not in (None, "", [], {}):
                target.notes.extend(_notes(key, value))

    def _of_alternative(self, record: Mapping[str, Any]) -> Numbers:
        """The entry of the alternative that a line is about."""
        _, _, sample = _suffix(record).rpartition("~")
        number = int(sample) if sample.isascii() and sample.isdigit() else 0
        return self.of_alternatives.setdefault(
            (int(record["turn"]), str(record.get("agent")), number), Numbers()
        )


def _suffix(record: Mapping[str, Any]) -> str:
    """What follows the dialogue and the turn in an item's id."""
    start = item_id(str(record.get("dialogue", "")), record.get("turn"))
    identity = str(record.get("id", ""))
    return identity.removeprefix(start) if identity.startswith(start) else ""


def _score(
    table: Table, key: str, name: str, value: float | None, interval: Sequence[float] | None, reason: str
) -> Score:
    """A score with its place among all others."""
    column = table.columns.get(key)
    share = None if value is None or column is None else table.share_below(column, value)
    two = (interval[0], interval[1]) if interval and len(interval) == 2 else None
    return Score(name, value, share, two, reason)


def _mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object; else an empty one."""
    return value if isinstance(value, Mapping) else {}


def _notes(key: str, value: Any) -> Iterator[Note]:
    """A field of a record as notes: one for each entry of an object of texts, else one."""
    label = key.replace("_", " ")
    if isinstance(value, Mapping) and all(isinstance(inner, str) for inner in value.values()):
        for name, inner in value.items():
            yield Note(f"{label}, {name}", inner)
    else:
        yield Note(label, as_json(value), plain=isinstance(value, str))


def _choice(preference: Preference) -> Choice:
    """A preference in words."""
    other_turn = preference.extra.get("other_turn", preference.turn)
    texts = [f"{key}: {value}" for key, value in preference.extra.items() if isinstance(value, str)]
    shown = [f"shown {preference.shown}"] if preference.shown else []
    return Choice(
        rater=preference.rater or "",
        words=WINNER[preference.winner],
        other=preference.other,
        turn=other_turn if isinstance(other_turn, int) else None,
        dimension=preference.dimension,
        remark="; ".join([*shown, *texts]),
    )


def messages(
    index: Index,
    row: int,
    dialogue: Dialogue,
    numbers: DialogueNumbers,
    places: range,
    *,
    whole: int | None = None,
) -> list[Message]:
    """The messages at these places; a long one is cut, unless it is at `whole`."""
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


def _message(place: int, turn: Turn, numbers: DialogueNumbers, *, whole: bool, n_beside: int) -> Message:
    """One message; tool results and long system messages are folded."""
    parts = tuple(_parts(turn, whole=whole))
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
        alternatives=tuple(_alternatives(place, turn, numbers, whole=whole)),
        n_beside=n_beside,
    )


def _parts(turn: Turn, *, whole: bool) -> Iterator[Part]:
    """The parts of a message's content; a message without words or calls is one empty part."""
    if turn.parts:
        for part in turn.parts:
            kind = str(part.get("type", ""))
            yield (
                _text_part(str(part["text"]), whole=whole) if kind in TEXT_PARTS else _other_part(kind, part)
            )
    elif turn.content or not turn.tool_calls:
        text = turn.text
        yield _text_part(indented(text) if turn.role == "tool" else text, whole=whole)


def _text_part(text: str, *, whole: bool = False) -> Part:
    """A text, cut if it is long."""
    return Part(text) if whole or len(text) <= LONG else Part(text[:LONG], cut=len(text) - LONG)


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


def _alternatives(place: int, turn: Turn, numbers: DialogueNumbers, *, whole: bool) -> Iterator[Alternative]:
    """What other agents would have said here, sample by sample."""
    for agent, samples in turn.alternatives.items():
        for number, sample in enumerate(samples):
            known = numbers.of_alternatives.get((place, agent, number), Numbers())
            yield Alternative(agent, number, _text_part(sample.content, whole=whole), known)


def dialogue_notes(dialogue: Dialogue) -> list[Note]:
    """What else was logged with a dialogue."""
    parts = (("goal", dialogue.goal), ("meta", dialogue.meta), ("other keys", dialogue.extra))
    return [Note(label, as_json(value), plain=False) for label, value in parts if value]
