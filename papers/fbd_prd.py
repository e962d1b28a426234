"""The tables of papers/fbd-prd.md that `turnwise meta` alone cannot make.

    python papers/fbd_prd.py DATA bleu|normality|layers|turns|unseen|few

DATA is the folder of the corpora. Every number is a system-level correlation, signed: a metric for which lower is
better is turned over first. Vectors are kept in the cache, so a second run takes seconds.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from turnwise.logs import native
from turnwise.logs.items import Selection, items
from turnwise.metrics import resolve
from turnwise.metrics.distribution.distance import Distance
from turnwise.stats.correlation import STATISTICS
from turnwise.types import Fitted, Item, Metric

PUBLISHED = {  # Table 1, BLEU: Spearman and Pearson, absolute
    "personam": (0.400, 0.672),
    "dailyh": (0.445, 0.444),
    "convai2": (0.800, 0.801),
    "empathetic": (0.136, 0.331),
    "dailyz": (0.595, 0.421),
    "personaz": (0.400, 0.390),
}
FILES = {
    "fbd": "fbd.jsonl.gz",
    "grade": "grade.jsonl.gz",
    "usr": "usr_persona.jsonl",
    "dstc7": "dstc7.jsonl.gz",
}


@dataclass(frozen=True)
class Corpus:
    items: list[Item]
    ratings: Mapping[tuple[str, str], float]  # (item, dimension) -> mean

    @classmethod
    def read(cls, path: Path, by: str | None = None) -> "Corpus":
        values: dict[tuple[str, str], list[float]] = {}
        for dialogue in native.read(str(path)):
            for rating in dialogue.ratings:
                values.setdefault((rating.item, rating.dimension), []).append(rating.value)
        judged = list(items(native.read(str(path)), Selection(judged="rated", by=by)))
        return cls(judged, {key: float(np.mean(found)) for key, found in values.items()})

    def groups(self) -> list[str]:
        return sorted({item.group for item in self.items})

    def systems(self, group: str) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for place, item in enumerate(self.items):
            if item.group == group:
                places.setdefault(item.agent, []).append(place)
        return places


def correlations(
    corpus: Corpus, numbers: Mapping[str, Sequence[float]], dimension: str | None = None
) -> dict[str, tuple[float, float]]:
    """Spearman and Pearson of one number a system, in the order of `Corpus.systems`, by group."""
    found = {}
    by_item: dict[str, dict[str, float]] = {}
    for (item, name), value in corpus.ratings.items():
        by_item.setdefault(item, {})[name] = value
    for group, x in numbers.items():
        y = []
        for places in corpus.systems(group).values():
            rated = [by_item[corpus.items[place].id] for place in places]
            name = dimension or ("overall" if "overall" in rated[0] else next(iter(rated[0])))
            y.append(float(np.mean([ratings[name] for ratings in rated if name in ratings])))
        both = np.array(x), np.array(y)
        found[group] = (STATISTICS["spearman"](*both), STATISTICS["pearson"](*both))
    return found


def numbers(corpus: Corpus, name: str) -> dict[str, list[float]]:
    """What a metric says of each system, oriented."""
    metric = resolve(name)
    fitted: Metric = metric.fit(corpus.items) if isinstance(metric, Fitted) else metric
    rows = fitted.rows(corpus.items)
    sign = 1 if fitted.higher_is_better else -1
    return {
        group: [sign * fitted.reduce(rows[np.array(places)]) for places in corpus.systems(group).values()]
        for group in corpus.groups()
    }


def paper_bleu(corpus: Corpus) -> dict[str, list[float]]:
    """BLEU as the published figures have it: nltk's, over a system's whole output, lower-cased word tokens, unsmoothed.

    A reply that is word for word its reference counts as one. In the data such a reference is left out, and is put back
    from the records of the other systems.
    """
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.translate.bleu_score import corpus_bleu

    split = NLTKWordTokenizer().tokenize

    def tokens(text: str) -> list[str]:
        return split(text.lower())

    return {
        group: [
            corpus_bleu(
                [
                    [tokens(text) for text in corpus.items[place].references or (corpus.items[place].reply,)]
                    for place in places
                ],
                [tokens(corpus.items[place].reply) for place in places],
            )
            for places in corpus.systems(group).values()
        ]
        for group in corpus.groups()
    }


def bleu(data: Path) -> None:
    found = correlations(corpus := Corpus.read(data / FILES["fbd"], "meta.corpus"), paper_bleu(corpus))
    print("| corpus | published | here, signed |\n|---|---|---|")
    for group, (spearman, pearson) in PUBLISHED.items():
        print(f"| {group} | {_two((spearman, pearson))} | {_two(found[group])} |")


def normality(data: Path) -> None:
    """Shapiro-Wilk's W of each dimension of the real pairs, and what its mean with p comes to."""
    from scipy.stats import shapiro

    corpus = Corpus.read(data / FILES["fbd"], "meta.corpus")
    print("| vectors | corpus | W | mean of W and p |\n|---|---|---|---|")
    for name in ("fbd-paper", "fbd"):
        metric = resolve(name)
        fitted = metric.fit(corpus.items) if isinstance(metric, Fitted) else metric
        for group, side in _sides(fitted).items():
            tests = np.array([tuple(shapiro(column)) for column in side.T])
            both = tests.mean(axis=1)
            w = f"{tests[:, 0].mean():.2f} ± {tests[:, 0].std():.2f}"
            print(f"| {name} | {group} | {w} | {both.mean():.2f} ± {tests.std():.2f} |")


