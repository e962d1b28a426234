"""Claims on which metric to believe, from `meta`.

The agreement that counts is that inside agents where there are several agents, because agents that differ in quality
and in some feature make the feature agree with people over all items. At most one of these is made for each dimension:

* `none-agrees`: no metric's agreement is above chance.
* `far-from-person`: the best metric has less than two thirds of the agreement of one rater with the others, and so has
  its upper bound.
* `near-not-shown`: the best metric has less than two thirds of it, but its upper bound has more.
* `trust`: the best metric reaches that, its lower bound reaches half of it, and its agreement was shown to be higher
  than that of every other metric on the items that both scored.
* `best-tied`: as `trust`, but the metrics that are named could not be told apart.
* `agrees-best`, `agrees-tied`: as these two where the agreement of one rater is not known. They do not say `trust`.

A metric that can be gamed is named with that reservation.

Others are made beside these: `reversed` for a metric that ranks against people, and `between-agents-only` for the
metric with the highest agreement over all items if it has none inside agents. A system-level agreement whose interval
spans most of the scale is called useless for ranking. Metrics that learned from the same items are left out, and the
claim names them; `learned-from-items` is made where no other metric is left. Results of different runs are never ranked
against each other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from turnwise.report.agreement import Agreement, ranked
from turnwise.report.claims.claim import LEVEL, Claim, Direction, Fact, Relation, listed
from turnwise.report.documents import MetaDocument
from turnwise.report.figure import learned_from, with_estimate
from turnwise.report.rated_by import RatedBy, rated_by
from turnwise.report.runs import RunOf
from turnwise.report.text import number

NEAR = 2 / 3  # share of one rater's agreement from which on a metric may be trusted
LEAST = 1 / 2  # share of it that the lower bound must reach
WIDEST = 1.0  # width of an interval of a correlation that is useless for ranking
MAX_GROUPS = 3  # groups with claims of their own
AGREEMENT = "agreement"  # kind of the figure that shows the numbers


def metric_claims(run: RunOf[MetaDocument], attacks: Mapping[str, str]) -> Iterator[Claim]:
    """The claims of a `meta` run with metrics; of `--by` groups the first three. Empty without an estimate.

    `attacks`: metric -> a clause on how it can be gamed.
    """
    records = run.document.results
    groups = list(dict.fromkeys(record.group for record in records))
    for group in groups[:MAX_GROUPS]:
        found = ranked(records, group=group)
        mine = [r for r in with_estimate(records) if r.metric and r.group == group]
        learned = learned_from(mine)
        who = rated_by(run, [found[0].record] if found else mine)
        if found and found[0].record.level == "system":
            yield _with_reservations(_system_claim(run, found, group, who), learned, who, attacks)
        elif found:
            yield _with_reservations(_main_claim(run, found, group, who), learned, who, attacks)
            yield from _warnings(run, found, group, who)
        elif learned:
            yield _learned_claim(run, learned, group, who)


def _with_reservations(
    claim: Claim, learned: Mapping[str, str], who: RatedBy, attacks: Mapping[str, str]
) -> Claim:
    """The claim, with the metrics that are left out of it because they learned from the items, how the metric that it
    recommends can be gamed, and who rated if these are no people: nothing is shown about people then.
    """
    left_out = [f"{name} is left out, as it learned from {count} items" for name, count in learned.items()]
    gamed = [attacks[claim.subject]] if claim.badge == "yes" and claim.subject in attacks else []
    badge = "caution" if claim.badge == "yes" and (who.automatic or gamed) else claim.badge
    evidence = "; ".join(filter(None, [claim.evidence, *gamed, *left_out, who.reservation]))
    return replace(claim, evidence=evidence, badge=badge)


def _learned_claim(
    run: RunOf[MetaDocument], learned: Mapping[str, str], group: str | None, who: RatedBy
) -> Claim:
    """The claim where every metric learned from the items."""
    where = f" ({group})" if group else ""
    return Claim(
        kind="learned-from-items", question="metrics", badge="can't tell", run=run.name,
        verdict=f"These items cannot show whether {listed(list(learned))} agree{'s' * (len(learned) == 1)} with "
        f"{who.words}{where}",
        evidence="; ".join(f"{name} learned from {count} items" for name, count in learned.items()),
        advice="Test on ratings that the metric has not seen.",
        subject=next(iter(learned)),
    )  # fmt: skip


def _main_claim(
    run: RunOf[MetaDocument], found: Sequence[Agreement], group: str | None, who: RatedBy
) -> Claim:
    """Which metric to believe, or why none."""
    shown = [one for one in found if one.is_shown]
    best = next(iter(shown), found[0])
    claim = Claim(
        kind="", question="metrics", run=run.name, figure=AGREEMENT, subject=best.metric, verdict="",
        number=f"{best.metric}{', the highest,' if best is found[0] and len(found) > 1 else ''} has {best.text} "
        f"({best.quantity}{f', {group}' if group else ''})",
    )  # fmt: skip
    person = f"one rater has {number(best.one_rater, 2)} with the others" if best.one_rater else ""
    agree = tuple(
        _fact(one, "agrees", who.words, int(one.is_shown) - int(one.is_reversed), group) for one in found
    )
    if not shown:
        return replace(
            claim, kind="none-agrees", badge="can't tell", evidence=person, advice=best.advice, facts=agree,
            verdict=_none_of(found, "was", f"shown to agree with {who.words}"),
        )  # fmt: skip
    if best.one_rater and best.value < NEAR * best.one_rater:
        near_one = f"near {'a person' if who.are_people else 'one rater'}"
        far = all(one.bounds is not None and one.bounds[1] < NEAR * best.one_rater for one in found)
        return replace(
            claim, kind="far-from-person" if far else "near-not-shown", badge="no" if far else "can't tell",
            verdict=_none_of(found, "comes", near_one) if far else _none_of(found, "was", f"shown to come {near_one}"),
            evidence=person, advice="Let people decide, or use `turnwise calibrate` with some ratings.",
            facts=(*agree, *(_fact(one, "near", "one rater", -int(far), group) for one in found)),
        )  # fmt: skip
    others = [one for one in found if one is not best]
    tied = [one for one in others if not _shown_above(run, best, one)]
    above = tuple(_fact(best, "above", one.metric, int(one not in tied), group) for one in others)
    near = best.one_rater and best.bounds is not None and best.bounds[0] >= LEAST * best.one_rater
    trusted = near and who.are_people
    facts = (*agree, *above, *([_fact(best, "near", "one rater", 1, group)] if trusted else []))
    evidence = person or "how far raters agree is unknown"
    if tied:
        less = [one.metric for one in others if one not in tied]
        return replace(
            claim, kind="best-tied" if trusted else "agrees-tied", badge="caution", facts=facts,
            evidence="; ".join([evidence, *([f"{listed(less)} agree{'s' * (len(less) == 1)} less"] if less else [])]),
            verdict=f"{best.metric} agrees with {who.words}{' almost as one rater does' if trusted else ''}, "
            f"but was not shown to agree more than {listed([one.metric for one in tied], 5)}",
        )  # fmt: skip
    words = {
        (True, True): f"{best.metric} agrees with people almost as one rater does",
        (True, False): f"Trust {best.metric} most",
        (False, True): f"{best.metric} agrees with {who.words}",
        (False, False): f"{best.metric} agrees best with {who.words}",
    }
    return replace(
        claim, kind="trust" if trusted else "agrees-best", badge="yes" if trusted else "caution", facts=facts,
        evidence=evidence, verdict=words[bool(trusted), not others],
    )  # fmt: skip


def _fact(one: Agreement, relation: Relation, other: str, direction: int, group: str | None) -> Fact:
    """What a claim says of a metric's agreement."""
    known: Direction = 1 if direction > 0 else -1 if direction < 0 else 0
    return Fact(
        subject=one.metric,
        relation=relation,
        object=other,
        quantity=one.quantity,
        direction=known,
        group=group,
    )


