"""Predicted against simulated power, for ratings, a metric and preferences, on 5 x 5 grids.

`OMP_NUM_THREADS=1 python -m benchmarks.power` writes benchmarks/results/power.json. Each cell has a difference
and a number of dialogues of each agent. Predicted is what `turnwise power` prints, from variance components that were
estimated on a pilot of 20,000 dialogues of the same population; simulated is the share of 4,000 t-tests on means of
dialogues that reject. The goal is at most .03 between them. Without clusters the prediction is also compared with
`statsmodels`, where that is installed. The exit code is 1 if a cell misses the goal.
"""

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from turnwise.stats.power import TTest, components, win_rate_spread, win_rate_test_spread
from turnwise.types import Floats

RESULT = Path(__file__).parent / "results" / "power.json"
DIALOGUES = (20, 40, 80, 160, 320)
TRIALS = 4000
PILOT = 20_000
GOAL = 0.03
SEED = 20261116


def ratings(
    rng: np.random.Generator, dialogues: int, *, trials: int, turns: int, raters: int, shift: float = 0.0
) -> Floats:
    """(trials, dialogues, turns, raters) ratings of 1 to 5: rounded, and cut at the ends of the scale."""
    true = 0.5 * rng.normal(size=(trials, dialogues, 1, 1)) + 0.6 * rng.normal(
        size=(trials, dialogues, turns, 1)
    )
    noise = 0.8 * rng.normal(size=(trials, dialogues, turns, raters))
    found: Floats = np.clip(np.round(3.2 + true + noise), 1, 5) + shift
    return found


def scores(
    rng: np.random.Generator, dialogues: int, *, trials: int, turns: int, raters: int, shift: float = 0.0
) -> Floats:
    """(trials, dialogues, turns, 1) scores of a metric, skewed as lengths are; `raters` has no meaning for it."""
    logs = 0.3 * rng.normal(size=(trials, dialogues, 1, 1)) + 0.4 * rng.normal(
        size=(trials, dialogues, turns, 1)
    )
    found: Floats = np.exp(logs) + shift
    return found


