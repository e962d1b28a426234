"""How often the claims of reports are contradicted: by the truth, by the other half of a corpus, by each other.

`OMP_NUM_THREADS=1 python -m benchmarks.claims` makes cases of three sorts, with seeds from 2000 on, which were not
looked at while the rules were written:

* worlds (chat, booking and task, each with its families) that know the true means of their agents;
* rated corpora, split in two at random by context: one half makes the claims, the other checks them;
* designs: made ratings with known true means, of two, four and ten agents, with the same tasks or different ones, one
  trial of each or four, one rater or three, of 12 to 40 tasks. The true means are drawn from a normal distribution,
  with .5 of the standard deviation of a rating, so that no two are equal.

`compare` is asked with two agents in both orders and with different seeds, and with all agents in both orders; `meta`
and `ope` of worlds and corpora once. Each fact that a claim states with a direction is then checked:

* above, by ratings: the truth, or the mean difference of ratings in the other half, has the same sign;
* above, by a metric: the metric's mean difference in the other half has the same sign;
* above, of a metric's agreement with people: the other metric does not agree more in the other half;
* agrees: the agreement in the other half is above chance, or below it where the metric was said to rank against people;
* near: the agreement in the other half is half of one rater's or more; or no metric reaches two thirds of it;
* the interval for an unrated agent holds the truth.

A claim is contradicted if any of its facts is. Two halves of equal size: a true claim is contradicted by chance now and
then, so that the rates are upper bounds. Claims that nothing was shown have no such fact, and are counted as withheld.

All claims of a case from the same ratings are then compared with each other (`turnwise.report.claims.consistency`), as
if they were in one report. The result is benchmarks/results/claims.json; the exit code is 1 if more than 3 % of the
claims are contradicted, or if two claims of one case contradict each other.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import turnwise as tw
from turnwise.errors import TurnwiseError
from turnwise.logs import native
from turnwise.records import LEVEL
from turnwise.report.agreement import Agreement, chosen_statistic
from turnwise.report.claims import Claim, Fact, claims_of, contradictions
from turnwise.report.claims.agents import leader
from turnwise.report.claims.metrics import LEAST, NEAR
from turnwise.report.figure import with_estimate
from turnwise.report.run_files import StoredFiles
from turnwise.report.runs import Run, RunOf
from turnwise.report.text import table
from turnwise.stats.interval import wilson
from turnwise.types import Dialogue, Rating, Turn

RESULT = Path(__file__).parent / "results" / "claims.json"
FIRST_SEED = 2000  # smaller ones were looked at while the rules were written
ALLOWED = 0.03  # share of claims that may be contradicted
MAX_DIALOGUES = 1200  # of a corpus, drawn at random
PAIRS = 3  # pairs of agents that are compared by themselves
WORLDS = (("chat", "graded"), ("chat", "failings"), ("booking", "graded"), ("booking", "wordings"),
          ("booking", "behaviour"), ("task", "graded"))  # fmt: skip
DIMENSION = {"chat": "overall", "booking": "reward", "task": "success"}
CORPORA = {  # file -> dimension
    "usr_persona.jsonl": "overall",
    "grade.jsonl.gz": "coherence",
    "fed_turn.jsonl.gz": "overall",
    "engage.jsonl": "engaging",
    "fbd.jsonl.gz": "overall",
    "dstc7.jsonl.gz": "relevance",
    "ji2022.jsonl.gz": "interesting",
}
METRICS = ("length", "question-rate", "repeat-partner-1", "rouge-l", "chrf", "bleu-2")
OF_REFERENCES = ("rouge-l", "chrf", "bleu-2")
SPREAD = 0.5  # of the true means of a design, in standard deviations of a rating


@dataclass(frozen=True)
class Design:
    """How made ratings are collected."""

    agents: int
    tasks: int
    trials: int
    raters: int
    paired: bool  # whether all agents are given the same tasks

    @property
    def name(self) -> str:
        """The design in words."""
        same = "the same" if self.paired else "different"
        return (
            f"{self.agents} agents, {same} {self.tasks} tasks x {self.trials} trials x {self.raters} raters"
        )


DESIGNS = (
    Design(2, 40, 1, 1, True),
    Design(2, 40, 1, 1, False),
    Design(2, 12, 4, 1, True),
    Design(4, 20, 2, 3, True),
    Design(10, 40, 1, 1, True),
    Design(10, 12, 4, 3, True),
    Design(10, 40, 1, 3, False),
)


@dataclass(frozen=True)
class Case:
    """Dialogues from which claims are made, those that check them, and the true means of the agents where known."""

    name: str
    sort: str  # world, corpus or design
    decide: list[Dialogue]
    dimension: str
    check: list[Dialogue]
    truth: Mapping[str, float]  # empty for a corpus
    metrics: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)  # of compare

    @property
    def agents(self) -> list[str]:
        """The agents of both halves."""
        there = {one.agent for one in self.decide}
        return sorted(there & {one.agent for one in self.check} if self.check else there)


def world_case(world: str, family: str, seed: int, folder: Path) -> Case:
    """A drawn world: 8 agents with 12 dialogues in each half."""
    path = folder / f"{world}-{family}-{seed}.jsonl"
    tw.simulate(world, output=path, family=family, agents=8, dialogues=24, samples=1, truth=1000, seed=seed)
    halves: tuple[list[Dialogue], list[Dialogue]] = ([], [])
    seen: dict[str, int] = defaultdict(int)
    for dialogue in native.read(str(path)):
        halves[seen[dialogue.agent] % 2].append(dialogue)
        seen[dialogue.agent] += 1
    agents = json.loads(path.with_suffix("").with_suffix(".truth.json").read_text())["agents"]
    dimension = DIMENSION[world]
    truth = {agent: means[dimension]["mean"] for agent, means in agents.items()}
    return Case(
        f"{world} {family} {seed}", "world", halves[0], dimension, halves[1], truth, _metrics(halves[0])
    )


def corpus_case(path: Path, dimension: str, seed: int) -> Case:
    """A rated corpus, split in two at random by the first message, so that replies to one context stay together."""
    rng = np.random.default_rng(seed)
    dialogues = list(native.read(str(path)))
    if len(dialogues) > MAX_DIALOGUES:
        dialogues = [dialogues[at] for at in np.sort(rng.permutation(len(dialogues))[:MAX_DIALOGUES])]
    first = [dialogue.turns[0].text if dialogue.turns else dialogue.id for dialogue in dialogues]
    side = dict(zip(sorted(set(first)), rng.integers(2, size=len(set(first))), strict=True))
    halves: tuple[list[Dialogue], list[Dialogue]] = ([], [])
    for dialogue, key in zip(dialogues, first, strict=True):
        halves[side[key]].append(dialogue)
    return Case(f"{path.name} {seed}", "corpus", halves[0], dimension, halves[1], {}, _metrics(halves[0]))


def _metrics(dialogues: Sequence[Dialogue]) -> tuple[str, ...]:
    """The metrics that have scores here."""
    references = any(turn.references for dialogue in dialogues for turn in dialogue.turns)
    return tuple(name for name in METRICS if references or name not in OF_REFERENCES)


def design_case(design: Design, seed: int) -> Case:
    """Ratings made of an agent's true mean and random effects of tasks, of agents on tasks, of trials and of raters."""
    rng = np.random.default_rng([seed, *asdict(design).values()])
    truth = dict(
        zip([f"bot-{k}" for k in range(design.agents)], rng.normal(0, SPREAD, design.agents), strict=True)
    )
    raters = rng.normal(0, 0.3, design.raters)
    shared = rng.normal(0, 0.5, design.tasks)
    dialogues = []
    for agent, mean in truth.items():
        tasks = shared if design.paired else rng.normal(0, 0.5, design.tasks)
        on_tasks = rng.normal(0, 0.3, design.tasks)
        for task in range(design.tasks):
            for trial in range(design.trials):
                quality = mean + tasks[task] + on_tasks[task] + rng.normal(0, 0.5)
                name = f"task-{task}" if design.paired else f"{agent}-task-{task}"
                values = quality + raters + rng.normal(0, 0.5, design.raters)
                dialogues.append(
                    Dialogue(
                        f"{agent}-{task}-{trial}",
                        agent,
                        (
                            Turn("user", f"Please do {name}."),
                            Turn("assistant", f"Done, {rng.integers(10**6)}."),
                        ),
                        tuple(
                            Rating(f"{agent}-{task}-{trial}", "overall", float(value), rater=f"r{k}")
                            for k, value in enumerate(values)
                        ),
                        meta={"task": name},
                    )
                )
    options = {"cluster": "meta.task", "pair": "meta.task" if design.paired else "none"}
    return Case(f"{design.name}, {seed}", "design", dialogues, "overall", [], truth, options=options)


