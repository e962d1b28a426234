"""A guard for a contrastive head: it lowers the score of replies that were made to please the metric.

A fraud is a fixed text, a text made from the context, or a mixture: fixed words around words of the context. So the
guard removes the words that a reply takes from its context; the remainder must fit this context better than others. Let
l be the head's logit of the remainder in this context, and l_k its logits in contexts of other dialogues. Averaged over
contexts, sigmoid(l - log mean exp l_k) is at most one half for any fixed text (Jensen's inequality, if the stored
contexts are like the scored ones); for people's replies it averages .7. The score is a weighted mean of the head's own
probability and this one.

Texts made from the context also show in counts: copied words, repetitions, unusual word pairs. A small network takes
the logits of the reply and of its remainder, in this context and in others, and the features of `text_features`. It
separates frauds from people's replies, whether these fit the context or not. Its output is a factor of the score,
which is 1 for all but about one in a hundred real replies.
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
from turnwise.metrics.learned.encoded_items import EncodedItem, turn_vectors
from turnwise.metrics.learned.turnwise.lexicon import Lexicon
from turnwise.metrics.learned.turnwise.text_features import text_features

KEY = "guard"  # key in a folder's config, and prefix of its tensors' names
RUN = 2  # a run of this many words of the context is removed from a reply, stop words included
EMPTY_LOGIT = -5.0  # logit of an empty remainder


class Evidence(NamedTuple):
    """What a guard computes from a reply: the logits of it and of its remainder, and features for the network."""

    reply: float  # logit of the reply in its context
    remainder: float  # logit of the remainder minus the log of its mean odds in other contexts
    features: tuple[float, ...]  # these and other differences of logits, for the network


@dataclass(frozen=True, slots=True, eq=False)
class ContextContrast:
    """A head with contexts of other dialogues, to compare how well a text fits this context and others."""

    head: Head
    contexts: Vectors  # (k, d) context vectors of the head

    def evidence(self, item: EncodedItem, remainder: Vectors | None) -> Evidence:
        """The evidence on an item; `remainder` is the vector of the reply's remainder, None if it is empty."""
        reply_here = self.head.logit(item)
        remainder_here = remainder_contrast = EMPTY_LOGIT
        if remainder is not None:
            context = self.head.context(item.context)
            remainder_here = float(self.head.logits(context[None], remainder)[0])
            remainder_contrast = remainder_here - self.log_mean_odds(remainder)
        features = (
            reply_here,
            reply_here - self.log_mean_odds(item.reply),
            remainder_here,
            remainder_contrast,
            reply_here - remainder_here,
            float(remainder is None),
        )
        return Evidence(reply_here, remainder_contrast, features)

    def log_mean_odds(self, reply: Vectors) -> float:
        """The logarithm of the mean odds of a text, given its vector (d,), over the stored contexts."""
        logits = self.head.logits(self.contexts, reply)
        top = float(logits.max())
        return top + float(np.log(np.mean(np.exp(logits - top))))


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """The stored contexts, the lexicon and the network that decide a guarded score."""

    contrast: ContextContrast
    lexicon: Lexicon
    weight: float  # weight of the remainder's probability in the mean
    centre: Vectors  # (c,) mean of the network's input
    scale: Vectors  # (c,) standard deviation of the network's input
    first: Vectors  # (h, c) weights of the hidden layer
    bias: Vectors  # (h,) of the hidden layer
    last: Vectors  # (h,) weights of the logit
    offset: float  # bias of the logit minus the threshold

    def scores(self, items: Sequence[EncodedItem], encoder: TextEncoder) -> list[float]:
        """The guarded score of each item, 0 to 1: a weighted mean of both probabilities, times the network's factor."""
        scores = []
        for item, remainder in zip(items, remainder_vectors(items, encoder), strict=True):
            evidence = self.contrast.evidence(item, remainder)
            mean = (1 - self.weight) * probability(evidence.reply) + self.weight * probability(
                evidence.remainder
            )
            scores.append(mean * self._factor_of(item, evidence))
        return scores

    def factors(self, items: Sequence[EncodedItem], remainders: Sequence[Vectors | None]) -> list[float]:
        """The factor of each item, for a score of another metric; `remainders` are those of `remainder_vectors`."""
        return [
            self._factor_of(item, self.contrast.evidence(item, remainder))
            for item, remainder in zip(items, remainders, strict=True)
        ]

    def _factor_of(self, item: EncodedItem, evidence: Evidence) -> float:
        """The factor of an item from the evidence on it and its text features."""
        counts = text_features(item.reply_text, item.context_texts, self.lexicon).values()
        return self.factor(np.array([*evidence.features, *counts], dtype=np.float32))

    def factor(self, row: Vectors) -> float:
        """The network's factor for a row of features: 1 above its threshold, and less the more it is like a fraud."""
        hidden = np.maximum(self.first @ ((row - self.centre) / self.scale) + self.bias, 0)
        return min(1.0, 2 * probability(float(self.last @ hidden) + self.offset))

    @property
    def features(self) -> str:
        """The numbers of features and of contexts as a text for the signature, such as `49signs+64contexts`."""
        return f"{len(self.centre)}signs+{len(self.contrast.contexts)}contexts"


def remainder_vectors(items: Sequence[EncodedItem], encoder: TextEncoder) -> list[Vectors | None]:
    """The vector of each reply's remainder; None if the remainder is empty or has no known word."""
    texts = [remainder_of(item.reply_text, item.context_texts) for item in items]
    groups = turn_vectors([[text] if text else [] for text in texts], encoder)
    return [group[0] if len(group) and np.isfinite(group).all() else None for group in groups]


def remainder_of(reply: str, context: Sequence[str]) -> str:
    """The reply without the content words, and without the runs of two words, that occur in a turn of its context.

    Both are normalised texts. The result may be empty.
    """
    words = reply.split()
    turns = [turn.split() for turn in context]
    context_words = {word for turn in turns for word in turn} - STOPWORDS
    runs = {tuple(turn[at : at + RUN]) for turn in turns for at in range(len(turn) - RUN + 1)}
    removed = [word in context_words for word in words]
    for at in range(len(words) - RUN + 1):
        if tuple(words[at : at + RUN]) in runs:
            removed[at : at + RUN] = [True] * RUN
    return " ".join(word for word, gone in zip(words, removed, strict=True) if not gone)


@cache
def guard_of(folder: Folder, head_name: str) -> Guard | None:
    """The guard of a head in a model's folder; None if the model has none."""
    if KEY not in folder.config:
        return None
    prefix = f"{KEY}.{head_name}."
    parts = {
        name.removeprefix(prefix): part.astype(np.float32)
        for name, part in folder.tensors.items()
        if name.startswith(prefix)
    }
    contrast = ContextContrast(head_of(folder, head_name), parts.pop("contexts"))
    weight, offset = float(folder.config[KEY]["weight"]), float(parts.pop("offset")[0])
    return Guard(contrast, Lexicon.load(folder.tensors), weight, offset=offset, **parts)
