"""What other runs on the same inputs, and the package, know of metrics."""

from collections.abc import Sequence

from turnwise.metrics.attacks import Fraud, known_attacks
from turnwise.report.agreement import ranked
from turnwise.report.claims.agents import Knowledge
from turnwise.report.documents import AttackDocument, CompareDocument, MetaDocument
from turnwise.report.figure import learned_from
from turnwise.report.rated_by import rated_by
from turnwise.report.runs import Run, RunOf
from turnwise.report.text import number


def knowledge(run: RunOf[CompareDocument], among: Sequence[Run]) -> Knowledge:
    """What runs on the same inputs, and the package, know of metrics."""
    inputs = digests(run)
    agreement: dict[str, str] = {}
    for other in among:
        if isinstance(other.document, MetaDocument) and digests(other) == inputs:
            for name, count in learned_from(other.document.results).items():
                agreement.setdefault(name, f"{name} learned from {count} items")
            for one in ranked(other.document.results):
                who = rated_by(other, [one.record]).words
                person = f" (one rater {number(one.one_rater, 2)})" if one.one_rater else ""
                inside = " inside agents" if one.inside else ""
                shown = f"agrees with {who}" if one.is_shown else f"was not shown to agree with {who}"
                agreement.setdefault(one.metric, f"{one.metric} {shown}: {one.text}{inside}{person}")
    return Knowledge(agreement, attacks(run, among))


def attacks(run: RunOf[CompareDocument] | RunOf[MetaDocument], among: Sequence[Run]) -> dict[str, str]:
    """Metric -> how it can be gamed, from runs on the same inputs and from what ships with the package."""
    known: dict[str, str] = {}
    for other in among:
        found = other.document
        if isinstance(found, AttackDocument) and found.verdict and found.verdict.gameable:
            metric = found.results[0].metric
            known[metric] = f"{metric} can be gamed ({found.verdict.frauds} strategies)"
    for metric in dict.fromkeys(record.metric for record in run.document.results if record.metric):
        if metric not in known and (ways := ways_to_game(metric)):
            known[metric] = f"{metric} is known to be gamed by {ways}"
    return known


def ways_to_game(metric: str) -> str:
    """How the metric is known to be gamed; empty if the package knows of no way."""
    name, _, settings = metric.partition("[")
    # What is known is of the overall score of the model that ships under this name.
    another = "trained=" in settings or "dimension=" in settings
    frauds = [] if another else known_attacks(name)
    return _in_words(frauds, name) if frauds else ""


def _in_words(frauds: Sequence[Fraud], metric: str) -> str:
    """`fixed, pattern replies`, and policies by the metric that they were trained against."""
    kinds = ", ".join(dict.fromkeys(fraud.kind for fraud in frauds if not fraud.against))
    against = dict.fromkeys(
        "it" if fraud.against == metric else fraud.against for fraud in frauds if fraud.against
    )
    ways = [f"{kinds} replies"] if kinds else []
    return " and ".join([*ways, *(f"a bot that was trained against {one}" for one in against)])


def digests(run: Run) -> frozenset[str]:
    """The hashes of the run's inputs."""
    return frozenset(one.sha256 for one in run.document.origin.inputs)
