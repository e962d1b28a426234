"""Whether a reply is like those that `turnwise` was fitted to, or a text of another kind: code, logs, tool calls.

Six counts describe a reply and its context: length, share of unknown words and rarity of the words, of the reply and of
the context. Each is standardised by its mean and spread over the rated corpora, and the squares of those above the mean
are added. A reply is unfamiliar if the sum is above a limit that a set share of rated replies exceeds. It is also
unfamiliar if brackets and other marks of code are many of its characters: normalised texts have none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.metrics.learned.encoded_items import reply_and_context
from turnwise.metrics.learned.turnwise.lexicon import Lexicon
from turnwise.types import Floats, Item

FALSE_ALARMS = 0.005  # share of rated replies that are unfamiliar, the same weight for every corpus
# A few unknown words say little: shares and means are those with so many usual words added.
ADDED = 10
USUAL = 5.5  # surprisal of a usual word in nats, about the mean of rated replies and contexts


MARKS = frozenset("{}[]_=|\\#")  # of code and placeholders
MOST_MARKS = 0.03  # share of a reply's characters; none of 4,225 rated replies has more
ADDED_CHARACTERS = 60  # added to a reply's: "We are #1!" and "_really_?" are no code


def marks(reply: str) -> float:
    """The share of marks of code among a reply's characters, before it is normalised; smoothed."""
    return sum(mark in MARKS for mark in reply) / (len(reply) + ADDED_CHARACTERS)


def counts(reply: str, context: Sequence[str], lexicon: Lexicon) -> list[float]:
    """The six counts of a normalised reply and the normalised turns of its context."""
    words = reply.split()
    return [log1p(len(words)), *_strangeness(words, lexicon), *_context_counts(tuple(context), lexicon)]


@lru_cache(maxsize=1 << 12)  # many replies can share a context
def _context_counts(context: tuple[str, ...], lexicon: Lexicon) -> tuple[float, float, float]:
    """The three counts of the normalised turns of a context."""
    turns = [turn.split() for turn in context]
    unknown, surprisal = _strangeness([word for turn in turns for word in turn], lexicon)
    return log1p(max(map(len, turns))), unknown, surprisal


def _strangeness(words: list[str], lexicon: Lexicon) -> tuple[float, float]:
    """The share of unknown words, and the mean surprisal of the words by the trigram model; both smoothed."""
    unknown = sum(lexicon.count(word) == 0 for word in words) / (len(words) + ADDED)
    surprisals = [-value for value in lexicon.log_probs(words)[2]]
    return unknown, (sum(surprisals) + ADDED * USUAL) / (len(surprisals) + ADDED)


@dataclass(frozen=True, slots=True, eq=False)
class Familiarity:
    """Mean and spread of the counts over rated replies, and the limits of the distance and of marks."""

    centre: Floats  # (6,)
    scale: Floats  # (6,)
    limit: float
    most_marks: float = MOST_MARKS

    @classmethod
    def of(cls, tables: Sequence[Floats]) -> "Familiarity":
        """Fit to the counts (n, 6) of the replies of each corpus; every corpus has the same weight."""
        centre = np.mean([table.mean(axis=0) for table in tables], axis=0)
        scale = np.sqrt(np.mean([((table - centre) ** 2).mean(axis=0) for table in tables], axis=0))
        unlimited = cls(centre, np.where(scale > 0, scale, 1.0), np.inf)
        distances = [unlimited.distances(table) for table in tables]
        return cls(centre, unlimited.scale, even_quantile(distances, 1 - FALSE_ALARMS))

    @classmethod
    def load(cls, tensors: Mapping[str, NDArray[Any]]) -> "Familiarity | None":
        """From the tensors of a model's folder; None for a model of an earlier version."""
        if "familiar.centre" not in tensors:
            return None
        centre, scale, limits = (
            tensors[f"familiar.{name}"].astype(np.float64) for name in ("centre", "scale", "limits")
        )
        return cls(centre, scale, *limits.tolist())

    @property
    def tensors(self) -> dict[str, NDArray[Any]]:
        """As tensors of a model's folder."""
        return {
            "familiar.centre": self.centre,
            "familiar.scale": self.scale,
            "familiar.limits": np.array([self.limit, self.most_marks]),
        }

    def distances(self, table: Floats) -> Floats:
        """(n,) the sum of squares of the standardised counts (n, 6) that are above their mean."""
        above = np.clip((table - self.centre) / self.scale, 0.0, None)
        return np.asarray((above**2).sum(axis=1))

    def knows(self, item: Item, lexicon: Lexicon) -> bool:
        """Whether a reply in its context is like the rated ones; also if it cannot be read."""
        texts = reply_and_context(item)
        if texts is None:
            return True
        far = self.distances(np.array([counts(*texts, lexicon)]))[0] > self.limit
        return not far and marks(item.reply) <= self.most_marks

    def widened(self, items: Sequence[Item], lexicon: Lexicon) -> "Familiarity":
        """With limits that also include these items, except for a share of `FALSE_ALARMS`."""
        texts = [text for item in items if (text := reply_and_context(item))]
        distances = self.distances(np.array([counts(*text, lexicon) for text in texts]))
        level = 1 - FALSE_ALARMS
        return replace(
            self,
            limit=max(self.limit, even_quantile([distances], level)),
            most_marks=max(
                self.most_marks, even_quantile([np.array([marks(i.reply) for i in items])], level)
            ),
        )


def even_quantile(values: Sequence[Floats], level: float) -> float:
    """The quantile of the pooled values, with the same weight for every corpus."""
    pooled = np.concatenate(values)
    shares = np.concatenate([np.full(len(one), 1 / len(one)) for one in values])
    order = np.argsort(pooled)
    reached = np.cumsum(shares[order]) / len(values)
    return float(pooled[order][min(int(np.searchsorted(reached, level)), len(pooled) - 1)])
