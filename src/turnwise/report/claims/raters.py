"""Claims on how far raters agree, from `meta` without a metric."""

from collections.abc import Iterator

from turnwise.report.claims.claim import Claim
from turnwise.report.documents import MetaDocument
from turnwise.report.figure import with_estimate, with_interval
from turnwise.report.rated_by import rated_by
from turnwise.report.runs import RunOf


def rater_claims(run: RunOf[MetaDocument]) -> Iterator[Claim]:
    """The agreement of one rater with the others for each dimension, or why it is unknown."""
    records = run.document.results
    one = [r for r in with_estimate(records) if not r.metric and r.statistic == "leave-one-out"]
    for dimension in dict.fromkeys(record.dimension for record in one):
        first = next(record for record in one if record.dimension == dimension)
        who = rated_by(run, [first])
        as_good = "as good a judge as one person" if who.are_people else "as good as one of these raters"
        yield Claim(
            kind="raters-agree", question="metrics", badge="caution", run=run.name, figure="raters",
            verdict=f"On {dimension} one rater follows the others by {with_interval(first)} ({first.level} level)",
            evidence="; ".join(filter(None, [f"a metric that does as well is {as_good}", who.reservation])),
        )  # fmt: skip
    if not one and not any(record.metric for record in records):
        yield Claim(
            kind="raters-unknown", question="metrics", badge="can't tell", run=run.name,
            verdict="How far raters agree could not be found out", evidence=run.first_reason,
        )  # fmt: skip
