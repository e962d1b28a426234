"""Thumbs, stars and words beside a message or a dialogue, which are read as ratings.

`"feedback": "up"` of a message is the rating `thumb` 1 of this turn, `"stars": 4` of a record is the rating `stars` of
the dialogue. A key is read if its value has one meaning: a word of `WORDS`, true or false, a number of stars. Every
other value stays where it is, since 0 or "fine" may mean several things: `--map rating:thumb=feedback:fine=1,bad=0`
says it. What was read is taken from the message, and the rating keeps the word as `label`; so a dialogue that is
written and read again is the same.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from turnwise.errors import counted
from turnwise.types import Dialogue, Rating, Turn, item_id

THUMB, STARS, RATING = "thumb", "stars", "rating"  # dimensions
# Key -> dimension of a number; None: only words, true and false are read.
KEYS: Mapping[str, str | None] = {
    **dict.fromkeys(
        ("feedback", "user_feedback", "thumb", "thumbs", "like", "liked", "reaction", "vote"), None
    ),
    "thumbs_up": None,
    "stars": STARS,
    "star_rating": STARS,
    "rating": RATING,
    "user_rating": RATING,
}
GOOD = (
    "up", "thumbs_up", "thumbsup", "thumb_up", "upvote", "upvoted", "like", "liked", "good", "positive", "helpful",
    "👍",
)  # fmt: skip
BAD = (
    "down", "thumbs_down", "thumbsdown", "thumb_down", "downvote", "downvoted", "dislike", "disliked", "bad",
    "negative", "unhelpful", "not_helpful", "👎",
)  # fmt: skip
WORDS: Mapping[str, float] = {**dict.fromkeys(GOOD, 1.0), **dict.fromkeys(BAD, 0.0)}
FLAGS: Mapping[str, float] = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
OF_THUMB = (0.0, 1.0)
OF_STARS = (1.0, 5.0)
INSIDE = (
    "rating",
    "value",
    "thumb",
    "thumbs",
    "type",
    "score",
)  # where an object of feedback may have the word
LIMIT = 1000.0  # a larger number under `rating` is no rating
LABEL, SOURCE = "label", "label_key"  # keys of a rating: the word, and the path that had it
NAMED = 6  # words that a note names


class Label(NamedTuple):
    """What a value of a key says: the dimension, the number, its scale, and the word that stood for it."""

    dimension: str
    value: float
    scale: tuple[float, float] | None
    word: str | None = None


def number_of(word: str) -> float | None:
    """The number of a word that means good (1) or bad (0), in any case and with spaces or signs inside; else None."""
    plain = word.strip().lower().replace(" ", "_").replace("-", "_")
    return WORDS.get(plain, FLAGS.get(plain))


def label(key: str, value: Any) -> Label | None:
    """What the value of a known key says; None where its meaning is not certain."""
    if key not in KEYS:
        return None
    if isinstance(value, bool):
        return Label(THUMB, float(value), OF_THUMB, str(value).lower())
    if isinstance(value, str):
        number = number_of(value)
        if number is not None:
            return Label(THUMB, number, OF_THUMB, value)
        value = len(value.strip()) if value.strip() and set(value.strip()) == {"★"} else _numeral(value)
    dimension = KEYS[key]
    if dimension is None or not isinstance(value, int | float):
        return None
    if dimension == STARS:
        on_scale = OF_STARS[0] <= value <= OF_STARS[1]
        return Label(STARS, float(value), OF_STARS) if on_scale else None
    return Label(dimension, float(value), None) if abs(value) <= LIMIT else None


def _numeral(text: str) -> float | None:
    """The number that a text is, as tables may store it; None for any other text."""
    return float(text) if text.replace(".", "", 1).isdecimal() else None


def rated(dialogue: Dialogue) -> Dialogue:
    """The dialogue with the labels of its messages and of its record as ratings; the same object if it has none."""
    of_turns = [turn.extra for turn in dialogue.turns]
    if KEYS.keys().isdisjoint(dialogue.extra) and all(map(KEYS.keys().isdisjoint, of_turns)):
        return dialogue
    turns: list[Turn] = []
    ratings: list[Rating] = []
    for place, turn in enumerate(dialogue.turns):
        made, left = _taken(turn.extra, dialogue.id, place)
        ratings += made
        turns.append(replace(turn, extra=left) if made else turn)
    made, left = _taken(dialogue.extra, dialogue.id, None)
    if not ratings and not made:
        return dialogue
    return replace(dialogue, turns=tuple(turns), extra=left, ratings=(*dialogue.ratings, *ratings, *made))


def _taken(
    values: Mapping[str, Any], identity: str, turn: int | None
) -> tuple[Sequence[Rating], Mapping[str, Any]]:
    """The ratings that the keys of a message (`turn`) or a record say, and the keys that are left."""
    made: list[Rating] = []
    left = dict(values)
    for key in [key for key in values if key in KEYS]:
        inner, beside = _inside(values[key])
        said = label(key, values[key] if inner is None else values[key][inner])
        if said is None or any(rating.dimension == said.dimension for rating in made):
            continue
        path = key if inner is None else f"{key}.{inner}"
        made.append(_as_rating(said, identity, turn, path, beside))
        del left[key]
    return (made, left) if made else ((), values)


def _inside(value: Any) -> tuple[str | None, Mapping[str, Any]]:
    """The key of the word inside an object of feedback, and its other entries; None for a value that is no object."""
    if not isinstance(value, Mapping):
        return None, {}
    key = next((key for key in INSIDE if isinstance(value.get(key), str | bool | int | float)), None)
    return key, {name: rest for name, rest in value.items() if name != key}


def _as_rating(said: Label, identity: str, turn: int | None, path: str, beside: Mapping[str, Any]) -> Rating:
    """The rating that a label is; the word, its path, and what stood beside the word are kept in it."""
    word = {LABEL: said.word} if said.word is not None else {}
    names = (*Rating.__struct_fields__, LABEL, SOURCE)
    more = {f"source_{name}" if name in names else name: value for name, value in beside.items()}
    return Rating(
        item_id(identity, turn), said.dimension, said.value, turn=turn, scale=said.scale,
        extra={**more, **word, SOURCE: path},
    )  # fmt: skip


def restored(dialogue: Dialogue, keys: Collection[str]) -> Dialogue:
    """The dialogue in which the labels with these keys are beside their messages again, for a `--map` that names them.

    Keys that `rated` had to rename stay renamed.
    """
    again = [
        rating for rating in dialogue.ratings if str(rating.extra.get(SOURCE, "")).partition(".")[0] in keys
    ]
    if not again:
        return dialogue
    turns, extra = list(dialogue.turns), dict(dialogue.extra)
    for rating in again:
        key, _, inner = str(rating.extra[SOURCE]).partition(".")
        word = rating.extra.get(LABEL, rating.value)
        rest = {name: value for name, value in rating.extra.items() if name not in (LABEL, SOURCE)}
        value = {inner: word, **rest} if inner else word
        if rating.turn is None:
            extra[key] = value
        else:
            turn = turns[rating.turn]
            turns[rating.turn] = replace(turn, extra={**turn.extra, key: value})
    kept = tuple(rating for rating in dialogue.ratings if rating not in again)
    return replace(dialogue, turns=tuple(turns), extra=extra, ratings=kept)


@dataclass(slots=True)
class Account:
    """Which labels became ratings, for a note."""

    read: dict[tuple[str, str], Counter[str]] = field(
        default_factory=dict
    )  # key and dimension -> word -> count
    others: Counter[str] = field(default_factory=Counter)  # key -> values that are no ratings

    def add(self, dialogue: Dialogue) -> None:
        """Count the labels of one dialogue."""
        for rating in dialogue.ratings:
            if SOURCE in rating.extra:
                word = rating.extra.get(LABEL)
                said = f"{rating.value:g}" if word is None else f"{word} = {rating.value:g}"
                counts = self.read.setdefault((str(rating.extra[SOURCE]), rating.dimension), Counter())
                counts[said] += 1
        for values in (dialogue.extra, *(turn.extra for turn in dialogue.turns if turn.extra)):
            self.others.update(key for key in KEYS if values.get(key) not in (None, ""))

    def notes(self) -> Iterator[str]:
        """What was read as ratings, a note for each key."""
        for (path, dimension), counts in self.read.items():
            some = ", ".join(f"{said} ({count})" for said, count in counts.most_common(NAMED))
            left = self.others.get(path, 0)
            rest = f"; {counted(left, 'other value')} stay as they are" if left else ""
            yield f"`{path}` is read as the rating {dimension}: {some}{rest}"
        read = {path.partition(".")[0] for path, _ in self.read}
        for key, count in self.others.items():
            if key not in read:
                yield (
                    f"`{key}` is not read as a rating: {counted(count, 'value')} of no certain meaning; "
                    f"--map rating:NAME={key}:VALUE=1,VALUE=0 says what they mean"
                )
