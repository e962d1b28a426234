"""Repeated trials on simulated tasks: coverage of intervals, false verdicts, and coverage of pass^k and pass@k.

`OMP_NUM_THREADS=1 python -m benchmarks.reliability` writes benchmarks/results/reliability.json in some minutes on one
core; `--sets N` simulates fewer sets. A task has a chance of its own to pass, drawn from a beta distribution, and its
trials are independent.

* `trials`: 30 tasks x 4 trials of one agent. How often the interval of `score` holds the true mean with the clusters
  that records with `task` and `trial` have by default, and with a cluster a dialogue.
* `verdicts`: two agents of equal skill, on different tasks and on the same ones (on half of these both have the same
  chance). How often `compare` calls them different at 5 %, with either kind of clusters.
* `passes`: how often the intervals of pass^k and pass@k of `reliability` hold the truth.
* `alternatives`: the same of pass^k beside two other intervals, on a quarter of the sets: without a bound on the
  effective number of observations, and the bootstrap that `score` uses.

Clusters and pairs are those that `logs.items` gives to records of the design; statistics are called as the commands
call them, without files. The goals: coverage of `trials` at least 93 %, false verdicts at most 5 % and two standard
errors, coverage of `passes` at least 93 % in designs with 20 tasks or more. The exit code is 1 if one is missed.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from turnwise.conformance.calls import numbers_of
from turnwise.logs.items.items import Selection, items
from turnwise.meta.compare import compare
from turnwise.meta.table import COLUMNS, ScoreTable
from turnwise.metrics.rating import MeanRating
from turnwise.stats.clusters import cluster_codes, cluster_sums
from turnwise.stats.computing.tails import t_quantile
from turnwise.stats.interval import Interval, interval_of_sums, wilson
from turnwise.stats.repeated import all_of, any_of, interval_of_tasks
from turnwise.types import Dialogue, Floats, Turn

RESULT = Path(__file__).parent / "results" / "reliability.json"
COMMAND = "OMP_NUM_THREADS=1 python -m benchmarks.reliability"
SEED = 20261119
SETS = 2000
DRAWS = 1000
TASKS, TRIALS = 30, 4
HARD_AND_EASY = (0.5, 0.5)  # beta distribution of the chances: half of the variance is between tasks
LEVEL = 0.05
COVERED = 0.93
ENOUGH = 20  # tasks from which on the goal of `passes` holds
# Tasks, trials, and the beta distribution of the chances.
DESIGNS = [
    (10, 4, (0.4, 0.6)),
    (20, 4, (0.4, 0.6)),
    (50, 4, (0.4, 0.6)),
    (50, 4, (0.1, 0.9)),
    (50, 4, (2.7, 0.3)),
    (50, 8, (0.4, 0.6)),
    (50, 8, (2.0, 3.0)),
    (100, 8, (0.4, 0.6)),
]
KS = (1, 2, 4)
ALTERNATIVES = [(10, 4, (0.4, 0.6)), (20, 8, (0.1, 0.9)), (50, 8, (0.1, 1.9)), (50, 4, (0.4, 0.6))]
METRIC = MeanRating("reward", rated="dialogue", scale=(0.0, 1.0))


def table(agent: str, values: Floats, tasks: list[str], *, by_task: bool) -> ScoreTable:
    """The trials of an agent, (T, n) passed or not, as `score` and `compare` have them; with a cluster a dialogue
    unless `by_task`.
    """
    dialogues = [
        Dialogue(
            f"{agent}-{task}-{number}",
            agent,
            (Turn("user", f"{agent} {task} {number}"), Turn("assistant", "done")),
            extra={"task": task, "trial": number} if by_task else {},
        )
        for task in tasks
        for number in range(values.shape[1])
    ]
    found = list(items(dialogues, Selection(items="all"), whole=True))
    columns: dict[str, Any] = {
        name: tuple(getattr(item, one) for item in found) for name, one in COLUMNS.items()
    }
    rows = np.stack([values.ravel(), np.ones(values.size)], axis=1)
    made = ScoreTable(name="reward", metric=METRIC, rows=rows, weights=np.ones(values.size), **columns)
    return made.paired_by_task() if made.has_tasks else made


def with_values(made: ScoreTable, values: Floats) -> ScoreTable:
    """The table of another set with the same design."""
    return replace(made, rows=np.stack([values.ravel(), np.ones(values.size)], axis=1))


def share(hits: int, sets: int) -> dict[str, float]:
    """A share with its standard error."""
    found = hits / sets
    return {"share": round(found, 4), "standard_error": round(sqrt(found * (1 - found) / sets), 4)}


def trials(sets: int, rng: np.random.Generator) -> dict[str, Any]:
    """Coverage of the interval of one agent's mean."""
    truth = HARD_AND_EASY[0] / sum(HARD_AND_EASY)
    names = [f"t{at}" for at in range(TASKS)]
    found = {}
    for title, by_task in (("default", True), ("by dialogue", False)):
        made = table("a", np.zeros((TASKS, TRIALS)), names, by_task=by_task)
        codes, n_clusters = cluster_codes(made.clusters)
        hits = 0
        for _ in range(sets):
            passed = rng.random((TASKS, TRIALS)) < rng.beta(*HARD_AND_EASY, TASKS)[:, None]
            rows = np.stack([passed.ravel(), np.ones(passed.size)], axis=1)
            sums = cluster_sums(rows, codes, n_clusters)
            bounds, _ = interval_of_sums(sums, partial(numbers_of, METRIC), draws=DRAWS, rng=rng)
            hits += bounds is not None and bounds[0] <= truth <= bounds[1]
        found[title] = {"n_clusters": n_clusters, **share(hits, sets)}
    return found


