"""The dialogues that were drawn for a study when it began (`rate --choose`), kept in its first event.

The draw is made once. A study that goes on, and its export, read it from the store: another draw would have other
probabilities, and the weights of the ratings would be wrong.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from turnwise.errors import DataError
from turnwise.logs.items.keys import WEIGHT
from turnwise.types import Dialogue
from turnwise.web.storage.log import open_log, without_credentials

KEY = "drawing"  # of the body of the first event


class Drawing(msgspec.Struct, frozen=True, kw_only=True):
    """The dialogues of a study, and the weight of every dialogue of the data."""

    asked: dict[str, Any]  # parameters of the draw, which must not change
    drawn: tuple[str, ...]  # ids
    weights: dict[str, float]  # id -> inverse of the probability of having been drawn by now
    judged: str | None = None  # which replies are rated: last, all; None: as the selection says

    def weighted(self, dialogue: Dialogue) -> Dialogue:
        """The dialogue with its weight; `DataError` if it was not in the data when the draw was made."""
        if dialogue.id not in self.weights:
            raise DataError(
                f"dialogue {dialogue.id!r} was not in the data when the dialogues to rate were drawn"
            )
        return msgspec.structs.replace(dialogue, meta={**dialogue.meta, WEIGHT: self.weights[dialogue.id]})


def drawing_of(event: Mapping[str, Any]) -> Drawing | None:
    """The drawing in the body of a study's first event; None if the study has all dialogues."""
    return msgspec.convert(event[KEY], Drawing) if event.get(KEY) else None


def stored_drawing(store: str) -> tuple[bool, Drawing | None]:
    """Whether the store has a study, and its drawing; (False, None) if there is no such store yet."""
    try:
        log = open_log(store, writable=False)
    except DataError:  # a store that is there but cannot be read is reported when it is opened to write
        return False, None
    try:
        first = next(iter(log.replay()), None)
    finally:
        log.close()
    return first is not None, drawing_of(first.body) if first is not None else None


def check_asked(store: str, drawing: Drawing | None, asked: Mapping[str, Any]) -> None:
    """Raise `DataError` unless the stored study was drawn as is asked now."""
    if drawing is None:
        raise DataError(
            f"{without_credentials(store)}: has a study of all dialogues, without --choose; give another --store"
        )
    if drawing.asked != dict(asked):
        was = ", ".join(f"{name} {value}" for name, value in drawing.asked.items() if value is not None)
        raise DataError(
            f"{without_credentials(store)}: the dialogues of this study were drawn with {was}; leave --choose out to "
            "go on, or give another --store"
        )
