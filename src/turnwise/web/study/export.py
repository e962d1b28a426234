"""The ledger in the native format, at any moment: what `meta`, `train` and `ope` read.

reply, dialogue   the data's conversations with the collected ratings in place of whatever ratings they had
pairwise, --as    one conversation a judged reply; preferred is 1, a tie .5, not preferred 0
write             one conversation a written reply, of the agent `human`
chat              one conversation a live conversation that was rated, with its goal and its agent

Ratings not to rely on (repeats, those of raters set apart, of contexts not understood) stand under
`ratings_apart` with a reason, where no metric looks; replies that are held back are left out, as are
conversations without a rating. With `everything` all of it is there, attention checks too, each a conversation
of its own: then `meta --screen` decides.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from turnwise.logs.dialogue import as_record
from turnwise.types import Dialogue, Item, Rating, Turn, item_id
from turnwise.web.study.judgements import REPEAT, judgements, unit
from turnwise.web.study.ledger import Ledger, Rater, Slot
from turnwise.web.study.standing import screened_of
from turnwise.web.study.tasks import Task

APART = "ratings_apart"
HUMAN = "human"

Verdict = tuple[Rating, str | None]  # a rating and why it is not to be relied on, if it is not


def exported(
    ledger: Ledger, dialogues: Sequence[Dialogue], *, everything: bool = False
) -> Iterator[Dialogue]:
    """The conversations of a study with what people said of them so far."""
    verdicts: defaultdict[str, list[Verdict]] = defaultdict(list)
    for rating, reason in _verdicts(ledger):
        verdicts[rating.item].append((rating, None if everything else reason))
    if ledger.study.mode == "chat":
        yield from _talks(ledger, verdicts, everything=everything)
    elif ledger.study.mode == "write":
        yield from _written(ledger, everything=everything)
    else:
        yield from _judged(ledger, dialogues, verdicts)
    for check in ledger.checks if everything else ():
        yield from _check(check, verdicts[check.id])


def _verdicts(ledger: Ledger) -> list[Verdict]:
    ratings = judgements(ledger)
    screened = screened_of(ledger, ratings)
    if screened is None:
        return []
    apart = list(zip(screened.excluded, screened.reasons, strict=True))
    kept = [(rating, "a repeat" if REPEAT in rating.extra else None) for rating in screened.kept]
    return sorted([*kept, *apart], key=lambda one: REPEAT not in one[0].extra)


def _judged(
    ledger: Ledger, dialogues: Sequence[Dialogue], verdicts: dict[str, list[Verdict]]
) -> Iterator[Dialogue]:
    """Conversations as they were logged if that is what was judged, else one for each judged reply."""
    by_item: defaultdict[str, list[Verdict]] = defaultdict(list)
    items: dict[str, Item] = {}
    for task in ledger.tasks.values():
        items |= {item.id: item for item in task.items}
        for rating, reason in verdicts.get(task.id, ()):
            for item, of_item in _of_items(task, rating):
                by_item[item.id].append((of_item, reason))
    if all(item.id == item_id(item.dialogue, item.turn) for item in items.values()):
        by_dialogue: dict[str, list[Verdict]] = {item.dialogue: [] for item in items.values()}
        for item in items.values():
            by_dialogue[item.dialogue] += [_placed(one, item.id, item.turn) for one in by_item[item.id]]
        yield from (_with(one, by_dialogue[one.id]) for one in dialogues if one.id in by_dialogue)
        return
    for item in items.values():
        alone = Dialogue(
            item.id, item.agent, item.turns, (), item.goal, {**item.meta, "dialogue": item.dialogue}
        )
        turn = None if item.turn is None else len(item.turns) - 1
        yield _with(alone, [_placed(one, item_id(item.id, turn), turn) for one in by_item[item.id]])


def _of_items(task: Task, rating: Rating) -> Iterator[tuple[Item, Rating]]:
    """A task's rating as the ratings of what it shows: a preference is one of each of the two replies."""
    if len(task.items) < 2:
        yield from ((item, rating) for item in task.items)
        return
    for place, (item, other) in enumerate(zip(task.items, reversed(task.items), strict=True)):
        turned: Callable[[float], float] = (lambda value: 1 - value) if place else (lambda value: value)
        was = [{**old, "value": turned(old["value"])} for old in rating.extra.get("was", ())]
        extra = {**rating.extra, "against": other.id} | ({"was": was} if was else {})
        yield item, replace(rating, value=turned(rating.value), extra=extra)


def _placed(verdict: Verdict, item: str, turn: int | None) -> Verdict:
    return replace(verdict[0], item=item, turn=turn), verdict[1]


def _with(dialogue: Dialogue, verdicts: Sequence[Verdict]) -> Dialogue:
    """The conversation with these ratings only, those with a reason apart from the others."""
    kept = tuple(rating for rating, reason in verdicts if reason is None)
    apart = tuple(replace(r, extra={**r.extra, "reason": why}) for r, why in verdicts if why is not None)
    extra: dict[str, Any] = {key: value for key, value in dialogue.extra.items() if key != APART}
    if apart:
        extra[APART] = as_record(replace(dialogue, ratings=apart))["ratings"]
    return replace(dialogue, ratings=kept, extra=extra)


def _check(check: Task, verdicts: Sequence[Verdict]) -> Iterator[Dialogue]:
    if verdicts:
        yield _with(
            Dialogue(check.id, "check", check.shown), [_placed(one, check.id, None) for one in verdicts]
        )


def _talks(ledger: Ledger, verdicts: dict[str, list[Verdict]], *, everything: bool) -> Iterator[Dialogue]:
    for rater, slot in ledger.slots:
        source = slot.task.source
        if source is not None and (slot.answer or (everything and slot.turns)):
            name = unit(slot, rater)
            meta = {**source.meta, "task": source.id} | ({} if slot.answer else {"unrated": True})
            talk = Dialogue(name, slot.task.agents[0], tuple(slot.turns), (), source.goal, meta)
            yield _with(talk, [_placed(one, name, None) for one in verdicts.get(name, ())])


def _written(ledger: Ledger, *, everything: bool) -> Iterator[Dialogue]:
    screened = screened_of(ledger, judgements(ledger))
    dropped = set(screened.dropped) if screened else set()
    for rater, slot in ledger.slots:
        if slot.answer is None or not slot.task.items:
            continue
        why = _kept_back(rater, slot, dropped)
        if why is None or everything:
            yield _as_written(rater, slot, why)


def _kept_back(rater: Rater, slot: Slot, dropped: set[str]) -> str | None:
    if slot.held:
        return "possibly offensive"
    return "the writer was set apart" if rater.name in dropped else None


def _as_written(rater: Rater, slot: Slot, why: str | None) -> Dialogue:
    """What a person logged at this point, if one did, is the reference of what another wrote."""
    (item,) = slot.task.items
    logged = (item.reply,) if item.agent == HUMAN and item.reply else ()
    text = slot.answer.text if slot.answer else ""
    turns = (*slot.task.context, Turn("assistant", text, references=item.references or logged))
    meta = {**item.meta, "dialogue": item.dialogue, "writer": rater.name} | ({"held": why} if why else {})
    return Dialogue(f"{item.id}@{HUMAN}~{rater.name}", HUMAN, turns, (), item.goal, meta)
