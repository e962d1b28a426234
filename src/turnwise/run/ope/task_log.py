"""Task dialogues for the critic: texts in one form, belief state and goal as bits, rewards.

Systems spell placeholders differently and people write values: each becomes one word per slot. The state of a system
turn is the belief state after the user's message and the user's goal. If no goal was logged, it is derived from the
last belief state, as in the paper.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from turnwise.errors import DataError, UsageError, counted
from turnwise.estimators.critic.critic import ONTOLOGY
from turnwise.estimators.critic.features import Facts
from turnwise.logs.items.items import Selection, items
from turnwise.metrics.task.goal import DomainGoal, domain_goals
from turnwise.metrics.task.inform import Success
from turnwise.metrics.task.ontology import Domain, Ontology
from turnwise.metrics.task.ontology import load as ontology_of
from turnwise.metrics.task.system_turns import delexicalised, system_turns
from turnwise.types import Dialogue, Floats, Turn

_PLURAL = re.compile(r"\s*-s\b")  # `restaurant -s`
SUCCESS_REWARD = 100.0  # reward of a success, so that values have the scale of the metric


def critics_ontology(critic: object) -> str:
    """The ontology of a critic's task logs; the critic of a plugin may have no such setting."""
    return str(getattr(critic, "ontology", ONTOLOGY))


def is_task(dialogues: Sequence[Dialogue], ontology: str = ONTOLOGY) -> bool:
    """Whether a goal or a belief state names a known domain; a goal may also be a persona, for example."""
    domains = ontology_of(ontology).domains
    named = (
        name
        for one in dialogues
        for part in (one.goal, *(turn.state for turn in one.turns))
        for name in part or ()
    )
    return any(name.lower() in domains for name in named)


def check_domains(dialogues: Sequence[Dialogue], ontology: str) -> None:
    """Raise `UsageError` if the goals name domains, and the ontology has none of them."""
    known = ontology_of(ontology).domains
    named = sorted({name.lower() for one in dialogues for name in one.goal or ()})
    if named and not {*named} & {*known}:
        raise UsageError(
            f"the goals are about {', '.join(named[:5])}, and ontology `{ontology}` has {', '.join(known)}: give the "
            "task's own, as critic[ontology=DIR] (docs/critic.md#your-own-task)"
        )


def with_uniform_placeholders(dialogues: Sequence[Dialogue], ontology: str = ONTOLOGY) -> list[Dialogue]:
    """The dialogues with every value and placeholder as one word per slot, for all speakers."""
    words = ontology_of(ontology)
    return [replace(one, turns=tuple(_plain(turn, words) for turn in one.turns)) for one in dialogues]


def _plain(turn: Turn, ontology: Ontology) -> Turn:
    """The turn with its text and all alternatives in one form; a turn without text is unchanged."""
    if turn.content is None:
        return turn
    text = _uniform(delexicalised(turn.text, turn.acts or (), ontology), ontology)
    instead = {
        agent: tuple(replace(reply, content=_uniform(reply.content, ontology)) for reply in replies)
        for agent, replies in turn.alternatives.items()
    }
    return replace(turn, content=text, alternatives=instead)


def _uniform(text: str, ontology: Ontology) -> str:
    """The text in lower case with one word per placeholder, whatever its spelling."""
    # Systems write [value_price] for a train's price and for a restaurant's range alike.
    return _PLURAL.sub("s", ontology.unify_placeholders(text.lower())).replace("slotpricerange", "slotprice")


def facts(
    dialogues: Sequence[Dialogue], *, ontology: str = ONTOLOGY, dense: bool = False
) -> dict[str, Facts]:
    """Dialogue id -> its facts at its system turns; with `dense`, also the progress of each turn as its reward."""
    words = ontology_of(ontology)
    known = {one.id: list(_bits(one, words)) for one in dialogues}
    columns: dict[str, int] = {}
    for bits in known.values():
        for at in bits:
            for bit in sorted(at):
                columns.setdefault(bit, len(columns))
    return {
        one.id: Facts(_rows(known[one.id], columns), progress(one, words) if dense else None)
        for one in dialogues
    }


def _rows(bits: Sequence[frozenset[str]], columns: Mapping[str, int]) -> Floats:
    """(t, k) 1 where the turn has the bit; `columns` maps a bit to its column."""
    rows = np.zeros((len(bits), len(columns)))
    for row, at in zip(rows, bits, strict=True):
        row[[columns[bit] for bit in at]] = 1.0
    return rows