def _system_claim(
    run: RunOf[MetaDocument], found: Sequence[Agreement], group: str | None, who: RatedBy
) -> Claim:
    """The claim on metrics that have no number below the system level."""
    best = found[0]
    n = best.record.n_systems or 0
    p = best.record.p
    bounds = best.bounds
    wide = bounds is not None and bounds[1] - bounds[0] > WIDEST
    claim = Claim(
        kind="", question="metrics", run=run.name, figure=AGREEMENT, subject=best.metric, verdict="",
        number=f"{best.metric} has {best.text} ({best.quantity}{f', {group}' if group else ''}), over {n} agents",
    )  # fmt: skip
    if wide or p is None or p > LEVEL or best.value <= 0 or (bounds is not None and bounds[0] <= 0):
        return replace(
            claim, kind="ranking-useless", badge="can't tell",
            verdict=_none_of(found, "was", f"shown to rank agents as {who.words} {who.verb('do')}"),
            evidence="the interval spans most of the scale" if wide else "",
            advice=f"{n} agents are too few: compare more agents, or ask for single replies (--level turn).",
            facts=(_fact(best, "agrees", who.words, 0, group),),
        )  # fmt: skip
    tied = [one.metric for one in found[1:] if not _shown_above(run, best, one)]
    return replace(
        claim, kind="ranks-agents", badge="caution",
        verdict=f"{best.metric} ranks agents as {who.words} {who.verb('do')}",
        evidence=f"not shown to differ from {listed(tied)}" if tied else "",
        facts=(
            _fact(best, "agrees", who.words, 1, group),
            *(_fact(best, "above", one.metric, int(one.metric not in tied), group) for one in found[1:]),
        ),
    )  # fmt: skip


