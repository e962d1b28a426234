"""Predicted against simulated power of what `compare` and `calibrate` test, on 5 x 5 grids.

`OMP_NUM_THREADS=1 python -m benchmarks.power` writes benchmarks/results/power.json; `--only WORDS` repeats the grids
with these words in their name and keeps the others. Predicted is what `turnwise power` prints, from variance components
that were estimated on a pilot of 20,000 dialogues of each of the two agents. Simulated is the share of studies in which
the test rejects at 5 %: the permutation test of `compare` for ratings and a metric, its test by contexts
and raters for preferences, and the t-test of `calibrate` for ratings beside scores. A cell has 400 to 6,900 studies, so
that its standard error is at most .006. The tests are called as the commands call them, without the files. The first
five studies of a grid are also written as dialogues and given to `tw.compare` or `tw.calibrate`; `command` says how far
the p-values are apart, which for a permutation test is chance.

The grids over turns and raters have the number of dialogues that is planned for a power of .8. The goal is at most .03
between predicted and simulated power. Without clusters the prediction is also compared with `statsmodels`, where that
is installed. The exit code is 1 if a cell misses the goal.
"""

import argparse
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import product
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

import turnwise as tw
from turnwise.stats.crossed import standard_errors
from turnwise.stats.permutation import paired_test
from turnwise.stats.power import (
    Scored,
    Spread,
    TTest,
    WinRateTest,
    components,
    pooled,
    rater_variance,
    win_rate_spread,
)
from turnwise.stats.ppi import Sample, corrected_difference
from turnwise.stats.unpaired import permutation_test
from turnwise.types import Floats, Ints

RESULT = Path(__file__).parent / "results" / "power.json"
COMMAND = "OMP_NUM_THREADS=1 python -m benchmarks.power"
DIALOGUES = (20, 40, 80, 120, 200)
STEPS = (0.1, 0.2, 0.3, 0.5, 0.8)  # differences, in standard deviations of a dialogue's mean
PILOT = 20_000
ERROR = 0.006  # standard error of a simulated power
FEWEST, MOST = 400, 6900  # studies of a cell
DRAWS = 1000  # of a permutation test
WHOLE = 5  # studies of a grid that the commands are given
GOAL = 0.03
SEED = 20261116

Study = tuple[float, Callable[[], float]]  # p of the test, and a function that gives the p of the command
Kind = Callable[..., Floats]


MIDDLE = 3.2  # what raters feel of a reply, on average; the parts of its variance follow
DIALOGUE, TURN, RATER = 0.5, 0.6, 0.8


def mean_rating(felt: float) -> float:
    """The mean of ratings of 1 to 5 that are rounded from normal feelings with this mean."""
    cuts = np.array([1.5, 2.5, 3.5, 4.5])
    return 1 + float(norm.sf(cuts, felt, sqrt(DIALOGUE**2 + TURN**2 + RATER**2)).sum())


@cache
def felt_shift(shift: float) -> float:
    """By how much feelings must rise so that the mean rating rises by `shift`: ratings stay whole numbers."""
    return float(brentq(lambda felt: mean_rating(MIDDLE + felt) - mean_rating(MIDDLE) - shift, 0, 5))


def ratings(rng: np.random.Generator, dialogues: int, *, turns: int, raters: int, shift: float = 0) -> Floats:
    """(dialogues, turns, raters) ratings of 1 to 5: rounded, and cut at the ends of the scale."""
    true = DIALOGUE * rng.normal(size=(dialogues, 1, 1)) + TURN * rng.normal(size=(dialogues, turns, 1))
    felt = MIDDLE + felt_shift(shift) + true + RATER * rng.normal(size=(dialogues, turns, raters))
    found: Floats = np.clip(np.round(felt), 1, 5)
    return found


def scores(rng: np.random.Generator, dialogues: int, *, turns: int, raters: int, shift: float = 0) -> Floats:
    """(dialogues, turns, 1) scores of a metric, skewed as lengths are; `raters` has no meaning for it."""
    logs = 0.3 * rng.normal(size=(dialogues, 1, 1)) + 0.4 * rng.normal(size=(dialogues, turns, 1))
    found: Floats = np.exp(logs) + shift
    return found


