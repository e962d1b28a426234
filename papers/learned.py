"""`python -m papers.learned DATA [PART...]`: agreement of learned metrics with ratings on nine groups of replies.

No metric is tested on ratings that it was trained on: `turnwise`, `turnwise-large` and `usr-full` are fitted again for
each group on the other eight (leave one corpus out). Readers and heads are trained without ratings and on dialogues
that share no turn with a rated item. The signals and settings of `turnwise` were chosen on five of the groups
(papers/learned.md says how strictly). Each part writes its results to papers/learned.json, from which `learned_page.py`
makes the tables of papers/learned.md. Needs `turnwise fetch minilm smollm2 word2vec`.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from papers.flagship import taught
from papers.flagship.contexts import TAUGHT_FREE, for_teaching
from papers.flagship.prepare import PROBED
from papers.learned_page import PAGE, page
from papers.rated_corpora import GROUPS, Rated, rated
from turnwise.encode.models.catalogue import NotFetched
from turnwise.encode.models.folder import load, shipped
from turnwise.errors import DataError
from turnwise.logs import native
from turnwise.logs.items.items import Selection, items
from turnwise.metrics import resolve
from turnwise.metrics.learned.held_out import context_groups
from turnwise.metrics.learned.trained import encoder_of
from turnwise.metrics.learned.turnwise.calibration import calibrate
from turnwise.metrics.learned.turnwise.metric import is_copy
from turnwise.metrics.learned.turnwise.ridge import RidgeWeights, fit_ridge
from turnwise.metrics.learned.turnwise.signals import PENALTY, Signals
from turnwise.metrics.learned.usr.full import PARTS as SUB_METRICS
from turnwise.metrics.learned.usr.full import scores, sub_metric
from turnwise.ratings.ceiling import ceiling
from turnwise.stats.clusters import cluster_sums, codes
from turnwise.stats.correlation import STATISTICS
from turnwise.stats.interval import interval_of_correlation
from turnwise.types import Floats, Item, Metric

KEPT = Path(__file__).with_suffix(".json")
METRICS = ("relatedness", "usr-ret[context=one]", "usr-ret", "maude", "att", "loglik")
MASKED = "usr-ret+usr-ret[context=one]+usr-mlm"  # USR's own sub-metrics: a masked language model instead of `loglik`
REFERENCED = (
    "bleu-1 bleu-2 bleu-3 bleu-4 rouge-1 rouge-2 rouge-l rouge-l-b1.2 meteor chrf average greedy extrema extrema-max "
    "bertscore-p bertscore-r bertscore adem-start"
).split()
DRAWS = 400  # bootstrap samples of an interval
OWN_DRAWS = 20  # random sets of a user's own ratings
COUNTS = (30, 60, 100)  # numbers of a user's own ratings
MANY = 4  # systems needed for a correlation over systems
READ = (
    "log p",
    "score",
    "likelihood ",
    "contradicts",
    "follows",
    "natural",
    "informed",
    "small ",
)  # beginnings of the readers' columns
# Sets of columns for the ablation: name -> which columns are used.
KINDS: dict[str, Callable[[str], bool]] = {
    "all": lambda name: True,
    "the reader alone": lambda name: name.startswith(READ),
    "without the reader": lambda name: not name.startswith(READ),
    "without crossed columns": lambda name: " x " not in name,
    "without neighbours": lambda name: not name.startswith(("answers", "questions", "usual", "pmi")),
    "without heads": lambda name: not name.startswith("head"),
    "without cosines": lambda name: not name.startswith("cosine"),
    "without counts": lambda name: name.startswith(
        ("head", "answers", "questions", "usual", "pmi", "cosine", *READ)
    ),
}
Cell = list[Any] | None  # Spearman, Pearson, their intervals; None: no number
FRAUDS: dict[str, Callable[[str], str]] = {
    "a copy of the last turn": lambda last: last,
    "yes.": lambda last: "yes.",
    "you said X, really?": lambda last: f"you said {last}, really?",
    "that's great! i love it.": lambda last: "that's great! i love it.",
    "i love music...": lambda last: "i love music. what kind of music do you like?",
}
SOURCES = {name: file for name, (file, _, _) in GROUPS.items()}


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def agreement(group: Rated, predicted: Floats) -> Cell:
    """Spearman, Pearson and their intervals (resampling whole contexts); None if they are undefined."""
    known = ~np.isnan(predicted)
    x, y = predicted[known], np.array(group.values)[known]
    if known.sum() < 3 or np.ptp(x) == 0:
        return None
    of, n = codes([str(code) for code in context_groups(group.items)[known]])
    bounds = [
        interval_of_correlation(name, x, y, of, n, draws=DRAWS, rng=np.random.default_rng(0))[0]
        for name in ("spearman", "pearson")
    ]
    return [float(STATISTICS["spearman"](x, y)), float(STATISTICS["pearson"](x, y)), *bounds]


def over_systems(group: Rated, predicted: Floats) -> float | None:
    """Pearson of the systems' mean scores and mean ratings."""
    known = ~np.isnan(predicted)
    of, n = codes([item.agent for item, keep in zip(group.items, known, strict=True) if keep])
    if n < MANY:
        return None
    sums = cluster_sums(np.stack([predicted[known], np.array(group.values)[known]], axis=1), of, n)
    means = sums / np.bincount(of)[:, None]
    return float(STATISTICS["pearson"](means[:, 0], means[:, 1]))


