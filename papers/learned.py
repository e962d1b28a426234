"""`python -m papers.learned DATA`: learned metrics against people on nine groups of rated replies: papers/learned.md.

Every number is of ratings that the metric had not seen: `turnwise` and `usr-full` are fitted anew for each group on the
other eight (leave one corpus out), and their ingredients are chosen inside those eight (nested). Heads never see a
rating, nor a dialogue that shares a turn with a rated item. Needs `turnwise fetch minilm smollm2`.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from papers.rated_corpora import GROUPS, Rated, rated
from turnwise.encode.folder import load, shipped
from turnwise.encode.weights import NotFetched
from turnwise.logs import native
from turnwise.logs.items import Selection, items
from turnwise.metrics import resolve
from turnwise.metrics.learned.calibration import _fitted
from turnwise.metrics.learned.own import is_copy
from turnwise.metrics.learned.signals import Signals, prior
from turnwise.metrics.learned.usr_full import PARTS, part_of, scores
from turnwise.metrics.learned.weights import PENALTY, Weights, ridge
from turnwise.metrics.models import text_encoder
from turnwise.ratings.ceiling import ceiling
from turnwise.stats.clusters import codes
from turnwise.stats.correlation import STATISTICS
from turnwise.stats.interval import interval_of_correlation
from turnwise.types import Floats

METRICS = ("relatedness", "usr-ret[context=one]", "usr-ret", "maude", "att", "loglik", "usr-mlm")
PENALTIES = (
    500.0,
    1000.0,
    4000.0,
)  # beside `PENALTY`, which is used throughout: rows to see how little it matters
DRAWS = 400
# The means over nine corpora of this kind that others published (README of exe1023/DialEvalMetrics).
PUBLISHED = {"DEB": 0.398, "GRADE": 0.391, "USL-H": 0.384, "USR": 0.382}
# Kinds of columns, in the order in which they may be left out.
KINDS: dict[str, Callable[[str], bool]] = {
    "all": lambda name: True,
    "without crossed columns": lambda name: " x " not in name,
    "without neighbours": lambda name: not name.startswith(("answers", "questions", "usual", "pmi")),
    "without heads": lambda name: not name.startswith("head"),
    "without cosines": lambda name: not name.startswith("cosine"),
    "without counts": lambda name: name.startswith(
        ("head", "answers", "questions", "usual", "pmi", "cosine")
    ),
}
Cell = tuple[float, float, tuple[float, float] | None]  # Spearman, Pearson, interval of Spearman
FRAUDS: dict[str, Callable[[str], str]] = {
    "a copy of the last turn": lambda last: last,
    "yes.": lambda last: "yes.",
    "you said X, really?": lambda last: f"you said {last}, really?",
    "that's great! i love it.": lambda last: "that's great! i love it.",
    "i love music...": lambda last: "i love music. what kind of music do you like?",
}
SOURCES = {name: file for name, (file, _, _) in GROUPS.items()}


def agreement(group: Rated, predicted: Floats) -> Cell:
    known = ~np.isnan(predicted)
    x, y = predicted[known], np.array(group.values)[known]
    if known.sum() < 3 or np.ptp(x) == 0:
        return float("nan"), float("nan"), None
    of, n = codes([item.cluster for item, keep in zip(group.items, known, strict=True) if keep])
    bounds, _ = interval_of_correlation("spearman", x, y, of, n, draws=DRAWS, rng=np.random.default_rng(0))
    return float(STATISTICS["spearman"](x, y)), float(STATISTICS["pearson"](x, y)), bounds


class Corpora:
    """The nine groups with the signals of each."""

    def __init__(self, data: Path) -> None:
        self.groups = list(rated(data))
        folder = load(shipped("turnwise") or "", "turnwise")
        signals = Signals.load(folder)
        self.columns = signals.columns
        self.tables = [signals.table(group.items, text_encoder("minilm")) for group in self.groups]
        self.values = [np.array(group.values) for group in self.groups]
        self.copies = [np.array([is_copy(item) for item in group.items]) for group in self.groups]

    def fit(
        self, training: Sequence[int], kind: str, penalty: float, tables: list[Floats] | None = None
    ) -> Weights:
        """The ridge of these groups on one kind of columns, or on the columns of other tables."""
        start = None
        if tables is None:
            chosen = self.chosen(kind)
            tables, start = (
                [table[:, chosen] for table in self.tables],
                prior([self.columns[at] for at in chosen]),
            )
        known = {m: ~np.isnan(tables[m]).any(axis=1) for m in training}
        x, y = [tables[m][known[m]] for m in training], [self.values[m][known[m]] for m in training]
        return ridge(x, y, penalty=penalty, prior=start)

    def chosen(self, kind: str) -> list[int]:
        return [at for at, name in enumerate(self.columns) if KINDS[kind](name)]

    def predict(self, n: int, training: Sequence[int], kind: str, penalty: float) -> Floats:
        found = self.fit(training, kind, penalty).predict(self.tables[n][:, self.chosen(kind)])
        found[self.copies[n]] = np.nanquantile(found, 0.01)
        return found

    def spearman(self, n: int, training: Sequence[int], kind: str, penalty: float) -> float:
        found = self.predict(n, training, kind, penalty)
        known = ~np.isnan(found)
        return float(STATISTICS["spearman"](found[known], self.values[n][known]))

    def nested(self, n: int, *, apart: Callable[[int, int], bool]) -> tuple[Floats, str, float]:
        """The group foretold from the others by the variant that is best inside the others."""
        training = [m for m in range(len(self.groups)) if m != n and not apart(n, m)]
        variants = [(kind, PENALTY) for kind in KINDS]
        inner = {
            variant: np.mean([self.spearman(m, [k for k in training if k != m], *variant) for m in training])
            for variant in variants
        }
        best = max(variants, key=lambda variant: inner[variant])
        return self.predict(n, training, *best), *best

    def calibrated(self, n: int, count: int, draws: int = 20) -> float:
        """Mean Spearman on the rest of a group, after `count` of its own ratings."""
        weights = self.fit([m for m in range(len(self.groups)) if m != n], "all", PENALTY)
        table = self.tables[n]
        known = np.flatnonzero(~np.isnan(table).any(axis=1))
        x, y = weights.standard(table[known]), self.values[n][known]
        rng, found = np.random.default_rng(0), []
        for _ in range(draws):
            order = rng.permutation(len(y))
            mine, rest = order[:count], order[count:]
            if np.ptp(y[mine]) > 0:
                own, offset = _fitted(x[mine], y[mine], weights.weights, 300.0)
                found.append(STATISTICS["spearman"](x[rest] @ own + offset, y[rest]))
        return float(np.mean(found))


def same_source(corpora: Corpora) -> Callable[[int, int], bool]:
    names = [group.name for group in corpora.groups]
    return lambda n, m: SOURCES[names[n]] == SOURCES[names[m]]


def rows(corpora: Corpora) -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = {}
    every = range(len(corpora.groups))
    for name in METRICS:
        try:
            metric = resolve(name)
            str(metric.signature)
        except NotFetched as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        found[name] = [agreement(group, metric.of_sums(metric.rows(group.items))) for group in corpora.groups]
        print(f"{name} done", file=sys.stderr, flush=True)
    parts = [part_of(name) for name in PARTS.split("+")]
    tables = [scores(parts, group.items) for group in corpora.groups]
    full = [corpora.fit([m for m in every if m != n], "all", 1.0, tables).predict(tables[n]) for n in every]
    found["usr-full, corpus left out"] = [agreement(g, p) for g, p in zip(corpora.groups, full, strict=True)]
    for label, apart in (
        ("**turnwise**, corpus left out, nested", lambda n, m: False),
        ("turnwise, whole publication left out, nested", same_source(corpora)),
    ):
        predicted = [corpora.nested(n, apart=apart) for n in every]
        found[label] = [agreement(g, p[0]) for g, p in zip(corpora.groups, predicted, strict=True)]
        print(label, [p[1:] for p in predicted], file=sys.stderr, flush=True)
    for kind, penalty in [(kind, PENALTY) for kind in KINDS] + [("all", other) for other in PENALTIES]:
        predicted_ = [corpora.predict(n, [m for m in every if m != n], kind, penalty) for n in every]
        found[f"turnwise, {kind}, penalty {penalty:g}"] = [
            agreement(g, p) for g, p in zip(corpora.groups, predicted_, strict=True)
        ]
    return found


def text_of(cell: Cell) -> str:
    spearman, pearson, bounds = cell
    if np.isnan(spearman):
        return "-"
    return f"{spearman:.3f} {pearson:.3f}" + (f" [{bounds[0]:.2f}, {bounds[1]:.2f}]" if bounds else "")


def table(found: dict[str, list[Cell]], corpora: Corpora) -> str:
    head = ["metric", "mean Spearman", *(group.name for group in corpora.groups)]
    lines = [head, ["---"] * len(head)]
    for name, cells in found.items():
        lines.append([name, f"{np.mean([cell[0] for cell in cells]):.3f}", *map(text_of, cells)])
    best = [ceiling(group.gold.matrix).correlation for group in corpora.groups]
    lines.append(["*ceiling of a perfect metric*", "-", *("-" if np.isnan(c) else f"{c:.3f}" for c in best)])
    lines += [
        [f"*{name}, as published*", f"{value:.3f}", *["-"] * len(corpora.groups)]
        for name, value in PUBLISHED.items()
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def frauds(data: Path) -> str:
    """How often the reply that a person gave stands above a fraud, on the 60 contexts of usr_persona."""
    real = [
        d for d in native.read(str(data / "usr_persona.jsonl")) if d.meta["system"] == "Original Ground Truth"
    ]
    given = list(items(real, Selection(judged="rated", dimension="overall")))
    lines = [["metric", *FRAUDS], ["---"] * (len(FRAUDS) + 1)]
    for name in ("turnwise", "usr-ret", "maude", "att"):
        metric = resolve(name)
        people = metric.rows(given)[:, 0]
        shares = []
        for fraud in FRAUDS.values():
            told = [fraud(item.context[-1].text) for item in given]
            fakes = [
                replace(item, turns=(*item.turns[:-1], replace(item.turns[-1], content=text)))
                for item, text in zip(given, told, strict=True)
            ]
            shares.append(f"{np.mean(people > metric.rows(fakes)[:, 0]):.2f}")
        lines.append([f"`{name}`", *shares])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    corpora = Corpora(Path(sys.argv[1]))
    found = rows(corpora)
    counts = {
        count: np.mean([corpora.calibrated(n, count) for n in range(len(GROUPS))]) for count in (30, 60, 100)
    }
    page = Path(__file__).with_suffix(".md")
    before, _, _ = page.read_text().partition("## The table")
    variants = f"{len(KINDS)} sets of columns, at a penalty of {PENALTY:g}"
    more = "\n".join(f"| {count} | {value:.3f} |" for count, value in counts.items())
    page.write_text(
        f"{before}## The table\n\nCompared inside each left-out corpus: {variants}.\n\n{table(found, corpora)}\n\n"
        "## With ratings of the tested corpus\n\nMean Spearman over the nine groups on the replies that were not rated "
        f"(20 draws each).\n\n| own ratings | mean Spearman |\n| --- | --- |\n{more}\n\n"
        "## Frauds\n\nShare of 60 PersonaChat contexts in which the person's own reply stands above the fraud. The "
        f"shipped `turnwise` has seen ratings of these very replies.\n\n{frauds(Path(sys.argv[1]))}\n"
    )
    kept = {name: [[c[0], c[1], c[2]] for c in cells] for name, cells in found.items()}
    (page.parent / "learned.json").write_text(
        json.dumps({"groups": list(GROUPS), "cells": kept}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
