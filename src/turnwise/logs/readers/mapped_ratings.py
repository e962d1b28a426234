"""The ratings that a `--map` finds in records and in their messages: `rating:thumb=feedback:up=1,down=0`.

A path leads to a value of the record, which rates the dialogue, or of a message, which rates this turn: `feedback` is
looked for in the record first, and in its messages if the record has nothing there; `messages[*].feedback` only in
messages. `dialogue-rating:NAME` is looked for in the record alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from turnwise.errors import UsageError, convert_option
from turnwise.logs.checks import RuleError
from turnwise.logs.dialogue import from_record
from turnwise.logs.labels import restored
from turnwise.logs.readers.columns import RATED, RatingCheck, instruction, scale_of, scaled, written
from turnwise.logs.readers.mapped_paths import MappedPaths
from turnwise.logs.readers.messages import rating
from turnwise.logs.readers.source import Options, raise_data_error
from turnwise.logs.readers.value_paths import steps_of, values_at, without_paths
from turnwise.types import Dialogue

MESSAGES = "messages"  # the path of the messages in a native record


@dataclass(frozen=True, slots=True)
class MappedRating:
    """One rated meaning of a map: where its values are, and how they are read."""

    meaning: str
    path: str  # in the record
    in_message: str | None  # the path in a message; None: only the record is looked at
    only_messages: bool  # whether the path leads over the messages
    index: int | None  # of the one message that the path names
    dimension: str
    check: RatingCheck

    @classmethod
    def parsed(cls, meaning: str, path: str, options: Options, messages: str) -> "MappedRating":
        """The meaning `rating:NAME` or `dialogue-rating:NAME` at a path of the map.

        A rating of dialogues whose path leads over the messages raises `UsageError`.
        """
        kind, _, label = meaning.partition(":")
        dimension, scale = scaled(label)
        words = options.words.get(meaning)
        check = RatingCheck(scale or scale_of(words), words, instruction(meaning, path))
        steps, above = steps_of(path), steps_of(messages)
        over = steps[: len(above)] == above and len(steps) > len(above) + 1 and bool(steps[len(above)][1])
        if over and kind == "dialogue-rating":
            raise UsageError(
                f"{convert_option('--map', f'{meaning}={path}')}: the path leads over the messages, and so rates "
                f"turns; write rating:{label}={path}"
            )
        if not over:
            return cls(meaning, path, path if kind == "rating" else None, False, None, dimension, check)
        place = steps[len(above)][1]
        inner = "".join(f".{key}" if key else f"[{at}]" for key, at in steps[len(above) + 1 :]).lstrip(".")
        return cls(meaning, path, inner, True, None if place == "*" else int(place), dimension, check)


@dataclass(frozen=True, slots=True)
class MappedRatings:
    """All rated meanings of a map."""

    ratings: tuple[MappedRating, ...]
    rater: str | None  # path of the raters

    @classmethod
    def of(cls, options: Options, messages: str = MESSAGES) -> "MappedRatings":
        """The rated meanings of the map in `options`; `messages` is the path of the messages in a record."""
        columns = options.columns
        found = (
            MappedRating.parsed(meaning, column, options, messages)
            for meaning, several in columns.items()
            for column in several
            if meaning.partition(":")[0] in RATED
        )
        return cls(tuple(found), next(iter(columns.get("rater", ())), None))

    @property
    def in_messages(self) -> dict[str, str]:
        """Meaning -> path inside a message, of those that messages may have."""
        return {one.meaning: one.in_message for one in self.ratings if one.in_message is not None}

    def found(
        self, record: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[MappedRating, dict[str, Any]]]:
        """Each rating of a record in native form, with the meaning that it has; null is none.

        A value that is no rating, and another number of raters than of values, raise `RuleError`.
        """
        for one in self.ratings:
            values = [] if one.only_messages else values_at(record, one.path)
            if values or one.in_message is None:
                yield from self._made(one, values, record, None)
                continue
            for place, message in enumerate(messages):
                if one.index in (None, place):
                    yield from self._made(one, values_at(message, one.in_message), message, place, record)

    def _made(
        self, one: MappedRating, values: Sequence[Any], at: Any, turn: int | None, above: Any = None
    ) -> Iterator[tuple[MappedRating, dict[str, Any]]]:
        """The ratings that values are; the raters are those of the same message or record, or of the record `above`."""
        raters = [] if self.rater is None else values_at(at, self.rater) or values_at(above, self.rater)
        named = [written(rater) for rater in raters if rater is not None] if values else []
        if len(named) > 1 and len(named) != len(values):
            raise RuleError(f"has {len(values)} values, and there are {len(named)} raters").inside(one.path)
        of_each = named if len(named) > 1 else [next(iter(named), None)] * len(values)
        for value, rater in zip(values, of_each, strict=True):
            if value is None:
                continue
            try:
                number = one.check(value)
            except RuleError as error:
                raise error.inside(one.path) from None
            yield one, rating(one.dimension, number, rater=rater, scale=one.check.scale, turn=turn)


def with_ratings(dialogues: Iterator[Dialogue], options: Options, file: str) -> Iterator[Dialogue]:
    """The dialogues of a reader with the ratings that the map finds in what it kept beside messages and records.

    A path that leads nowhere in any dialogue raises `UsageError` at the end.
    """
    mapped = MappedRatings.of(options)
    paths = MappedPaths({meaning: several[0] for meaning, several in options.columns.items()})
    inside = mapped.in_messages
    keys = {steps_of(path)[0][0] for one in mapped.ratings for path in (one.path, one.in_message) if path}
    for dialogue in dialogues:
        dialogue = restored(dialogue, keys)
        record = {**dialogue.meta, "meta": dialogue.meta, **dialogue.extra}
        messages = [turn.extra for turn in dialogue.turns]
        paths.see(record)
        paths.note({**dialogue.extra, **({"meta": dialogue.meta} if dialogue.meta else {})})
        for message in messages:
            paths.see(message, inside if mapped.rater is None else {**inside, "rater": mapped.rater})
            paths.note(message, f"{MESSAGES}[*].")
        paths.records += 1
        try:
            made = list(mapped.found(record, messages))
        except RuleError as error:
            raise_data_error(error, f"{file}: dialogue {dialogue.id}")
        if not made:
            yield dialogue
            continue
        of_turns = {inside[one.meaning] for one, rated in made if "turn" in rated}
        of_record = {one.path for one, rated in made if "turn" not in rated}
        turns = tuple(
            replace(turn, extra=without_paths(dict(turn.extra), of_turns)) if turn.extra else turn
            for turn in dialogue.turns
        )
        plain = from_record(
            {
                "messages": [{"role": "user", "content": ""}] * len(turns),
                "ratings": [rated for _, rated in made],
            },
            default_id=dialogue.id,
        )
        yield replace(
            dialogue,
            turns=turns,
            ratings=(*dialogue.ratings, *plain.ratings),
            extra=without_paths(dict(dialogue.extra), of_record),
            meta=without_paths(dict(dialogue.meta), {path.removeprefix("meta.") for path in of_record}),
        )
    paths.check(file)
