"""Coverage where raters are sampled: Bradley-Terry strengths, win rates, pair accuracies, centred ratings.

    OMP_NUM_THREADS=1 python -m benchmarks.preferences

writes benchmarks/results/preferences.json. Four agents reply to contexts, and raters choose between two replies. Each
context and each rater favours agents by normal effects, so that the choices of one context, and those of one rater,
depend on each other. Raters are drawn for each choice (`drawn`), or every rater chooses in every context (`all`). With
dialogues in place of contexts every choice is between two whole dialogues of two agents. The truth is that of a
population in which every choice has a context and a rater of its own. Ratings with `raters=centred` are simulated
likewise, with raters who are strict or mild and favour an agent.

A 95 % interval should cover 93-97 %, and a test at 5 % reject 4-6 % where all agents are equal. The exit code is 1 if a
line is outside and has no reason. `--only WORDS` measures the lines that have these words, and keeps the others.
"""

import argparse
import json
import sys
from dataclasses import dataclass
from functools import cache
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np

from turnwise.meta.pair_accuracy import PairScores, pair_accuracy
from turnwise.meta.preferences import About, ComparedPair, strengths, win_rate
from turnwise.metrics.rating import rating_metric
from turnwise.stats import bradley_terry
from turnwise.stats.crossed import standard_errors
from turnwise.stats.shares import share_test
from turnwise.types import Floats, Ints, Item, Rating, Turn

RESULT = Path(__file__).parent / "results" / "preferences.json"
SEED = 20261117
AGENTS = ("a", "b", "c", "d")
STRENGTHS = np.array([0.6, 0.2, -0.2, -0.6])
TIE = -0.5  # log weight of a tie in Davidson's model
POPULATION = 300_000  # choices behind a true value
NOISE = 1.0  # standard deviation of a metric's error, on the scale of strengths
BANDS = {"coverage": (0.93, 0.97), "rejection": (0.04, 0.06)}
ABOUT = About(metric="preference:overall", group=None, unscored={})
FEW = "too liberal: the variance between two raters cannot be estimated, and where it seems small the test rejects"
CENTRED = "A - B by ratings, raters=centred"
EDGE, CUT = "pair accuracy near 1", "t interval that is cut at 1"
DISCRETE = "few different accuracies are possible, so that coverage jumps"
WIDE = (
    "too wide: with few choices of each rater the variance between raters is mostly noise, but it counts, and the "
    "total is at least the larger of the variances between contexts and between raters"
)


