"""Effect of edits of the reply and of the context on the score (after Sai et al. 2019).

Edits of a person's reply that keep its meaning should not change its score; ADEM's rose in 64 % of replies when
punctuation was removed. Replacing or scrambling the context should lower the score of a good reply.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from turnwise.attacks.baselines import without_punctuation
from turnwise.attacks.context import Context
from turnwise.attacks.target import Hangs, Target
from turnwise.types import Turn

CONTRACTIONS = {
    "can't": "cannot", "Can't": "Cannot", "won't": "will not", "Won't": "Will not",
    "n't": " not", "'re": " are", "'ve": " have", "'ll": " will",
    "i'm": "i am", "I'm": "I am", "it's": "it is", "It's": "It is", "that's": "that is", "That's": "That is",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Perturbation:
    """The effect of one edit on the scores of people's replies, in standard deviations of these scores.

    `touches` is `reply` or `context`, `change` the mean change, `size` the mean absolute one, `raised` and `lowered`
    are shares of the replies.
    """

    name: str
    touches: str  # `reply` (the score should stay) or `context` (the score should fall)
    change: float  # mean change, in standard deviations of people's scores
    size: float  # mean absolute change, in the same unit
    raised: float  # share of replies whose score rose
    lowered: float
    n: int

    @property
    def negated(self) -> "Perturbation":
        """The effect on the metric's own scores, if lower is better and they were negated for the attack."""
        return replace(self, change=0.0 - self.change, raised=self.lowered, lowered=self.raised)


def perturb(target: Target, contexts: Sequence[Context], rng: np.random.Generator) -> list[Perturbation]:
    """The effect of every edit on the scores of people's replies, over the replies or contexts that it changes.

    Edits that change nothing or get no score are left out; the list is empty if people's scores do not vary.
    """
    before = target.scores([(context, context.human) for context in contexts])
    known = before[~np.isnan(before)]
    spread = float(np.std(known)) if len(known) else 0.0
    found = []
    for name, edit in REPLY_EDITS.items():
        edited = [(context, edit(context.human, rng)) for context in contexts]
        changed = [index for index, (context, reply) in enumerate(edited) if reply != context.human]
        found += _measure_edit(
            target, name, "reply", [edited[index] for index in changed], before[changed], spread
        )
    for name, edit_context in _context_edits(contexts, rng).items():
        edited = [(edit_context(context), context.human) for context in contexts]
        changed = [
            index for index, (context, _) in enumerate(edited) if context.turns != contexts[index].turns
        ]
        found += _measure_edit(
            target, name, "context", [edited[index] for index in changed], before[changed], spread
        )
    return found


def _measure_edit(
    target: Target,
    name: str,
    touches: str,
    pairs: Sequence[tuple[Context, str]],
    before: np.ndarray[tuple[int], np.dtype[np.float64]],
    spread: float,
) -> list[Perturbation]:
    """The effect of one edit as a list of one; empty if `pairs` is empty, no score is known or `spread` is 0.

    `pairs` has the changed pairs only, `before` the scores of the same pairs before the edit, and `spread` the standard
    deviation of people's scores.
    """
    if not pairs:
        return []
    try:
        change = target.scores(pairs) - before
    except Hangs:  # reported among the errors
        return []
    change = change[~np.isnan(change)]
    if not len(change) or spread == 0:
        return []
    scaled = change / spread
    return [
        Perturbation(
            name,
            touches,
            float(scaled.mean()),
            float(np.abs(scaled).mean()),
            float(np.mean(change > 0)),
            float(np.mean(change < 0)),
            len(change),
        )
    ]


def _expand_contractions(text: str, _: np.random.Generator) -> str:
    """The text with the contractions of `CONTRACTIONS`, such as `can't`, written out; the generator is not used."""
    for short, full in CONTRACTIONS.items():
        text = text.replace(short, full)
    return text


def _with_typos(text: str, rng: np.random.Generator) -> str:
    """Swap two neighbouring inner letters of each word of more than three letters with probability 0.2.

    Words are split at white space, and joined by single spaces.
    """
    said = text.split()
    for index, word in enumerate(said):
        if len(word) > 3 and rng.random() < 0.2:
            at = int(rng.integers(1, len(word) - 2))
            said[index] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return " ".join(said)


REPLY_EDITS: dict[str, Callable[[str, np.random.Generator], str]] = {
    "punctuation removed": lambda text, _: without_punctuation(text),
    "lower case": lambda text, _: text.lower(),
    "upper case": lambda text, _: text.upper(),
    "full stop added": lambda text, _: text if re.search(r"[.!?]\s*$", text) else f"{text}.",
    "full stop removed": lambda text, _: re.sub(r"[.\s]+$", "", text),
    "contractions expanded": _expand_contractions,
    "typos": _with_typos,
}
CALLS_PER_CONTEXT = len(REPLY_EDITS) + 4  # metric calls: one for each edit of the reply and of the context


def _context_edits(
    contexts: Sequence[Context], rng: np.random.Generator
) -> dict[str, Callable[[Context], Context]]:
    """Functions that edit the turns of a context and keep the reply, by name; the new context has an id of its own."""
    order = rng.permutation(len(contexts))
    after = {contexts[a].item.id: contexts[b] for a, b in zip(order, np.roll(order, 1), strict=True)}

    def with_turns(context: Context, turns: tuple[Turn, ...], mark: str) -> Context:
        """The context with other turns before the same reply; `mark` is added to the id."""
        item = replace(context.item, id=f"{context.item.id}~{mark}", turns=(*turns, context.item.turns[-1]))
        return Context(item)

    def shuffled(context: Context) -> Context:
        """The context with the words of each turn shuffled within the turn."""
        said = [turn.text.split() for turn in context.turns]
        turns = tuple(
            replace(turn, content=" ".join(rng.permutation(words)))
            for turn, words in zip(context.turns, said, strict=True)
        )
        return with_turns(context, turns, "words")

    return {
        "another dialogue's context": lambda context: with_turns(
            context, after[context.item.id].turns, "other"
        ),
        "words of the context shuffled": shuffled,
        "only the last turn kept": lambda context: with_turns(context, context.turns[-1:], "last"),
        "turns in reverse": lambda context: with_turns(context, context.turns[::-1], "reverse"),
    }
