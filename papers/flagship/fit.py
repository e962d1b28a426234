"""`python -m papers.flagship.fit RESULTS DATA TEXT`: from the networks' columns to agreement with ratings and frauds.

RESULTS has the files of gpu.sh, TEXT the corpus of papers.flagship.prepare. The nine rated groups are split before
anything is looked at: variants are compared on the five groups of `CHOICE` alone, each predicted from the other four,
and every comparison is written to papers/flagship/trials.jsonl. The chosen variant of each edition is then measured on
all nine groups, each predicted from the other eight, and from those of other publications; the four groups that played
no part in the choice are reported apart. Frauds are compared with people's replies on contexts that were held out.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from papers.flagship.corpus import Corpus
from papers.flagship.frauds import frauds
from papers.flagship.train_large import CHOICE
from papers.rated_corpora import GROUPS, Rated, rated
from turnwise.encode.models.folder import load, shipped
from turnwise.encode.text.normalise import plain
from turnwise.metrics.learned.turnwise.lexicon import Lexicon
from turnwise.metrics.learned.turnwise.metric import is_copy
from turnwise.metrics.learned.turnwise.ridge import RidgeWeights, fit_ridge
from turnwise.metrics.learned.turnwise.signals import Signals
from turnwise.metrics.learned.turnwise.text_features import text_features
from turnwise.metrics.models import text_encoder
from turnwise.networks.replies.columns import COLUMNS, LIKELIHOOD, RELATION, WHOLE
from turnwise.stats.correlation import STATISTICS
from turnwise.types import Floats

TRIALS = Path(__file__).with_name("trials.jsonl")
TRUSTED = ("log p(right)", "score")
CENTRES = {"turns": 1.1, "length of last": 2.3}  # of the crossed columns, as in the first edition
CROSSED = (
    "new content", "length", "rarity", "copied", "echo of last", "score", "log p(right)", "likelihood mean",
)  # fmt: skip
SETS: dict[str, tuple[str, ...]] = {  # parts of the columns
    "kinds": WHOLE, "likelihood": LIKELIHOOD, "relation": RELATION,
}  # fmt: skip


@dataclass(frozen=True)
class Variant:
    """One way to predict ratings from columns."""

    parts: tuple[str, ...]  # of SETS, and `counts`, `crossed`, `first edition`
    penalty: float = 1000.0
    prior: float = 0.1
    guard: float = 0.0  # weight of softplus(log p(copy or salad) - log p(right)), which is subtracted
    informed: float = 0.0  # weight of softplus(4 - pmi sum), which is subtracted

    def columns(self, names: Sequence[str]) -> list[int]:
        """The indices of its columns among all names."""
        return [at for at, name in enumerate(names) if part_of(name) in self.parts]


def part_of(name: str) -> str:
    """The part of the columns that a column belongs to."""
    if name.startswith("first: "):
        return "first edition"
    if " x " in name:
        return "crossed"
    return next((part for part, known in SETS.items() if name in known), "counts")


def softplus(x: Floats) -> Floats:
    return np.logaddexp(0.0, x)


class Table:
    """Named columns of replies, in float64, with NaN for a reply that has none."""

    def __init__(self, names: list[str], values: Floats) -> None:
        self.names, self.values = names, values

    def column(self, name: str) -> Floats:
        return self.values[:, self.names.index(name)]

    def penalties(self, variant: Variant) -> Floats:
        """What the variant subtracts from its prediction."""
        broken = np.logaddexp(self.column("log p(copy)"), self.column("log p(salad)"))
        return variant.guard * softplus(broken - self.column("log p(right)")) + variant.informed * softplus(
            4 - self.column("pmi sum")
        )


def with_counts(network: Floats, texts: Sequence[tuple[str, tuple[str, ...]]], lexicon: Lexicon) -> Table:
    """The network's columns, the counts in the texts, and the crossed columns."""
    rows = []
    for values, (reply, context) in zip(network.tolist(), texts, strict=True):
        row = dict(zip(COLUMNS, values, strict=True)) | text_features(reply, context, lexicon)
        for by, centre in CENTRES.items():
            row |= {f"{name} x {by}": row[name] * (row[by] - centre) for name in CROSSED}
        rows.append(row)
    return Table(list(rows[0]), np.array([list(row.values()) for row in rows]))