def _warnings(
    run: RunOf[MetaDocument], found: Sequence[Agreement], group: str | None, who: RatedBy
) -> Iterator[Claim]:
    """A metric that ranks against the raters, and one that tells agents apart but not the replies of one agent."""
    worst = found[-1]
    where = f", {group}" if group else ""
    if worst.is_reversed:
        yield Claim(
            kind="reversed", question="metrics", badge="no", run=run.name, figure=AGREEMENT, subject=worst.metric,
            verdict=f"Do not use {worst.metric}: it ranks against people"
            if who.are_people
            else f"{worst.metric} ranks against {who.words}",
            number=f"{worst.text} ({worst.quantity}{where})",
            facts=(_fact(worst, "agrees", who.words, -1, group),),
        )  # fmt: skip
    if not found[0].inside:
        return
    pooled = max(found, key=lambda one: one.record.value)
    over_all = Agreement(pooled.record, inside=False)
    if over_all.is_shown and not pooled.is_shown:
        yield Claim(
            kind="between-agents-only", question="metrics", badge="can't tell", run=run.name, figure=AGREEMENT,
            subject=pooled.metric,
            verdict=f"{pooled.metric} agrees with {who.words} because agents differ; inside agents that was not shown",
            number=f"{over_all.text} ({over_all.quantity}), {pooled.text} inside agents{where}",
            facts=(
                _fact(over_all, "agrees", who.words, 1, group),
                _fact(pooled, "agrees", who.words, -1 if pooled.is_reversed else 0, group),
            ),
        )  # fmt: skip


def _shown_above(run: RunOf[MetaDocument], best: Agreement, other: Agreement) -> bool:
    """Whether the first metric was shown to agree more than the second, on the items that both scored."""
    record = best.record
    about = (record.dimension, record.level, record.statistic, record.group)
    for test in run.document.differences:
        if {test.metric_a, test.metric_b} != {best.metric, other.metric}:
            continue
        if (test.dimension, test.level, test.statistic, test.group) == about:
            p = test.p_adjusted_within_agents if best.inside else test.p_adjusted
            difference = test.difference_within_agents if best.inside else test.difference
            ahead = difference is not None and (difference > 0) == (test.metric_a == best.metric)
            return p is not None and p <= LEVEL and ahead
    return False


def _none_of(found: Sequence[Agreement], verb: Literal["was", "comes"], rest: str) -> str:
    """`None of these 3 metrics comes near a person`, or the same of the only metric."""
    if len(found) > 1:
        return f"None of these {len(found)} metrics {verb} {rest}"
    negated = {"was": "was not", "comes": "does not come"}
    return f"{found[0].metric} {negated[verb]} {rest}"