@dataclass(frozen=True, slots=True)
class Design:
    """How a study collects choices, and how far contexts and raters differ."""

    contexts: int  # or dialogues of each agent
    choices: int  # of each context, or of each dialogue of the first agent
    raters: int  # 0: choices without a rater's name, each of a rater of its own
    context_sd: float = 0.7
    rater_sd: float = 0.5
    ties: bool = True
    crossed: bool = False  # every rater chooses in every context
    whole: bool = False  # whole dialogues are compared
    equal: bool = False  # there are two agents, equally strong

    @property
    def name(self) -> str:
        """The design in words."""
        unit = "dialogues of each agent" if self.whole else "contexts"
        who = (
            f"{self.raters} raters, {'all' if self.crossed else 'drawn'}"
            if self.raters
            else "raters not named"
        )
        parts = [f"{self.contexts} {unit} x {self.choices} choices", who]
        parts += [f"sd {self.context_sd:g} and {self.rater_sd:g}", *([] if self.ties else ["no ties"])]
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices of one study."""

    first: Ints  # (n,) agents
    second: Ints
    outcome: Floats  # (n,) 1, -1 or 0 for a tie
    metric: Floats  # (n,) a metric's difference
    clusters: tuple[Ints, Ints]  # contexts, or dialogues, of the two sides
    rater: Ints


def drawn(design: Design, rng: np.random.Generator) -> Choices:
    """The choices of a study of this design."""
    n = design.contexts * design.choices
    unit = np.repeat(np.arange(design.contexts), design.choices)
    rater = np.tile(np.arange(design.raters), design.contexts) if design.crossed else None
    if rater is None:
        rater = rng.integers(design.raters, size=n) if design.raters else np.arange(n)
    return _chosen(design, unit, rater, rng)


def population(design: Design, rng: np.random.Generator) -> Choices:
    """Choices that each have a context, or two dialogues, and a rater of their own."""
    every = np.arange(POPULATION)
    return _chosen(design, every, every, rng)


def _chosen(design: Design, unit: Ints, rater: Ints, rng: np.random.Generator) -> Choices:
    """The choices on the given contexts (or dialogues of the first agent) by the given raters."""
    n, k = len(unit), 2 if design.equal else len(AGENTS)
    first = rng.integers(k, size=n)
    second = (first + 1 + rng.integers(k - 1, size=n)) % k
    other = rng.permutation(unit) if design.whole else unit
    units, raters = int(unit.max()) + 1, int(rater.max()) + 1
    of_unit = rng.normal(0, design.context_sd, (units, k))
    of_rater = rng.normal(0, design.rater_sd, (raters, k))
    base = np.zeros(k) if design.equal else STRENGTHS
    item = base[first] + of_unit[unit, first] - base[second] - of_unit[other, second]
    gap = item + of_rater[rater, first] - of_rater[rater, second]
    weights = np.stack([gap / 2, -gap / 2, np.full(n, TIE if design.ties else -np.inf)], axis=1)
    outcome = np.array([1.0, -1.0, 0.0])[np.argmax(weights + rng.gumbel(size=(n, 3)), axis=1)]
    clusters = (first * units + unit, second * units + other) if design.whole else (unit, unit)
    return Choices(first, second, outcome, item + rng.normal(0, NOISE, n), clusters, rater)


def pairs_of(choices: Choices, *, named: bool) -> list[ComparedPair]:
    """The choices as `compare` and `meta` have them."""
    sides = zip(choices.first.tolist(), choices.second.tolist(), strict=True)
    clusters = zip(*(side.tolist() for side in choices.clusters), strict=True)
    made = []
    for at, ((a, b), (x, y)) in enumerate(zip(sides, clusters, strict=True)):
        made.append(
            ComparedPair(
                agents=(AGENTS[a], AGENTS[b]),
                items=(f"{at}-a", f"{at}-b"),
                outcome=int(choices.outcome[at]),
                both_bad=False,
                clusters=(str(x), str(y)),
                rater=f"p{choices.rater[at]}" if named else None,
                position=0,
                lengths=(1, 1),
            )
        )
    return made


@dataclass(frozen=True, slots=True)
class Truth:
    """What the intervals should cover."""

    strengths: Floats  # (agents,)
    win_rate: float  # the first agent's share minus the second's
    accuracy: float  # of the metric where epsilon is 0


@cache
def truth(design: Design) -> Truth:
    """The population's values."""
    choices = population(design, np.random.default_rng([SEED, 1]))
    fit = bradley_terry.fit(choices.first, choices.second, choices.outcome, AGENTS)
    sign = np.where((choices.first == 0) & (choices.second == 1), 1.0, 0.0)
    sign -= np.where((choices.first == 1) & (choices.second == 0), 1.0, 0.0)
    right = np.mean(np.sign(choices.metric) == choices.outcome)
    return Truth(fit.strengths, float(np.sum(sign * choices.outcome) / np.sum(np.abs(sign))), float(right))


def study(design: Design, seed: int) -> dict[str, list[bool]]:
    """Whether each interval of one study covers the truth, and whether the test of the first two agents rejects."""
    rng = np.random.default_rng([SEED, 2, seed])
    choices = drawn(design, rng)
    pairs = pairs_of(choices, named=design.raters > 0)
    found: dict[str, list[bool]] = {"strengths": [], "win rate": [], "rejected": [], "accuracy": []}
    won = win_rate(pairs, (AGENTS[0], AGENTS[1]), ABOUT)
    found["rejected"] += [won.p is not None and won.p < 0.05]
    if design.equal:
        return found
    real = truth(design)
    fit = strengths(pairs, AGENTS, ABOUT)
    for one in fit.strengths:
        found["strengths"] += _covered(one.bounds, float(real.strengths[AGENTS.index(one.agent)]))
    found["win rate"] += _covered(won.bounds, real.win_rate)
    if not design.ties:  # with ties the accuracy is that at the calibrated epsilon, which has no true value
        scored = PairScores("m", "m|v:1", tuple(pairs), choices.metric, {}, "higher")
        found["accuracy"] += _covered(
            pair_accuracy(scored, dimension="overall", group="").bounds, real.accuracy
        )
    return found


