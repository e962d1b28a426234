"""Coverage and width of `turnwise calibrate` on rated corpora, beside the ratings alone, `ppi-python` and `cje-eval`.

`OMP_NUM_THREADS=1 python -m benchmarks.calibrate` writes benchmarks/results/calibrate.json. In a corpus in which every
item is rated, most ratings are hidden and the mean of all is known. A trial draws as many clusters as the corpus has,
with replacement, so that the corpus is the population that the interval is about; then 5, 10 or 25 % of the items keep
their rating. `fixed` is the same without drawing clusters: the intervals then cover more than they promise, because
they also account for other dialogues that might have been logged. Each setting has 500 trials, so the standard error of
a coverage of .95 is .01. `--again` repeats our own part of the settings in which our coverage left 93-97 %, with 5,000
trials (a standard error of .003), and merges it into the kept file.

`missing` is simulated: 200 items of which the metric does not score all, with 40 or 12 labels. Scores are missing among
the unrated items only, as where a judge was not paid for, or among all items alike; `lowest` are the items with the
lowest scores, else items at random. `--missing` repeats this part alone. It has 4,000 trials a setting.

Scores are kept in out/calibrate_scores.json, because the packages beside ours are not installed together with our
extras: `--scores` writes them, and a run in an environment with `ppi-python` and `cje-eval` reads them. Without the
packages their columns are left out. `ppi-python` knows no clusters and has normal quantiles. `cje-eval` is slow, and is
run on a fifth of the trials.
"""

import argparse
import importlib
import importlib.util
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.stats import norm

from turnwise.stats.ppi import Sample, calibrated, corrected_difference, corrected_mean
from turnwise.types import Floats, Ints

ROOT = Path(__file__).parents[1]
DATA = ROOT / ".." / "shared" / "data"
RESULT = Path(__file__).parent / "results" / "calibrate.json"
SCORES = ROOT / "out" / "calibrate_scores.json"
SHARES = (0.05, 0.1, 0.25)
COMMAND = "OMP_NUM_THREADS=1 python -m benchmarks.calibrate"
TRIALS = 500
MANY = 5000  # trials of settings that are repeated
MISSING_TRIALS = 4000
SEED = 20261116
GOAL = (0.93, 0.97)
# Corpus -> file, dimension and metric.
CORPORA: dict[str, tuple[str, str, str]] = {
    "usr-persona": ("usr_persona.jsonl", "overall", "turnwise"),
    "fed-turn": ("fed_turn.jsonl.gz", "overall", "turnwise"),
    "grade": ("grade.jsonl.gz", "coherence", "turnwise"),
    "engage": ("engage.jsonl", "engaging", "turnwise"),
    "dstc7": ("dstc7.jsonl.gz", "relevance", "meteor"),
    "ji2022": ("ji2022.jsonl.gz", "interesting", "length"),
    "ieval": ("ieval.jsonl.gz", "likable", "length"),
}


@dataclass(frozen=True)
class Corpus:
    name: str
    metric: str
    scores: Floats
    ratings: Floats
    clusters: Ints
    agents: list[str]
    members: list[Ints]  # places of the items of each cluster

    @property
    def scale(self) -> tuple[float, float]:
        return float(self.ratings.min()), float(self.ratings.max())


def score_corpora() -> None:
    """Write scores, mean ratings, clusters and agents of every corpus."""
    import turnwise as tw

    found = json.loads(SCORES.read_text()) if SCORES.exists() else {}
    SCORES.parent.mkdir(exist_ok=True)
    for name, (file, dimension, metric) in CORPORA.items():
        if name in found:
            continue
        with TemporaryDirectory() as folder:
            tw.meta_evaluate(
                str(DATA / file), metrics=metric, dimension=dimension, statistics="pearson", intervals=False,
                differences=False, output=folder, figures=False,
            )  # fmt: skip
            people = [json.loads(line) for line in (Path(folder) / "people.jsonl").open()]
            level = people[0]["level"]
            lines = [json.loads(line) for line in (Path(folder) / "items.jsonl").open()]
        rating = {one["id"]: one["people"] for one in people}
        units: dict[str, list[dict[str, Any]]] = {}
        for line in lines:
            unit = line["id"] if level == "turn" else line["dialogue"]
            if unit in rating and line["scores"].get(metric) is not None:
                units.setdefault(unit, []).append(line)
        found[name] = {
            "metric": metric,
            "scores": [float(np.mean([one["scores"][metric] for one in mine])) for mine in units.values()],
            "ratings": [rating[unit] for unit in units],
            "clusters": [mine[0]["cluster"] for mine in units.values()],
            "agents": [mine[0]["agent"] for mine in units.values()],
        }
        print(f"{name}: {len(units)} items scored by {metric}", file=sys.stderr)
        SCORES.write_text(json.dumps(found))


