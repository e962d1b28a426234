"""How far the messages of simulated users are from those of real ones.

    fbd         Frechet distance of the two sets of message vectors, on 32 principal components; 0 and up
    prd         F1 of precision and recall over common clusters; 0 to 1, 1 for equal sets
    words       Kolmogorov-Smirnov distance of the numbers of words; simulated and real are the means
    questions   difference of the shares of messages with a question; simulated and real are the shares
    acts        total variation distance of eight kinds of acts, by words: greeting, thanks, ..., telling
    classifier  area under the curve of a linear classifier that tells simulated from real messages, tested on
                dialogues that it was not trained on; .5 if it cannot

All but the last are means over repeated halves: half of the simulated dialogues against half of the real ones, with the
other half of the real ones as the floor, all with equally many messages. The interval has 95 % of these values: the
spread of a half is that of the whole, as of a jackknife that deletes half. Messages of one dialogue are kept together,
and so are those of all dialogues of one scenario: a classifier would know the names and numbers of a scenario again.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from turnwise.encode import TextEncoder
from turnwise.errors import Refused, TooFewItems, counted
from turnwise.metrics.distribution.curve import histograms, principal
from turnwise.metrics.distribution.frechet import Gaussian, distance
from turnwise.records import RealismRecord
from turnwise.types import Floats, Ints, digest

MEASURES = ("fbd", "prd", "words", "questions", "acts", "classifier")
FEWEST = 30  # messages on each side of a comparison
FEWEST_CLUSTERS = 4  # scenarios of simulated users, dialogues of real ones
MOST = 4000  # messages of a side, drawn by dialogue where there are more
HALVES = 40
COMPONENTS, CLUSTERS = 32, 20
_SPLITS = 4  # of the real dialogues, for the floor of the classifier
_FOLDS = 5
_HASHED = 256  # features of words and pairs of words
_RIDGE = 0.3  # penalty, as a share of the number of messages
_DRAWS = 400  # resamples of dialogues behind the interval of the classifier
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_ACTS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("goodbye", r"\b(?:good\s?bye|bye|see you|take care|have a (?:nice|good|great))\b"),
        ("thanks", r"\b(?:thanks?|thank you|thx|cheers)\b"),
        ("question", r"\?|^(?:what|where|when|who|why|how|which|can|could|do|does|did|is|are|will|would)\b"),
        ("greeting", r"^(?:hi|hello|hey|good (?:morning|afternoon|evening))\b"),
        ("no", r"^(?:no|nope|nah|not)\b"),
        ("yes", r"^(?:yes|yeah|yep|sure|ok|okay|right|correct|fine|perfect|great)\b"),
        (
            "request",
            r"\b(?:i(?:'d| would)? (?:need|want|like)|i(?:'m| am) looking|please|book|find me|give me)\b",
        ),
    )
)


class Said(NamedTuple):
    """A message of a user."""

    cluster: str  # the scenario or task, else the dialogue
    text: str


class _Side:
    """The messages of one side, with their numbers."""

    def __init__(self, said: Sequence[Said], encoder: TextEncoder) -> None:
        self.texts = [one.text for one in said]
        names = sorted({one.cluster for one in said})
        number = {name: at for at, name in enumerate(names)}
        self.cluster = np.array([number[one.cluster] for one in said])
        self.n_clusters = len(names)
        self.vectors: Floats = np.asarray(encoder.encode(self.texts), dtype=np.float64)
        self.words: Floats = np.array([len(_WORD.findall(text)) for text in self.texts], dtype=np.float64)
        self.questions: Floats = np.array(["?" in text for text in self.texts], dtype=np.float64)
        self.acts: Ints = np.array([act(text) for text in self.texts], dtype=np.int64)

    def half(self, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """The messages of one half of the dialogues, drawn at random, and those of the other."""
        chosen = np.zeros(self.n_clusters, dtype=bool)
        chosen[rng.permutation(self.n_clusters)[: self.n_clusters // 2]] = True
        inside = chosen[self.cluster]
        return np.flatnonzero(inside), np.flatnonzero(~inside)


def realism(
    simulated: Iterable[Said], real: Iterable[Said], *, encoder: TextEncoder, kind: str, seed: int = 0
) -> list[RealismRecord]:
    """A record for each measure; refused where a side has too few messages or dialogues."""
    here, there = _drawn(simulated, seed), _drawn(real, seed)
    for what, unit, said in (("simulated", "scenario", here), ("real", "dialogue", there)):
        n_clusters = len({one.cluster for one in said})
        if len(said) < FEWEST or n_clusters < FEWEST_CLUSTERS:
            error = Refused(
                "{n:#message} of {what} users in {of} of kind `{kind}` are too few; it takes {fewest} messages in "
                "{fewest_clusters} {unit}s",
                "few-user-messages", n=len(said), what=what, of=counted(n_clusters, unit), kind=kind, fewest=FEWEST,
                fewest_clusters=FEWEST_CLUSTERS, unit=unit,
            )  # fmt: skip
            return [RealismRecord.refusal(error, kind=kind, measure=measure) for measure in MEASURES]
    sides = _Side(here, encoder), _Side(there, encoder)
    rng = np.random.default_rng([seed, int(digest("realism", kind), 16)])
    return [*_by_halves(*sides, kind=kind, rng=rng), _by_classifier(*sides, kind=kind, rng=rng)]


def act(text: str) -> int:
    """The number of the first act that a message's words show; the last one is telling."""
    plain = text.strip()
    return next((at for at, (_, pattern) in enumerate(_ACTS) if pattern.search(plain)), len(_ACTS))


