"""Claims of `calibrate`, `power` and `reliability`: what people would say of everything, what to collect, and how often
tasks succeed.
"""

from collections.abc import Iterator, Sequence

from turnwise.errors import counted
from turnwise.records import DifferenceRecord, MeanRecord, PassRecord
from turnwise.report.claims.agents import difference, edge, fact, null, ordered
from turnwise.report.claims.claim import LEVEL, Badge, Claim, Direction, Fact, listed
from turnwise.report.documents import CalibrateDocument, PowerDocument, ReliabilityDocument
from turnwise.report.figure import common_digits, in_words, with_estimate, with_interval
from turnwise.report.runs import RunOf
from turnwise.report.text import p_value

MAX_MEANS = 3  # agents whose numbers are in the sentence


def calibrate_claims(run: RunOf[CalibrateDocument]) -> Iterator[Claim]:
    """For each metric and group which agents people would rate highest; or why that is not known."""
    records = [record for record in with_estimate(run.document.results) if record.agent]
    if not records:
        yield Claim(
            kind="refused", question="calibrated", badge="can't tell", run=run.name,
            verdict="No mean rating could be estimated", evidence=run.first_reason,
        )  # fmt: skip
        return
    for metric, group in dict.fromkeys((record.metric, record.group) for record in records):
        mine = [r for r in records if (r.metric, r.group) == (metric, group)]
        yield _calibrated(run, mine, f" ({group})" if group else "")


def _calibrated(run: RunOf[CalibrateDocument], mine: Sequence[MeanRecord], where: str) -> Claim:
    """The claim on the means and differences by one metric in one group."""
    means = sorted((r for r in mine if not r.minus), key=lambda record: -record.value)
    pairs = [r for r in mine if r.minus]
    best = means[0]
    facts = tuple(map(_fact, pairs))
    beaten = {(fact.object if fact.direction > 0 else fact.subject) for fact in facts if fact.direction}
    first = [str(r.agent) for r in means if r.agent not in beaten]
    badge: Badge = "yes"
    if not pairs:
        badge, verdict = "caution", f"People would rate {best.agent} {with_interval(best)} on {best.rating}"
    elif not beaten:
        badge = "can't tell"
        verdict = f"{listed([str(r.agent) for r in means])} are not told apart by ratings and {best.metric}"
    elif len(first) == 1:
        verdict = f"People would rate {first[0]} highest of {len(means)} agents"
    else:
        others = [str(r.agent) for r in means if r.agent in beaten]
        are = "are" if len(others) > 1 else "is"
        verdict = f"Any of {listed(first)} may be rated highest by people; {listed(others)} {are} not"
    digits = common_digits(means)
    named = "; ".join(f"{r.agent} {in_words(r.estimate, r.bounds, digits)}" for r in means[:MAX_MEANS])
    tests = f", verdicts adjusted for {len(pairs)} comparisons" if len(pairs) > 1 else ""
    return Claim(
        kind="calibrated", question="calibrated", badge=badge, run=run.name, figure="calibration", subject=best.metric,
        verdict=f"{verdict}{where}",
        number=f"{named} on {best.rating}{tests}" if pairs else "",
        evidence=f"from {counted(sum(r.n_labels for r in means), 'rating')} of "
        f"{counted(sum(r.n_items for r in means), 'item')} and the scores of {best.metric} on all of them",
        facts=facts,
    )  # fmt: skip


def _fact(record: MeanRecord) -> Fact:
    """What the difference of two means says of their agents."""
    direction: Direction = 0
    if record.p_adjusted is not None and record.p_adjusted <= LEVEL:
        direction = 1 if record.value > 0 else -1
    return Fact(
        subject=str(record.agent), relation="above", object=str(record.minus), quantity=f"rating:{record.rating}",
        direction=direction, group=record.group, basis=f"ratings and {record.metric}",
    )  # fmt: skip


