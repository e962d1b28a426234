"""What hardening teaches: conversations with what frauds would have said, as the alternatives of an agent `fraud`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from turnwise.attacks.context import Context
from turnwise.attacks.strategy import Strategy, strategy
from turnwise.attacks.templates import family
from turnwise.errors import DataError
from turnwise.logs.native import read_all
from turnwise.types import Dialogue, Item, Reply, Turn, digest, item_id

FRAUD = "fraud"
AT_A_TURN = 2  # frauds that were found, and as many of their family, that are taught at one turn


def lesson_of(
    data: Sequence[str], templates: Sequence[str], apart: set[str], turns: int, rng: np.random.Generator
) -> Iterator[Dialogue]:
    """The training conversations with what frauds would have said, at up to `turns` of their turns."""
    found = teachable(templates)
    dialogues = [
        dialogue
        for dialogue in read_all(data, apart=True)  # files may share ids
        if not any(begun(dialogue.turns[:end]) in apart for end in range(2, len(dialogue.turns) + 1))
    ]
    if not dialogues:
        raise DataError(
            "every conversation is one that is attacked, and none is left to teach on: give --learn-from"
        )
    others = (
        one
        for template in family([turn.text for one in dialogues for turn in one.turns], rng)
        if (one := strategy(template)).slots
    )
    places = [(k, at) for k, one in enumerate(dialogues) for at in range(1, len(one.turns))]
    chosen = {places[place] for place in rng.permutation(len(places))[:turns].tolist()}
    for k, dialogue in enumerate(dialogues):
        said = list(dialogue.turns)
        for at in range(1, len(said)):
            if (k, at) not in chosen:
                continue
            name = item_id(dialogue.id, at)
            context = Context(Item(name, dialogue.id, FRAUD, dialogue.turns[: at + 1], at, dialogue.id, name))
            some = [found[place] for place in rng.integers(len(found), size=AT_A_TURN if found else 0)]
            some += islice(others, AT_A_TURN)
            wrong = tuple(Reply(text) for text in dict.fromkeys(one.reply(context) for one in some) if text)
            said[at] = replace(said[at], alternatives={**said[at].alternatives, FRAUD: wrong})
        yield replace(dialogue, turns=tuple(said))


def teachable(templates: Sequence[str]) -> list[Strategy]:
    """Those that take something from the context.

    A reply that is the same everywhere is none of them: people say it too, and the guard knows it by its fitting
    everywhere.
    """
    return [one for template in templates if (one := strategy(template)).slots]


def begun(turns: Sequence[Turn]) -> str:
    """A conversation up to a turn, by its words: the same under whatever id, in whatever file."""
    return digest(*(turn.text for turn in turns))