def two_agents(
    rng: np.random.Generator, kind: Kind, dialogues: int, *, turns: int, raters: int, paired: bool, shift: float
) -> tuple[Floats, Floats]:  # fmt: skip
    """Measurements of two agents; where they are paired, half of each is that of the shared context."""
    rises = (2 * shift if paired else shift, 0.0)
    a, b = (kind(rng, dialogues, turns=turns, raters=raters, shift=rise) for rise in rises)
    if paired:
        shared = kind(rng, dialogues, turns=turns, raters=raters)
        a, b = (shared + a) / 2, (shared + b) / 2
    return a, b


def permutation_p(a: Floats, b: Floats, *, paired: bool, rng: np.random.Generator) -> float:
    """The p of the test that `compare` makes of the means of these dialogues."""

    def mean(sums: Floats) -> Floats:
        found: Floats = sums[..., 0] / sums[..., 1]
        return found

    sides = []
    for values in (a, b):
        turns = np.full(len(values), float(values.shape[1]))
        sides.append(np.stack([values.mean(axis=2).sum(axis=1), turns], axis=1))
    test = paired_test if paired else permutation_test
    return test(*sides, mean, draws=DRAWS, rng=rng).p


def rated_records(values: Floats, agent: str, *, paired: bool) -> Iterator[dict[str, Any]]:
    """These measurements as rated dialogues."""
    for at, dialogue in enumerate(values):
        messages, found = [], []
        for turn, given in enumerate(dialogue):
            messages += [
                {"role": "user", "content": f"{at} {turn}" if paired else f"{agent} {at} {turn}"},
                {"role": "assistant", "content": f"reply {turn} of {agent}"},
            ]
            found += [
                {"dimension": "overall", "value": float(value), "rater": f"{at} {turn} {rater}", "turn": 2 * turn + 1}
                for rater, value in enumerate(given)
            ]  # fmt: skip
        yield {
            "id": f"{agent}{at}",
            "agent": agent,
            "messages": messages,
            "ratings": found,
            "meta": {"item": at},
        }


def compared(
    rng: np.random.Generator, kind: Kind, dialogues: int, *, turns: int, raters: int, paired: bool, shift: float
) -> Study:  # fmt: skip
    """One study of two agents."""
    a, b = two_agents(rng, kind, dialogues, turns=turns, raters=raters, paired=paired, shift=shift)
    p = permutation_p(a, b, paired=paired, rng=rng)

    def by_command() -> float:
        records = [*rated_records(a, "a", paired=paired), *rated_records(b, "b", paired=paired)]
        key = "meta.item" if paired else None
        given = tw.compare(records, metrics="rating:overall", pair=key, draws=DRAWS, figures=False)
        return float(given.records()[0]["p"])

    return p, by_command


