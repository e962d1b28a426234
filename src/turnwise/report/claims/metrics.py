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

Others are made beside these: `reversed` for a metric that ranks against people, and `between-agents-only` for the
metric with the highest agreement over all items if it has none inside agents. A system-level agreement whose interval
spans most of the scale is called useless for ranking. Metrics that learned from the same items are left out, and the
claim names them; `learned-from-items` is made where no other metric is left. Results of different runs are never ranked
against each other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from turnwise.records import AgreementRecord, MetaDocument, both_ends
from turnwise.report.claims.claim import LEVEL, Claim, listed
from turnwise.report.figure import in_words, learned_from, with_estimate
from turnwise.report.rated_by import RatedBy, rated_by
from turnwise.report.runs import RunOf
from turnwise.report.text import number
from turnwise.stats.power import clusters_needed

NEAR = 2 / 3  # share of one rater's agreement from which on a metric may be trusted
LEAST = 1 / 2  # share of it that the lower bound must reach
WIDEST = 1.0  # width of an interval of a correlation that is useless for ranking
HALF_WIDTH = 0.05  # half-width of an interval for which more ratings are advised
LEVELS = ("turn", "dialogue", "pair", "system")  # the finest first
MAX_GROUPS = 3  # groups with claims of their own


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of one metric that a claim rests on: inside agents where it is known, else over all items."""

    record: AgreementRecord
    inside: bool  # whether it is the agreement inside agents

    @property
    def metric(self) -> str:
        """The name of the metric."""
        return str(self.record.metric)

    @property
    def value(self) -> float:
        """The estimate."""
        return (self.record.within_agents or 0.0) if self.inside else self.record.value

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The interval of the estimate; None if there is none."""
        return both_ends(self.record.within_agents_interval if self.inside else self.record.interval)

    @property
    def one_rater(self) -> float | None:
        """The agreement of one rater with the others, computed alike."""
        return self.record.one_rater_within_agents if self.inside else self.record.one_rater

    @property
    def chance(self) -> float:
        """The agreement of a metric without information."""
        if self.record.level == "pair":
            return self.record.floor or 0.0
        return 0.5 if self.record.statistic == "pairwise" else 0.0

    @property
    def is_shown(self) -> bool:
        """Whether the agreement is above chance: the lower bound, or without an interval the test, says so."""
        if self.bounds is not None:
            return self.bounds[0] > self.chance
        p = self.record.p
        return not self.inside and p is not None and p <= LEVEL and self.value > self.chance

    @property
    def is_reversed(self) -> bool:
        """Whether the agreement is below chance, by the upper bound."""
        return self.bounds is not None and self.bounds[1] < self.chance

    @property
    def text(self) -> str:
        """The estimate with its interval."""
        return in_words(self.value, self.bounds)

    @property
    def advice(self) -> str:
        """How many clusters narrow the interval to `HALF_WIDTH`; empty if it is unknown or as narrow already."""
        half = (self.bounds[1] - self.bounds[0]) / 2 if self.bounds is not None else 0.0
        n = self.record.n_clusters
        if half <= HALF_WIDTH or not n:
            return ""
        needed = clusters_needed(half, n, HALF_WIDTH)
        return (
            f"Rate {needed:,} clusters instead of {n:,} to know this to ±.05 (a cluster is a dialogue, or all replies "
            "to one context)."
        )


def ranked(records: Sequence[AgreementRecord], *, group: str | None = None) -> list[Agreement]:
    """The agreement of each metric, the highest first: by one statistic on one dimension at the finest level.

    Levels are turn, dialogue, pair and system. The statistic is Spearman and the dimension `overall` if the run has
    them, else its first. Metrics that learned from the items are left out. Empty without metrics.
    """
    mine = [
        r
        for r in with_estimate(records)
        if r.metric and r.statistic and r.group == group and not r.in_training
    ]
    if not mine:
        return []
    statistics = {r.statistic for r in mine}
    statistic = "spearman" if "spearman" in statistics else mine[0].statistic
    finest = next(level for level in LEVELS if any(r.level == level for r in mine))
    dimensions = {r.dimension for r in mine}
    dimension = "overall" if "overall" in dimensions else mine[0].dimension
    chosen = [r for r in mine if (r.statistic, r.level, r.dimension) == (statistic, finest, dimension)]
    inside = any(r.within_agents is not None for r in chosen)
    found = [Agreement(r, inside) for r in chosen if not inside or r.within_agents is not None]
    return sorted(found, key=lambda one: -one.value)