def verdicts(sets: int, rng: np.random.Generator) -> dict[str, Any]:
    """How often two agents of equal skill are called different."""
    found: dict[str, Any] = {}
    for design in ("different tasks", "same tasks"):
        own = [
            [f"{agent if design == 'different tasks' else ''}t{at}" for at in range(TASKS)] for agent in "ab"
        ]
        for title, by_task in (("default", True), ("by dialogue", False)):
            empty = np.zeros((TASKS, TRIALS))
            sides = [
                table(agent, empty, names, by_task=by_task) for agent, names in zip("ab", own, strict=True)
            ]
            hits = 0
            for _ in range(sets):
                both = [
                    with_values(side, passed)
                    for side, passed in zip(sides, outcomes(design, rng), strict=True)
                ]
                record = compare(*both, agents=("a", "b"), group=None)
                hits += record.p is not None and record.p <= LEVEL
            found[f"{design}, {title}"] = {"sampling": record.sampling, **share(hits, sets)}
            print(design, title, found[f"{design}, {title}"], flush=True)
    return found


def outcomes(design: str, rng: np.random.Generator) -> Iterator[Floats]:
    """Which trials of each agent pass, (T, n): with chances of its own, or around those of the task."""
    shared = rng.beta(*HARD_AND_EASY, TASKS)
    for _ in "ab":
        chances = rng.beta(*HARD_AND_EASY, TASKS)
        if design == "same tasks":  # half of the tasks have the shared chance: agent and task interact
            chances = np.where(rng.random(TASKS) < 0.5, shared, chances)
        yield (rng.random((TASKS, TRIALS)) < chances[:, None]).astype(np.float64)


