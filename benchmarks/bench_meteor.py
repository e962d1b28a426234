"""Speed of METEOR, from words to scores, against nltk with the same synonyms.

The data are 3,000 generated replies of 10 to 30 words with one reference each: half are the reference with words
changed (a third of them to a synonym or another form), half are unrelated to it, as in dialogue. Words are lemmas of
WordNet, some with a suffix, with Zipf-distributed frequencies. nltk's WordNet corpus needs a download, so nltk gets our
table through an object with the same interface and looks up each word every time, as it does in its own corpus (which
was measured to be slower). Our caches of stems and synonyms are emptied before every run. Reading the table is not
timed on either side.

The scores differ by design, because nltk misses most synonyms. Before times are measured, we check that both agree on
texts without synonyms and repeated words.
"""

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from nltk.translate.meteor_score import single_meteor_score

from benchmarks.bench_overlap import in_turn
from benchmarks.harness import Line, peak
from turnwise.metrics.reference import porter, wordnet
from turnwise.metrics.reference.meteor import Meteor

PAIRS = 3_000
Texts = list[tuple[list[str], list[str]]]


def bench() -> Iterator[Line]:
    pairs = texts(np.random.default_rng(1))
    metric, words = Meteor(), nltk_wordnet()

    def ours() -> float:
        porter.stem.cache_clear()
        wordnet.synsets.cache_clear()
        return float(np.mean([metric.meteor(reply, reference) for reply, reference in pairs]))

    def nltk() -> float:
        scores = [single_meteor_score(reference, reply, wordnet=words) for reply, reference in pairs]
        return float(np.mean(scores))

    check(metric)
    yield Line(f"METEOR, {PAIRS:,} pairs", *in_turn(ours, nltk), "nltk", 5)
    yield memory(pairs)


def memory(pairs: Texts) -> Line:
    """Peak memory of processes that read and score the pairs; nltk's has our table instead of its own."""
    read = "import json, sys\npairs = json.load(open(sys.argv[1]))\n"
    ours = "from turnwise.metrics.reference.meteor import Meteor\n[Meteor().meteor(*pair) for pair in pairs]"
    theirs = (
        "from benchmarks.bench_meteor import nltk_wordnet, single_meteor_score as score\nwords = nltk_wordnet()\n"
        "[score(reference, reply, wordnet=words) for reply, reference in pairs]"
    )
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(pairs, file)
        file.flush()
        peaks = [peak(read + code, [file.name]) for code in (ours, theirs)]
    return Line("peak memory, METEOR", *peaks, "nltk", 1.0, "MiB", at_most=True)


def texts(rng: np.random.Generator) -> Texts:
    """The generated pairs of reply and reference, as words."""
    lemmas = sorted({word for part in wordnet.parts() for word in part.synsets if 2 < len(word) < 9})
    chosen = rng.choice(lemmas, size=3_000, replace=False)
    vocabulary = [str(word) + str(rng.choice(["", "", "s", "ed", "ing"])) for word in chosen]
    frequency = 1 / np.arange(1, 3_001)
    frequency /= frequency.sum()
    near = neighbours()

    def drawn(size: int) -> list[str]:
        return [vocabulary[place] for place in rng.choice(3_000, p=frequency, size=size)]

    def changed(word: str) -> str:
        return str(rng.choice(sorted(near[word]) or [f"{word}s"])) if rng.random() < 1 / 3 else drawn(1)[0]

    pairs = []
    for place in range(PAIRS):
        reference = drawn(int(rng.integers(10, 31)))
        reply = drawn(int(rng.integers(10, 31)))
        if place % 2:
            reply = [word if rng.random() < 0.7 else changed(word) for word in reference]
        pairs.append((reply, reference))
    return pairs


@cache
def members() -> dict[int, list[str]]:
    """Synset -> its lemmas."""
    found = defaultdict(list)
    for part in wordnet.parts():
        for lemma, numbers in part.synsets.items():
            for number in numbers:
                found[number].append(lemma)
    return found


def neighbours() -> dict[str, set[str]]:
    """Lemma -> its synonyms."""
    found: dict[str, set[str]] = defaultdict(set)
    for lemmas in members().values():
        for lemma in lemmas:
            found[lemma].update(other for other in lemmas if other != lemma)
    return found


def nltk_wordnet() -> Any:
    """Our table with the interface of nltk's WordNet corpus reader."""

    @cache
    def synset(number: int) -> SimpleNamespace:
        lemmas = [SimpleNamespace(name=lambda name=name: name) for name in members()[number]]
        return SimpleNamespace(lemmas=lambda: lemmas)

    def synsets(word: str) -> list[SimpleNamespace]:
        return [synset(number) for number in wordnet.synsets.__wrapped__(word)]

    return SimpleNamespace(synsets=synsets)


def check(metric: Meteor) -> None:
    """Raise an error unless both agree on texts of shuffled words without repetition, stem matches and synonyms."""
    rng = np.random.default_rng(2)
    words = [f"{a}{b}x" for a in "bcdfghjklm" for b in "ouy"]
    empty = SimpleNamespace(synsets=lambda word: [])
    for _ in range(200):
        reply, reference = (list(map(str, rng.permutation(words)[: rng.integers(10, 21)])) for _ in range(2))
        here, there = metric.meteor(reply, reference), single_meteor_score(reference, reply, wordnet=empty)
        if abs(here - there) > 1e-9:
            raise ValueError(f"not the same task: {here} here and {there} there for {reply} and {reference}")