def _bits(dialogue: Dialogue, ontology: Ontology) -> Iterator[frozenset[str]]:
    """At each system turn: the slots filled so far, the goal's slots, and one bit for each constraint not yet stated.

    At most eight of the latter are counted.
    """
    wanted = goal_of(dialogue, ontology)
    goal = {f"goal {domain} {slot}" for domain, wish in wanted.items() for slot in wish.constraints}
    goal |= {f"asks {domain} {slot}" for domain, wish in wanted.items() for slot in wish.requests}
    for turn in _system(dialogue):
        state = ontology.state(turn.state)
        filled = {(domain, slot) for domain, slots in state.items() for slot in slots}
        left = sum(
            (domain, slot) not in filled for domain, wish in wanted.items() for slot in wish.constraints
        )
        known = {f"state {domain} {slot}" for domain, slot in filled}
        yield frozenset(goal | known | {f"left {index}" for index in range(min(left, 8))})


def goal_of(dialogue: Dialogue, ontology: Ontology) -> dict[str, DomainGoal]:
    """Domain -> goal: the logged goal, otherwise one derived from the last state."""
    if dialogue.goal:
        return domain_goals(dialogue.goal, ontology, where=f"the goal of {dialogue.id}")
    last: Mapping[str, Any] = next((turn.state for turn in reversed(_system(dialogue)) if turn.state), {})
    stated = {
        name: {"info": {slot: value for slot, value in slots.items() if ontology.knows(slot)}}
        for name, slots in ontology.state(last).items()
        if name in ontology.domains
    }
    return domain_goals(stated, ontology)


def progress(dialogue: Dialogue, ontology: Ontology) -> Floats:
    """(t,) at each system turn, 100 times the share of the goal's parts that it fulfils for the first time.

    Parts are an offer in each domain that needs one, and every request. Tool calls without text are no turns.
    """
    item = next(items([dialogue], Selection(items="all"), whole=True))
    wanted = goal_of(dialogue, ontology)
    parts = {
        (domain, slot)
        for domain, wish in wanted.items()
        for slot in (*wish.requests, *_offers(ontology.domains[domain]))
    }
    open_, earned = set(parts), []
    replies = [turn for turn in item.turns if turn.role == "assistant"]
    for turn, move in zip(replies, system_turns(item, ontology), strict=True):
        if turn.content is None:  # a tool call is not seen by the user
            continue
        now = {(domain, slot) for domain, slot in open_ if slot in move.mentioned_slots(domain)}
        now = {(domain, slot) for domain, slot in now if slot != ontology.booking or domain in move.booked}
        open_ -= now
        earned.append(SUCCESS_REWARD * len(now) / max(len(parts), 1))
    return np.array(earned)


def _offers(domain: Domain) -> tuple[str, ...]:
    """The slot whose mention offers a venue, in a tuple, for domains in which the goal needs an offer; otherwise empty.

    See `offer_met_goal`.
    """
    return (domain.offer,) if domain.table and not domain.optional else ()


def success(dialogues: Sequence[Dialogue], *, db: str | None, ontology: str = ONTOLOGY) -> dict[str, float]:
    """Dialogue id -> 100 if the logged system reached the goal, otherwise 0; only dialogues with a goal.

    Raises a `UsageError` if no dialogue has one. `db` is the folder of venue tables.
    """
    with_goal = [one for one in dialogues if one.goal]
    if not with_goal:
        raise UsageError(
            "no dialogue has a `goal`, so nothing says whether it succeeded: take critic[reward=one], "
            "critic[reward=progress] (goals are then derived from the states), or rate the dialogues"
        )
    metric = Success(ontology=ontology, db=db)
    whole = items(with_goal, Selection(items="all"), whole=True)
    return {item.dialogue: metric.value(item) for item in whole}


def with_replies_of_all(
    dialogues: Sequence[Dialogue], targets: Sequence[str]
) -> tuple[list[Dialogue], dict[str, int]]:
    """The dialogues in which every target has a reply at every system turn, and reason -> number of those left out.

    A target needs none in its own dialogues, which are not used for it. Raises a `DataError` if none is left.
    """
    kept: list[Dialogue] = []
    mute, silent = 0, 0
    for one in dialogues:
        replies = _system(one)
        if not replies:
            mute += 1
        elif any(
            not turn.alternatives.get(other) for turn in replies for other in targets if other != one.agent
        ):
            silent += 1
        else:
            kept.append(one)
    why = {"no system turn": mute, "a target has no alternative somewhere": silent}
    alone = [target for target in targets if kept and all(one.agent == target for one in kept)]
    why |= {f"held by `{target}` itself": len(kept) for target in alone}
    if not kept or alone:
        reasons = "; ".join(
            f"{counted(count, 'dialogue')}: {reason}" for reason, count in why.items() if count
        )
        raise DataError(
            f"no dialogue is left to learn from ({reasons}); `turnwise respond` fills alternatives in"
        )
    return kept, {reason: count for reason, count in why.items() if count}


def _system(dialogue: Dialogue) -> list[Turn]:
    """The turns of the assistant that have a text."""
    return [turn for turn in dialogue.turns if turn.role == "assistant" and turn.content is not None]