def power_claims(run: RunOf[PowerDocument]) -> Iterator[Claim]:
    """The design with the fewest dialogues, or with the smallest difference; or why there is none."""
    records = with_estimate(run.document.results)
    if not records:
        yield Claim(
            kind="refused", question="plan", badge="can't tell", run=run.name,
            verdict="Nothing could be planned", evidence=run.first_reason,
        )  # fmt: skip
        return
    best = min(records, key=lambda record: record.value)
    turns = f"{counted(best.turns, 'turn')} and " if best.turns and best.turns > 1 else ""
    how = f"{best.design}, {turns}{counted(best.raters or 0, 'rater')}"
    yield Claim(
        kind="planned", question="plan", badge="yes", run=run.name, figure="power", subject=best.metric,
        verdict=f"{counted(best.dialogues or 0, 'dialogue')} of each agent show a difference of "
        f"{best.difference:g} by {best.metric}",
        evidence=f"{how}{f', with the scores of {best.scores}' if best.scores else ''}, with power "
        f"{best.target_power:g}, for one comparison",
    )  # fmt: skip


def reliability_claims(run: RunOf[ReliabilityDocument]) -> Iterator[Claim]:
    """For each metric and group, on how many tasks the agent with the highest share passes all of the most trials; and
    which of two agents passes on more.
    """
    records = [r for r in with_estimate(run.document.results) if r.statistic == "pass^k"]
    for metric, group in dict.fromkeys((r.metric, r.group) for r in records):
        mine = [r for r in records if (r.metric, r.group) == (metric, group)]
        k = max(r.k or 1 for r in mine)
        best = max((r for r in mine if r.k == k), key=lambda record: record.value)
        where = f" in {group}" if group else ""
        yield Claim(
            kind="reliable", question="reliable", badge=_always(best), run=run.name, figure="passes",
            subject=str(best.agent),
            verdict=f"{best.agent} passes all of {counted(k, 'trial')} on {best.value:.0%} of the tasks{where}",
            number=f"pass^{k} {with_interval(best)}",
            evidence=f"{metric}, {counted(best.n_clusters, 'task')}",
        )  # fmt: skip
    compared = with_estimate(run.document.differences)
    of_metric = {
        (_metric_and_k(r)[0], r.group): r for r in sorted(compared, key=lambda r: _metric_and_k(r)[1])
    }
    for record in of_metric.values():  # of each metric and group that with the most trials
        yield _difference(run, record)


def _metric_and_k(record: DifferenceRecord) -> tuple[str, int]:
    """The metric and the number of trials of a difference by pass^k."""
    metric, _, k = record.metric.rpartition(" pass^")
    return metric, int(k)


def _difference(run: RunOf[ReliabilityDocument], record: DifferenceRecord) -> Claim:
    """The claim on which of two agents passes all of k trials on more of the tasks that both have."""
    metric, k = _metric_and_k(record)
    first, second = ordered(record)
    where = f" in {record.group}" if record.group else ""
    what = f"all of {counted(k, 'trial')}" if k > 1 else "a trial"
    badge: Badge
    if record.shown:
        badge = "caution" if record.at_edge else "yes"
        verdict = f"{first} passes {what} on more tasks than {second}{where}"
    else:
        badge, verdict = null(record, f"{first} and {second}", f"the share of tasks that pass {what}", where)
    return Claim(
        kind="passes-more" if record.shown else "no-difference", question="agents", badge=badge, run=run.name,
        figure="passes", subject=first if record.shown else "", verdict=verdict,
        number=f"{difference(record)}, p {p_value(record.p_adjusted)}" if record.shown else difference(record),
        evidence="; ".join([f"{metric}, {counted(record.n_items, 'task')} of both", *edge(record)]),
        facts=(fact(record),),
    )  # fmt: skip


def _always(record: PassRecord) -> Badge:
    """Whether all tasks pass all trials: `no` if the interval of their share excludes 1."""
    ends = record.bounds
    return "can't tell" if ends is None or ends[1] >= 1 else "no"
