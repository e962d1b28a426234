"""Labels that `turnwise calibrate --plan` saves against drawing at random, on rated corpora and one simulated world.

`OMP_NUM_THREADS=1 python -m benchmarks.drawing` writes benchmarks/results/drawing.json. It uses the scores that
`python -m benchmarks.calibrate --scores` keeps. A trial draws clusters of the corpus with replacement, rates a third of
the labels at random, and draws the others by the expected error of the metric; beside it all labels are drawn at
random. Both estimate the mean of the corpus. `share_of_labels` is the square of the ratio of the mean half-widths: the
share of labels that gives the half-width of a random draw. Below 1 labels are saved, above 1 they are lost.
`share_of_labels_by_error` is the same from the errors of the estimates, which does not depend on the intervals; its
interval is a bootstrap of the trials.

In the world the metric's error depends on its score: it is exact for bad replies and noisy for good ones, as a metric
is that recognises broken replies and cannot tell good ones apart.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.calibrate import corpora, drawn
from turnwise.stats.drawing import UNIFORM, expected_errors, inclusion_probabilities, systematic_draw
from turnwise.stats.ppi import Corrected, Sample, calibrated, corrected_mean
from turnwise.types import Floats, Ints

RESULT = Path(__file__).parent / "results" / "drawing.json"
CORPORA = ("grade", "engage", "dstc7")
SHARES = (0.1, 0.25)
COMMAND = "OMP_NUM_THREADS=1 python -m benchmarks.drawing"
TRIALS = 4000
PILOT = 1 / 3  # share of the labels that is drawn at random first
SEED = 20261116

Population = Callable[[np.random.Generator], tuple[Floats, Floats, Ints]]  # scores, ratings and clusters


def world(rng: np.random.Generator, *, n: int = 1000) -> tuple[Floats, Floats, Ints]:
    """Replies whose rating is close to the score where the score is low, and far from it where it is high."""
    scores = rng.random(n)
    ratings = 1 + 3 * scores + rng.normal(size=n) * (0.1 + 2 * scores**2)
    return scores, ratings, np.arange(n)


def hidden(ratings: Floats, places: Ints) -> Floats:
    found = np.full(len(ratings), np.nan)
    found[places] = ratings[places]
    return found


def at_random(population: tuple[Floats, Floats, Ints], count: int, rng: np.random.Generator) -> Corrected:
    scores, ratings, clusters = population
    kept = rng.choice(len(scores), count, replace=False)
    return corrected_mean(
        Sample(scores, hidden(ratings, kept), np.ones(len(scores)), clusters, int(clusters.max()) + 1)
    )


def by_plan(population: tuple[Floats, Floats, Ints], count: int, rng: np.random.Generator) -> Corrected:
    """As the command does it, with one agent."""
    scores, ratings, clusters = population
    n = len(scores)
    first = max(4, round(PILOT * count))
    pilot = rng.choice(n, first, replace=False)
    labels = hidden(ratings, pilot)
    mapped = calibrated(scores, labels, np.ones(n), clusters, fit="linear", rng=rng)
    errors = expected_errors(scores, labels - mapped, np.zeros(n, dtype=np.int64))
    left = np.isnan(labels)
    chance = inclusion_probabilities(errors[left], count - first)
    ratio = float(chance.sum() / errors[left].sum())
    after = np.minimum(1.0, UNIFORM * (count - first) / int(left.sum()) + (1 - UNIFORM) * ratio * errors)
    after[left] = chance
    chosen = np.flatnonzero(left)[systematic_draw(chance, rng)]
    before = first / n
    weights = 1 / (before + (1 - before) * after)
    kept = np.concatenate([pilot, chosen])
    return corrected_mean(Sample(scores, hidden(ratings, kept), weights, clusters, int(clusters.max()) + 1))


def share_by_error(plan: Floats, random: Floats) -> tuple[float, list[float]]:
    """The ratio of the mean square errors of the two draws, and its interval from a bootstrap of the trials."""
    rng = np.random.default_rng(SEED)
    chosen = rng.integers(len(plan), size=(1000, len(plan)))
    ratios = (plan[chosen] ** 2).mean(axis=1) / (random[chosen] ** 2).mean(axis=1)
    ends = np.quantile(ratios, (0.025, 0.975))
    return round(float((plan**2).mean() / (random**2).mean()), 3), [round(float(end), 3) for end in ends]


def line(name: str, population: Population, truth: float, share: float) -> dict[str, Any]:
    """Half-widths, errors and coverage of both draws."""
    rng = np.random.default_rng([SEED, round(share * 100)])
    found: dict[str, list[Corrected]] = {"random": [], "plan": []}
    count = 0
    for _ in range(TRIALS):
        there = population(rng)
        count = round(share * len(there[0]))
        found["random"].append(at_random(there, count, rng))
        found["plan"].append(by_plan(there, count, rng))
    methods = {}
    for method, results in found.items():
        ends = [one.interval for one in results if one.interval is not None]
        methods[method] = {
            "half_width": round(float(np.mean([(high - low) / 2 for low, high in ends])), 5),
            "error": round(float(np.sqrt(np.mean([(one.estimate - truth) ** 2 for one in results]))), 5),
            "coverage": round(float(np.mean([low <= truth <= high for low, high in ends])), 4),
        }
    plan, random = methods["plan"], methods["random"]
    errors = {
        method: np.array([one.estimate - truth for one in results]) for method, results in found.items()
    }
    by_error, interval = share_by_error(errors["plan"], errors["random"])
    return {
        "population": name, "share": share, "n_labels": count, "methods": methods,
        "share_of_labels": round((plan["half_width"] / random["half_width"]) ** 2, 3),
        "share_of_labels_by_error": by_error, "share_of_labels_by_error_interval": interval,
    }  # fmt: skip


def main() -> None:
    lines = []
    for corpus in corpora():
        if corpus.name not in CORPORA:
            continue

        def draw(rng: np.random.Generator, corpus: Any = corpus) -> tuple[Floats, Floats, Ints]:
            places, codes = drawn(corpus, rng, resample=True)
            return corpus.scores[places], corpus.ratings[places], codes

        for share in SHARES:
            lines.append(line(f"{corpus.name}, {corpus.metric}", draw, float(corpus.ratings.mean()), share))
    lines += [line("world", world, 2.5, share) for share in SHARES]
    for one in lines:
        print(one)
    result = {"command": COMMAND, "trials": TRIALS, "seed": SEED, "lines": lines}
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
