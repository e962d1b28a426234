"""The tables of papers/fbd-prd.md: from results of `turnwise meta`, and those that it cannot compute.

    python papers/fbd_prd.py RESULTS table1|table3|plots
    python papers/fbd_prd.py DATA normality|layers|turns|unseen|few|seeds

RESULTS is the folder that `turnwise meta -o` wrote; plots are written there too. DATA is the folder of the corpora.
Every number is a signed system-level correlation; scores of metrics for which lower is better are negated first.
Vectors are cached, so a second run takes seconds.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from turnwise.logs import native
from turnwise.logs.items.items import Selection, items
from turnwise.metrics import resolve
from turnwise.stats.correlation import STATISTICS
from turnwise.types import Item, NeedsFitting

COPY = "empathetic"  # a corpus that is `dailyh` in another order
PUBLISHED = {  # Table 1, BLEU: Spearman and Pearson, absolute
    "personam": (0.400, 0.672),
    "dailyh": (0.445, 0.444),
    "convai2": (0.800, 0.801),
    "empathetic": (0.136, 0.331),
    "dailyz": (0.595, 0.421),
    "personaz": (0.400, 0.390),
}
SIX = tuple(PUBLISHED)
FILES = {name: f"{name}.jsonl.gz" for name in ("fbd", "grade", "dstc7")} | {"usr": "usr_persona.jsonl"}


Record = dict[str, Any]  # a result of `turnwise meta`


def records(folder: Path) -> list[Record]:
    """The system-level results of a run of `turnwise meta`."""
    found: list[Record] = json.loads((folder / "results.json").read_text())["results"]
    return [record for record in found if record.get("level") == "system"]


def table1(folder: Path) -> None:
    """Table 1: all metrics on the six corpora, each with its default dimension."""
    found = records(folder)
    print(f"| | {' | '.join(SIX)} | mean of six | absolute | mean of five |\n|{'---|' * (len(SIX) + 4)}")
    for metric in dict.fromkeys(record["metric"] for record in found):
        values = np.array([_pair(found, metric, corpus, default(found, corpus)) for corpus in SIX])
        five = values[[corpus != COPY for corpus in SIX]]
        last = (values.mean(axis=0), np.abs(values).mean(axis=0), five.mean(axis=0))
        print(f"| `{metric}` | {' | '.join(_two(pair) for pair in (*values, *last))} |")


def table3(folder: Path) -> None:
    """Table 3: all metrics on every dimension of Daily(Z)."""
    found = records(folder)
    names = [record["dimension"] for record in found if record["group"] == "dailyz"]
    dimensions = list(dict.fromkeys(names))
    print(f"| | {' | '.join(dimensions)} |\n|{'---|' * (len(dimensions) + 1)}")
    for metric in dict.fromkeys(record["metric"] for record in found):
        pairs = (_pair(found, metric, "dailyz", dimension) for dimension in dimensions)
        print(f"| `{metric}` | {' | '.join(map(_two, pairs))} |")


def default(found: Sequence[Record], corpus: str) -> str:
    """The dimension `overall` of a corpus, else its first one."""
    names = list(dict.fromkeys(record["dimension"] for record in found if record["group"] == corpus))
    return "overall" if "overall" in names else names[0]


def _pair(found: Sequence[Record], metric: str, corpus: str, dimension: str) -> tuple[float, float]:
    spearman, pearson = (_record(found, metric, corpus, dimension, name) for name in ("spearman", "pearson"))
    return spearman["estimate"], pearson["estimate"]


def _record(found: Sequence[Record], *about: str) -> Record:
    keys = ("metric", "group", "dimension", "statistic")
    return next(record for record in found if tuple(record[key] for key in keys) == about)


def plots(folder: Path) -> None:
    """Draw a bar chart of the agreement by metric and corpus, and a scatter plot of systems for each of them."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    found = records(folder)
    metrics = list(dict.fromkeys(record["metric"] for record in found))
    figure, axis = pyplot.subplots(figsize=(9, 3.6), layout="constrained")
    width = 0.8 / len(metrics)
    for place, metric in enumerate(metrics):
        heights = [_pair(found, metric, corpus, default(found, corpus))[0] for corpus in SIX]
        where = np.arange(len(SIX)) + (place - (len(metrics) - 1) / 2) * width
        axis.bar(where, heights, width, label=metric)
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set(ylabel="Spearman with people", ylim=(-1.05, 1.05), xticks=range(len(SIX)), xticklabels=SIX)
    axis.legend(ncols=len(metrics), fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    figure.savefig(folder / "bars.png", dpi=110)

    shape = (len(metrics), len(SIX))
    figure, axes = pyplot.subplots(
        *shape, figsize=(11, 1.7 * len(metrics)), layout="constrained", squeeze=False
    )
    for row, metric in zip(axes, metrics, strict=True):
        for panel, corpus in zip(row, SIX, strict=True):
            record = _record(found, metric, corpus, default(found, corpus), "spearman")
            people, numbers = zip(*((one["people"], one["metric"]) for one in record["systems"]), strict=True)
            panel.scatter(people, numbers, s=12)
            panel.set_title(f"{record['estimate']:.2f}", fontsize=8, pad=2)
            panel.tick_params(labelsize=6)
        row[0].set_ylabel(metric, fontsize=9)
    for panel, corpus in zip(axes[-1], SIX, strict=True):
        panel.set_xlabel(f"people, {corpus}", fontsize=8)
    figure.suptitle("A point is a system, the number above a panel Spearman's, oriented", fontsize=9)
    figure.savefig(folder / "scatter.png", dpi=70)
    print(f"{folder / 'bars.png'}\n{folder / 'scatter.png'}")


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
        rated = list(items(native.read(str(path)), Selection(items="rated", by=by)))
        return cls(rated, {key: float(np.mean(found)) for key, found in values.items()})

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
    """Spearman and Pearson correlation, by group, of one number per system (in the order of `Corpus.systems`)."""
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
    """The metric's score of each system, by group; negated if lower is better."""
    metric = fitted(corpus, name)
    rows = metric.rows(corpus.items)
    sign = 1 if metric.higher_is_better else -1
    return {
        group: [sign * metric.reduce(rows[np.array(places)]) for places in corpus.systems(group).values()]
        for group in corpus.groups()
    }


def fitted(corpus: Corpus, name: str) -> Any:
    metric = resolve(name)
    return metric.fit(corpus.items) if isinstance(metric, NeedsFitting) else metric


def normality(data: Path) -> None:
    """Shapiro-Wilk's W of each dimension of the real pairs' vectors, and the mean of W and p."""
    from scipy.stats import shapiro

    corpus = Corpus.read(data / FILES["fbd"], "meta.corpus")
    print("| vectors | corpus | W | mean of W and p |\n|---|---|---|---|")
    for name in ("fbd-paper", "fbd"):
        for group, real in fitted(corpus, name).real.items():
            # One dimension of [CLS] is constant.
            varying = real.vectors.T[np.ptp(real.vectors, axis=0) > 1e-12]
            tests = np.array([tuple(shapiro(column)) for column in varying])
            both = tests.mean(axis=1)
            w = f"{tests[:, 0].mean():.2f} ± {tests[:, 0].std():.2f}"
            print(f"| {name} | {group} | {w} | {both.mean():.2f} ± {tests.std():.2f} |")


def layers(data: Path) -> None:
    corpus = Corpus.read(data / FILES["fbd"], "meta.corpus")
    settings = [f"{name}[layer={layer}]" for name in ("fbd", "fbd-paper") for layer in range(1, 7)]
    settings += [f"fbd[model={model}]" for model in ("wordllama", "word2vec", "hashing")]
    # Slow ones last.
    settings += ["fbd-paper", "fbd", "prd", "mmd", "fbd[model=smollm2]", "fbd[also=smollm2]"]
    _table(corpus, settings)


def turns(data: Path) -> None:
    grade, usr = Corpus.read(data / FILES["grade"], "meta.corpus"), Corpus.read(data / FILES["usr"])
    print("| turns | grade, usr_persona: Spearman, Pearson | mean |\n|---|---|---|")
    for count in (1, 2, 3, 4, 6, 0):
        name = f"fbd[turns={count}]"
        found = {**correlations(grade, numbers(grade, name)), **correlations(usr, numbers(usr, name))}
        each = "; ".join(f"{group or 'usr_persona'} {_two(value)}" for group, value in found.items())
        print(f"| {count or 'all'} | {each} | {_two(np.mean(list(found.values()), axis=0))} |", flush=True)


def unseen(data: Path) -> None:
    grade, usr = Corpus.read(data / FILES["grade"], "meta.corpus"), Corpus.read(data / FILES["usr"])
    dstc7 = Corpus.read(data / FILES["dstc7"])
    print("| metric | corpus | Spearman, Pearson |\n|---|---|---|")
    for name in ("fbd", "fbd-paper", "prd", "mmd", "bleu-4", "fbd[also=smollm2]"):  # the slow one last
        for group, value in correlations(grade, numbers(grade, name)).items():
            print(f"| {name} | grade {group} | {_two(value)} |", flush=True)
        print(f"| {name} | usr_persona | {_two(correlations(usr, numbers(usr, name))[''])} |", flush=True)
        if name != "fbd-paper":
            for dimension in ("relevance", "informativeness"):
                value = correlations(dstc7, numbers(dstc7, name), dimension)[""]
                print(f"| {name} | dstc7 {dimension} | {_two(value)} |", flush=True)


def seeds(data: Path) -> None:
    """The variation of `prd` and `prd-paper` over k-means seeds, for the latter also with scikit-learn's k-means."""
    from sklearn.cluster import MiniBatchKMeans

    from turnwise.metrics.distribution import curve

    def peer(points: Any, k: int, *, weights: Any, rng: np.random.Generator, size: int) -> Any:
        model = MiniBatchKMeans(k, n_init=10, batch_size=size, random_state=int(rng.integers(2**31)))
        return model.fit(points, sample_weight=weights).labels_

    corpus, own = Corpus.read(data / FILES["fbd"], "meta.corpus"), curve.mini_batches
    methods = (("prd", own), ("prd-paper", own), ("prd-paper, scikit-learn", peer))
    print(
        "| mean of six over 8 seeds | signed | its deviation | absolute | its deviation |\n|---|---|---|---|---|"
    )
    for name, clusters in methods:
        curve.mini_batches = clusters
        plain = name.partition(",")[0]
        found = [correlations(corpus, numbers(corpus, f"{plain}[seed={seed}]")) for seed in range(8)]
        values = np.array([list(one.values()) for one in found])  # (8, 6, 2)
        means = (values.mean(axis=1), np.abs(values).mean(axis=1))
        cells = (_two(of) for mean in means for of in (mean.mean(axis=0), mean.std(axis=0, ddof=1)))
        print(f"| `{name}` | {' | '.join(cells)} |", flush=True)


def few(data: Path) -> None:
    """Rank correlation of FBD from n replies per system with FBD from all replies: the reason for the minimum of 50."""
    corpus = Corpus.read(data / FILES["fbd"], "meta.corpus")
    metric = fitted(corpus, "fbd")
    rows, rng = metric.rows(corpus.items), np.random.default_rng(0)
    print("| replies a system | dailyz | personaz |\n|---|---|---|")
    for n in (10, 20, 30, 50, 75):
        cells = []
        for group in ("dailyz", "personaz"):
            places = [np.array(at) for at in corpus.systems(group).values()]
            whole = np.array([metric.reduce(rows[at]) for at in places])
            drawn = [
                np.array([metric.reduce(rows[rng.permutation(at)[:n]]) for at in places]) for _ in range(50)
            ]
            cells.append(f"{np.mean([STATISTICS['spearman'](one, whole) for one in drawn]):.2f}")
        print(f"| {n} | {' | '.join(cells)} |")


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
    table.__name__: table for table in (table1, table3, plots, normality, layers, turns, unseen, few, seeds)
}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in TABLES:
        sys.exit(__doc__)
    TABLES[sys.argv[2]](Path(sys.argv[1]))
