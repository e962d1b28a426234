"""Claims on what changed between two runs of one agent, from `diff`.

`changed` is made for each agent if the test and the interval of some metric show a change. Whether a change is good is
said only of metrics that have a good end, as a change of the score and not of the agent.
"""

from collections.abc import Iterator

from turnwise.errors import counted
from turnwise.records import ChangeRecord, DiffDocument
from turnwise.report.claims.claim import LEVEL, Claim, listed
from turnwise.report.figure import with_estimate, with_interval
from turnwise.report.runs import RunOf


def change_claims(run: RunOf[DiffDocument]) -> Iterator[Claim]:
    """One claim for each agent: the metrics that changed, or that none was shown to change."""
    records = with_estimate(run.document.results)
    if not records:
        yield Claim(
            kind="nothing-compared", question="changes", strength="open", run=run.name,
            verdict="The two runs could not be compared", evidence=run.first_reason,
        )  # fmt: skip
    for agent in dict.fromkeys(r.agent for r in records):
        mine = [r for r in records if r.agent == agent]
        shown = [r for r in mine if _shown(r)]
        if not shown:
            first = mine[0]
            yield Claim(
                kind="no-change", question="changes", strength="open", run=run.name,
                verdict=f"No change of {agent} was shown by {counted(len(mine), 'metric')}",
                number=f"new minus old is {with_interval(first)} by {first.metric}",
                facts={"agent": agent},
            )  # fmt: skip
            continue
        rose = [r.metric for r in shown if r.value > 0]
        fell = [r.metric for r in shown if r.value < 0]
        parts = [f"{listed(names)} {verb}" for names, verb in ((rose, "rose"), (fell, "fell")) if names]
        worse = [r.metric for r in shown if r.better and (r.value > 0) != (r.better == "higher")]
        first = shown[0]
        yield Claim(
            kind="changed", question="changes", run=run.name,
            verdict=f"The scores of {agent} changed: {'; '.join(parts)}",
            number=f"new minus old is {with_interval(first)} by {first.metric}",
            evidence=f"to the bad end by {listed(worse)}" if worse else "",
            facts={"agent": agent, "changes": {r.metric: r.estimate for r in shown}},
        )  # fmt: skip


def _shown(record: ChangeRecord) -> bool:
    """Whether the adjusted test shows a change, and the interval if there is one."""
    p, bounds = record.p_adjusted, record.bounds
    return p is not None and p <= LEVEL and (bounds is None or bounds[0] > 0 or bounds[1] < 0)
