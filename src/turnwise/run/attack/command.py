"""`turnwise attack`: how a metric is gamed, on contexts with people's replies."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from turnwise.attacks.attack import Attack, attack
from turnwise.attacks.context import Context, contexts, halves
from turnwise.attacks.perturb import CALLS, Perturbation, perturbed
from turnwise.attacks.target import Target
from turnwise.attacks.verdict import Judged
from turnwise.conformance import rows_of
from turnwise.errors import Unmeasured, UsageError
from turnwise.logs.items.items import all_items
from turnwise.logs.items.selection import FILE
from turnwise.logs.native import file_names
from turnwise.logs.scan import Census, scan
from turnwise.meta.table import better_direction
from turnwise.protocols import metric_extras
from turnwise.run.attack.calls import calls
from turnwise.run.attack.model_card import model_folder, write_attacks
from turnwise.run.attack.tuning import Tuning
from turnwise.run.outcome import Outcome, finish
from turnwise.run.scoring.blocks import item_scores, missing
from turnwise.run.scoring.shards import prepare
from turnwise.run.scoring.tally import generator
from turnwise.run.spec import AttackSpec
from turnwise.types import Direction, Finding, Floats, Item, Metric

Report = Callable[[str], None]
HUMAN = "human"


def run_attack(spec: AttackSpec, *, report: Report = lambda _: None) -> Outcome:
    """Attack one metric; the document has a verdict, and what each strategy came to."""
    census = scanned(spec)
    metrics, absent = prepare(spec, census)
    if not metrics:
        return finish(spec, tuple(absent), census.sha256, verdict=None)
    ((name, metric),) = metrics.items()
    card = model_folder(name) if spec.card else None
    made = assault(spec, name, metric, census, report=report)
    told = verdict(made.found)
    sign = made.sign
    findings = tuple(_findings(name, str(metric.signature), made.found, sign, better_direction(metric)))
    if card is not None:
        about = ", ".join(file_names(spec.data).values())
        shown = [{**one.what, **one.details} for one in findings if one.details["significant"]]
        write_attacks(card, about, shown)
    return finish(
        spec, findings, census.sha256,
        verdict=told,
        people={
            "agent": made.people,
            "score": _number(sign * made.found.people.score),
            "interval": _turned(made.found.people.interval, sign),
        },
        tendencies=[asdict(one if sign > 0 else one.turned) for one in made.found.tendencies],
        perturbations=[asdict(one if sign > 0 else one.turned) for one in made.edits],
        diagnosis={**asdict(made.found.diagnosis), "words": made.found.diagnosis.words},
        repetitions=made.repetitions,
        tried=made.found.tried,
        unsearched=made.found.unsearched,
        unjudged=made.found.unjudged,
        errors=made.found.errors,
        calls=made.found.calls,
    )  # fmt: skip


def scanned(spec: AttackSpec) -> Census:
    """What is in the data of an attack, which has one verdict for all of it."""
    if any(key != FILE for key in spec.selection.group_keys):
        raise UsageError(
            "an attack has one verdict: give each group its own with --where; --by takes `file` alone"
        )
    return scan(spec.data, apart=spec.selection.apart)


@dataclass(frozen=True, slots=True)
class Assault:
    """An attack and what was learnt beside it."""

    found: Attack
    edits: list[Perturbation]
    repetitions: list[dict[str, Any]]  # of a tuned policy, the best first
    people: str  # whose replies were to be beaten
    sign: int  # -1 where lower is better
    contexts: tuple[Context, ...]


def assault(
    spec: AttackSpec, name: str, metric: Metric, census: Census, *, report: Report = lambda _: None
) -> Assault:
    """Every stage that the spec asks for, on its data; a run that was killed goes on where it stopped."""
    if "dialogue" in metric.needs or metric.level == "system":
        raise UsageError(f"`{name}` does not score single replies, and an attack asks about single replies")
    stream = all_items(spec.data, replace(spec.selection, judged=spec.selection.judged or "all"), census)
    # Who is to be beaten: people, where the data has them by name.
    people = HUMAN if HUMAN in census.agents else None
    chance = generator(spec.seed, "contexts")  # the same for every metric
    there = contexts((item for item in stream if people in (None, item.agent)), spec.count, chance)
    search_on, judge_on = halves(there)
    rng = generator(spec.seed, "attack", name)
    with calls(spec, str(metric.signature), sorted(census.sha256.values())) as kept:
        target = Target(
            scorer(metric), spec.budget, timeout=spec.timeout,
            lower_is_better=not metric.higher_is_better, remembered=kept.known, remember=kept.put,
        )  # fmt: skip
        tuning = Tuning(spec, str(metric.signature), target, search_on, judge_on, report)
        found = attack(
            target, search_on, judge_on, texts=_texts(search_on), rng=rng, draws=spec.draws,
            verdicts=metric_extras(metric).verdicts,
            stages=spec.stages, further=tuning if "rl" in spec.stages else tuple, report=report,
        )  # fmt: skip
        edits = []
        if spec.perturb:
            target.budget += CALLS * len(judge_on)
            edits = perturbed(target, judge_on, rng)
    sign = 1 if metric.higher_is_better else -1
    return Assault(found, edits, tuning.repetitions, people or "everyone in the data", sign, tuple(there))


def scorer(metric: Metric) -> Callable[[Sequence[Item]], Floats]:
    """One number an item; NaN where the metric has none. It can be sent to another process, as the metric can."""
    return partial(_scores, metric)


def _scores(metric: Metric, items: Sequence[Item]) -> Floats:
    found = np.full(len(items), np.nan)
    able = [place for place, item in enumerate(items) if missing(metric, item) is None]
    if able:
        found[able] = item_scores(metric, rows_of(metric, [items[place] for place in able]))
    return found


def verdict(found: Attack) -> dict[str, Any]:
    """Whether the metric can be gamed, and by what."""
    check_scored(found)
    worst = found.worst
    return {
        "gameable": found.gameable,
        "worst": None if worst is None else worst.strategy,
        "description": None if worst is None else worst.description,
        "gain": None if worst is None else worst.gain,
        "frauds": sum(one.significant for one in found.strategies),
        "judged": len(found.strategies),
        "note": found.diagnosis.words,
    }


def check_scored(found: Attack) -> None:
    """Without a score of people's replies there is nothing to be above."""
    if found.diagnosis.unscored == 1 or not found.people.n:
        why = next(iter(found.errors), "it returned NaN")
        raise Unmeasured(f"the metric scored none of people's replies: {why}")