class Edition:
    """The nine groups with the columns of one network."""

    def __init__(
        self, groups: Sequence[Rated], network: Floats, lexicon: Lexicon, first: Sequence[Table] | None
    ) -> None:
        self.names = [group.name for group in groups]
        self.values = [np.array(group.values) for group in groups]
        self.copies = [np.array([is_copy(item) for item in group.items]) for group in groups]
        ends = np.cumsum([len(group.items) for group in groups])[:-1]
        self.tables = []
        for at, (group, part) in enumerate(zip(groups, np.split(network, ends), strict=True)):
            texts = [
                (
                    plain(item.reply),
                    tuple(t for turn in reversed(item.context) if (t := plain(turn.text)))[:6],
                )
                for item in group.items
            ]
            table = with_counts(part, texts, lexicon)
            if first is not None:
                more = first[at]
                table = Table(
                    [*table.names, *(f"first: {name}" for name in more.names)],
                    np.column_stack([table.values, more.values]),
                )
            self.tables.append(table)

    def fit(self, training: Sequence[int], variant: Variant) -> RidgeWeights:
        names = self.tables[0].names
        chosen = variant.columns(names)
        start = np.array([variant.prior if names[at] in TRUSTED else 0.0 for at in chosen])
        known = [~np.isnan(self.tables[m].values[:, chosen]).any(axis=1) for m in training]
        return fit_ridge(
            [self.tables[m].values[rows][:, chosen] for m, rows in zip(training, known, strict=True)],
            [self.values[m][rows] for m, rows in zip(training, known, strict=True)],
            penalty=variant.penalty,
            prior=start,
        )

    def predict(self, n: int, training: Sequence[int], variant: Variant) -> Floats:
        weights, table = self.fit(training, variant), self.tables[n]
        found = weights.predict(table.values[:, variant.columns(table.names)]) - table.penalties(variant)
        found[self.copies[n]] = np.nanquantile(found, 0.01)
        return found

    def spearman(self, n: int, training: Sequence[int], variant: Variant) -> float:
        found = self.predict(n, training, variant)
        known = ~np.isnan(found)
        return float(STATISTICS["spearman"](found[known], self.values[n][known]))

    def chosen_mean(self, variant: Variant) -> float:
        """Mean Spearman over the groups for choosing, each predicted from the others of them."""
        return float(np.mean([self.spearman(n, [m for m in CHOICE if m != n], variant) for n in CHOICE]))

    def left_out(self, variant: Variant, apart: Callable[[int, int], bool]) -> list[float]:
        """Spearman of each group, predicted from all groups that are not kept apart from it."""
        every = range(len(self.names))
        return [self.spearman(n, [m for m in every if m != n and not apart(n, m)], variant) for n in every]


def variants(parts: Sequence[str], more: Sequence[str]) -> Iterator[Variant]:
    """All parts, all but one, penalties, priors and terms against frauds, one change at a time."""
    whole = tuple(parts)
    yield Variant(whole)
    for extra in more:
        yield Variant((*whole, extra))
    for part in whole:
        yield Variant(tuple(other for other in whole if other != part))
    for penalty in (300.0, 3000.0):
        yield Variant(whole, penalty=penalty)
    for prior in (0.0, 0.2):
        yield Variant(whole, prior=prior)
    yield Variant(whole, guard=0.15)
    yield Variant(whole, informed=0.1)
    yield Variant(whole, guard=0.15, informed=0.1)


def log_trial(edition: str, seed: str, variant: Variant, mean: float) -> None:
    """Append a comparison to the log of trials."""
    line = {"time": time.strftime("%Y-%m-%d %H:%M"), "edition": edition, "seed": seed, **variant.__dict__}
    with TRIALS.open("a") as file:
        file.write(json.dumps({**line, "spearman": round(mean, 4)}) + "\n")


