"""Does the score stay where the meaning stays, and move where the context is ruined? (After Sai et al. 2019.)

Edits of a person's reply that change no meaning should change no score: ADEM's rose in 64 % of replies when
punctuation was removed. Contexts that were ruined should cost a good reply its score.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from turnwise.attacks.baselines import stripped
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
    name: str
    touches: str  # the reply, whose score should stay, or the context, whose ruin should lower it
    change: float  # mean, in standard deviations of people's scores
    size: float  # mean without its sign, in the same unit
    raised: float  # share of replies whose score rose
    lowered: float
    n: int

    @property
    def turned(self) -> "Perturbation":
        """Of the number as the metric gives it, where lower is better and it was turned for the attack."""
        return replace(self, change=0.0 - self.change, raised=self.lowered, lowered=self.raised)


def perturbed(target: Target, contexts: Sequence[Context], rng: np.random.Generator) -> list[Perturbation]:
    """Every edit that changes some reply or context, with what it does to the score."""
    before = target.scores([(context, context.human) for context in contexts])
    known = before[~np.isnan(before)]
    spread = float(np.std(known)) if len(known) else 0.0
    found = []
    for name, edit in REPLY_EDITS.items():
        edited = [(context, edit(context.human, rng)) for context in contexts]
        places = [place for place, (context, reply) in enumerate(edited) if reply != context.human]
        found += _compared(target, name, "reply", [edited[place] for place in places], before[places], spread)
    for name, ruin in _ruins(contexts, rng).items():
        ruined = [(ruin(context), context.human) for context in contexts]
        places = [
            place for place, (context, _) in enumerate(ruined) if context.turns != contexts[place].turns
        ]
        found += _compared(
            target, name, "context", [ruined[place] for place in places], before[places], spread
        )
    return found


def _compared(
    target: Target,
    name: str,
    touches: str,
    pairs: Sequence[tuple[Context, str]],
    before: np.ndarray[tuple[int], np.dtype[np.float64]],
    spread: float,
) -> list[Perturbation]:
    if not pairs:
        return []
    try:
        moved = target.scores(pairs) - before
    except Hangs:  # told among the errors
        return []
    moved = moved[~np.isnan(moved)]
    if not len(moved) or spread == 0:
        return []
    scaled = moved / spread
    return [
        Perturbation(
            name,
            touches,
            float(scaled.mean()),
            float(np.abs(scaled).mean()),
            float(np.mean(moved > 0)),
            float(np.mean(moved < 0)),
            len(moved),
        )
    ]


def _expanded(text: str, _: np.random.Generator) -> str:
    for short, full in CONTRACTIONS.items():
        text = text.replace(short, full)
    return text


def _mistyped(text: str, rng: np.random.Generator) -> str:
    """Two neighbouring letters change places in one long word in five."""
    said = text.split()
    for place, word in enumerate(said):
        if len(word) > 3 and rng.random() < 0.2:
            at = int(rng.integers(1, len(word) - 2))
            said[place] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return " ".join(said)


REPLY_EDITS: dict[str, Callable[[str, np.random.Generator], str]] = {
    "punctuation removed": lambda text, _: stripped(text),
    "lower case": lambda text, _: text.lower(),
    "upper case": lambda text, _: text.upper(),
    "full stop added": lambda text, _: text if re.search(r"[.!?]\s*$", text) else f"{text}.",
    "full stop removed": lambda text, _: re.sub(r"[.\s]+$", "", text),
    "contractions expanded": _expanded,
    "typos": _mistyped,
}
CALLS = len(REPLY_EDITS) + 4  # of the metric, a context: one an edit, and one a ruin


def _ruins(contexts: Sequence[Context], rng: np.random.Generator) -> dict[str, Callable[[Context], Context]]:
    order = rng.permutation(len(contexts))
    after = {contexts[a].item.id: contexts[b] for a, b in zip(order, np.roll(order, 1), strict=True)}

    def told(context: Context, turns: tuple[Turn, ...], mark: str) -> Context:
        item = replace(context.item, id=f"{context.item.id}~{mark}", turns=(*turns, context.item.turns[-1]))
        return Context(item)

    def shuffled(context: Context) -> Context:
        said = [turn.text.split() for turn in context.turns]
        turns = tuple(
            replace(turn, content=" ".join(rng.permutation(words)))
            for turn, words in zip(context.turns, said, strict=True)
        )
        return told(context, turns, "words")

    return {
        "another dialogue's context": lambda context: told(context, after[context.item.id].turns, "other"),
        "words of the context shuffled": shuffled,
        "only the last turn kept": lambda context: told(context, context.turns[-1:], "last"),
        "turns in reverse": lambda context: told(context, context.turns[::-1], "reverse"),
    }
