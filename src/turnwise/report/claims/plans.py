"""Claims of `score`, `calibrate`, `power` and `reliability`: what was scored, what people would say of everything, what
to collect, and how often tasks succeed.
"""

from collections.abc import Iterator

from turnwise.errors import counted
from turnwise.records import CalibrateDocument, PowerDocument, ReliabilityDocument, ScoreDocument
from turnwise.report.claims.claim import LEVEL, Claim, listed
from turnwise.report.figure import with_estimate, with_interval
from turnwise.report.runs import RunOf
from turnwise.report.text import number


def score_claims(run: RunOf[ScoreDocument]) -> Iterator[Claim]:
    """The numbers of agents and metrics; none for fewer than two agents. A score by itself concludes nothing."""
    records = [r for r in with_estimate(run.document.results) if r.agent]
    agents = {r.agent for r in records}
    metrics = list(dict.fromkeys(r.metric for r in records))
    if len(agents) > 1:
        yield Claim(
            kind="scored", question="agents", strength="open", run=run.name,
            verdict=f"{len(agents)} agents were scored by {counted(len(metrics), 'metric')}",
            evidence=listed(metrics, 8),
            advice="`turnwise compare` tests whether two of them differ.",
        )  # fmt: skip


def calibrate_claims(run: RunOf[CalibrateDocument]) -> Iterator[Claim]:
    """The agent with the highest mean rating and whether it was shown to be above the next; or why there is none."""
    records = with_estimate(run.document.results)
    if not records:
        yield Claim(
            kind="refused", question="agents", strength="open", run=run.name,
            verdict="No mean rating could be estimated", evidence=run.first_reason,
        )  # fmt: skip
        return
    metric = records[0].metric
    mine = [r for r in records if r.metric == metric]
    means = [r for r in mine if not r.minus]
    pairs = [r for r in mine if r.minus]
    best = max(means, key=lambda record: record.value)
    shown = [r for r in pairs if r.p_adjusted is not None and r.p_adjusted <= LEVEL]
    yield Claim(
        kind="calibrated", question="agents", strength="shown" if shown or not pairs else "open", run=run.name,
        verdict=f"{len(shown)} of {counted(len(pairs), 'difference')} between agents were shown"
        if pairs
        else f"{best.agent} would get {with_interval(best)} on {best.rating}",
        number=f"{best.agent} has the highest mean, {with_interval(best)} on {best.rating}" if pairs else "",
        evidence=f"from {best.n_labels} ratings of {best.n_items} items and {metric}",
        facts={"shown": [(r.agent, r.minus, r.estimate) for r in shown], "rating": best.rating},
    )  # fmt: skip


def power_claims(run: RunOf[PowerDocument]) -> Iterator[Claim]:
    """The design with the fewest dialogues, or with the smallest difference; or why there is none."""
    records = with_estimate(run.document.results)
    if not records:
        yield Claim(
            kind="refused", question="plan", strength="open", run=run.name,
            verdict="Nothing could be planned", evidence=run.first_reason,
        )  # fmt: skip
        return
    best = min(records, key=lambda record: record.value)
    how = f"{best.design}, {counted(best.turns or 0, 'turn')} and {counted(best.raters or 0, 'rater')}"
    yield Claim(
        kind="planned", question="plan", strength="limited", run=run.name,
        verdict=f"{counted(best.dialogues or 0, 'dialogue')} of each agent show a difference of "
        f"{number(best.difference)} by {best.metric}",
        evidence=f"{how}, with power {best.target_power:g}",
    )  # fmt: skip


def reliability_claims(run: RunOf[ReliabilityDocument]) -> Iterator[Claim]:
    """For each metric and group, on how many tasks the agent with the highest share passes all of the most trials."""
    records = [r for r in with_estimate(run.document.results) if r.statistic == "pass^k"]
    for metric, group in dict.fromkeys((r.metric, r.group) for r in records):
        mine = [r for r in records if (r.metric, r.group) == (metric, group)]
        k = max(r.k or 1 for r in mine)
        best = max((r for r in mine if r.k == k), key=lambda record: record.value)
        where = f" in {group}" if group else ""
        yield Claim(
            kind="reliable", question="agents", strength="limited", run=run.name,
            verdict=f"{best.agent} passes all of {counted(k, 'trial')} on {best.value:.0%} of the tasks{where}",
            number=f"pass^{k} {with_interval(best)}",
            evidence=f"{metric}, {counted(best.n_clusters, 'task')}",
        )  # fmt: skip