def _drawn(said: Iterable[Said], seed: int) -> list[Said]:
    """The messages with words; of more than `MOST`, those of dialogues that are drawn by their names."""
    kept = [one for one in said if one.text.strip()]
    if len(kept) <= MOST:
        return kept
    counts = Counter(one.cluster for one in kept)
    chosen: set[str] = set()
    total = 0
    for name in sorted(counts, key=lambda name: digest(str(seed), name)):
        if total >= MOST:
            break
        chosen.add(name)
        total += counts[name]
    return [one for one in kept if one.cluster in chosen]


def _by_halves(here: _Side, there: _Side, *, kind: str, rng: np.random.Generator) -> list[RealismRecord]:
    """The measures that compare two sets of messages, over repeated halves."""
    weights = np.ones(len(there.texts))
    count = min(COMPONENTS, there.vectors.shape[1], len(there.texts) - 1)
    together = principal(
        np.vstack([there.vectors, here.vectors]),
        count,
        weights=np.r_[weights, np.zeros(len(here.texts))],
        rng=rng,
    )
    real_points, points = together[: len(there.texts)], together[len(there.texts) :]
    measures: dict[str, Callable[[_Side, Ints, Floats, Ints], float]] = {
        "fbd": lambda side, chosen, of, base: _frechet(of[chosen], real_points[base]),
        "prd": lambda side, chosen, of, base: _prd(of[chosen], real_points[base]),
        "words": lambda side, chosen, of, base: _kolmogorov(side.words[chosen], there.words[base]),
        "questions": lambda side, chosen, of, base: abs(
            float(side.questions[chosen].mean() - there.questions[base].mean())
        ),
        "acts": lambda side, chosen, of, base: _variation(side.acts[chosen], there.acts[base]),
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in measures}
    for _ in range(HALVES):
        base, other = there.half(rng)
        mine, _ = here.half(rng)
        n = min(len(base), len(other), len(mine))
        base, other, mine = (np.sort(rng.permutation(part)[:n]) for part in (base, other, mine))
        for name, measure in measures.items():
            found[name].append((measure(here, mine, points, base), measure(there, other, real_points, base)))
    means = {"words": (here.words, there.words), "questions": (here.questions, there.questions)}
    records = []
    for name, pairs in found.items():
        values, floors = np.array(pairs).T
        simulated, real = (float(side.mean()) for side in means[name]) if name in means else (None, None)
        records.append(
            RealismRecord(
                kind=kind, measure=name, estimate=float(values.mean()), interval=_central(values),
                simulated=simulated, real=real, floor=float(floors.mean()), floor_interval=_central(floors),
                n_items=len(here.texts), n_clusters=here.n_clusters, method=f"{HALVES} repeated halves",
            )
        )  # fmt: skip
    return records


def _central(values: Floats) -> tuple[float, float]:
    """The middle 95 % of values."""
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def _frechet(points: Floats, real: Floats) -> float:
    """The Frechet distance of two sets of vectors."""
    return distance(Gaussian.of(points), Gaussian.of(real))


def _prd(points: Floats, real: Floats) -> float:
    """The largest F1 of precision and recall of two sets of vectors."""
    try:
        return histograms(real, points, CLUSTERS, rng=np.random.default_rng(0)).f1()
    except TooFewItems:
        return 0.0