def passes(sets: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Coverage of the intervals of pass^k and pass@k."""
    lines = []
    for n_tasks, n_trials, (easy, hard) in DESIGNS:
        number = np.full(n_tasks, n_trials)
        every = rng.binomial(n_trials, rng.beta(easy, hard, (sets, n_tasks)))
        for k in KS:
            steps = np.arange(k)
            truths = {
                "pass^k": float(np.prod((easy + steps) / (easy + hard + steps))),
                "pass@k": 1 - float(np.prod((hard + steps) / (easy + hard + steps))),
            }
            for statistic, truth in truths.items():
                hits, widths = 0, []
                for passed in every:
                    values = (all_of if statistic == "pass^k" else any_of)(passed, number, k)
                    bounds = interval_of_tasks(values, number, k)
                    hits += bounds is not None and bounds[0] <= truth <= bounds[1]
                    widths.append(np.nan if bounds is None else bounds[1] - bounds[0])
                lines.append(
                    {
                        "tasks": n_tasks,
                        "trials": n_trials,
                        "beta": [easy, hard],
                        "k": k,
                        "statistic": statistic,
                        "truth": round(truth, 4),
                        "width": round(float(np.mean(widths)), 4),
                        **share(hits, sets),
                    }
                )
                print(lines[-1], flush=True)
    return lines


def alternatives(sets: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Coverage of the interval of pass^k, and of two others."""
    lines = []
    for n_tasks, n_trials, (easy, hard) in ALTERNATIVES:
        number = np.full(n_tasks, n_trials)
        every = rng.binomial(n_trials, rng.beta(easy, hard, (sets, n_tasks)))
        for k in KS[1:]:
            steps = np.arange(k)
            truth = float(np.prod((easy + steps) / (easy + hard + steps)))
            hits = {"reliability": 0, "without a bound": 0, "bootstrap": 0}
            for passed in every:
                values = all_of(passed, number, k)
                sums = np.stack([values, np.ones(n_tasks)], axis=1)
                found = {
                    "reliability": interval_of_tasks(values, number, k),
                    "without a bound": unbounded(values),
                    "bootstrap": interval_of_sums(sums, partial(numbers_of, METRIC), draws=DRAWS, rng=rng)[0],
                }
                for name, bounds in found.items():
                    hits[name] += bounds is not None and bounds[0] <= truth <= bounds[1]
            design = {
                "tasks": n_tasks,
                "trials": n_trials,
                "beta": [easy, hard],
                "k": k,
                "truth": round(truth, 4),
            }
            lines.append({**design, **{name: share(count, sets) for name, count in hits.items()}})
            print(lines[-1], flush=True)
    return lines


def unbounded(values: Floats) -> Interval | None:
    """`interval_of_tasks` without its bound on the effective number of observations."""
    mean, variance, n_tasks = float(np.mean(values)), float(np.var(values, ddof=1)), len(values)
    effective = n_tasks * mean * (1 - mean) / variance if variance > 0 else n_tasks
    return wilson(mean * effective, effective, quantile=t_quantile(n_tasks - 1, 0.975))


def main() -> int:
    """Simulate all, write the result, and return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reliability", description=__doc__)
    parser.add_argument("--sets", type=int, default=SETS)
    sets = parser.parse_args().sets
    rng = np.random.default_rng(SEED)
    covered, false, lines = trials(sets, rng), verdicts(sets, rng), passes(sets, rng)
    most = LEVEL + 2 * sqrt(LEVEL * (1 - LEVEL) / sets)
    missed = [
        *(["trials"] if covered["default"]["share"] < COVERED else []),
        *(name for name, one in false.items() if name.endswith("default") and one["share"] > most),
        *(
            f"{one['statistic']} {one['tasks']}x{one['trials']} {one['beta']} k {one['k']}"
            for one in lines
            if one["tasks"] >= ENOUGH and one["share"] < COVERED
        ),
    ]
    made = {
        "command": COMMAND,
        "sets": sets,
        "trials": covered,
        "verdicts": false,
        "passes": lines,
        "alternatives": alternatives(sets // 4, np.random.default_rng(SEED + 1)),
        "missed": missed,
    }
    RESULT.write_text(json.dumps(made, indent=1) + "\n")
    print(f"missed: {', '.join(missed) or 'none'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