def spread_of(kind: Kind, *, turns: int, raters: int, paired: bool, shift: float = 0) -> Spread:
    """The variance components that a large pilot of both agents shows, as `turnwise power` finds them."""
    rng = np.random.default_rng(SEED)
    a, b = two_agents(rng, kind, PILOT, turns=turns, raters=raters, paired=paired, shift=shift)
    items = np.repeat(np.arange(PILOT * turns), a.shape[2])
    if not paired:
        return pooled([components(one.ravel(), items, items // turns) for one in (a, b)], [1, 1])
    # Ratings of one item by the two agents have no partners, so their noise is that of the two added.
    return components((a - b).ravel(), items, items // turns)


def cell(
    predicted: float, rng: np.random.Generator, study: Callable[[np.random.Generator], Study], about: dict[str, Any]
) -> tuple[dict[str, Any], list[Study]]:  # fmt: skip
    """Predicted and simulated power, and the first studies."""
    trials = int(np.clip(predicted * (1 - predicted) / ERROR**2, FEWEST, MOST))
    rejected, first = 0, []
    for _ in range(trials):
        found = study(rng)
        rejected += found[0] <= 0.05
        if len(first) < WHOLE:
            first.append(found)
    found_power = rejected / trials
    line = {**about, "predicted": round(predicted, 4), "simulated": round(found_power, 4), "studies": trials}
    return line, first


def grid(name: str, cells: Iterator[tuple[dict[str, Any], list[Study]]], **about: Any) -> dict[str, Any]:
    """The cells of a grid, and how far predicted and simulated power are apart."""
    lines: list[dict[str, Any]] = []
    apart: list[float] = []
    for line, first in cells:
        if not lines:
            apart = [abs(p - by_command()) for p, by_command in first]
        lines.append(line)
        print(name, line, file=sys.stderr, flush=True)
    off = [abs(one["predicted"] - one["simulated"]) for one in lines]
    return {
        **about,
        "standard_error": ERROR,
        "largest_difference": round(max(off), 4),
        "mean_difference": round(float(np.mean(off)), 4),
        "command": {"studies": len(apart), "largest_difference_of_p": round(max(apart), 6)},
        "cells": lines,
    }


def differences_by_dialogues(
    name: str, kind: Kind, *, turns: int, raters: int, paired: bool
) -> dict[str, Any]:
    """The grid of differences and numbers of dialogues."""
    spread = spread_of(kind, turns=turns, raters=raters, paired=paired)
    deviation = sqrt(spread.of_cluster(items=turns, ratings=raters))
    # Halves of ratings where they are paired; a metric has no step.
    step = 0.0 if kind is scores else (0.5 if paired else 1.0) / (turns * raters)

    def cells() -> Iterator[tuple[dict[str, Any], list[Study]]]:
        for place, (size, n) in enumerate(product(STEPS, DIALOGUES)):
            shift = size * deviation
            # Near an end of the scale ratings vary less, as a pilot of both agents shows.
            found = spread_of(kind, turns=turns, raters=raters, paired=paired, shift=shift)
            variance = found.of_cluster(items=turns, ratings=raters)
            test = TTest(variance=variance, paired=paired, step=step)
            study = partial(
                compared, kind=kind, dialogues=n, turns=turns, raters=raters, paired=paired, shift=shift
            )
            about = {"difference": round(shift, 4), "dialogues": n}
            yield cell(test.power(shift, n), np.random.default_rng([SEED, place]), study, about)

    return grid(name, cells(), turns=turns, raters=raters, paired=paired)


def turns_by_raters(name: str, *, paired: bool, shift: float) -> dict[str, Any]:
    """The grid of turns and raters, each with the number of dialogues that is planned from one pilot."""
    spread = spread_of(ratings, turns=4, raters=3, paired=paired, shift=shift)

    def cells() -> Iterator[tuple[dict[str, Any], list[Study]]]:
        for place, (turns, raters) in enumerate(product((1, 2, 3, 4, 6), (1, 2, 3, 5, 8))):
            step = (0.5 if paired else 1.0) / (turns * raters)
            test = TTest(variance=spread.of_cluster(items=turns, ratings=raters), paired=paired, step=step)
            n = test.clusters_needed(shift) or 0
            study = partial(
                compared, kind=ratings, dialogues=n, turns=turns, raters=raters, paired=paired, shift=shift
            )
            about = {"turns": turns, "raters": raters, "dialogues": n}
            yield cell(test.power(shift, n), np.random.default_rng([SEED, place]), study, about)

    return grid(name, cells(), difference=shift, paired=paired, pilot={"turns": 4, "raters": 3})


TIE = 0.3  # a preference that is felt less strongly is a tie
BETWEEN = 0.8  # standard deviation of contexts, where that of a single judgement is 1


def choices(
    rng: np.random.Generator, contexts: int, *, each: int, people: int | None, lead: float, leaning: float
) -> tuple[Ints, Ints]:  # fmt: skip
    """(contexts, each) outcomes 1, 0 and -1, and their raters; each rater leans to one agent by a normal number."""
    total = people or contexts * each
    if (
        people
    ):  # everybody judges equally many; `each` divides the number of people, so nobody judges a context twice
        rounds = -(-contexts * each // people)
        orders = rng.permuted(np.tile(np.arange(people), (rounds, 1)), axis=1)
        raters = orders.ravel()[: contexts * each].reshape(contexts, each)
    else:
        raters = np.arange(contexts * each).reshape(contexts, each)
    felt = lead + BETWEEN * rng.normal(size=(contexts, 1)) + (leaning * rng.normal(size=total))[raters]
    felt = felt + rng.normal(size=(contexts, each))
    return np.where(np.abs(felt) < TIE, 0, np.sign(felt)).astype(np.int64), raters


def preferred(
    rng: np.random.Generator, contexts: int, *, each: int, people: int | None, lead: float, leaning: float
) -> Study:  # fmt: skip
    """One study of preferences."""
    outcomes, raters = choices(rng, contexts, each=each, people=people, lead=lead, leaning=leaning)
    values = outcomes.ravel().astype(np.float64)
    mean, n = float(values.mean()), len(values)
    sides = np.repeat(np.arange(contexts), each), np.unique(raters, return_inverse=True)[1].ravel()
    p = standard_errors((values - mean)[:, None] / n, *sides, floor=True).p_value(mean)
    if np.isnan(p):  # every choice is the same: the sign test over contexts, and nothing to test for ties
        p = min(1.0, 2 * 0.5**contexts) if mean else 1.0

    def by_command() -> float:
        given = tw.compare(list(preference_records(outcomes, raters)), figures=False).records()[0]["p"]
        return float(given)

    return p, by_command


def preference_records(outcomes: Ints, raters: Ints) -> Iterator[dict[str, Any]]:
    """These preferences in the native format."""
    names = {1: "this", 0: "tie", -1: "other"}
    for at, row in enumerate(zip(outcomes.tolist(), raters.tolist(), strict=True)):
        given = [
            {"other": f"b{at}", "winner": names[outcome], "rater": f"person {rater}", "turn": 1}
            for outcome, rater in zip(*row, strict=True)
        ]
        for agent in "ab":
            messages = [
                {"role": "user", "content": f"{at}?"},
                {"role": "assistant", "content": f"reply of {agent}"},
            ]
            record = {"id": f"{agent}{at}", "agent": agent, "messages": messages}
            yield {**record, "preferences": given} if agent == "a" else record


def preferences(name: str, *, each: int, people: int | None, leaning: float) -> dict[str, Any]:
    """The grid of win rates and numbers of contexts."""
    rng = np.random.default_rng(SEED)
    n = 10 * PILOT  # the variance between raters takes more
    outcomes, raters = choices(rng, n, each=2, people=n // 20, lead=0.25, leaning=leaning)
    values, contexts = (1 + outcomes.ravel()) / 2, np.repeat(np.arange(n), 2)
    pilot = components(values, contexts, contexts)
    total = pilot.of_cluster()
    icc, rater_icc = pilot.clusters / total, rater_variance(values, contexts, raters.ravel()) / total
    spread_felt = sqrt(BETWEEN**2 + leaning**2 + 1)

    def cells() -> Iterator[tuple[dict[str, Any], list[Study]]]:
        for place, (lead, n) in enumerate(product((0.1, 0.2, 0.3, 0.5, 0.7), DIALOGUES)):
            win, lose = norm.sf((TIE - lead) / spread_felt), norm.cdf((-TIE - lead) / spread_felt)
            ties, difference = float(1 - win - lose), float(win - lose) / 2
            spread = win_rate_spread(0.5, ties=ties, icc=icc, rater_icc=rater_icc)
            variance = spread.of_cluster(ratings=each)
            test = WinRateTest(
                variance=variance, paired=True, single=spread.of_cluster() / variance, raters=spread.raters / variance,
                ties=ties, ratings=each, people=people,
            )  # fmt: skip
            study = partial(preferred, contexts=n, each=each, people=people, lead=lead, leaning=leaning)
            about = {"difference": round(difference, 4), "dialogues": n}
            yield cell(test.power(difference, n), np.random.default_rng([SEED, place]), study, about)

    shares = {"icc": round(icc, 4), "rater_icc": round(rater_icc, 4)}
    return grid(name, cells(), each=each, people=people, leaning=leaning, **shares)


def calibrated(
    rng: np.random.Generator, rated: int, *, agreement: float, scored: int, shift: float
) -> Study:  # fmt: skip
    """One study of two agents of whose dialogues all are scored and some are rated."""
    sides = []
    for agent, mean in enumerate((3.0 + shift, 3.0)):
        given = rng.normal(size=scored)
        rating = mean + agreement * given + sqrt(1 - agreement**2) * rng.normal(size=scored)
        rating[rng.permutation(scored)[rated:]] = np.nan
        sides.append(Sample(given, rating, np.ones(scored), np.arange(scored) + agent * scored, 2 * scored))
    found = corrected_difference(*sides)

    def by_command() -> float:
        records = [
            {
                "id": f"{agent}{at}", "agent": agent,
                "messages": [{"role": "user", "content": f"{agent} {at}"}, {"role": "assistant", "content": "reply"}],
                "ratings": [
                    {"dimension": name, "value": float(value)}
                    for name, value in (("score", score), ("overall", rating))
                    if not np.isnan(value)
                ],
            }
            for agent, side in zip("ab", sides, strict=True)
            for at, (score, rating) in enumerate(zip(side.scores, side.ratings, strict=True))
        ]  # fmt: skip
        given = tw.calibrate(
            records, metrics="rating:score", to="rating:overall", labels="random", figures=False
        )
        return float(given.differences()[0]["p"])

    return float(found.p if found.p is not None else 1), by_command


def ratings_beside_scores(name: str, *, scored: int) -> dict[str, Any]:
    """The grid of rated dialogues and of the agreement of scores and ratings."""

    def cells() -> Iterator[tuple[dict[str, Any], list[Study]]]:
        for place, (agreement, n) in enumerate(product((0.2, 0.4, 0.6, 0.8, 0.9), (20, 40, 80, 160, 240))):
            test = TTest(variance=1.0, paired=False, scored=Scored(agreement=agreement, clusters=scored))
            study = partial(calibrated, rated=n, agreement=agreement, scored=scored, shift=0.3)
            about = {"agreement": agreement, "rated": n, "scored": scored}
            yield cell(test.power(0.3, n), np.random.default_rng([SEED, place]), study, about)

    return grid(name, cells(), difference=0.3, scored=scored)


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


GRIDS: dict[str, Callable[[str], dict[str, Any]]] = {
    "ratings, unpaired": partial(differences_by_dialogues, kind=ratings, turns=1, raters=1, paired=False),
    "ratings, paired": partial(differences_by_dialogues, kind=ratings, turns=2, raters=2, paired=True),
    "metric, unpaired": partial(differences_by_dialogues, kind=scores, turns=4, raters=1, paired=False),
    "metric, paired": partial(differences_by_dialogues, kind=scores, turns=4, raters=1, paired=True),
    "turns and raters, unpaired": partial(turns_by_raters, paired=False, shift=0.5),
    "turns and raters, paired": partial(turns_by_raters, paired=True, shift=0.35),
    "preferences, another rater for each": partial(preferences, each=3, people=None, leaning=0.0),
    "preferences, 6 raters": partial(preferences, each=2, people=6, leaning=0.0),
    "preferences, 6 raters who lean": partial(preferences, each=2, people=6, leaning=0.3),
    "preferences, 30 raters who lean": partial(preferences, each=1, people=30, leaning=0.3),
    "ratings beside scores": partial(ratings_beside_scores, scored=600),
}


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.power", description=__doc__)
    parser.add_argument("--only", default="", metavar="WORDS")
    asked = parser.parse_args(given)
    known = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    grids = {} if not asked.only else {name: one for name, one in known["grids"].items() if name in GRIDS}
    for name, made in GRIDS.items():
        if asked.only in name:
            grids[name] = made(name)
            result = {
                "command": COMMAND,
                "seed": SEED,
                "goal": GOAL,
                "statsmodels": against_statsmodels() or known.get("statsmodels"),
                "grids": {one: grids[one] for one in GRIDS if one in grids},
            }
            RESULT.write_text(json.dumps(result, indent=1) + "\n")
    for name, one in grids.items():
        print(f"{name}: at most {one['largest_difference']:.3f}, on average {one['mean_difference']:.3f}")
    return int(any(one["largest_difference"] > GOAL for one in grids.values()))


if __name__ == "__main__":
    sys.exit(main())