def _findings(name: str, signature: str, found: Attack, sign: int, end: Direction | None) -> list[Finding]:
    return [
        Finding(
            what={"metric": name, "strategy": one.strategy, "kind": one.kind},
            estimate=_number(sign * one.score),
            interval=_turned(one.interval, sign),
            n_items=one.n,
            n_clusters=one.n_clusters,
            unscored={"not scored by the metric": one.unscored} if one.unscored else {},
            method="mean over held-out contexts, interval by cluster; gain at the level shared by all judged",
            signature=signature,
            status="ok" if one.n else "error",
            reason=None if one.n else "the metric scored none of these replies",
            details={
                "better": end,
                **_told(one, sign),
                "score": _number(sign * one.score),
                "human_score": _number(sign * found.people.score),
            },
        )
        for one in found.strategies
    ]


def _told(one: Judged, sign: int) -> dict[str, Any]:
    return {
        "description": one.description,
        "example": one.example,
        "gain": _number(one.gain),
        "gain_interval": one.gain_interval,
        "beats_human": _number(one.beats_human),
        "significant": one.significant,
        "transcript": one.transcript,
        "people_said": one.people_said,
        "transcript_scores": [(sign * own, sign * theirs) for own, theirs in one.transcript_scores],
    }


def _texts(chosen: Sequence[Context]) -> list[str]:
    """What fixed replies are mined from: everything that anyone said, in search contexts only."""
    return [text for one in chosen for text in (one.human, *(turn.text for turn in one.turns))]


def _turned(interval: tuple[float, float] | None, sign: int) -> tuple[float, float] | None:
    return interval if interval is None or sign > 0 else (-interval[1], -interval[0])


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