def numbers(metric: Metric, group: Rated) -> Floats:
    """(n,) the metric's scores of a group; NaN for items without a reference that the metric needs."""
    there = [at for at, item in enumerate(group.items) if item.references or "references" not in metric.needs]
    found = np.full(len(group.items), np.nan)
    if there:
        found[there] = metric.of_sums(metric.rows([group.items[at] for at in there]))
    return found


class Corpora:
    """The nine groups with the signals of an edition of `turnwise`, and the ratings."""

    def __init__(self, data: Path, edition: str = "turnwise", groups: Sequence[Rated] = ()) -> None:
        self.data, self.free = data, edition.endswith("-free")
        self.groups = list(groups or rated(data))
        model = load(shipped(edition) or "", edition.removesuffix("-free").removesuffix("-fp32"))
        self.signals, self.encoder = Signals.load(model), encoder_of(model)
        self.columns = self.signals.columns
        self.values = [np.array(group.values) for group in self.groups]
        self.copies = [np.array([is_copy(item) for item in group.items]) for group in self.groups]

    @cached_property
    def tables(self) -> list[Floats]:
        """The signals of each group's replies."""
        return [self._table(group.items) for group in self.groups]

    @cached_property
    def frauds(self) -> tuple[Floats, Floats] | None:
        """The signals of people's replies and of the frauds that are taught."""
        return taught.pairs(for_teaching(self.data, TAUGHT_FREE if self.free else PROBED), self._table)

    def _table(self, some: Sequence[Item]) -> Floats:
        return self.signals.table(some, self.encoder)

    def fit(
        self, training: Sequence[int], kind: str, penalty: float, tables: list[Floats] | None = None
    ) -> RidgeWeights:
        """Ridge regression on these groups, with one set of columns or with other tables."""
        if tables is not None:
            x, y = self.known(tables, training)
            return fit_ridge(x, y, penalty=penalty)
        chosen = self.chosen(kind)
        x, y = self.known([table[:, chosen] for table in self.tables], training)
        frauds = None if self.frauds is None else (self.frauds[0][:, chosen], self.frauds[1][:, chosen])
        return taught.fit([self.columns[at] for at in chosen], x, y, frauds, penalty=penalty)

    def known(self, tables: list[Floats], training: Sequence[int]) -> tuple[list[Floats], list[Floats]]:
        """The rows without a missing signal, and their ratings, of the training groups."""
        known = {m: ~np.isnan(tables[m]).any(axis=1) for m in training}
        return [tables[m][known[m]] for m in training], [self.values[m][known[m]] for m in training]

    def chosen(self, kind: str) -> list[int]:
        """The indices of a set of columns."""
        return [at for at, name in enumerate(self.columns) if KINDS[kind](name)]

    def predict(self, n: int, training: Sequence[int], kind: str, penalty: float) -> Floats:
        """Predictions for group n by a regression on the training groups; copies get a low score."""
        found = self.fit(training, kind, penalty).predict(self.tables[n][:, self.chosen(kind)])
        found[self.copies[n]] = np.nanquantile(found, 0.01)
        return found

    def spearman(self, n: int, training: Sequence[int], kind: str, penalty: float) -> float:
        found = self.predict(n, training, kind, penalty)
        known = ~np.isnan(found)
        return float(STATISTICS["spearman"](found[known], self.values[n][known]))

    def left_out(self, kind: str, apart: Callable[[int, int], bool] = lambda n, m: False) -> list[Floats]:
        """Predictions for every group by a regression on the others that are not kept apart from it."""
        every = range(len(self.groups))
        return [
            self.predict(n, [m for m in every if m != n and not apart(n, m)], kind, PENALTY) for n in every
        ]

    def calibrated(self, n: int, count: int) -> Iterator[tuple[float, float]]:
        """After calibration to `count` of the group's own ratings, as in `train turnwise`: Spearman on replies of the
        other contexts, and the share of them inside their interval. One pair for each random draw of ratings."""
        weights = self.fit([m for m in range(len(GROUPS)) if m != n], "all", PENALTY)
        known = np.flatnonzero(~np.isnan(self.tables[n]).any(axis=1))
        x, y, copies = (
            weights.standardise(self.tables[n][known]),
            self.values[n][known],
            self.copies[n][known],
        )
        contexts = context_groups([self.groups[n].items[at] for at in known])
        rng = np.random.default_rng(0)
        for _ in range(OWN_DRAWS):
            order = rng.permutation(contexts.max() + 1)
            rows = np.concatenate([np.flatnonzero(contexts == code) for code in order])
            mine = rows[:count]
            rest = rows[~np.isin(contexts[rows], contexts[mine])]
            try:
                own = calibrate(x[mine], y[mine], contexts[mine], weights.weights, rng=rng)
            except DataError:  # only one context, or equal ratings: the command refuses these too
                continue
            found = x @ own.weights + own.offset
            found[copies] = np.quantile(found[mine], 0.01)
            inside = np.abs(y[rest] - found[rest]) <= own.half_width
            yield float(STATISTICS["spearman"](found[rest], y[rest])), float(np.mean(inside))


