"""All sentences that conclude from results: `claims` makes those of the given runs, each from its own run.

Only what is known of a metric (its agreement, its attacks) is carried from one run to another, and only if both runs
have the same inputs. Numbers of different runs are never ranked against each other. `contradictions` finds claims that
cannot both be believed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import msgspec

from turnwise.logs.items.selection import recorded_selection
from turnwise.metrics.attacks import Fraud, known_attacks
from turnwise.records import AttackDocument, CompareDocument, MetaDocument
from turnwise.report.agreement import ranked
from turnwise.report.claims.agents import Knowledge, agent_claims
from turnwise.report.claims.changes import change_claims
from turnwise.report.claims.claim import QUESTIONS, TITLES, Badge, Claim, Fact, Question
from turnwise.report.claims.consistency import Contradiction, contradictions, reconciled
from turnwise.report.claims.gaming import gaming_claims
from turnwise.report.claims.leaderboard import leaderboard_claims
from turnwise.report.claims.metrics import metric_claims
from turnwise.report.claims.plans import calibrate_claims, power_claims, reliability_claims
from turnwise.report.claims.raters import rater_claims
from turnwise.report.claims.unrated import unrated_claims
from turnwise.report.figure import learned_from
from turnwise.report.rated_by import rated_by
from turnwise.report.runs import Run, RunOf
from turnwise.report.text import number

__all__ = [
    "QUESTIONS",
    "TITLES",
    "Badge",
    "Claim",
    "Contradiction",
    "Fact",
    "Question",
    "claims",
    "claims_of",
    "contradictions",
    "ranked",
    "reconciled",
]


def claims(runs: Sequence[Run]) -> list[Claim]:
    """The claims of all runs in order, none of which contradicts another."""
    return reconciled([claim for run in runs for claim in claims_of(run, runs)])


def claims_of(run: Run, among: Sequence[Run] = ()) -> list[Claim]:
    """The claims of one run; the runs `among` tell what is known of its metrics."""
    data = _data(run)
    return [replace(claim, data=data) for claim in _made(run, among)]


def _made(run: Run, among: Sequence[Run]) -> Iterator[Claim]:
    """The claims of one run."""
    document = run.document
    if isinstance(document, CompareDocument):
        compared = RunOf(run.name, run.files, document)
        make = leaderboard_claims if document.leaderboard else agent_claims
        yield from make(compared, _knowledge(run, among, document))
    elif isinstance(document, MetaDocument) and any(record.metric for record in document.results):
        yield from metric_claims(RunOf(run.name, run.files, document), _attacks(run, among, document))
    elif run.command in _CLAIMS:
        yield from _CLAIMS[run.command](run)
    else:
        yield from (replace(claim, run=run.name) for claim in document.claims())


def _data(run: Run) -> str:
    """A digest of the items behind a run: its inputs, and what it selects of them."""
    origin = run.document.origin
    chosen = recorded_selection(origin).filters
    return sha256(msgspec.json.encode([sorted(_digests(run)), chosen], order="sorted")).hexdigest()


def _knowledge(run: Run, among: Sequence[Run], document: CompareDocument) -> Knowledge:
    """What runs on the same inputs, and the package, know of metrics."""
    inputs = _digests(run)
    agreement: dict[str, str] = {}
    for other in among:
        if isinstance(other.document, MetaDocument) and _digests(other) == inputs:
            for name, count in learned_from(other.document.results).items():
                agreement.setdefault(name, f"{name} learned from {count} items")
            for one in ranked(other.document.results):
                who = rated_by(other, [one.record]).words
                person = f" (one rater {number(one.one_rater, 2)})" if one.one_rater else ""
                inside = " inside agents" if one.inside else ""
                shown = f"agrees with {who}" if one.is_shown else f"was not shown to agree with {who}"
                agreement.setdefault(one.metric, f"{one.metric} {shown}: {one.text}{inside}{person}")
    return Knowledge(agreement, _attacks(run, among, document))


def _attacks(run: Run, among: Sequence[Run], document: CompareDocument | MetaDocument) -> dict[str, str]:
    """Metric -> how it can be gamed, from runs on the same inputs and from what ships with the package."""
    attacks: dict[str, str] = {}
    for other in among:
        found = other.document
        if isinstance(found, AttackDocument) and found.verdict and found.verdict.gameable:
            metric = found.results[0].metric
            attacks[metric] = f"{metric} can be gamed ({found.verdict.frauds} strategies)"
    for metric in dict.fromkeys(record.metric for record in document.results if record.metric):
        name, _, settings = metric.partition("[")
        # What is known is of the overall score of the model that ships under this name.
        another = "trained=" in settings or "dimension=" in settings
        if metric not in attacks and not another and (frauds := known_attacks(name)):
            attacks[metric] = f"{metric} is known to be gamed by {_in_words(frauds[0], name)}"
    return attacks


def _in_words(fraud: Fraud, metric: str) -> str:
    """`pattern replies`, or a policy by the metric that it was trained against."""
    if fraud.against:
        return f"a bot that was trained against {'it' if fraud.against == metric else fraud.against}"
    return f"{fraud.kind} replies"


def _digests(run: Run) -> frozenset[str]:
    """The hashes of the run's inputs."""
    return frozenset(one.sha256 for one in run.document.origin.inputs)


_CLAIMS: Mapping[str, Callable[[RunOf[Any]], Iterator[Claim]]] = {
    "meta": rater_claims,
    "calibrate": calibrate_claims,
    "power": power_claims,
    "reliability": reliability_claims,
    "diff": change_claims,
    "attack": gaming_claims,
    "ope": unrated_claims,
}