def measured(
    kind: Callable[..., Floats], *, turns: int, raters: int, paired: bool, steps: tuple[float, ...]
) -> dict[str, Any]:
    """The grid of one kind of measurement. Pairs share the value of their context."""
    rng = np.random.default_rng(SEED)
    pilot = kind(rng, PILOT, trials=1, turns=turns, raters=raters)[0]
    items = np.repeat(np.arange(PILOT * turns), pilot.shape[2])
    spread = components(pilot.ravel(), items, items // turns)
    variance = spread.of_cluster(items=turns, ratings=raters)
    if (
        paired
    ):  # only the means of dialogues are tested; a pilot of pairs gives the variance of their differences
        variance = float(
            np.var(_paired(kind, rng, PILOT, trials=1, turns=turns, raters=raters, shift=0.0)[0], ddof=1)
        )
    test = TTest(variance=variance, paired=paired)
    cells = []
    for step in steps:
        difference = step * float(np.sqrt(variance))
        for n in DIALOGUES:
            if paired:
                found = _paired(kind, rng, n, trials=TRIALS, turns=turns, raters=raters, shift=difference)
                p = stats.ttest_1samp(found, 0.0, axis=1).pvalue
            else:
                a = kind(rng, n, trials=TRIALS, turns=turns, raters=raters, shift=difference).mean(
                    axis=(2, 3)
                )
                b = kind(rng, n, trials=TRIALS, turns=turns, raters=raters).mean(axis=(2, 3))
                p = stats.ttest_ind(a, b, axis=1).pvalue
            cells.append(cell(difference, n, test.power(difference, n), float(np.mean(p <= 0.05))))
    sources = {"clusters": spread.clusters, "items": spread.items, "ratings": spread.ratings}
    return {"turns": turns, "raters": raters, "paired": paired, "variances": sources, **summary(cells)}


def _paired(
    kind: Callable[..., Floats],
    rng: np.random.Generator,
    dialogues: int,
    *,
    trials: int,
    turns: int,
    raters: int,
    shift: float,
) -> Floats:
    """(trials, dialogues) differences of two agents' means, half of whose spread is that of the shared context."""
    shared = kind(rng, dialogues, trials=trials, turns=turns, raters=raters).mean(axis=(2, 3))
    a = kind(rng, dialogues, trials=trials, turns=turns, raters=raters).mean(axis=(2, 3))
    b = kind(rng, dialogues, trials=trials, turns=turns, raters=raters).mean(axis=(2, 3))
    found: Floats = (shared + a) / 2 - (shared + b) / 2 + shift
    return found


def preferences(*, ties: float, icc: float, raters: int) -> dict[str, Any]:
    """The grid of win rates; contexts differ in how far they favour the better agent."""
    rng = np.random.default_rng(SEED)
    cells = []
    for rate in (0.52, 0.55, 0.58, 0.62, 0.68):
        spread = win_rate_spread(rate, ties=ties, icc=icc)
        planned = win_rate_test_spread(rate, ties=ties, icc=icc)
        test = TTest(variance=planned.of_cluster(ratings=raters), paired=True)
        mean = (rate - ties / 2) / (1 - ties)  # of the preferences that are no ties
        between = spread.clusters / (1 - ties) ** 2
        size = mean * (1 - mean) / between - 1
        for n in DIALOGUES:
            favour = rng.beta(mean * size, (1 - mean) * size, size=(TRIALS, n, 1))
            tied = rng.random((TRIALS, n, raters)) < ties
            values = np.where(tied, 0.5, rng.random((TRIALS, n, raters)) < favour).mean(axis=2)
            p = stats.ttest_1samp(values, 0.5, axis=1).pvalue  # NaN where all are equal: no rejection
            cells.append(cell(rate - 0.5, n, test.power(rate - 0.5, n), float(np.mean(p <= 0.05))))
    return {"ties": ties, "icc": icc, "raters": raters, **summary(cells)}


def cell(difference: float, n: int, predicted: float, simulated: float) -> dict[str, Any]:
    return {"difference": round(difference, 4), "dialogues": n, "predicted": round(predicted, 4),
            "simulated": round(simulated, 4)}  # fmt: skip


def summary(cells: list[dict[str, Any]]) -> dict[str, Any]:
    apart = [abs(one["predicted"] - one["simulated"]) for one in cells]
    return {
        "largest_difference": round(max(apart), 4),
        "mean_difference": round(float(np.mean(apart)), 4),
        "cells": cells,
    }


def against_statsmodels() -> dict[str, Any] | None:
    """The largest difference from statsmodels without clusters; None where it is not installed."""
    if importlib.util.find_spec("statsmodels") is None:
        return None
    import statsmodels
    from statsmodels.stats.power import TTestIndPower, TTestPower

    apart = []
    for n in (5, *DIALOGUES):
        for effect in (0.05, 0.1, 0.2, 0.3, 0.5):
            theirs = {
                True: TTestPower().power(effect, n, 0.05),
                False: TTestIndPower().power(effect, n, 0.05),
            }
            ours = {paired: TTest(variance=1.0, paired=paired).power(effect, n) for paired in theirs}
            apart += [abs(float(theirs[paired]) - ours[paired]) for paired in theirs]
    return {"version": statsmodels.__version__, "comparisons": len(apart), "largest_difference": max(apart)}


def main() -> int:
    steps = (0.1, 0.2, 0.3, 0.5, 0.8)
    grids = {
        "ratings, unpaired": measured(ratings, turns=1, raters=1, paired=False, steps=steps),
        "ratings, unpaired, 4 turns and 3 raters": measured(
            ratings, turns=4, raters=3, paired=False, steps=steps
        ),
        "ratings, paired": measured(ratings, turns=2, raters=2, paired=True, steps=steps),
        "metric, unpaired": measured(scores, turns=4, raters=1, paired=False, steps=steps),
        "metric, paired": measured(scores, turns=4, raters=1, paired=True, steps=steps),
        "preferences": preferences(ties=0.2, icc=0.3, raters=3),
        "preferences, one rater": preferences(ties=0.1, icc=0.3, raters=1),
    }
    known = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    result = {
        "trials": TRIALS,
        "seed": SEED,
        "goal": GOAL,
        "statsmodels": against_statsmodels() or known.get("statsmodels"),
        "grids": grids,
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    for name, grid in grids.items():
        print(f"{name}: at most {grid['largest_difference']:.3f}, on average {grid['mean_difference']:.3f}")
    print(f"statsmodels: {result['statsmodels']}")
    return int(any(grid["largest_difference"] > GOAL for grid in grids.values()))


if __name__ == "__main__":
    sys.exit(main())