def corpora() -> Iterator[Corpus]:
    for name, one in json.loads(SCORES.read_text()).items():
        codes = np.unique(one["clusters"], return_inverse=True)[1]
        members = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
        scores, ratings = np.array(one["scores"]), np.array(one["ratings"])
        yield Corpus(name, one["metric"], scores, ratings, codes, one["agents"], members)


def metrics(corpus: Corpus) -> dict[str, Floats]:
    """The metric itself, and spoiled ones. Of the gamed one, a tenth of the items score far above all others."""
    rng = np.random.default_rng(SEED)
    top = float(corpus.scores.max() + 4 * corpus.scores.std())
    return {
        "metric": corpus.scores,
        "reversed": -corpus.scores,
        "constant": np.ones_like(corpus.scores),
        "noise": rng.normal(size=len(corpus.scores)),
        "gamed": np.where(rng.random(len(corpus.scores)) < 0.1, top, corpus.scores),
    }


def drawn(corpus: Corpus, rng: np.random.Generator, *, resample: bool) -> tuple[Ints, Ints]:
    """Places of the items of one trial, and the codes of their clusters."""
    if not resample:
        return np.arange(len(corpus.scores)), corpus.clusters
    members = corpus.members
    chosen = rng.integers(len(members), size=len(members))
    places = np.concatenate([members[code] for code in chosen])
    codes = np.repeat(np.arange(len(chosen)), [len(members[code]) for code in chosen])
    return places, codes


def labels(ratings: Floats, share: float, rng: np.random.Generator) -> Floats:
    """The ratings with all but a random share hidden."""
    kept = rng.choice(len(ratings), max(2, round(share * len(ratings))), replace=False)
    found = np.full(len(ratings), np.nan)
    found[kept] = ratings[kept]
    return found


def ppi_python(scores: Floats, ratings: Floats) -> tuple[float, float] | None:
    if importlib.util.find_spec("ppi_py") is None:
        return None
    ppi_py: Any = importlib.import_module("ppi_py")
    known = ~np.isnan(ratings)
    low, high = ppi_py.ppi_mean_ci(ratings[known], scores[known], scores[~known], alpha=0.05)
    return float(np.ravel(low)[0]), float(np.ravel(high)[0])


def cje_eval(
    scores: Floats, ratings: Floats, clusters: Ints, scale: tuple[float, float]
) -> tuple[float, float] | None:
    if importlib.util.find_spec("cje") is None:
        return None
    cje: Any = importlib.import_module("cje")
    low, high = scale
    found = cje.calibrated_mean_ci(scores, (ratings - low) / (high - low), cluster_ids=clusters)
    return low + (high - low) * found.ci[0], low + (high - low) * found.ci[1]


class Tally:
    """Coverage and mean width of one method."""

    def __init__(self) -> None:
        self.covered: list[bool] = []
        self.widths: list[float] = []
        self.failed = 0

    def add(self, interval: tuple[float, float] | None, truth: float) -> None:
        if interval is None or not np.isfinite(interval).all():
            self.failed += 1
            return
        self.covered.append(interval[0] <= truth <= interval[1])
        self.widths.append(interval[1] - interval[0])

    def record(self, alone: float) -> dict[str, Any]:
        if not self.covered:
            return {"trials": 0, "failed": self.failed}
        return {
            "trials": len(self.covered), "failed": self.failed, "coverage": round(float(np.mean(self.covered)), 4),
            "width": round(float(np.mean(self.widths)), 4),
            "width_ratio": round(float(np.mean(self.widths)) / alone, 4),
        }  # fmt: skip