def made_run(result: Any, command: str, name: str = "") -> RunOf[Any]:
    """The result of a library call as a run."""
    return RunOf(name or command, StoredFiles(Path(command)), result.document)


def compared(case: Case, rng: np.random.Generator) -> Iterator[Run]:
    """Comparisons of some pairs and of all agents, by people and beside metrics, each in both orders."""
    metrics = list(case.metrics) or [f"rating:{case.dimension}"]
    every = [(a, b) for at, a in enumerate(case.agents) for b in case.agents[at + 1 :]]
    asked: list[list[str]] = [list(every[at]) for at in rng.permutation(len(every))[:PAIRS]]
    asked += [case.agents] if len(case.agents) > 2 else []
    for agents in asked:
        for seed, order in enumerate((agents, agents[::-1])):
            made = tw.compare(
                case.decide, metrics=metrics, agents=order, draws=400, seed=seed, **dict(case.options)
            )
            yield made_run(made, "compare", f"{', '.join(order)}, seed {seed}")


def unrated(case: Case, rng: np.random.Generator) -> Iterator[Run]:
    """Comparisons of two agents and of all by metrics, without any rating."""
    bare = [replace(dialogue, ratings=()) for dialogue in case.decide]
    pair = [case.agents[at] for at in rng.permutation(len(case.agents))[:2]]
    for agents in (pair, case.agents) if len(case.agents) > 2 else (pair,):
        made = tw.compare(bare, metrics=list(case.metrics), agents=agents, draws=400, **dict(case.options))
        yield made_run(made, "compare", f"without ratings: {', '.join(agents)}")


