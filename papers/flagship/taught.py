"""Frauds that the regression of `turnwise` is taught to score below people's own replies.

The contexts are of dialogues that no reader of replies was trained on (`contexts.for_teaching`). In each, frauds of
six families are made: copies of the context, the person's words shuffled, the context's words shuffled, replies that
fit anywhere, patterns with words of the context, and echoes: words of the context, then any turn of these dialogues.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from turnwise.attacks.context import Context, with_rare_words
from turnwise.attacks.strategy import strategy
from turnwise.attacks.templates import escape_braces, random_templates
from turnwise.encode.text.normalise import plain
from turnwise.metrics.learned.turnwise.ridge import RidgeWeights, fit_ridge
from turnwise.metrics.learned.turnwise.signals import CUT, PENALTY, prior
from turnwise.types import Dialogue, Floats, Item

CONTEXTS = 400
LONGEST = 7  # turns of a context and its reply
FREQUENT = 300  # most frequent turns of 2 to 12 words, which serve as replies that fit anywhere
COPIES = ("{last}", "{whole}", "{swapped}", "{question}")
ECHOES = ("{tail}", "{nouns}", "{noun}", "{last_word}", "{sentence}")  # before a turn of this many words
ECHOED = (4, 30)
COUNTS = {
    "copy": 1,
    "shuffled": 1,
    "salad": 1,
    "fixed": 2,
    "pattern": 2,
    "echo": 2,
}  # frauds of each family in a context


@dataclass(frozen=True)
class Lesson:
    """A context with the person's reply, and frauds by family."""

    person: Item
    frauds: tuple[tuple[str, Item], ...]


def lessons(
    dialogues: Sequence[Dialogue], rng: np.random.Generator, *, count: int = CONTEXTS
) -> list[Lesson]:
    """`count` contexts of different dialogues with their frauds."""
    chosen = [dialogues[at] for at in rng.permutation(len(dialogues)) if len(dialogues[at].turns) > 1][:count]
    contexts = [context_of(dialogue, rng) for dialogue in chosen]
    contexts = [one for one in contexts if len(plain(one.human).split()) > 2 and plain(one.last_turn)]
    contexts = with_rare_words(contexts, contexts)
    texts = [turn.text for dialogue in dialogues for turn in dialogue.turns]
    said = Counter(text for text in map(plain, texts) if 1 < len(text.split()) <= 12)
    fixed = [escape_braces(text) for text, _ in said.most_common(FREQUENT)]
    patterns = [one for one in islice(random_templates(texts, rng), 6 * CONTEXTS) if "{" in one]
    whole = [escape_braces(text) for text in texts if ECHOED[0] <= len(text.split()) <= ECHOED[1]]
    echoes = [
        f"{ECHOES[int(rng.integers(len(ECHOES)))]} {whole[int(rng.integers(len(whole)))]}"
        for _ in range(6 * CONTEXTS)
    ]
    pools = {"copy": list(COPIES), "fixed": fixed, "pattern": patterns, "echo": echoes}
    # Every context has a generator of its own, so that another family would change no fraud of these.
    return [_lesson(one, pools, np.random.default_rng([at, 7])) for at, one in enumerate(contexts)]


def fit(
    columns: Sequence[str],
    tables: Sequence[Floats],
    ratings: Sequence[Floats],
    frauds: tuple[Floats, Floats] | None,
    *,
    penalty: float = PENALTY,
) -> RidgeWeights:
    """The regression of `turnwise` with the signals `columns`: ratings, and people's replies above frauds."""
    return fit_ridge(tables, ratings, penalty=penalty, prior=prior(columns), cut=CUT, pairs=frauds)


def pairs(dialogues: Sequence[Dialogue], table: Callable[[Sequence[Item]], Floats]) -> tuple[Floats, Floats]:
    """(m, k) the signals of people's replies and (m, k) of frauds in the same contexts; `table` computes signals."""
    made = lessons(dialogues, np.random.default_rng(0))
    items = [item for one in made for item in (one.person, *(fraud for _, fraud in one.frauds))]
    signals = table(items)
    people, frauds, at = [], [], 0
    for one in made:
        own = signals[at : at + 1 + len(one.frauds)]
        people.append(np.repeat(own[:1], len(one.frauds), axis=0))
        frauds.append(own[1:])
        at += len(own)
    both = np.concatenate(people), np.concatenate(frauds)
    known = ~np.isnan(both[0]).any(axis=1) & ~np.isnan(both[1]).any(axis=1)
    return both[0][known], both[1][known]


def context_of(dialogue: Dialogue, rng: np.random.Generator) -> Context:
    """A random reply of a dialogue in its context."""
    turn = int(rng.integers(1, len(dialogue.turns)))
    turns = dialogue.turns[max(0, turn + 1 - LONGEST) : turn + 1]
    name = dialogue.id
    return Context(
        Item(id=name, dialogue=name, agent="", turns=turns, turn=len(turns) - 1, cluster=name, pair=name)
    )


def _lesson(context: Context, pools: dict[str, list[str]], rng: np.random.Generator) -> Lesson:
    person = plain(context.human)
    made: list[tuple[str, str]] = []
    for family, count in COUNTS.items():
        for _ in range(count):
            if family == "shuffled":
                made.append((family, " ".join(rng.permutation(person.split()))))
            elif family == "salad":
                words = rng.permutation(plain(context.full_text).split())
                made.append((family, " ".join(words[: max(6, len(person.split()))])))
            else:
                template = pools[family][int(rng.integers(len(pools[family])))]
                made.append((family, strategy(template).reply(context)))
    frauds = [(family, context.with_reply(text)) for family, text in made if plain(text) not in ("", person)]
    return Lesson(context.item, tuple(frauds))