def attempt(method: Callable[[], tuple[float, float] | None]) -> tuple[float, float] | None:
    """The interval of another package; None where it raises an error, which is counted."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return method()
    except Exception as error:  # a package that fails on a trial is counted as failed
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return None


def means(
    corpus: Corpus,
    kind: str,
    scores: Floats,
    share: float,
    *,
    resample: bool,
    peers: bool,
    isotonic: bool = False,
    trials: int = TRIALS,
) -> dict[str, Any]:
    """Coverage and widths for the mean of a corpus; `peers` adds the other packages and our isotonic map."""
    rng = np.random.default_rng([SEED, int(share * 100)])
    truth = float(corpus.ratings.mean())
    isotonic = isotonic or peers
    others = [*(["turnwise, isotonic"] if isotonic else []), *(["ppi-python", "cje-eval"] if peers else [])]
    tallies = {name: Tally() for name in ["ratings alone", "turnwise", *others]}
    wider = 0
    n_labels = []
    for trial in range(trials):
        places, codes = drawn(corpus, rng, resample=resample)
        ratings = labels(corpus.ratings[places], share, rng)
        n_labels.append(int(np.sum(~np.isnan(ratings))))
        mine = scores[places]
        n_clusters = int(codes.max()) + 1
        weights = np.ones(len(mine))
        found = corrected_mean(Sample(mine, ratings, weights, codes, n_clusters))
        tallies["ratings alone"].add(found.labels_alone_interval, truth)
        tallies["turnwise"].add(found.interval, truth)
        wider += bool(found.width_ratio > 1)
        if isotonic:
            mapped = calibrated(mine, ratings, weights, codes, fit="isotonic", rng=rng)
            fitted = corrected_mean(Sample(mapped, ratings, weights, codes, n_clusters))
            tallies["turnwise, isotonic"].add(fitted.interval, truth)
        if not peers:
            continue
        tallies["ppi-python"].add(attempt(lambda: ppi_python(mine, ratings)), truth)  # noqa: B023  # called at once
        if trial % 5 == 0:
            tallies["cje-eval"].add(
                attempt(lambda: cje_eval(mine, ratings, codes, corpus.scale)), truth  # noqa: B023  # called at once
            )  # fmt: skip
    alone = float(np.mean(tallies["ratings alone"].widths))
    return {
        "corpus": corpus.name, "about": "mean", "metric": corpus.metric if kind == "metric" else kind, "share": share,
        "population": "resampled" if resample else "fixed", "n_items": len(corpus.scores),
        "n_labels": round(float(np.mean(n_labels)), 1), "wider_than_ratings_alone": wider,
        "methods": {name: tally.record(alone) for name, tally in tallies.items()},
    }  # fmt: skip


def difference(
    corpus: Corpus, kind: str, scores: Floats, share: float, *, trials: int = TRIALS
) -> dict[str, Any] | None:
    """Coverage and widths for the difference of the two agents with most items; None with one agent."""
    names, counts = np.unique(corpus.agents, return_counts=True)
    if len(names) < 2:
        return None
    first, second = names[np.argsort(-counts, kind="stable")[:2]]
    agents = np.array(corpus.agents)
    truth = float(corpus.ratings[agents == first].mean() - corpus.ratings[agents == second].mean())
    rng = np.random.default_rng([SEED, int(share * 100), 1])
    alone, ours = Tally(), Tally()
    refused, n_labels = 0, []
    for _ in range(trials):
        places, codes = drawn(corpus, rng, resample=True)
        ratings = labels(corpus.ratings[places], share, rng)
        n_clusters = int(codes.max()) + 1
        sides = []
        for name in (first, second):
            mine = agents[places] == name
            sides.append(
                Sample(scores[places][mine], ratings[mine], np.ones(int(mine.sum())), codes[mine], n_clusters)
            )
        held = [len(np.unique(side.clusters[side.labelled])) for side in sides]
        if min(held) < 2:
            refused += 1  # as the command does
            continue
        n_labels.append(sum(int(side.labelled.sum()) for side in sides))
        found = corrected_difference(*sides)
        alone.add(found.labels_alone_interval, truth)
        ours.add(found.interval, truth)
    width = float(np.mean(alone.widths))
    return {
        "corpus": corpus.name, "about": f"{first} - {second}", "metric": corpus.metric if kind == "metric" else kind,
        "share": share, "population": "resampled", "n_labels": round(float(np.mean(n_labels)), 1), "refused": refused,
        "methods": {"ratings alone": alone.record(width), "turnwise": ours.record(width)},
    }  # fmt: skip


def again(result: dict[str, Any]) -> None:
    """Repeat our part of the settings whose coverage left the goal with more trials; the other packages' part stays."""
    for corpus in corpora():
        names = {corpus.metric if kind == "metric" else kind: kind for kind in metrics(corpus)}
        for line in result["lines"]:
            ours = [one for name, one in line["methods"].items() if name.startswith("turnwise")]
            inside = all(GOAL[0] <= one["coverage"] <= GOAL[1] for one in ours)
            repeated = any(one["trials"] + one["failed"] > TRIALS for one in ours)
            if line["corpus"] != corpus.name or line["population"] == "fixed" or (inside and not repeated):
                continue
            kind = names[line["metric"]]
            scores = metrics(corpus)[kind]
            if line["about"] == "mean":
                found = means(
                    corpus, kind, scores, line["share"], resample=True, peers=False, isotonic=len(ours) > 1,
                    trials=MANY,
                )  # fmt: skip
            else:
                found = difference(corpus, kind, scores, line["share"], trials=MANY) or line
            show(found)
            line |= {**found, "methods": {**line["methods"], **found["methods"]}}


