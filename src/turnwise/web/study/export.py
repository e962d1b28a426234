"""Exports the ledger in the native format, which `meta`, `train` and `ope` read; possible at any time.

reply, dialogue   the dialogues of the data, with the collected ratings instead of their own; where some were drawn, all
                  dialogues with their weights, of which the others keep their ratings
pairwise          the compared dialogues, or with --as one per compared reply; a preference is on the first of the two
--as              one dialogue per rated reply
write             one dialogue per written reply, of the agent `human`
chat              one dialogue per rated live dialogue, with its goal and its agent; of two agents side by side one for
                  each, and the preference on the first

Unreliable ratings (repeats, those of raters who were set apart, and of contexts that were not understood) are stored
with a reason under `ratings_apart` or `preferences_apart`, which metrics ignore. Withheld replies and live dialogues
without a rating are left out. With `everything` nothing is left out, attention checks are dialogues of their own, and
`meta --screen` can decide.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from turnwise.logs.dialogue import as_record
from turnwise.logs.scan import SET_APART
from turnwise.types import OTHER_TURN, Dialogue, Item, Position, Preference, Rating, Turn, Winner, item_id
from turnwise.web.study.drawing import drawing_of
from turnwise.web.study.ledger import Ledger, Rater, Slot
from turnwise.web.study.ratings import REPEAT, SHOWN, collected_ratings, rated_id, screen_raters
from turnwise.web.study.tasks import Task

RATINGS_APART, PREFERENCES_APART = SET_APART
TIE = 0.5  # rating of a pair of which neither is preferred
HUMAN = "human"  # agent of written replies

ScreenedRating = tuple[Rating, str | None]  # a rating, and the reason why it is unreliable, or None
ScreenedPreference = tuple[Preference, str | None]


def export_dialogues(
    ledger: Ledger, dialogues: Sequence[Dialogue], *, everything: bool = False
) -> Iterator[Dialogue]:
    """The dialogues of a study with the ratings so far; `dialogues` are those of the data.

    With `everything` no rating is set apart and nothing is left out; attention checks come last.
    """
    screened: defaultdict[str, list[ScreenedRating]] = defaultdict(list)
    for rating, reason in screened_ratings(ledger):
        screened[rating.item].append((rating, None if everything else reason))
    if ledger.study.mode == "chat":
        yield from _live_dialogues(ledger, screened, everything=everything)
    elif ledger.study.mode == "write":
        yield from _written_replies(ledger, everything=everything)
    else:
        yield from _rated_dialogues(ledger, dialogues, screened)
    for check in ledger.checks if everything else ():
        yield from _check_dialogue(check, screened[check.id])


def screened_ratings(ledger: Ledger) -> list[ScreenedRating]:
    """All ratings, each with the reason why it is unreliable or None, repeats first; empty before the first rating."""
    ratings = collected_ratings(ledger)
    screened = screen_raters(ledger, ratings)
    if screened is None:
        return []
    apart = list(zip(screened.excluded, screened.reasons, strict=True))
    kept = [(rating, "a repeat" if REPEAT in rating.extra else None) for rating in screened.kept]
    return sorted([*kept, *apart], key=lambda one: REPEAT not in one[0].extra)


def _rated_dialogues(
    ledger: Ledger, dialogues: Sequence[Dialogue], screened: dict[str, list[ScreenedRating]]
) -> Iterator[Dialogue]:
    """The rated dialogues: as logged if logged replies or dialogues were rated, otherwise one per rated item."""
    by_item: defaultdict[str, list[ScreenedRating]] = defaultdict(list)
    chosen: defaultdict[str, list[tuple[Item, ScreenedRating]]] = defaultdict(
        list
    )  # first item -> second, choice
    items: dict[str, Item] = {}
    for task in ledger.tasks.values():
        items |= {item.id: item for item in task.items}
        found = screened.get(task.id, ())
        if len(task.items) == 2:
            chosen[task.items[0].id] += [(task.items[1], one) for one in found]
        else:
            for item in task.items:
                by_item[item.id] += found
    if all(item.id == item_id(item.dialogue, item.turn) for item in items.values()):
        by_dialogue: dict[str, list[ScreenedRating]] = {item.dialogue: [] for item in items.values()}
        preferences: defaultdict[str, list[ScreenedPreference]] = defaultdict(list)
        for item in items.values():
            by_dialogue[item.dialogue] += [_at_item(one, item.id, item.turn) for one in by_item[item.id]]
            preferences[item.dialogue] += [
                _preference(one, other.dialogue, item.turn, other.turn) for other, one in chosen[item.id]
            ]
        drawing = drawing_of(ledger.study_event)
        for one in dialogues:
            rated = one
            if one.id in by_dialogue:
                rated = _with_preferences(_with_ratings(one, by_dialogue[one.id]), preferences[one.id])
            elif drawing is None:
                continue
            yield rated if drawing is None else drawing.weighted(rated)
        return
    for item in items.values():
        single = Dialogue(
            item.id, item.agent, item.turns, (), item.goal, {**item.meta, "dialogue": item.dialogue}
        )
        rated = _with_ratings(
            single, [_at_item(one, item_id(item.id, _last(item)), _last(item)) for one in by_item[item.id]]
        )
        mine = [_preference(one, other.id, _last(item), _last(other)) for other, one in chosen[item.id]]
        yield _with_preferences(rated, mine)


def _last(item: Item) -> int | None:
    """The index of the rated reply in a dialogue of the item's turns; None for a whole dialogue."""
    return None if item.turn is None else len(item.turns) - 1


