"""Claims on what changed between two runs of one agent, from `diff`.

`changed` is made for each agent if the test of some metric shows a change. Whether a change is good is said only of
metrics that have a good end, as a change of the score and not of the agent.
"""

from collections.abc import Iterator, Sequence

from turnwise.records import ChangeRecord
from turnwise.report.claims.claim import Claim, Direction, Fact, listed
from turnwise.report.documents import DiffDocument
from turnwise.report.figure import digits_for, in_words, with_estimate
from turnwise.report.runs import RunOf
from turnwise.report.text import number


def change_claims(run: RunOf[DiffDocument]) -> Iterator[Claim]:
    """One claim for each agent: the metrics that changed, or that none was shown to change."""
    records = with_estimate(run.document.results)
    if not records:
        yield Claim(
            kind="nothing-compared", question="changes", badge="can't tell", run=run.name,
            verdict="The two runs could not be compared", evidence=run.first_reason,
        )  # fmt: skip
    for agent in dict.fromkeys(str(r.agent) for r in records):
        mine = [r for r in records if r.agent == agent]
        shown = [r for r in mine if r.shown]
        yield _changed(run, agent, shown, mine) if shown else _unchanged(run, agent, mine)


def _changed(
    run: RunOf[DiffDocument], agent: str, shown: Sequence[ChangeRecord], mine: Sequence[ChangeRecord]
) -> Claim:
    """The claim that some metrics changed."""
    rose = [r.metric for r in shown if r.value > 0]
    fell = [r.metric for r in shown if r.value < 0]
    parts = [f"{listed(names)} {verb}" for names, verb in ((rose, "rose"), (fell, "fell")) if names]
    worse = [r.metric for r in shown if r.better and (r.value > 0) != (r.better == "higher")]
    return Claim(
        kind="changed", question="changes", run=run.name, figure="differences", subject=agent,
        badge="caution" if any(r.at_edge for r in shown) else "yes",
        verdict=f"The scores of {agent} changed: {'; '.join(parts)}",
        number=_number(shown[0]),
        evidence=f"to the bad end by {listed(worse)}" if worse else "",
        facts=tuple(map(_fact, mine)),
    )  # fmt: skip


def _unchanged(run: RunOf[DiffDocument], agent: str, mine: Sequence[ChangeRecord]) -> Claim:
    """The claim that no metric was shown to change: first what is excluded, of the first metric."""
    first = mine[0]
    others = f" (nor by {listed([r.metric for r in mine[1:]])})" if len(mine) > 1 else ""
    if all(r.value == 0 and r.decisive in (None, (0, 0)) for r in mine):
        return Claim(
            kind="same", question="changes", run=run.name, subject=agent, badge="no", figure="differences",
            verdict=f"The scores of {agent} are the same in both runs by {listed([r.metric for r in mine])}",
            facts=tuple(map(_fact, mine)),
        )  # fmt: skip
    if first.equivalent:
        verdict = f"{agent} is equal within {number(first.margin)} in both runs by {first.metric}"
    elif first.no_worse:
        verdict = f"{agent} is no worse by more than {number(first.margin)} in the new run by {first.metric}"
    elif first.at_most_apart is not None:
        most = number(first.at_most_apart, digits_for(first.at_most_apart))
        of = f" of {first.points:g} points" if first.points else ""
        verdict = f"{agent} changed by at most {most}{of} by {first.metric}; no change was shown"
    else:
        verdict = f"No change of {agent} was shown by {first.metric}"
    return Claim(
        kind="equivalent" if first.equivalent else "no-change", question="changes", run=run.name, subject=agent,
        badge="no" if first.equivalent else "caution" if first.no_worse else "can't tell", figure="differences",
        verdict=f"{verdict}{others}", number=_number(first), facts=tuple(map(_fact, mine)),
    )  # fmt: skip


def _number(record: ChangeRecord) -> str:
    """The change with the interval that decides and its adjustment."""
    size = record.family_size or 1
    adjusted = f", adjusted for {size} comparisons" if size > 1 else ""
    return f"new minus old is {in_words(record.value, record.decisive)} by {record.metric}{adjusted}"


def _fact(record: ChangeRecord) -> Fact:
    """What the change of a metric says."""
    direction: Direction = 0
    if record.shown:
        direction = 1 if record.value > 0 else -1
    return Fact(
        subject=str(record.agent), relation="changed", object=str(record.agent_old or record.agent),
        quantity=record.metric, direction=direction, family=record.family_size, group=record.group,
    )  # fmt: skip
