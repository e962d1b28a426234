"""Exports the ledger in the native format, which `meta`, `train` and `ope` read; possible at any time.

reply, dialogue   the dialogues of the data, with the collected ratings instead of their own
pairwise, --as    one dialogue per rated reply; preferred is 1, a tie .5, not preferred 0
write             one dialogue per written reply, of the agent `human`
chat              one dialogue per rated live dialogue, with its goal and its agent

Unreliable ratings (repeats, those of raters who were set apart, and of contexts that were not understood) are stored
with a reason under `ratings_apart`, which metrics ignore. Withheld replies and live dialogues without a rating are
left out. With `everything` nothing is left out, attention checks are dialogues of their own, and `meta --screen` can
decide.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from turnwise.logs.dialogue import as_record
from turnwise.types import Dialogue, Item, Rating, Turn, item_id
from turnwise.web.study.ledger import Ledger, Rater, Slot
from turnwise.web.study.ratings import REPEAT, collected_ratings, rated_id
from turnwise.web.study.status import screen_raters
from turnwise.web.study.tasks import Task

SET_APART = "ratings_apart"  # key of unreliable ratings in an exported dialogue
HUMAN = "human"  # agent of written replies

ScreenedRating = tuple[Rating, str | None]  # a rating, and the reason why it is unreliable, or None


def export_dialogues(
    ledger: Ledger, dialogues: Sequence[Dialogue], *, everything: bool = False
) -> Iterator[Dialogue]:
    """The dialogues of a study with the ratings so far; `dialogues` are those of the data.

    With `everything` no rating is set apart and nothing is left out; attention checks come last.
    """
    screened: defaultdict[str, list[ScreenedRating]] = defaultdict(list)
    for rating, reason in _screened_ratings(ledger):
        screened[rating.item].append((rating, None if everything else reason))
    if ledger.study.mode == "chat":
        yield from _live_dialogues(ledger, screened, everything=everything)
    elif ledger.study.mode == "write":
        yield from _written_replies(ledger, everything=everything)
    else:
        yield from _rated_dialogues(ledger, dialogues, screened)
    for check in ledger.checks if everything else ():
        yield from _check_dialogue(check, screened[check.id])


def _screened_ratings(ledger: Ledger) -> list[ScreenedRating]:
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
    """The dialogues of all tasks, also of unrated ones: as logged if all items are logged replies or dialogues.

    Otherwise (alternatives of `--as`) one dialogue for each item. `screened` maps task ids to ratings.
    """
    by_item: defaultdict[str, list[ScreenedRating]] = defaultdict(list)
    items: dict[str, Item] = {}
    for task in ledger.tasks.values():
        items |= {item.id: item for item in task.items}
        for rating, reason in screened.get(task.id, ()):
            for item, of_item in _item_ratings(task, rating):
                by_item[item.id].append((of_item, reason))
    if all(item.id == item_id(item.dialogue, item.turn) for item in items.values()):
        by_dialogue: dict[str, list[ScreenedRating]] = {item.dialogue: [] for item in items.values()}
        for item in items.values():
            by_dialogue[item.dialogue] += [_at_item(one, item.id, item.turn) for one in by_item[item.id]]
        yield from (_with_ratings(one, by_dialogue[one.id]) for one in dialogues if one.id in by_dialogue)
        return
    for item in items.values():
        single = Dialogue(
            item.id, item.agent, item.turns, (), item.goal, {**item.meta, "dialogue": item.dialogue}
        )
        turn = None if item.turn is None else len(item.turns) - 1
        yield _with_ratings(single, [_at_item(one, item_id(item.id, turn), turn) for one in by_item[item.id]])


def _item_ratings(task: Task, rating: Rating) -> Iterator[tuple[Item, Rating]]:
    """The rating of a task as ratings of its items; a preference p becomes p for the first and 1 - p for the second.

    Nothing for a task without items (an attention check).
    """
    if len(task.items) < 2:
        yield from ((item, rating) for item in task.items)
        return
    for index, (item, other) in enumerate(zip(task.items, reversed(task.items), strict=True)):
        for_item: Callable[[float], float] = (lambda value: 1 - value) if index else (lambda value: value)
        was = [{**old, "value": for_item(old["value"])} for old in rating.extra.get("was", ())]
        extra = {**rating.extra, "against": other.id} | ({"was": was} if was else {})
        yield item, replace(rating, value=for_item(rating.value), extra=extra)


def _at_item(screened_rating: ScreenedRating, item: str, turn: int | None) -> ScreenedRating:
    """The rating as one of this item and turn."""
    return replace(screened_rating[0], item=item, turn=turn), screened_rating[1]


def _with_ratings(dialogue: Dialogue, screened: Sequence[ScreenedRating]) -> Dialogue:
    """The dialogue with these ratings only; unreliable ones are stored under `ratings_apart`."""
    kept = tuple(rating for rating, reason in screened if reason is None)
    apart = tuple(replace(r, extra={**r.extra, "reason": why}) for r, why in screened if why is not None)
    extra: dict[str, Any] = {key: value for key, value in dialogue.extra.items() if key != SET_APART}
    if apart:
        extra[SET_APART] = as_record(replace(dialogue, ratings=apart))["ratings"]
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

    `screened` maps `rated_id` to ratings.
    """
    for rater, slot in ledger.slots:
        source = slot.task.source
        if source is not None and (slot.answer or (everything and slot.turns)):
            name = rated_id(slot, rater)
            meta = {**source.meta, "task": source.id} | ({} if slot.answer else {"unrated": True})
            dialogue = Dialogue(name, slot.task.agents[0], tuple(slot.turns), (), source.goal, meta)
            yield _with_ratings(dialogue, [_at_item(one, name, None) for one in screened.get(name, ())])


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