def same_source(corpora: Corpora) -> Callable[[int, int], bool]:
    names = [group.name for group in corpora.groups]
    return lambda n, m: SOURCES[names[n]] == SOURCES[names[m]]


def by_name(names: Sequence[str]) -> Callable[[Corpora], dict[str, Any]]:
    """A part with the rows of metrics that are not trained on ratings."""

    def part(corpora: Corpora) -> dict[str, Any]:
        found = {}
        for name in names:
            try:
                metric = resolve(name)
                str(metric.signature)
            except NotFetched as error:
                say(f"{name}: {error}")
                continue
            found[name] = [numbers(metric, group) for group in corpora.groups]
            say(f"{name} done")
        return laid_out(corpora, found)

    return part


def full(label: str, names: str) -> Callable[[Corpora], dict[str, Any]]:
    """A part with the row of `usr-full` on these sub-metrics."""

    def part(corpora: Corpora) -> dict[str, Any]:
        every = range(len(corpora.groups))
        parts = [sub_metric(name) for name in names.split("+")]
        tables = [scores(parts, group.items) for group in corpora.groups]
        found = [
            corpora.fit([m for m in every if m != n], "all", 1.0, tables).predict(tables[n]) for n in every
        ]
        return laid_out(corpora, {label: found})

    return part


