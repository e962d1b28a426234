"""A guard beside a contrastive head: what a reply that was made to please the metric cannot hide.

A fraud is the same everywhere, or made out of the context, or both: fixed words around words of the context. So the
words that a reply took from its context are left out, and the rest must belong here more than elsewhere. With l the
head's logit of the rest here and l_k those in contexts of other conversations, sigmoid(l - log mean exp l_k) is over
all contexts no more than one half on average, whatever the words (Jensen's inequality, as far as the kept contexts are
like those that are judged); people's replies come to .7. The score is a mean of the head's own probability and this.

What is made out of the context shows, too, in what can be counted: words copied, repeated, joined where nobody joins
them. A small network on the logits of the reply and of its rest, here and elsewhere, and on the counts of
`surface.py`, tells frauds from people's replies, in their place or out of it. What it lets pass is a factor of the
score, and is 1 for all but about one in a hundred real replies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from turnwise.encode import TextEncoder, Vectors
from turnwise.encode.models.folder import Folder
from turnwise.metrics.features.repetition import STOPWORDS
from turnwise.metrics.learned.contrastive.head import Head, head_of, probability
from turnwise.metrics.learned.turnwise.lexicon import Lexicon
from turnwise.metrics.learned.turnwise.surface import surface
from turnwise.metrics.learned.views import View, turn_vectors

KEY = "guard"  # in a folder's config, and before the names of its tensors
RUN = 2  # words in a row that are taken as a whole, common ones too
NOTHING = -5.0  # logit of a rest without a word


class Evidence(NamedTuple):
    """What a head says of a reply."""

    here: float  # logit
    rest: float  # logit of what it did not take from the context, less the log of its mean odds elsewhere
    fits: tuple[float, ...]  # these and more, for the network


@dataclass(frozen=True, slots=True, eq=False)
class Witness:
    """A head, and contexts of other conversations as it reads them."""

    head: Head
    contexts: Vectors  # (k, d)

    def evidence(self, view: View, left: Vectors | None) -> Evidence:
        """`left` is the vector of the reply's rest; None where nothing is left."""
        here = self.head.logit(view)
        rest_here = rest = NOTHING
        if left is not None:
            rest_here = float(self.head.logits(self.head.context(view.context)[None], left)[0])
            rest = rest_here - self.usual(left)
        elsewhere = here - self.usual(view.reply)
        fits = (here, elsewhere, rest_here, rest, here - rest_here, float(left is None))
        return Evidence(here, rest, fits)

    def usual(self, reply: Vectors) -> float:
        """The log of its mean odds in the kept contexts."""
        logits = self.head.logits(self.contexts, reply)
        top = float(logits.max())
        return top + float(np.log(np.mean(np.exp(logits - top))))


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    witness: Witness
    lexicon: Lexicon
    weight: float  # of the rest in the mean
    centre: Vectors  # (c,)
    scale: Vectors  # (c,)
    first: Vectors  # (h, c)
    bias: Vectors  # (h,)
    last: Vectors  # (h,)
    offset: float

    def scores(self, views: Sequence[View], encoder: TextEncoder) -> list[float]:
        """0-1 each: that the reply belongs here, and its rest here more than elsewhere, and that it is no fraud."""
        found = []
        for view, left in zip(views, rests(views, encoder), strict=True):
            one = self.witness.evidence(view, left)
            belongs = (1 - self.weight) * probability(one.here) + self.weight * probability(one.rest)
            counts = surface(view.text, view.said, self.lexicon).values()
            found.append(belongs * self.passes(np.array([*one.fits, *counts], dtype=np.float32)))
        return found

    def passes(self, row: Vectors) -> float:
        """1 for what looks like people's; less, the more surely it is a fraud."""
        hidden = np.maximum(self.first @ ((row - self.centre) / self.scale) + self.bias, 0)
        return min(1.0, 2 * probability(float(self.last @ hidden) + self.offset))

    @property
    def features(self) -> str:
        """What it looks at, for a signature."""
        return f"{len(self.centre)}signs+{len(self.witness.contexts)}contexts"


def rests(views: Sequence[View], encoder: TextEncoder) -> list[Vectors | None]:
    """The vector of each reply's rest; None where nothing is left that has one."""
    texts = [rest(view.text, view.said) for view in views]
    groups = turn_vectors([[text] if text else [] for text in texts], encoder)
    return [group[0] if len(group) and np.isfinite(group).all() else None for group in groups]


def rest(text: str, said: Sequence[str]) -> str:
    """What is left of a reply without the content words, and the runs of words, that stand in its context."""
    words = text.split()
    turns = [turn.split() for turn in said]
    known = {word for turn in turns for word in turn} - STOPWORDS
    runs = {tuple(turn[at : at + RUN]) for turn in turns for at in range(len(turn) - RUN + 1)}
    taken = [word in known for word in words]
    for at in range(len(words) - RUN + 1):
        if tuple(words[at : at + RUN]) in runs:
            taken[at : at + RUN] = [True] * RUN
    return " ".join(word for word, gone in zip(words, taken, strict=True) if not gone)


@cache
def guard_of(folder: Folder, which: str) -> Guard | None:
    """The guard of a head; None for a model that has none."""
    if KEY not in folder.config:
        return None
    prefix = f"{KEY}.{which}."
    parts = {
        name.removeprefix(prefix): part.astype(np.float32)
        for name, part in folder.tensors.items()
        if name.startswith(prefix)
    }
    witness = Witness(head_of(folder, which), parts.pop("contexts"))
    weight, offset = float(folder.config[KEY]["weight"]), float(parts.pop("offset")[0])
    return Guard(witness, Lexicon.load(folder.tensors), weight, offset=offset, **parts)
