"""What kind of thing is this metric? Before it is attacked, and from all that was scored meanwhile."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.attacks.context import Context
from turnwise.attacks.strategy import content_words, repeated
from turnwise.attacks.target import Target
from turnwise.attacks.verdict import ROUNDING
from turnwise.metrics.words import words
from turnwise.stats.correlation import spearman
from turnwise.types import Floats

ASKED_AGAIN = 40
NOISY = 0.05  # share of the variance that is chance, above which a metric is called random


@dataclass(frozen=True, slots=True)
class Diagnosis:
    constant: bool
    noise: float  # share of the variance that is not the same when asked again: 0 for a function, 1 for dice
    unscored: float  # share of people's replies without a score
    errors: dict[str, int]

    @property
    def scores(self) -> bool:
        """Whether there is something to be above; what tells no people apart, or is noisy, may love a fraud."""
        return self.unscored < 1

    @property
    def random(self) -> bool:
        return self.noise > NOISY

    @property
    def words(self) -> str | None:
        """Why an attack says little, or None."""
        if self.unscored == 1:
            why = next(iter(self.errors), "it returned NaN")
            return f"the metric scored none of people's replies: {why}"
        if self.constant:
            return "the metric gives every reply of a person the same score, and tells none of them apart"
        if self.random:
            return f"the metric is random: {self.noise:.0%} of what moves its scores is gone when it is asked again"
        return None


def diagnosed(target: Target, contexts: Sequence[Context]) -> Diagnosis:
    """Asks for people's replies, for replies of other contexts, and for some of them twice."""
    own = [(context, context.human) for context in contexts]
    strangers = [
        (context, other.human) for context, other in zip(contexts, [*contexts[1:], contexts[0]], strict=True)
    ]
    scores = target.scores([*own, *strangers])
    known = scores[~np.isnan(scores)]
    some = [*own, *strangers][:: max(1, 2 * len(own) // ASKED_AGAIN)]
    first, second = target.scores(some), target.again(some)
    both = ~(np.isnan(first) | np.isnan(second))
    same = not len(known) or bool(np.ptp(known) <= ROUNDING * np.abs(known).max())
    noise = float(np.mean((first[both] - second[both]) ** 2)) / 2 if both.any() else 0.0
    return Diagnosis(
        constant=len(known) > 0 and same,
        noise=0.0 if same else min(1.0, noise / float(np.var(known))),
        unscored=float(np.isnan(scores[: len(own)]).mean()),
        errors=dict(target.errors),
    )


@dataclass(frozen=True, slots=True)
class Tendency:
    """How the metric's scores move with something simple."""

    feature: str
    correlation: float  # Spearman's, over everything that was scored, within contexts
    description: str

    @classmethod
    def of(cls, feature: str, correlation: float) -> "Tendency":
        grows = "grows" if correlation > 0 else "falls"
        return cls(feature, correlation, f"the score {grows} with {FEATURES[feature][0]}")

    @property
    def turned(self) -> "Tendency":
        """Of the number as the metric gives it, where lower is better and it was turned for the attack."""
        return Tendency.of(self.feature, -self.correlation)


def _copied(context: Context, reply: str) -> float:
    said, heard = words(reply), set(words(context.whole))
    return sum(word in heard for word in said) / len(said) if said else 0.0


def _nouns(context: Context, reply: str) -> float:
    said = set(words(reply))
    return float(sum(word in said for word in content_words(context.last)))


FEATURES: dict[str, tuple[str, Callable[[Context, str], float]]] = {
    "length": ("words in the reply", lambda context, reply: float(len(words(reply)))),
    "repeated": ("words that the reply has said before", lambda context, reply: float(repeated(reply))),
    "questions": ("question marks", lambda context, reply: float(reply.count("?"))),
    "exclamations": ("exclamation marks", lambda context, reply: float(reply.count("!"))),
    "copied": ("the share of the reply's words that the context has", _copied),
    "nouns": ("content words of the last turn", _nouns),
}


def tendencies(pairs: Sequence[tuple[Context, str]], scores: Floats) -> list[Tendency]:
    """Each feature's rank correlation with the score, both less their context's mean; the strongest first."""
    known = ~np.isnan(scores)
    pairs = [pair for pair, good in zip(pairs, known, strict=True) if good]
    if len(pairs) < 10:
        return []
    _, codes = np.unique([context.item.id for context, _ in pairs], return_inverse=True)
    centred = _within(scores[known], codes)
    found = []
    for name, (_, feature) in FEATURES.items():
        values = _within(np.array([feature(context, reply) for context, reply in pairs]), codes)
        if np.ptp(values) > 0 and np.ptp(centred) > 0:
            found.append(Tendency.of(name, spearman(values, centred)))
    return sorted(found, key=lambda one: -abs(one.correlation))


def _within(values: Floats, codes: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Floats:
    means = np.bincount(codes, values) / np.bincount(codes)
    return np.asarray(values - means[codes])
