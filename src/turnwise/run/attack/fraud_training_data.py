"""Training data for a guard: dialogues with frauds as the alternatives of an agent `fraud`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from turnwise.attacks.context import Context
from turnwise.attacks.strategy import Strategy, strategy
from turnwise.attacks.templates import random_templates
from turnwise.errors import DataError, setting
from turnwise.logs.native import read_all
from turnwise.types import Dialogue, Item, Reply, Turn, digest, item_id

FRAUD = "fraud"
FRAUDS_PER_TURN = 2  # frauds of the attack, and as many random templates, that are rendered at one turn


def training_dialogues(
    data: Sequence[str],
    templates: Sequence[str],
    attacked_prefixes: set[str],
    turns: int,
    rng: np.random.Generator,
) -> Iterator[Dialogue]:
    """Yield all training dialogues; at `turns` random turns in all, frauds are alternatives of the agent `fraud`.

    A turn gets up to two frauds of `templates` and two of random templates; only templates with a slot are used, and
    empty or equal texts are dropped. A dialogue is left out if any of its prefixes has a digest in `attacked_prefixes`;
    raises `DataError` if none is left.
    """
    found = context_templates(templates)
    dialogues = [
        dialogue
        for dialogue in read_all(data, apart=True)  # files may share ids
        if not any(
            prefix_digest(dialogue.turns[:end]) in attacked_prefixes
            for end in range(2, len(dialogue.turns) + 1)
        )
    ]
    if not dialogues:
        raise DataError(
            f"all dialogues are contexts of the attack, and none is left for training: give {setting('--learn-from')}"
        )
    random_strategies = (
        one
        for template in random_templates([turn.text for one in dialogues for turn in one.turns], rng)
        if (one := strategy(template)).slots
    )
    all_turns = [(k, at) for k, one in enumerate(dialogues) for at in range(1, len(one.turns))]
    chosen = {all_turns[index] for index in rng.permutation(len(all_turns))[:turns].tolist()}
    for k, dialogue in enumerate(dialogues):
        new_turns = list(dialogue.turns)
        for at in range(1, len(new_turns)):
            if (k, at) not in chosen:
                continue
            name = item_id(dialogue.id, at)
            context = Context(Item(name, dialogue.id, FRAUD, dialogue.turns[: at + 1], at, dialogue.id, name))
            strategies = [
                found[index] for index in rng.integers(len(found), size=FRAUDS_PER_TURN if found else 0)
            ]
            strategies += islice(random_strategies, FRAUDS_PER_TURN)
            frauds = tuple(
                Reply(text) for text in dict.fromkeys(one.reply(context) for one in strategies) if text
            )
            new_turns[at] = replace(new_turns[at], alternatives={**new_turns[at].alternatives, FRAUD: frauds})
        yield replace(dialogue, turns=tuple(new_turns))


def context_templates(templates: Sequence[str]) -> list[Strategy]:
    """The strategies of the templates that have a slot.

    Fixed replies are not used for training, because people say them too. The guard detects them because they fit every
    context.
    """
    return [one for template in templates if (one := strategy(template)).slots]


def prefix_digest(turns: Sequence[Turn]) -> str:
    """Digest of the texts of these turns, which identifies the start of a dialogue regardless of its id and file."""
    return digest(*(turn.text for turn in turns))