def _covered(interval: tuple[float, float] | None, value: float) -> list[bool]:
    """Whether the interval holds the value; empty without an interval."""
    return [] if interval is None else [interval[0] <= value <= interval[1]]


DESIGNS = (
    Design(60, 4, 15),
    Design(60, 4, 15, ties=False),
    Design(60, 4, 6),
    Design(40, 3, 6),
    Design(40, 6, 6, crossed=True),
    Design(100, 4, 30),
    Design(20, 6, 10),
    Design(60, 4, 10, context_sd=0.0, rater_sd=0.0),
    Design(60, 4, 5, context_sd=0.3, rater_sd=1.0),
    Design(100, 4, 3),
    Design(240, 1, 0),
    Design(240, 1, 0, ties=False),
    Design(15, 16, 15, whole=True),
    Design(60, 4, 15, whole=True),
    Design(15, 16, 15, whole=True, ties=False),
)
NULLS = tuple(
    Design(100, 2, raters, rater_sd=sd, ties=False, equal=True)
    for raters in (2, 3, 4, 6, 10, 20)
    for sd in (0.5, 1.0)
)


# Lines that are known to be outside their band, and why: what -> designs.
REASONS: dict[str, tuple[tuple[Design, ...], str]] = {
    "Bradley-Terry strengths": (
        (Design(40, 3, 6), Design(20, 6, 10), Design(60, 4, 10, context_sd=0.0, rater_sd=0.0)),
        WIDE,
    ),
    "win rate": (
        (
            Design(60, 4, 6),
            Design(40, 3, 6),
            Design(40, 6, 6, crossed=True),
            Design(20, 6, 10),
            Design(60, 4, 10, context_sd=0.0, rater_sd=0.0),
        ),
        WIDE,
    ),
    "pair accuracy": ((Design(60, 4, 15, ties=False),), WIDE),
    CENTRED: ((), ""),
    EDGE: ((Design(40, 1, 0, context_sd=0.0, rater_sd=0.0, ties=False),), DISCRETE),
    CUT: (
        tuple(Design(n, 1, 0, context_sd=0.0, rater_sd=0.0, ties=False) for n in (40, 150)),
        "not used; for comparison",
    ),
    "test of the win rate, equal agents": (tuple(one for one in NULLS if one.raters == 2), FEW),
}


def measured(job: tuple[Design, int]) -> list[dict[str, Any]]:
    """The lines of one design."""
    design, studies = job
    totals: dict[str, list[bool]] = {}
    missing = 0
    for seed in range(studies):
        for name, values in study(design, seed).items():
            totals.setdefault(name, []).extend(values)
            missing += name == "strengths" and not values
    if design.equal:
        return [line("test of the win rate, equal agents", design, "rejection", totals["rejected"], studies)]
    lines = [line("Bradley-Terry strengths", design, "coverage", totals["strengths"], studies)]
    lines.append(line("win rate", design, "coverage", totals["win rate"], studies))
    if totals["accuracy"]:
        lines.append(line("pair accuracy", design, "coverage", totals["accuracy"], studies))
    lines[0]["without_strengths"] = missing
    return lines


EDGES = tuple(
    (share, n) for share in (0.9, 0.95, 0.975) for n in (40, 150)
)  # accuracies of independent pairs


def at_the_edge(job: tuple[tuple[float, int], int]) -> list[dict[str, Any]]:
    """Coverage of a pair accuracy near 1, by Wilson's interval and by a t interval that is cut at 1."""
    (share, n), studies = job
    rng = np.random.default_rng([SEED, 3, n, int(1000 * share)])
    ours, cut = [], []
    for _ in range(studies):
        right = rng.random(n) < share
        mean = float(right.mean())
        errors = standard_errors((right - mean)[:, None] / n, np.arange(n))
        ours += _covered(share_test(mean, errors, null=0.5, n_clusters=n, by="cluster").interval, share)
        bounds = errors.interval(mean)
        cut += _covered(None if bounds is None else (bounds[0], min(1.0, bounds[1])), share)
    design = Design(n, 1, 0, context_sd=0.0, rater_sd=0.0, ties=False)
    return [
        {**line(what, design, "coverage", values, studies), "setting": f"{n} pairs, accuracy {share:g}"}
        for what, values in ((EDGE, ours), (CUT, cut))
    ]


