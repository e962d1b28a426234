"""The evidence of `turnwise`: what heads, neighbours, cosines and counts say of one reply, as a row of numbers.

Some signs differ between kinds of conversation: after one turn, new content words are a mark of a reply that misses
the point; deep in a chat, of one that is not empty. So a few columns stand there again, multiplied by how long the
context and its last turn are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.encode import TextEncoder
from turnwise.encode.models.folder import Folder
from turnwise.metrics.learned.contrastive import head
from turnwise.metrics.learned.contrastive.head import head_of
from turnwise.metrics.learned.turnwise import bank
from turnwise.metrics.learned.turnwise.lexicon import Lexicon
from turnwise.metrics.learned.turnwise.surface import surface
from turnwise.metrics.learned.views import View, views
from turnwise.types import Floats, Item

COSINES = ("cosine last", "cosine before", "cosine best", "cosine mean")
CROSSED = (
    "new content", "fluency 3", "odds 3", "variety", "self first", "length", "rarity", "letters", "repeated pairs",
    "copied", "echo of last", "cosine last", "cosine mean", "head one", "head several", "head written",
)  # fmt: skip
# Signals that are good on their own, without a rating: the ridge is drawn to their sum, not to nothing.
TRUSTED = (
    "head one",
    "head several",
    "head written",
    "head apart several",
    "pmi",
    "answers, top",
    "cosine mean",
)
TRUST = 0.06  # standard deviations of rating for one of signal
MIDDLE = {"turns": 1.1, "length of last": 2.3}  # about their means over the rated corpora


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    heads: Mapping[str, head.Head]
    bank: bank.Bank
    lexicon: Lexicon

    @classmethod
    def load(cls, model: Folder) -> "Signals":
        heads = {name: head_of(model, name) for name in model.config["heads"]}
        return cls(heads, bank.Bank.load(model.tensors), Lexicon.load(model.tensors))

    def row(self, view: View) -> dict[str, float]:
        """Every column by name."""
        found = {f"head {name}": one.logit(view) for name, one in self.heads.items()}
        found |= zip(bank.NAMES, self.bank.look(view.context[0], view.reply).tolist(), strict=True)
        found |= zip(COSINES, _cosines(view), strict=True)
        found |= surface(view.text, view.said, self.lexicon)
        for by, middle in MIDDLE.items():
            found |= {
                f"{name} x {by}": found[name] * (found[by] - middle) for name in CROSSED if name in found
            }
        return found

    def table(
        self, items: Sequence[Item], encoder: TextEncoder, columns: Sequence[str] | None = None
    ) -> Floats:
        """(n, k) in the order of `columns`; NaN for an item that cannot be read."""
        seen = views(items, encoder)
        rows = [None if view is None else self.row(view) for view in seen]
        names = list(columns) if columns is not None else self.columns
        table = np.full((len(items), len(names)), np.nan)
        for at, row in enumerate(rows):
            if row is not None:
                table[at] = [row[name] for name in names]
        return table

    @property
    def columns(self) -> list[str]:
        """The names of all columns, found by looking at an exchange of nothing."""
        width = len(self.bank.mean)
        nothing = View(np.ones(width, np.float32), np.ones((1, width), np.float32), ("a",), "a")
        return list(self.row(nothing))


def prior(columns: Sequence[str]) -> Floats:
    """(k,) the weights of an average of the trusted signals."""
    return np.array([TRUST if name in TRUSTED else 0.0 for name in columns])


def _cosines(view: View) -> list[float]:
    lengths = np.sqrt(np.einsum("td,td->t", view.context, view.context) * (view.reply @ view.reply))
    cosines = np.einsum("td,d->t", view.context, view.reply) / np.maximum(lengths, 1e-9)
    before = cosines[1] if len(cosines) > 1 else cosines[0]
    return [float(cosines[0]), float(before), float(cosines.max()), float(cosines.mean())]


def parts(model: Folder) -> dict[str, NDArray[Any]]:
    """The tensors of a folder that are signals: what a calibrated model takes over unchanged."""
    prefixes = (*(f"{name}." for name in model.config["heads"]), "bank.", "words.")
    return {key: value for key, value in model.tensors.items() if key.startswith(prefixes)}