def agreement(case: Case, dialogues: Sequence[Dialogue]) -> Run:
    """The agreement of metrics with people on one half."""
    made = tw.meta_evaluate(
        dialogues, metrics=list(case.metrics), dimension=case.dimension, statistics="spearman", draws=400
    )
    return made_run(made, "meta")


def estimated(case: Case, rng: np.random.Generator) -> Iterator[Run]:
    """What people would say of an agent of a world whose own dialogues are left out."""
    target = case.agents[rng.integers(len(case.agents))]
    seen = [one for one in (*case.decide, *case.check) if one.agent != target]
    yield made_run(tw.ope(seen, targets=[target], rating=case.dimension, model="hashing"), "ope", target)


@dataclass(frozen=True)
class Check:
    """What is known of a case beside the half that made the claims."""

    case: Case
    gaps: Mapping[
        tuple[str, str, str], str
    ]  # (agent, other agent, metric) -> the one that leads in the other half
    agreements: Mapping[tuple[str, str], Agreement]  # (metric, quantity) -> its agreement in the other half

    def contradicted(self, claim: Claim) -> bool | None:
        """Whether the truth or the other half contradicts some fact of the claim; None if none could be checked."""
        found = [self._wrong(fact) for fact in claim.facts if fact.direction]
        if claim.interval is not None and claim.subject in self.case.truth:
            found.append(not claim.interval[0] <= self.case.truth[claim.subject] <= claim.interval[1])
        known = [wrong for wrong in found if wrong is not None]
        return any(known) if known else None

    def _wrong(self, fact: Fact) -> bool | None:
        """Whether a fact with a direction is contradicted; None if that is not known."""
        mine = self.agreements.get((fact.subject, fact.quantity))
        if fact.relation == "above" and mine is not None:
            other = self.agreements.get((fact.object, fact.quantity))
            return None if other is None else mine.value < other.value
        if fact.relation == "above":
            return self._wrong_order(fact)
        if mine is None:
            return None
        if fact.relation == "agrees":
            return mine.value <= mine.chance if fact.direction > 0 else mine.value >= mine.chance
        if fact.relation == "near" and mine.one_rater:
            least = LEAST if fact.direction > 0 else NEAR
            return (mine.value < least * mine.one_rater) == (fact.direction > 0)
        return None

    def _wrong_order(self, fact: Fact) -> bool | None:
        """Whether two agents are the other way round."""
        truth = self.case.truth
        if (
            fact.quantity == f"rating:{self.case.dimension}"
            and fact.subject in truth
            and fact.object in truth
        ):
            return (truth[fact.subject] > truth[fact.object]) != (fact.direction > 0)
        first = self.gaps.get((fact.subject, fact.object, fact.quantity))
        return None if first is None else (first == fact.subject) != (fact.direction > 0)