RATED = (
    (10, 30, 1),
    (10, 40, 2),
    (4, 40, 3),
    (20, 40, 2),
    (30, 60, 4),
)  # raters, contexts, ratings of an item
DIFFERENCE = 0.4
TURNS = (Turn("user", "hello"), Turn("assistant", "hi"))


def centred(job: tuple[tuple[int, int, int], int]) -> list[dict[str, Any]]:
    """Coverage of the difference of two agents by centred ratings of the same contexts."""
    (raters, contexts, ratings), studies = job
    rng = np.random.default_rng([SEED, 4, raters, contexts, ratings])
    covered: list[bool] = []
    for _ in range(studies):
        strict, own = rng.normal(0, 0.8, raters), rng.normal(0, 0.3, raters)
        items: dict[str, list[Item]] = {"a": [], "b": []}
        for number in range(contexts):
            context = rng.normal(0, 0.8)
            for agent, sign in (("a", 0.5), ("b", -0.5)):
                quality = 3 + context + sign * DIFFERENCE + rng.normal(0, 0.5)
                name = f"{number}-{agent}"
                given = tuple(
                    Rating(
                        name, "overall", quality + strict[r] + sign * own[r] + rng.normal(0, 0.7), f"p{r}", 1
                    )
                    for r in rng.choice(raters, ratings, replace=False)
                )
                items[agent].append(
                    Item(name, name, agent, TURNS, 1, str(number), str(number), ratings=given)
                )
        metric: Any = rating_metric("overall", raters="centred")
        metric = metric.fit([*items["a"], *items["b"]])
        codes = np.arange(contexts)
        bounds, _, _ = metric.rater_difference(metric.rows(items["a"]), codes, metric.rows(items["b"]), codes)
        covered += _covered(bounds, DIFFERENCE)
    setting = f"{raters} raters, {contexts} contexts, {ratings} ratings of an item"
    return [{**line(CENTRED, Design(contexts, 1, raters), "coverage", covered, studies), "setting": setting}]


def line(what: str, design: Design, kind: str, values: list[bool], studies: int) -> dict[str, Any]:
    """One line of the result."""
    share = float(np.mean(values))
    low, high = BANDS[kind]
    valid = low <= share <= high
    known, why = REASONS[what]
    return {
        "what": what,
        "setting": design.name,
        kind: round(share, 4),
        "standard_error": round(float(np.sqrt(share * (1 - share) / studies)), 4),
        "valid": valid,
        "why_not": why if not valid and design in known else "",
    }


def _called(work: tuple[Any, Any]) -> list[dict[str, Any]]:
    """The lines of one piece of work: a function and its argument."""
    function, job = work
    found: list[dict[str, Any]] = function(job)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.preferences", description=__doc__)
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", metavar="WORDS")
    asked = parser.parse_args()
    kept: dict[str, dict[str, Any]] = {}
    if asked.only:
        old = json.loads(RESULT.read_text())
        if old["studies"] != asked.studies:
            parser.error(f"the kept lines have {old['studies']} studies")
        kept = {f"{row['what']}; {row['setting']}": row for row in old["lines"]}
    work: list[tuple[str, Any, Any]] = [
        *(("choices " + one.name, measured, (one, asked.studies)) for one in (*DESIGNS, *NULLS)),
        *((EDGE, at_the_edge, (edge, 5 * asked.studies)) for edge in EDGES),
        *((CENTRED, centred, (rated, asked.studies)) for rated in RATED),
    ]
    with Pool(asked.jobs) as pool:
        chosen = [(function, job) for name, function, job in work if asked.only in name]
        for lines in pool.imap(_called, chosen):
            kept |= {f"{row['what']}; {row['setting']}": row for row in lines}
    found = list(kept.values())
    head = {
        "command": f"OMP_NUM_THREADS=1 python -m benchmarks.preferences --studies {asked.studies}",
        "studies": asked.studies,
        "seed": SEED,
        "bands": BANDS,
    }
    RESULT.write_text(json.dumps({**head, "lines": found}, indent=1) + "\n")
    surprises = [row for row in found if not row["valid"] and not row["why_not"]]
    for row in surprises:
        print(f"outside its band: {row}", file=sys.stderr)
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())