def metric_claims(run: RunOf[MetaDocument]) -> Iterator[Claim]:
    """The claims of a `meta` run with metrics; of `--by` groups the first three. Empty without an estimate."""
    records = run.document.results
    groups = list(dict.fromkeys(record.group for record in records))
    for group in groups[:MAX_GROUPS]:
        found = ranked(records, group=group)
        mine = [r for r in with_estimate(records) if r.metric and r.group == group]
        learned = learned_from(mine)
        who = rated_by(run, [found[0].record] if found else mine)
        if found and found[0].record.level == "system":
            yield _with_reservations(_system_claim(run, found, group, who), learned, who)
        elif found:
            yield _with_reservations(_main_claim(run, found, group, who), learned, who)
            yield from _warnings(run, found, group, who)
        elif learned:
            yield _learned_claim(run, learned, group, who)


def _with_reservations(claim: Claim, learned: Mapping[str, str], who: RatedBy) -> Claim:
    """The claim, with the metrics that are left out of it because they learned from the items, and with who rated if
    these are no people: nothing is shown about people then.
    """
    left_out = [f"{name} is left out, as it learned from {count} items" for name, count in learned.items()]
    strength = "limited" if who.automatic and claim.strength == "shown" else claim.strength
    evidence = "; ".join(filter(None, [claim.evidence, *left_out, who.reservation]))
    return replace(claim, evidence=evidence, strength=strength)


def _learned_claim(
    run: RunOf[MetaDocument], learned: Mapping[str, str], group: str | None, who: RatedBy
) -> Claim:
    """The claim where every metric learned from the items."""
    where = f" ({group})" if group else ""
    return Claim(
        kind="learned-from-items", question="metrics", strength="open", run=run.name,
        verdict=f"These items cannot show whether {listed(list(learned))} agree{'s' * (len(learned) == 1)} with "
        f"{who.words}{where}",
        evidence="; ".join(f"{name} learned from {count} items" for name, count in learned.items()),
        advice="Test on ratings that the metric has not seen.",
        facts={"metric": next(iter(learned)), "metrics": list(learned), "group": group},
    )  # fmt: skip


def _main_claim(
    run: RunOf[MetaDocument], found: Sequence[Agreement], group: str | None, who: RatedBy
) -> Claim:
    """Which metric to believe, or why none."""
    best = found[0]
    where = _where(best, group)
    facts = {"metric": best.metric, "group": group, "dimension": best.record.dimension,
             "level": best.record.level, "metrics": [one.metric for one in found]}  # fmt: skip
    plain = f"{best.metric} has {best.text} {where}"
    highest = f"{best.metric}, the highest, has {best.text} {where}"
    person = f"one rater has {number(best.one_rater, 2)} with the others" if best.one_rater else ""
    if not best.is_shown:
        return Claim(
            kind="none-agrees", question="metrics", strength="open", run=run.name, facts=facts,
            verdict=_none_of(found, "was", f"shown to agree with {who.words}"), number=plain, evidence=person,
            advice=best.advice,
        )  # fmt: skip
    if best.one_rater and best.value < NEAR * best.one_rater:
        near_one = f"near {'a person' if who.are_people else 'one rater'}"
        far = best.bounds is not None and best.bounds[1] < NEAR * best.one_rater
        return Claim(
            kind="far-from-person" if far else "near-not-shown", question="metrics", run=run.name, facts=facts,
            strength="shown" if far else "open",
            verdict=_none_of(found, "comes", near_one) if far else _none_of(found, "was", f"shown to come {near_one}"),
            number=f"{highest}; {person}",
            advice="Let people decide, or use `turnwise calibrate` with some ratings.",
        )  # fmt: skip
    tied = [one.metric for one in found[1:] if not _shown_above(run, best, one)]
    near = best.one_rater and best.bounds is not None and best.bounds[0] >= LEAST * best.one_rater
    unknown = "" if best.one_rater else "how far raters agree is unknown"
    trusted = near and who.are_people
    kind = "trust" if trusted else "agrees"
    if tied:
        return Claim(
            kind="best-tied" if trusted else "agrees-tied", question="metrics", strength="limited", run=run.name,
            facts={**facts, "tied": tied},
            verdict=f"{listed([best.metric, *tied], 6)} cannot be told apart by their agreement with {who.words}",
            number=highest,
            evidence=person or unknown,
        )  # fmt: skip
    one_only = len(found) == 1
    words = {
        ("trust", True): f"{best.metric} agrees with people almost as one rater does",
        ("trust", False): f"Trust {best.metric} most",
        ("agrees", True): f"{best.metric} agrees with {who.words}",
        ("agrees", False): f"{best.metric} agrees best with {who.words}",
    }
    return Claim(
        kind="trust" if trusted else "agrees-best", question="metrics", run=run.name, facts=facts,
        strength="shown" if trusted else "limited",
        verdict=words[kind, one_only], number=plain, evidence=person or unknown,
    )  # fmt: skip


