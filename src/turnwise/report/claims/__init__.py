"""All sentences that conclude from results: `claims` makes those of the given runs, each from its own run.

Only what is known of a metric (its agreement, its attacks) is carried from one run to another, and only if both runs
have the same inputs. Numbers of different runs are never ranked against each other.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from turnwise.metrics.attacks import Fraud, known_attacks
from turnwise.records import AttackDocument, CompareDocument, MetaDocument
from turnwise.report.claims.agents import Knowledge, agent_claims
from turnwise.report.claims.changes import change_claims
from turnwise.report.claims.claim import QUESTIONS, Claim, Question, Strength
from turnwise.report.claims.gaming import gaming_claims
from turnwise.report.claims.metrics import metric_claims, ranked
from turnwise.report.claims.plans import calibrate_claims, power_claims, reliability_claims, score_claims
from turnwise.report.claims.raters import rater_claims
from turnwise.report.claims.unrated import unrated_claims
from turnwise.report.figure import learned_from
from turnwise.report.rated_by import rated_by
from turnwise.report.runs import Run, RunOf
from turnwise.report.text import number

__all__ = ["QUESTIONS", "TITLES", "Claim", "Question", "Strength", "claims", "claims_of", "ranked"]

TITLES: Mapping[Question, str] = {
    "agents": "Which agent is better?",
    "changes": "What changed between two runs?",
    "metrics": "Which metric can be believed?",
    "gaming": "Can it be gamed?",
    "unrated": "What would the unrated agent get?",
    "plan": "How many are enough?",
}


def claims(runs: Sequence[Run]) -> list[Claim]:
    """The claims of all runs in order."""
    return [claim for run in runs for claim in claims_of(run, runs)]


def claims_of(run: Run, among: Sequence[Run] = ()) -> list[Claim]:
    """The claims of one run; the runs `among` tell what is known of its metrics. Empty for other commands."""
    if isinstance(run.document, CompareDocument):
        compared = RunOf(run.name, run.files, run.document)
        return list(agent_claims(compared, _knowledge(compared, among)))
    make = _CLAIMS.get(run.command)
    return list(make(run)) if make else []


def _meta_claims(run: RunOf[MetaDocument]) -> Iterator[Claim]:
    """The claims of `meta`: on metrics, or without any on raters."""
    yield from (
        metric_claims(run) if any(record.metric for record in run.document.results) else rater_claims(run)
    )


def _knowledge(run: RunOf[CompareDocument], among: Sequence[Run]) -> Knowledge:
    """What runs on the same inputs, and the package, know of metrics."""
    inputs = _digests(run)
    agreement: dict[str, str] = {}
    attacks: dict[str, str] = {}
    for other in among:
        document = other.document
        if isinstance(document, MetaDocument) and _digests(other) == inputs:
            for name, count in learned_from(document.results).items():
                agreement.setdefault(name, f"{name} learned from {count} items")
            for one in ranked(document.results):
                who = rated_by(other, [one.record]).words
                person = f" (one rater {number(one.one_rater, 2)})" if one.one_rater else ""
                inside = " inside agents" if one.inside else ""
                shown = f"agrees with {who}" if one.is_shown else f"was not shown to agree with {who}"
                agreement.setdefault(one.metric, f"{one.metric} {shown}: {one.text}{inside}{person}")
        if isinstance(document, AttackDocument) and document.verdict and document.verdict.gameable:
            metric = document.results[0].metric
            attacks[metric] = f"{metric} can be gamed ({document.verdict.frauds} strategies)"
    for metric in {record.metric for record in run.document.results}:
        name, _, settings = metric.partition("[")
        # What is known is of the overall score of the model that ships under this name.
        another = "trained=" in settings or "dimension=" in settings
        if metric not in attacks and not another and (frauds := known_attacks(name)):
            attacks[metric] = f"{metric} is known to be gamed by {_in_words(frauds[0], name)}"
    return Knowledge(agreement, attacks)


def _in_words(fraud: Fraud, metric: str) -> str:
    """`pattern replies`, or a policy by the metric that it was trained against."""
    if against := fraud.get("against"):
        return f"a bot that was trained against {'it' if against == metric else against}"
    return f"{fraud['kind']} replies"


def _digests(run: Run) -> frozenset[str]:
    """The hashes of the run's inputs."""
    return frozenset(one.sha256 for one in run.document.origin.inputs)


_CLAIMS: Mapping[str, Callable[[RunOf[Any]], Iterator[Claim]]] = {
    "score": score_claims,
    "meta": _meta_claims,
    "calibrate": calibrate_claims,
    "power": power_claims,
    "reliability": reliability_claims,
    "diff": change_claims,
    "attack": gaming_claims,
    "ope": unrated_claims,
}