def missing(
    *, agreement: float, rated: float, unrated: float, labels: int, lowest: bool = False, n: int = 200
) -> dict[str, Any]:  # fmt: skip
    """Coverage and widths where these shares of the rated and of the unrated items have no score."""
    rng = np.random.default_rng(
        [SEED, round(100 * agreement), round(100 * rated), round(100 * unrated), labels]
    )
    alone, ours = Tally(), Tally()
    used = 0
    for _ in range(MISSING_TRIALS):
        scores = rng.normal(size=n)
        ratings = 3 + agreement * scores + np.sqrt(1 - agreement**2) * rng.normal(size=n)
        kept = np.zeros(n, dtype=bool)
        kept[rng.permutation(n)[:labels]] = True
        shares = np.where(kept, rated, unrated)
        lost = norm.cdf(scores) < shares if lowest else rng.random(n) < shares
        sample = Sample(
            np.where(lost, np.nan, scores), np.where(kept, ratings, np.nan), np.ones(n), np.arange(n), n
        )
        found = corrected_mean(sample)
        used += found.used
        alone.add(found.labels_alone_interval, 3.0)
        ours.add(found.interval, 3.0)
    width = float(np.mean(alone.widths))
    return {
        "agreement": agreement, "unscored_of_rated": rated, "unscored_of_unrated": unrated, "lowest": lowest,
        "n_items": n, "n_labels": labels, "scores_used": round(used / MISSING_TRIALS, 4),
        "methods": {"ratings alone": alone.record(width), "turnwise": ours.record(width)},
    }  # fmt: skip


def all_missing() -> list[dict[str, Any]]:
    """The settings of `missing`."""
    lines = [
        missing(agreement=agreement, rated=rated, unrated=unrated, labels=labels, lowest=lowest)
        for labels in (40, 12)
        for agreement in (0.5, 0.7, 0.9)
        for rated, unrated, lowest in (
            (0.0, 1.0, False), (0.0, 0.2, False), (0.0, 0.5, False), (0.0, 0.8, False), (0.2, 0.2, False),
            (0.5, 0.5, False), (0.0, 0.2, True), (0.2, 0.2, True),
        )
    ]  # fmt: skip
    for line in lines:
        print(line, flush=True)
    return lines


def show(line: dict[str, Any]) -> None:
    """Print coverage and width of one setting."""
    shown = {name: (one.get("coverage"), one.get("width_ratio")) for name, one in line["methods"].items()}
    about = line["corpus"], line["about"], line["metric"], line["population"], line["share"]
    print(*about, shown, flush=True)


def every_line() -> list[dict[str, Any]]:
    """All settings of the corpora."""
    lines: list[dict[str, Any]] = []
    for corpus in corpora():
        for kind, scores in metrics(corpus).items():
            for share in SHARES:
                plain = kind == "metric"
                lines.append(means(corpus, kind, scores, share, resample=True, peers=plain))
                if plain:
                    lines.append(means(corpus, kind, scores, share, resample=False, peers=False))
                if (apart := difference(corpus, kind, scores, share)) is not None:
                    lines.append(apart)
                for line in lines[-(2 + plain) :]:
                    show(line)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibrate", description=__doc__)
    parser.add_argument("--scores", action="store_true", help="score the corpora, and stop")
    parser.add_argument(
        "--again", action="store_true", help="repeat settings that left the goal, with more trials"
    )
    parser.add_argument("--missing", action="store_true", help="repeat the part on missing scores")
    asked = parser.parse_args()
    if asked.scores or not SCORES.exists():
        score_corpora()
        if asked.scores:
            return
    known = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    whole = not (asked.again or asked.missing)
    if whole:
        versions: dict[str, str | None] = {}
        for package in ("ppi-python", "cje-eval"):
            try:
                versions[package] = version(package)
            except PackageNotFoundError:
                versions[package] = None
        known = {"packages": versions, "lines": every_line()}
    if asked.again or whole:
        again(known)
    head = {"command": COMMAND, "trials": TRIALS, "trials_again": MANY, "seed": SEED, "goal": GOAL}
    result = {**head, "packages": known["packages"], "missing_trials": MISSING_TRIALS}
    result["missing"] = all_missing() if asked.missing or whole else known.get("missing", [])
    RESULT.write_text(json.dumps({**result, "lines": known["lines"]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
