"""How often the claims of reports are contradicted: by the truth of simulated worlds, or by the other half of a corpus.

`OMP_NUM_THREADS=1 python -m benchmarks.claims` draws worlds (chat, booking and task, each with its families, seeds from
2000 on, which were not looked at while the rules were written) and splits rated corpora in two at random by context.
`compare`, `meta` and `ope` run on one half. Each claim is then checked:

* rated-higher: the truth of the world, or the mean difference of ratings in the other half, has the same sign;
* scores-higher: the metric's mean difference in the other half has the same sign;
* trust, agrees-best: no other metric agrees more with people in the other half; agrees-best alone: agreement above 0;
* far-from-person: in the other half, too, no metric reaches two thirds of one rater;
* reversed: the agreement is below 0 in the other half;
* between-agents-only: the agreement over all items is above 0 in the other half;
* ranks-agents: the agreement over agents is above 0 in the other half;
* unrated-ranked: the agents that are said to be worse and better are so by the world's truth;
* unrated-useless and unrated-estimate: the interval holds the truth.

Two halves of equal size: a true claim is contradicted by chance now and then, so that the rates are upper bounds.
Claims that were not made (no-difference, metrics-disagree, none-agrees, near-not-shown, best-tied, agrees-tied,
unrated-useless) are counted as withheld, those on metrics with the number that the other half would have allowed.
The sentences of version 0.1 are checked beside them. The result is benchmarks/results/claims.json; the exit code is 1
if a kind of claim that was made at least 20 times is contradicted in more than 5 %.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import turnwise as tw
from turnwise.errors import TurnwiseError
from turnwise.logs import native
from turnwise.records import CompareDocument, MetaDocument
from turnwise.report.claims import Claim, claims_of, ranked
from turnwise.report.claims.metrics import NEAR, Agreement
from turnwise.report.figure import with_estimate
from turnwise.report.runs import RunOf, run_of
from turnwise.report.text import table
from turnwise.stats.interval import wilson
from turnwise.types import Dialogue

RESULT = Path(__file__).parent / "results" / "claims.json"
FIRST_SEED = 2000  # smaller ones were looked at while the rules were written
ALLOWED = 0.05
MAX_DIALOGUES = 1200  # of a corpus, drawn at random
ENOUGH = 20  # claims of a kind from which on its rate decides the exit code
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
PLAIN = ("length", "question-rate", "repeat-partner-1", "rouge-l", "chrf", "bleu-2")
LEARNED = ("usr-ret", "turnwise")
WITHHELD = {"no-difference": "agents", "metrics-disagree": "agents", "none-agrees": "metrics",
            "near-not-shown": "metrics", "best-tied": "metrics",
            "agrees-tied": "metrics", "ranking-useless": "metrics", "unrated-useless": "unrated"}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """Dialogues from which claims are made, those that check them, and the true mean ratings of a world's agents."""

    name: str
    decide: list[Dialogue]
    check: list[Dialogue]
    dimension: str
    truth: Mapping[str, float]  # empty for a corpus


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
    return Case(
        f"{world} {family} {seed}", *halves, dimension, {a: m[dimension]["mean"] for a, m in agents.items()}
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
    return Case(f"{path.name} {seed}", *halves, dimension, {})


def made_run(result: Any, command: str) -> RunOf[Any]:
    """The result of a library call as a run."""
    return run_of(command, Path(command), result.document)


def metrics_of(case: Case) -> list[str]:
    """The metrics that have scores here."""
    references = any(turn.references for dialogue in case.decide for turn in dialogue.turns)
    return [name for name in (*PLAIN, *LEARNED) if references or name not in ("rouge-l", "chrf", "bleu-2")]


def pairs_of(case: Case, rng: np.random.Generator, most: int = 3) -> list[tuple[str, str]]:
    """Some pairs of agents, drawn at random."""
    agents = sorted(
        {dialogue.agent for dialogue in case.decide} & {dialogue.agent for dialogue in case.check}
    )
    every = [(a, b) for at, a in enumerate(agents) for b in agents[at + 1 :]]
    return [every[at] for at in rng.permutation(len(every))[:most]]


@dataclass(frozen=True)
class Checked:
    """One claim or sentence: of which kind, whether it was contradicted, and whether withholding was needless."""

    case: str
    kind: str
    edition: str  # claims, or 0.1
    contradicted: bool | None  # None: nothing was claimed, or the check is not possible
    could: bool | None = None  # of what was withheld: the other half would have allowed it
    text: str = ""


def compare_checks(case: Case, rng: np.random.Generator) -> Iterator[Checked]:
    """Claims on pairs of agents: with ratings at hand, and with metrics alone."""
    names = metrics_of(case)
    unrated = [replace(one, ratings=()) for one in case.decide]
    for a, b in pairs_of(case, rng):
        asked = [*names, f"rating:{case.dimension}"]
        other = made_run(tw.compare(case.check, metrics=asked, agents=[a, b], draws=100), "compare")
        gaps = {r.metric: r.value for r in with_estimate(other.document.results)}
        people = case.truth[a] - case.truth[b] if case.truth else gaps.get(f"rating:{case.dimension}")
        for data in (case.decide, unrated):
            found = made_run(tw.compare(data, metrics=names, agents=[a, b], draws=400), "compare")
            (claim,) = claims_of(found)
            yield from _agent_check(case, claim, a, gaps, people)
        yield from _earlier_agents(case, found, people)


def _agent_check(
    case: Case, claim: Claim, a: str, gaps: Mapping[str, float], people: float | None
) -> Iterator[Checked]:
    if claim.kind == "rated-higher" and people is not None:
        yield Checked(
            case.name, claim.kind, "claims", (people > 0) != (claim.facts["higher"] == a), text=str(claim)
        )
    elif claim.kind == "scores-higher":
        gap = gaps.get(claim.facts["metric"])
        yield Checked(
            case.name,
            claim.kind,
            "claims",
            None if gap is None else (gap > 0) != (claim.facts["higher"] == a),
            text=str(claim),
        )
    else:
        yield Checked(case.name, claim.kind, "claims", None)


def _earlier_agents(case: Case, run: RunOf[CompareDocument], people: float | None) -> Iterator[Checked]:
    """Version 0.1: the first metric that shows a difference makes one agent better."""
    known = with_estimate(run.document.results)
    shown = [r for r in known if r.verdict not in (None, "not shown") and r.better]
    if shown and people is not None:
        better_is_a = (shown[0].value > 0) == (shown[0].better == "higher")
        yield Checked(case.name, "A is better by a metric", "0.1", (people > 0) != better_is_a)


def meta_checks(case: Case) -> Iterator[Checked]:
    """Claims on metrics, from one half, checked on the other."""
    both = []
    for half in (case.decide, case.check):
        made = tw.meta_evaluate(
            half, metrics=metrics_of(case), dimension=case.dimension, statistics="spearman", draws=400
        )
        both.append(made_run(made, "meta"))
    run, other = both
    there = {one.metric: one for one in ranked(other.document.results)}
    for claim in claims_of(run):
        yield _metric_check(case, claim, there, other)
    yield from _earlier_metrics(case, run, there)


def _metric_check(
    case: Case, claim: Claim, there: Mapping[str, Agreement], other: RunOf[MetaDocument]
) -> Checked:
    mine = there.get(claim.facts["metric"])
    against: bool | None = None
    could: bool | None = None
    rivals = [one for name, one in there.items() if name != claim.facts["metric"]]
    if mine is not None and claim.kind in ("trust", "agrees-best"):
        against = any(one.value > mine.value for one in rivals) or mine.value <= mine.chance
    elif mine is not None and claim.kind == "ranks-agents":
        against = mine.value <= mine.chance
    elif mine is not None and claim.kind == "reversed":
        against = mine.value >= mine.chance
    elif claim.kind == "far-from-person":
        against = any(one.one_rater and one.value >= NEAR * one.one_rater for one in there.values())
    elif mine is not None and claim.kind == "between-agents-only":
        over_all = Agreement(mine.record, inside=False)
        against = over_all.value <= over_all.chance
    elif claim.kind in WITHHELD:
        could = any(
            one.kind in ("trust", "agrees-best", "far-from-person", "ranks-agents")
            for one in claims_of(other)
        )
    return Checked(case.name, claim.kind, "claims", against, could, str(claim))


def _earlier_metrics(
    case: Case, run: RunOf[MetaDocument], there: Mapping[str, Agreement]
) -> Iterator[Checked]:
    """Version 0.1: trust the metric with the highest agreement over all items, do not use one that is reversed."""
    level = next(iter(ranked(run.document.results))).record.level
    known = with_estimate(run.document.results)
    mine = [record for record in known if record.level == level and not record.in_training]
    mine.sort(key=lambda record: -record.value)
    best, worst = mine[0], mine[-1]
    if best.bounds and best.bounds[0] > 0 and best.metric in there:
        top = max(there.values(), key=lambda one: one.value)
        yield Checked(case.name, "trust X most", "0.1", top.metric != best.metric)
    if worst is not best and worst.value < 0 and (worst.p or 1) <= 0.05 and worst.metric in there:
        yield Checked(case.name, "do not use X", "0.1", there[str(worst.metric)].value >= 0)


def ope_checks(case: Case, rng: np.random.Generator) -> Iterator[Checked]:
    """Claims on an agent whose own dialogues are left out."""
    agents = sorted(case.truth)
    for target in [agents[at] for at in rng.permutation(len(agents))[:2]]:
        seen = [one for one in (*case.decide, *case.check) if one.agent != target]
        try:
            found = made_run(tw.ope(seen, targets=[target], rating=case.dimension, model="hashing"), "ope")
        except TurnwiseError:
            yield Checked(case.name, "refused", "claims", None)
            continue
        (claim,) = claims_of(found)
        bounds = claim.facts.get("interval")
        truth = case.truth[target]
        if claim.kind == "unrated-ranked":
            wrong = [case.truth[name] > truth for name in claim.facts["below"]]
            wrong += [case.truth[name] < truth for name in claim.facts["above"]]
            yield Checked(case.name, claim.kind, "claims", any(wrong), text=str(claim))
        elif bounds:
            yield Checked(
                case.name, claim.kind, "claims", not bounds[0] <= truth <= bounds[1], text=str(claim)
            )
        else:
            yield Checked(case.name, claim.kind, "claims", None)


def summary(found: Sequence[Checked]) -> list[dict[str, Any]]:
    """Each edition and kind: how often it was made, checked and contradicted, with a Wilson interval."""
    lines = []
    for edition, kind in dict.fromkeys((one.edition, one.kind) for one in found):
        mine = [one for one in found if (one.edition, one.kind) == (edition, kind)]
        checked = [one for one in mine if one.contradicted is not None]
        could = [one.could for one in mine if one.could is not None]
        wrong = sum(bool(one.contradicted) for one in checked)
        bounds = wilson(wrong, len(checked))
        lines.append(
            {
                "edition": edition, "kind": kind, "withheld": kind in WITHHELD, "made": len(mine),
                "checked": len(checked), "contradicted": wrong,
                "rate": wrong / len(checked) if checked else None,
                "interval": None if bounds is None else [round(end, 4) for end in bounds],
                "could_have_been_made": sum(map(bool, could)) if could else None,
            }
        )  # fmt: skip
    return sorted(lines, key=lambda line: (line["edition"] != "claims", line["withheld"], -line["made"]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default="../shared/data", help="the folder of the rated corpora")
    parser.add_argument(
        "--seeds", type=int, default=10, help="worlds of each family, and splits of each corpus"
    )
    parser.add_argument("--output", default=str(RESULT))
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="the first seed")
    given = parser.parse_args()
    found: list[Checked] = []
    with TemporaryDirectory() as folder:
        for seed in range(given.first, given.first + given.seeds):
            cases = [world_case(world, family, seed, Path(folder)) for world, family in WORLDS]
            cases += [
                corpus_case(Path(given.data) / file, dimension, seed)
                for file, dimension in CORPORA.items()
                if (Path(given.data) / file).exists()
            ]
            for at, case in enumerate(cases):
                rng = np.random.default_rng([seed, at])
                found += compare_checks(case, rng)
                found += meta_checks(case)
                found += ope_checks(case, rng) if case.truth else ()
                print(f"{case.name}: {len(found)} claims so far", file=sys.stderr, flush=True)
                lines = summary(found)
                Path(given.output).write_text(
                    json.dumps({"command": f"python -m benchmarks.claims --seeds {given.seeds}",
                                "seeds": [given.first, seed], "claims": lines,
                                "contradicted": [f"{one.case}: {one.kind}: {one.text}" for one in found
                                                 if one.contradicted and one.edition == "claims"]},
                               indent=1, ensure_ascii=False) + "\n"
                )  # fmt: skip
    head = ["edition", "kind", "made", "checked", "contradicted", "rate", "interval", "could_have_been_made"]
    print(
        table(
            [[tuple(v) if isinstance(v := line[name], list) else v for name in head] for line in lines], head
        )
    )
    bad = [
        line for line in lines
        if line["edition"] == "claims" and line["checked"] >= ENOUGH and line["rate"] > ALLOWED
    ]  # fmt: skip
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