def _preference(
    screened_rating: ScreenedRating, other: str, turn: int | None, other_turn: int | None
) -> ScreenedPreference:
    """The choice of a rater: a rating of 1 is for the first item, 0 for the second and .5 for neither."""
    rating, reason = screened_rating
    extra = {key: value for key, value in rating.extra.items() if key != SHOWN}
    if other_turn != turn:
        extra[OTHER_TURN] = other_turn
    if "was" in extra:
        extra["was"] = [{**old, "value": _winner(old["value"])} for old in extra["was"]]
    shown: Position = "second" if rating.extra.get(SHOWN) == "second" else "first"
    found = Preference(other, _winner(rating.value), rating.dimension, rating.rater, turn, shown, extra)
    return found, reason


def _winner(value: float) -> Winner:
    """The winner seen from the first item."""
    return "tie" if value == TIE else "this" if value > TIE else "other"


def _with_preferences(dialogue: Dialogue, screened: Sequence[ScreenedPreference]) -> Dialogue:
    """The dialogue with these preferences only; unreliable ones are stored under `preferences_apart`."""
    kept = tuple(one for one, reason in screened if reason is None)
    apart = tuple(
        replace(one, extra={**one.extra, "reason": why}) for one, why in screened if why is not None
    )
    extra: dict[str, Any] = {k: value for k, value in dialogue.extra.items() if k != PREFERENCES_APART}
    if apart:
        extra[PREFERENCES_APART] = as_record(replace(dialogue, preferences=apart))["preferences"]
    return replace(dialogue, preferences=kept, extra=extra)


def _at_item(screened_rating: ScreenedRating, item: str, turn: int | None) -> ScreenedRating:
    """The rating as one of this item and turn."""
    return replace(screened_rating[0], item=item, turn=turn), screened_rating[1]


def _with_ratings(dialogue: Dialogue, screened: Sequence[ScreenedRating]) -> Dialogue:
    """The dialogue with these ratings only; unreliable ones are stored under `ratings_apart`."""
    kept = tuple(rating for rating, reason in screened if reason is None)
    apart = tuple(replace(r, extra={**r.extra, "reason": why}) for r, why in screened if why is not None)
    extra: dict[str, Any] = {key: value for key, value in dialogue.extra.items() if key != RATINGS_APART}
    if apart:
        extra[RATINGS_APART] = as_record(replace(dialogue, ratings=apart))["ratings"]
    return replace(dialogue, ratings=kept, extra=extra)


def _check_dialogue(check: Task, screened: Sequence[ScreenedRating]) -> Iterator[Dialogue]:
    """An attention check as a dialogue of the agent `check`; nothing if nobody answered it."""
    if screened:
        yield _with_ratings(
            Dialogue(check.id, "check", check.visible_turns),
            [_at_item(one, check.id, None) for one in screened],
        )


def _live_dialogues(
    ledger: Ledger, screened: dict[str, list[ScreenedRating]], *, everything: bool
) -> Iterator[Dialogue]:
    """The live dialogues that were rated; with `everything` also the others that have a turn.

    Of two that were held side by side the first has the preference. `screened` maps `rated_id` to ratings.
    """
    for rater, slot in ledger.slots:
        source = slot.task.source
        if source is None or not (slot.answer or (everything and slot.turns)):
            continue
        found = screened.get(rated_id(slot, rater), ())
        meta = {**source.meta, "task": source.id} | ({} if slot.answer else {"unrated": True})
        names = [f"{source.id}@{agent}/{rater.name}" for agent in slot.task.agents]
        held = [
            Dialogue(name, agent, tuple(turns), (), source.goal, meta)
            for name, agent, turns in zip(names, slot.task.agents, slot.dialogues, strict=True)
        ]
        if len(held) == 1:
            yield _with_ratings(held[0], [_at_item(one, names[0], None) for one in found])
        else:
            yield _with_preferences(held[0], [_preference(one, names[1], None, None) for one in found])
            yield held[1]


def _written_replies(ledger: Ledger, *, everything: bool) -> Iterator[Dialogue]:
    """The written replies as dialogues; withheld ones and those of writers set apart only with `everything`."""
    screened = screen_raters(ledger, collected_ratings(ledger))
    dropped = set(screened.dropped) if screened else set()
    for rater, slot in ledger.slots:
        if slot.answer is None or not slot.task.items:
            continue
        why = _exclusion_reason(rater, slot, dropped)
        if why is None or everything:
            yield _written_dialogue(rater, slot, why)


def _exclusion_reason(rater: Rater, slot: Slot, dropped: set[str]) -> str | None:
    """Why a written reply is left out of the export (withheld, or its writer in `dropped`); None if it is not."""
    if slot.held:
        return "possibly offensive"
    return "the writer was set apart" if rater.name in dropped else None


def _written_dialogue(rater: Rater, slot: Slot, why: str | None) -> Dialogue:
    """A written reply as a dialogue; `why` (not None: why it would be left out) is stored under `held`.

    Its references are those of the logged reply or, if that has none and a person gave it, the logged reply.
    """
    (item,) = slot.task.items
    logged = (item.reply,) if item.agent == HUMAN and item.reply else ()
    text = slot.answer.text if slot.answer else ""
    turns = (*slot.task.context, Turn("assistant", text, references=item.references or logged))
    meta = {**item.meta, "dialogue": item.dialogue, "writer": rater.name} | ({"held": why} if why else {})
    return Dialogue(f"{item.id}@{HUMAN}~{rater.name}", HUMAN, turns, (), item.goal, meta)