def _kolmogorov(values: Floats, real: Floats) -> float:
    """The largest difference of two distribution functions."""
    every = np.unique(np.r_[values, real])
    shares = [np.searchsorted(np.sort(side), every, side="right") / len(side) for side in (values, real)]
    return float(np.abs(shares[0] - shares[1]).max())


def _variation(values: Ints, real: Ints) -> float:
    """Half the sum of the differences of the shares of each act."""
    shares = [np.bincount(side, minlength=len(_ACTS) + 1) / len(side) for side in (values, real)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _by_classifier(here: _Side, there: _Side, *, kind: str, rng: np.random.Generator) -> RealismRecord:
    """How well a classifier tells simulated messages from real ones, and real ones from others."""
    estimate, interval = _separation(
        here, np.arange(len(here.texts)), there, np.arange(len(there.texts)), rng
    )
    floors = []
    for _ in range(_SPLITS):
        one, other = there.half(rng)
        floors.append(_separation(there, one, there, other, rng)[0])
    return RealismRecord(
        kind=kind, measure="classifier", estimate=estimate, interval=interval, floor=float(np.mean(floors)),
        n_items=len(here.texts), n_clusters=here.n_clusters,
        method=f"{_FOLDS} folds by dialogue, {_DRAWS} resamples of dialogues",
    )  # fmt: skip


def _separation(
    one: _Side, first: Ints, other: _Side, second: Ints, rng: np.random.Generator
) -> tuple[float, tuple[float, float]]:
    """The area under the curve of a classifier of two sets of messages, and its interval."""
    n = min(len(first), len(second))
    first, second = (np.sort(rng.permutation(part)[:n]) for part in (first, second))
    features = np.vstack([_features(one, first), _features(other, second)])
    labels = np.r_[np.ones(n), np.zeros(n)]
    groups = np.r_[one.cluster[first], other.cluster[second] + one.n_clusters]
    _, groups = np.unique(groups, return_inverse=True)
    fold_of = rng.permutation(groups.max() + 1) % _FOLDS
    scores = np.zeros(2 * n)
    for fold in range(_FOLDS):
        tested = fold_of[groups] == fold
        scores[tested] = _ridge(features[~tested], labels[~tested], features[tested])
    draws = [_area(scores, labels, rng.poisson(1.0, groups.max() + 1)[groups]) for _ in range(_DRAWS)]
    kept = np.array([value for value in draws if np.isfinite(value)])
    return _area(scores, labels, np.ones(2 * n)), _central(kept)


def _features(side: _Side, chosen: Ints) -> Floats:
    """(n, k) the vector of each message, its length, its marks, and hashed words and pairs of words."""
    rows = np.zeros((len(chosen), _HASHED + 5))
    for row, at in enumerate(chosen):
        text = side.texts[at]
        words = [word.lower() for word in _WORD.findall(text)]
        for part in [*words, *(f"{a} {b}" for a, b in pairwise(words))]:
            code = int(digest(part), 16)
            rows[row, code % _HASHED] += 1 if code >> 32 & 1 else -1
        rows[row, _HASHED:] = (
            np.log1p(len(words)), "?" in text, "!" in text, text[:1].isupper(), text.rstrip()[-1:] in ".!?",
        )  # fmt: skip
    return np.hstack([side.vectors[chosen], rows])


def _ridge(train: Floats, labels: Floats, test: Floats) -> Floats:
    """The scores of test rows by ridge regression on standardised features."""
    centre, scale = train.mean(axis=0), train.std(axis=0)
    scale[scale == 0] = 1.0
    x, y = (train - centre) / scale, labels - labels.mean()
    penalty = _RIDGE * len(x)
    if x.shape[1] <= len(x):
        weights = np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ y)
    else:
        weights = x.T @ np.linalg.solve(x @ x.T + penalty * np.eye(len(x)), y)
    return np.asarray((test - centre) / scale @ weights)


def _area(scores: Floats, labels: Floats, weights: Floats) -> float:
    """The share of pairs of a message of each side that the scores order rightly; ties count half."""
    order = np.argsort(scores, kind="stable")
    scores, positive, negative = scores[order], (labels * weights)[order], ((1 - labels) * weights)[order]
    _, group = np.unique(scores, return_inverse=True)
    ups, downs = np.bincount(group, positive), np.bincount(group, negative)
    below = np.cumsum(downs) - downs
    total = ups.sum() * downs.sum()
    return float((ups * (below + downs / 2)).sum() / total) if total else float("nan")