def first_edition(groups: Sequence[Rated]) -> list[Table]:
    """The columns of the first edition."""
    signals = Signals.load(load(shipped("turnwise") or "", "turnwise"))
    encoder = text_encoder("minilm")
    return [Table(signals.columns, signals.table(group.items, encoder)) for group in groups]


def beaten(
    edition: Edition, variant: Variant, network: Floats, corpus: Corpus, lexicon: Lexicon
) -> dict[str, float]:
    """Fraud -> share of the held-out contexts in which it scores above the person's own reply."""
    tested = frauds(corpus, np.random.default_rng(0))

    def text(ids: np.ndarray) -> str:
        return " ".join(corpus.words[at] for at in ids)

    texts = [
        (text(words), tuple(text(turn) for turn in reversed(context))) for _, _, context, words in tested
    ]
    table = with_counts(network, texts, lexicon)
    weights = edition.fit(range(len(edition.names)), variant)
    scores = weights.predict(table.values[:, variant.columns(table.names)]) - table.penalties(variant)
    person = {at: score for (at, name, _, _), score in zip(tested, scores, strict=True) if name == "person"}
    wins: dict[str, list[bool]] = {}
    for (at, name, _, _), score in zip(tested, scores, strict=True):
        if name != "person":
            wins.setdefault(name, []).append(score > person[at])
    return {name: float(np.mean(one)) for name, one in wins.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("text", type=Path)
    given = parser.parse_args()
    groups = list(rated(given.data))
    corpus = Corpus.load(given.text)
    lexicon = Lexicon.load(load(shipped("turnwise") or "", "turnwise").tensors)
    first = first_edition(groups)
    sources = [file for file, _, _ in GROUPS.values()]
    found: dict[str, dict[str, object]] = {}
    parts = (*SETS, "counts", "crossed")
    for kind in ("student", "large"):
        best: Variant | None = None
        for seed in ("0", "1", "2", "free-0"):
            path = given.results / f"{kind}-{seed}-rated.npz"
            if not path.exists():
                continue
            with np.load(path) as kept:
                if (
                    kind == "student"
                ):  # back from standard deviations, so that both editions have the same units
                    network, of_frauds = (
                        (kept[name] * kept["spread"] + kept["mean"]).astype(np.float64)
                        for name in ("rated", "frauds")
                    )
                else:
                    network = kept["columns"].astype(np.float64)
                    with np.load(given.results / f"large-{seed}-frauds.npz") as more:
                        of_frauds = more["columns"].astype(np.float64)
            edition = Edition(groups, network, lexicon, first)
            if best is None:  # the choice is made with the first seed, and the other seeds are measured
                tried = {
                    variant: edition.chosen_mean(variant) for variant in variants(parts, ["first edition"])
                }
                for variant, mean_found in tried.items():
                    log_trial(kind, seed, variant, mean_found)
                best = max(tried, key=lambda variant: tried[variant])
            corpus_out = edition.left_out(best, lambda n, m: False)
            published = edition.left_out(best, lambda n, m: sources[n] == sources[m])
            unseen = [n for n in range(len(groups)) if n not in CHOICE]
            found[f"{kind}-{seed}"] = {
                "variant": best.__dict__, "corpus left out": corpus_out, "publication left out": published,
                "mean": float(np.mean(corpus_out)), "mean, publication": float(np.mean(published)),
                "mean of the four": float(np.mean([corpus_out[n] for n in unseen])),
                "frauds": beaten(edition, best, of_frauds, corpus, lexicon)
                if "first edition" not in best.parts else None,
            }  # fmt: skip
            print(
                kind,
                seed,
                json.dumps({k: v for k, v in found[f"{kind}-{seed}"].items() if "mean" in k}),
                flush=True,
            )
    (given.results / "fit.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
