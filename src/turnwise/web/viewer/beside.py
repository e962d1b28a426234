"""Two agents side by side: their replies to the same context, or their dialogues with the same value of a key."""

from dataclasses import dataclass, replace

import numpy as np

from turnwise.web.viewer.index import Index
from turnwise.web.viewer.item_numbers import DialogueNumbers, Numbers
from turnwise.web.viewer.links import Links
from turnwise.web.viewer.query import Query, column, kept
from turnwise.web.viewer.shown import Message, messages
from turnwise.web.viewer.table import WHOLE, Unit, Whole
from turnwise.web.viewer.viewer import Viewer

CONTEXT = 3  # turns before a reply that are shown
FOLDED = 40  # turns before these that are folded; the page of the dialogue has the others
TURNS = 100  # messages of a whole dialogue


@dataclass(frozen=True, slots=True)
class Side:
    """One of two replies or dialogues."""

    link: str
    identity: str
    agent: str
    messages: tuple[Message, ...]
    numbers: Numbers  # of the whole dialogue
    n_more: int  # messages that are not shown


@dataclass(frozen=True, slots=True)
class Pair:
    """Two agents on one context."""

    link: str
    folded: tuple[Message, ...]  # the beginning of the context
    context: tuple[Message, ...]
    sides: tuple[Side, Side]


def select_pairs(index: Index, query: Query, names: tuple[str, str]) -> tuple[Whole, Whole]:
    """The rows of two agents on each context that both have, if one of the two rows fulfils the query.

    Sorted by the difference, first less second, of the column that the query sorts by; none for an unknown agent.
    """
    table = index.table(query.unit)
    first, second = map(index.agent_code, names)
    if first is None or second is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    a, b = table.pairs(first, second)
    fulfil = kept(index, replace(query, agents=()))
    a, b = a[fulfil[a] | fulfil[b]], b[fulfil[a] | fulfil[b]]
    if not query.sort:
        return a, b
    values = column(table, query, query.sort).values
    difference = values[a] - values[b]
    order = np.argsort(query.sort_keys(difference), kind="stable")
    return a[order], b[order]


def agents_beside(index: Index, unit: Unit, row: int) -> list[str]:
    """The agents with the same context as a row: its own first, then in order of appearance."""
    table = index.table(unit)
    codes = dict.fromkeys([int(table.rows.agent[row]), *table.rows.agent[table.beside(row)].tolist()])
    return [index.agents[code] for code in codes]


def pair_of(viewer: Viewer, links: Links, rows: tuple[int, int], unit: Unit) -> Pair:
    """Two rows with their context, which is that of the first."""
    index, about = viewer.index, viewer.index.table(unit).rows
    at, turn = int(about.dialogue[rows[0]]), int(about.turn[rows[0]])
    context: list[Message] = []
    if turn != WHOLE:
        dialogue = index.dialogue(at)
        unrated = replace(dialogue, ratings=(), preferences=())
        places = range(max(0, turn - FOLDED), turn)
        context = messages(index, at, dialogue, DialogueNumbers(index, (), at, unrated), places)
    sides = (_side(viewer, links, rows[0], unit), _side(viewer, links, rows[1], unit))
    return Pair(
        link=links.context(unit, at, None if turn == WHOLE else turn, (sides[0].agent, sides[1].agent)),
        folded=tuple(context[:-CONTEXT]),
        context=tuple(context[-CONTEXT:]),
        sides=sides,
    )


def _side(viewer: Viewer, links: Links, row: int, unit: Unit) -> Side:
    """One of two rows."""
    index, about = viewer.index, viewer.index.table(unit).rows
    at, turn, sample = int(about.dialogue[row]), int(about.turn[row]), int(about.sample[row])
    dialogue, agent = index.dialogue(at), index.agents[about.agent[row]]
    numbers = DialogueNumbers(index, viewer.runs, at, dialogue)
    whole = turn == WHOLE
    places = range(min(TURNS, len(dialogue.turns))) if whole else range(turn, turn + 1)
    found = messages(index, at, dialogue, numbers, places)
    if sample != WHOLE:
        said = next(one for one in found[0].alternatives if (one.agent, one.sample) == (agent, sample))
        found = [replace(found[0], parts=(said.part,), numbers=said.numbers, calls=(), notes=())]
    return Side(
        link=links.dialogue(at, turn=None if whole else turn),
        identity=dialogue.id,
        agent=agent,
        messages=tuple(replace(one, alternatives=()) for one in found),
        numbers=numbers.at(None) if whole else Numbers(),
        n_more=len(dialogue.turns) - len(places) if whole else 0,
    )