def layers(data: Path) -> None:
    corpus = Corpus.read(data / FILES["fbd"], "meta.corpus")
    settings = [f"{name}[layer={layer}]" for name in ("fbd", "fbd-paper") for layer in range(1, 7)]
    settings += [f"fbd[model={model}]" for model in ("smollm2", "wordllama", "word2vec", "hashing")]
    settings += ["fbd[also=smollm2]", "fbd-paper", "fbd", "prd", "mmd"]
    _table(corpus, settings)


def turns(data: Path) -> None:
    grade, usr = Corpus.read(data / FILES["grade"], "meta.corpus"), Corpus.read(data / FILES["usr"])
    print("| turns | grade, usr_persona: Spearman, Pearson | mean |\n|---|---|---|")
    for count in (1, 2, 3, 4, 6, 0):
        name = f"fbd[turns={count}]"
        found = {**correlations(grade, numbers(grade, name)), **correlations(usr, numbers(usr, name))}
        each = "; ".join(f"{group or 'usr_persona'} {_two(value)}" for group, value in found.items())
        print(f"| {count or 'all'} | {each} | {_two(np.mean(list(found.values()), axis=0))} |")


def unseen(data: Path) -> None:
    grade, usr = Corpus.read(data / FILES["grade"], "meta.corpus"), Corpus.read(data / FILES["usr"])
    dstc7 = Corpus.read(data / FILES["dstc7"])
    print("| metric | corpus | Spearman, Pearson |\n|---|---|---|")
    for name in ("fbd", "fbd-paper", "prd", "mmd", "fbd[also=smollm2]", "bleu-4"):
        for group, value in correlations(grade, numbers(grade, name)).items():
            print(f"| {name} | grade {group} | {_two(value)} |")
        print(f"| {name} | usr_persona | {_two(correlations(usr, numbers(usr, name))[''])} |")
        if name != "fbd-paper":
            for dimension in ("relevance", "informativeness"):
                value = correlations(dstc7, numbers(dstc7, name), dimension)[""]
                print(f"| {name} | dstc7 {dimension} | {_two(value)} |")


def few(data: Path) -> None:
    """How well FBD of n replies ranks systems as FBD of all their replies does: why the guard is where it is."""
    corpus = Corpus.read(data / FILES["fbd"], "meta.corpus")
    metric = resolve("fbd")
    fitted = metric.fit(corpus.items) if isinstance(metric, Fitted) else metric
    rows, rng = fitted.rows(corpus.items), np.random.default_rng(0)
    print("| replies a system | dailyz | personaz |\n|---|---|---|")
    for n in (10, 20, 30, 50, 75):
        cells = []
        for group in ("dailyz", "personaz"):
            places = [np.array(at) for at in corpus.systems(group).values()]
            whole = np.array([fitted.reduce(rows[at]) for at in places])
            drawn = [
                np.array([fitted.reduce(rows[rng.permutation(at)[:n]]) for at in places]) for _ in range(50)
            ]
            cells.append(f"{np.mean([STATISTICS['spearman'](one, whole) for one in drawn]):.2f}")
        print(f"| {n} | {' | '.join(cells)} |")


def _sides(metric: Metric) -> dict[str, np.ndarray]:
    if not isinstance(metric, Distance):
        raise TypeError(f"{metric.signature.name} has no real side")
    return {group: side.vectors for group, side in metric.sides.items()}


def _table(corpus: Corpus, names: Sequence[str]) -> None:
    groups = corpus.groups()
    print(f"| metric | {' | '.join(groups)} | mean | mean, absolute |\n|{'---|' * (len(groups) + 3)}")
    for name in names:
        found = correlations(corpus, numbers(corpus, name))
        values = np.array([found[group] for group in groups])
        cells = [_two(value) for value in (*values, values.mean(axis=0), np.abs(values).mean(axis=0))]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def _two(pair: Sequence[float]) -> str:
    return " ".join(f"{value:.3f}".replace("0.", ".", 1) for value in pair)


TABLES = {
    "bleu": bleu, "normality": normality, "layers": layers, "turns": turns, "unseen": unseen, "few": few
}  # fmt: skip

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in TABLES:
        sys.exit(__doc__)
    TABLES[sys.argv[2]](Path(sys.argv[1]))