def check_of(case: Case) -> Check:
    """What the other half says, if there is one."""
    gaps: dict[tuple[str, str, str], str] = {}
    agreements: dict[tuple[str, str], Agreement] = {}
    if case.check:
        asked = [*case.metrics, f"rating:{case.dimension}"]
        other = tw.compare(case.check, metrics=asked, agents=case.agents, draws=100)
        for record in with_estimate(other.document.results):
            for a, b in ((record.agent_a, record.agent_b), (record.agent_b, record.agent_a)):
                gaps[str(a), str(b), record.metric] = leader(record)
        run = agreement(case, case.check)
        records = [record for record in with_estimate(run.document.results) if record.metric]
        for record in records:
            if record.statistic == chosen_statistic(records):
                for inside in (False, True):
                    one = Agreement(record, inside)
                    if not np.isnan(one.value):
                        agreements[one.metric, one.quantity] = one
    return Check(case, gaps, agreements)


@dataclass(frozen=True)
class Made:
    """A claim of a case, and whether it was contradicted."""

    case: str
    sort: str
    kind: str
    badge: str
    contradicted: bool | None
    text: str


def claims_of_case(case: Case, rng: np.random.Generator) -> tuple[list[Made], list[str], int]:
    """The claims that a case makes, those that contradict each other as text, and how many of them were compared."""
    runs = list(compared(case, rng))
    beside: list[Run] = []
    if case.metrics:
        beside = list(unrated(case, rng))
        runs.append(agreement(case, case.decide))
    if case.sort == "world":
        try:
            beside += estimated(case, rng)
        except TurnwiseError as refusal:
            print(f"{case.name}: {refusal}", file=sys.stderr)
    check = check_of(case)
    together = [claim for run in runs for claim in claims_of(run)]
    apart = [claim for run in beside for claim in claims_of(run)]
    made = [
        Made(case.name, case.sort, claim.kind, claim.badge, check.contradicted(claim), str(claim))
        for claim in (*together, *apart)
    ]
    # Claims without ratings, and those on more dialogues, are in no report with the others.
    found = [
        f"{case.name}: {pair.first.verdict} ({pair.first.run}) | {pair.second.verdict} ({pair.second.run}): "
        f"{pair.facts[0]} | {pair.facts[1]}"
        for pair in contradictions(together)
    ]
    return made, found, len(together)