def _system_claim(
    run: RunOf[MetaDocument], found: Sequence[Agreement], group: str | None, who: RatedBy
) -> Claim:
    """The claim on metrics that have no number below the system level."""
    best = found[0]
    n = best.record.n_systems or 0
    p = best.record.p
    bounds = best.bounds
    wide = bounds is not None and bounds[1] - bounds[0] > WIDEST
    facts = {"metric": best.metric, "group": group, "dimension": best.record.dimension, "level": "system",
             "metrics": [one.metric for one in found]}  # fmt: skip
    plain = f"{best.metric} has {best.text} {_where(best, group)}, over {n} agents"
    if wide or p is None or p > LEVEL or best.value <= 0 or (bounds is not None and bounds[0] <= 0):
        return Claim(
            kind="ranking-useless", question="metrics", strength="open", run=run.name, facts=facts,
            verdict=_none_of(found, "was", f"shown to rank agents as {who.words} {who.verb('do')}"), number=plain,
            evidence="the interval spans most of the scale" if wide else "",
            advice=f"{n} agents are too few: compare more agents, or ask for single replies (--level turn).",
        )  # fmt: skip
    tied = [one.metric for one in found[1:] if not _shown_above(run, best, one)]
    evidence = f"not shown to differ from {listed(tied)}" if tied else ""
    return Claim(
        kind="ranks-agents", question="metrics", strength="limited", run=run.name, facts=facts,
        verdict=f"{best.metric} ranks agents as {who.words} {who.verb('do')}", number=plain, evidence=evidence,
    )  # fmt: skip


def _warnings(
    run: RunOf[MetaDocument], found: Sequence[Agreement], group: str | None, who: RatedBy
) -> Iterator[Claim]:
    """A metric that ranks against the raters, and one that tells agents apart but not the replies of one agent."""
    worst = found[-1]
    if worst.is_reversed:
        yield Claim(
            kind="reversed", question="metrics", run=run.name,
            verdict=f"Do not use {worst.metric}: it ranks against people"
            if who.are_people
            else f"{worst.metric} ranks against {who.words}",
            number=f"{worst.text} {_where(worst, group)}",
            facts={"metric": worst.metric, "group": group, "dimension": worst.record.dimension,
                   "level": worst.record.level},
        )  # fmt: skip
    if not found[0].inside:
        return
    pooled = max(found, key=lambda one: one.record.value)
    over_all = Agreement(pooled.record, inside=False)
    if over_all.is_shown and not pooled.is_shown:
        yield Claim(
            kind="between-agents-only", question="metrics", strength="open", run=run.name,
            verdict=f"{pooled.metric} tells agents apart; it was not shown to tell the replies of one agent apart",
            number=f"{over_all.text} over all items, {pooled.text} inside agents",
            facts={"metric": pooled.metric, "group": group, "dimension": pooled.record.dimension,
                   "level": pooled.record.level},
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


def _where(one: Agreement, group: str | None) -> str:
    """The statistic, whether inside agents, the dimension, level and group, in brackets."""
    record = one.record
    inside = " inside agents" if one.inside else ""
    about = f"{record.statistic}{inside} on {record.dimension}, {record.level} level"
    return f"({about}{f', {group}' if group else ''})"