def edition(
    name: str, folder: str = "", *, kinds: Sequence[str] = tuple(KINDS)
) -> Callable[[Corpora], dict[str, Any]]:
    """A part with the rows of an edition of `turnwise`: corpus and publication left out, without parts, its reader."""

    def part(corpora: Corpora) -> dict[str, Any]:
        if name != "turnwise":
            corpora = Corpora(corpora.data, folder or name, corpora.groups)
        found = {
            f"**{name}**, corpus left out": corpora.left_out("all"),
            f"{name}, whole publication left out": corpora.left_out("all", same_source(corpora)),
            **{f"{name}, {kind}": corpora.left_out(kind) for kind in kinds if kind != "all"},
            f"{name}: the reader's score, which has seen no rating": [
                table[:, corpora.columns.index("score")] for table in corpora.tables
            ],
        }
        return laid_out(corpora, found)

    return part


def laid_out(corpora: Corpora, found: dict[str, list[Floats]]) -> dict[str, Any]:
    """The agreement over replies and over systems, for each row and group."""

    def each(of: Callable[[Rated, Floats], Any]) -> dict[str, list[Any]]:
        return {
            name: [of(g, p) for g, p in zip(corpora.groups, row, strict=True)] for name, row in found.items()
        }

    return {"cells": each(agreement), "systems": each(over_systems)}


def with_ratings(corpora: Corpora) -> dict[str, Any]:
    """Spearman and coverage after calibration, as means over draws and then over groups."""
    found = {}
    for count in COUNTS:
        means = [np.mean(list(corpora.calibrated(n, count)), axis=0) for n in range(len(corpora.groups))]
        found[str(count)] = dict(zip(("spearman", "coverage"), np.mean(means, axis=0).tolist(), strict=True))
    return {"calibrated": found}


def frauds(corpora: Corpora) -> dict[str, Any]:
    """The share of the 60 contexts of usr_persona in which people's own reply scores above a fraud."""
    path = str(corpora.data / "usr_persona.jsonl")
    real = [d for d in native.read(path) if d.meta["system"] == "Original Ground Truth"]
    given = list(items(real, Selection(items="rated", dimension="overall")))
    found: dict[str, dict[str, float]] = {}
    for name in ("turnwise", "turnwise-large", "usr-ret", "maude", "att"):
        metric = resolve(name)
        people = metric.rows(given)[:, 0]
        for label, fraud in FRAUDS.items():
            fakes = [
                replace(
                    item,
                    turns=(*item.turns[:-1], replace(item.turns[-1], content=fraud(item.context[-1].text))),
                )
                for item in given
            ]
            gaps = people - metric.rows(fakes)[:, 0]
            found.setdefault(name, {})[label] = float(np.mean(gaps[~np.isnan(gaps)] > 0))
    return {"frauds": found}


PARTS: dict[str, Callable[[Corpora], dict[str, Any]]] = {
    "metrics": by_name(METRICS), "references": by_name(REFERENCED),
    "turnwise": edition("turnwise"), "turnwise-large": edition("turnwise-large"),
    "float32": edition("turnwise[precision=fp32]", "turnwise-fp32", kinds=()),
    "free": edition("turnwise-large[trained=free]", "turnwise-large-free", kinds=()),
    "usr-full": full("usr-full, corpus left out", SUB_METRICS), "masked": by_name(("usr-mlm",)),
    "usr-full-masked": full("usr-full with `usr-mlm`, corpus left out", MASKED),
    "calibrated": with_ratings, "frauds": frauds, "pmi": by_name(("pmi",)),
}  # fmt: skip


def main() -> None:
    corpora = Corpora(Path(sys.argv[1]))
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    kept["groups"] = list(GROUPS)
    limits = [ceiling(group.gold.matrix).correlation for group in corpora.groups]
    kept["ceiling"] = [None if np.isnan(limit) else limit for limit in limits]
    for part in sys.argv[2:] or PARTS:
        for name, found in PARTS[part](corpora).items():
            kept[name] = {**kept.get(name, {}), **found}
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
        say(f"{part}: written")
    before, _, _ = PAGE.read_text().partition("## The table")
    PAGE.write_text(before + page(kept))


if __name__ == "__main__":
    main()