def summary(found: Sequence[Made]) -> list[dict[str, Any]]:
    """Each sort of case and kind of claim: how often it was made, checked and contradicted, with a Wilson interval."""
    lines = []
    for sort, kind in sorted(dict.fromkeys((one.sort, one.kind) for one in found)):
        mine = [one for one in found if (one.sort, one.kind) == (sort, kind)]
        lines.append({"sort": sort, "kind": kind, "made": len(mine), **_rate(mine)})
    return sorted(lines, key=lambda line: (line["sort"], not line["checked"], -line["made"]))


def _rate(made: Sequence[Made]) -> dict[str, Any]:
    """How many of these claims could be checked, and how many were contradicted."""
    checked = [one for one in made if one.contradicted is not None]
    wrong = sum(bool(one.contradicted) for one in checked)
    bounds = wilson(wrong, len(checked))
    return {
        "checked": len(checked),
        "contradicted": wrong,
        "rate": wrong / len(checked) if checked else None,
        "interval": None if bounds is None else [round(end, 4) for end in bounds],
    }


def cases(given: argparse.Namespace, folder: Path) -> Iterator[tuple[Case, np.random.Generator]]:
    """The cases of all seeds, each with its generator."""
    for seed in range(given.first, given.first + given.sets):
        for at, design in enumerate(DESIGNS):
            yield design_case(design, seed), np.random.default_rng([seed, at, 1])
    for seed in range(given.first, given.first + given.seeds):
        for at, (world, family) in enumerate(WORLDS):
            yield world_case(world, family, seed, folder), np.random.default_rng([seed, at, 2])
        for at, (file, dimension) in enumerate(CORPORA.items()):
            if (path := Path(given.data) / file).exists():
                case = corpus_case(path, dimension, seed)
                # A corpus of few contexts may have all replies of an agent in one half.
                if len(case.agents) > 1:
                    yield case, np.random.default_rng([seed, at, 3])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default="../shared/data", help="the folder of the rated corpora")
    parser.add_argument(
        "--seeds", type=int, default=3, help="worlds of each family, and splits of each corpus"
    )
    parser.add_argument("--sets", type=int, default=40, help="made data sets of each design")
    parser.add_argument("--output", default=str(RESULT))
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="the first seed")
    given = parser.parse_args()
    made: list[Made] = []
    pairs: list[str] = []
    compared_claims = n_cases = 0
    report: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        for case, rng in cases(given, Path(folder)):
            claims, contradictory, n = claims_of_case(case, rng)
            made += claims
            pairs += contradictory
            compared_claims, n_cases = compared_claims + n, n_cases + 1
            print(
                f"{case.name}: {len(made)} claims so far, {len(pairs)} contradictory pairs",
                file=sys.stderr,
                flush=True,
            )
            report = {
                "command": f"OMP_NUM_THREADS=1 python -m benchmarks.claims --seeds {given.seeds} --sets {given.sets}",
                "first_seed": given.first, "level": LEVEL, "cases": n_cases, "all": {"made": len(made), **_rate(made)},
                "contradictory_pairs": {"claims": compared_claims, "pairs": len(pairs), "texts": pairs},
                "claims": summary(made),
                "contradicted": [f"{one.case}: {one.kind}: {one.text}" for one in made if one.contradicted],
            }  # fmt: skip
            Path(given.output).write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    head = ["sort", "kind", "made", "checked", "contradicted", "rate", "interval"]
    rows = [
        [tuple(v) if isinstance(v := line[name], list) else v for name in head] for line in report["claims"]
    ]
    print(table(rows, head))
    print(json.dumps(report["all"]), len(pairs), "contradictory pairs")
    return 1 if (report["all"]["rate"] or 0) > ALLOWED or pairs else 0


if __name__ == "__main__":
    sys.exit(main())
