"""What is known about a dialogue and each of its turns beside their texts: scores, ratings, preferences and notes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from turnwise.types import OTHER_TURN, Dialogue, Preference, Rating, item_id
from turnwise.web.pages.tool_calls import indented
from turnwise.web.viewer.explanations import explanation
from turnwise.web.viewer.index import Index
from turnwise.web.viewer.scores import ScoredRun
from turnwise.web.viewer.table import Table

LONG = 20_000  # characters of a text that are shown at first
FOLDED = 600  # characters from which notes are folded
# Keys of a line of a run that are shown in their own place, or say nothing new about an item.
PLACES = frozenset(
    {"id", "dialogue", "turn", "agent", "group", "cluster", "pair", "weight", "unit", "n_items"}
)
NUMBERS = frozenset({"scores", "intervals", "unscored", "explanations"})
CRITIC = frozenset({"estimator", "user", "replies", "q"})
WINNER = {"this": "preferred to", "other": "not preferred to", "tie": "as good as", "both_bad": "as bad as"}


class ItemLine(msgspec.Struct):
    """What a line of a run says of an item. Values of other types than those of this version are left out when they are
    used.
    """

    id: Any = ""
    dialogue: Any = ""
    turn: Any = None
    agent: Any = None
    scores: Any = None
    intervals: Any = None
    unscored: Any = None
    explanations: Any = None
    estimator: Any = None
    q: Any = None


class Unscored(msgspec.Struct):
    """Why a metric has no number of an item."""

    reason: Any = ""


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


def as_json(value: Any) -> str:
    """A value as indented JSON, a text as it is; either is cut if it is long."""
    text = value if isinstance(value, str) else indented(msgspec.json.encode(value).decode())
    return text if len(text) <= LONG else f"{text[:LONG]}… ({len(text) - LONG:,} more characters)"


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
        line = msgspec.convert(record, ItemLine)
        turn = line.turn
        is_alternative = _suffix(line).startswith("@")
        if is_alternative:
            if (
                turn is None
            ):  # a whole dialogue in the words of another agent, which is no dialogue of the logs
                return
            target = self._of_alternative(line)
        else:
            target = self._at(turn)
        table = self._index.dialogues if turn is None else self._index.replies
        have = {score.metric for score in target.scores}
        intervals, unscored = _mapping(line.intervals), _mapping(line.unscored)
        for metric, value in _mapping(line.scores).items():
            name = run.keys.get(metric, metric).removeprefix("metric:")
            reason = msgspec.convert(_mapping(unscored.get(metric)), Unscored).reason
            if name not in have and (turn is not None or reason):
                target.scores.append(
                    _score(table, run.keys.get(metric, ""), name, value, intervals.get(metric), str(reason))
                )
        if line.estimator:
            values = _mapping(line.q)
            text = ", ".join(f"{agent} {value:.3g}" for agent, value in values.items() if value is not None)
            target.notes.append(Note(f"value by {line.estimator}", text))
        for metric, said in _mapping(line.explanations).items():
            about = None if is_alternative else self._dialogue
            target.notes.extend(Note(*one) for one in explanation(run.run, metric, said, about, turn))
        for key, value in record.items():
            if key not in PLACES | NUMBERS | CRITIC and value not in (None, "", [], {}):
                target.notes.extend(_notes(key, value))

    def _of_alternative(self, line: ItemLine) -> Numbers:
        """The entry of the alternative that a line is about."""
        _, _, sample = _suffix(line).rpartition("~")
        number = int(sample) if sample.isascii() and sample.isdigit() else 0
        return self.of_alternatives.setdefault((int(line.turn), str(line.agent), number), Numbers())


def _suffix(line: ItemLine) -> str:
    """What follows the dialogue and the turn in an item's id."""
    start = item_id(str(line.dialogue), line.turn)
    identity = str(line.id)
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
    other_turn = preference.extra.get(OTHER_TURN, preference.turn)
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
