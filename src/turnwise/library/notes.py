"""Notes on a result: what was not scored and why, and what limits the findings."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Self, TypeVar

from turnwise.errors import counted
from turnwise.records import (
    LEVEL,
    AgreementRecord,
    ChangeRecord,
    DiffDocument,
    DifferenceRecord,
    Document,
    EstimateRecord,
    PreferenceFit,
    Record,
    ReliabilityDocument,
    ScoreRecord,
    StatisticRecord,
    Tested,
    WhyNot,
    both_ends,
)
from turnwise.report.text import number, p_value
from turnwise.stats.computing.tails import t_quantile
from turnwise.types import TASK

SHOWN = 5  # placeholders or agents that a note names
AnyRecord = TypeVar("AnyRecord", bound=Record)


class Warned(str):
    """A note that --quiet does not hide."""

    def __new__(cls, words: str) -> Self:
        return super().__new__(cls, f"warning: {words}")


def notes(records: Sequence[Record]) -> list[str]:
    """Lines on what was not scored, on what limits the findings, and on findings without a result; without
    repetitions.
    """
    return list(dict.fromkeys([*item_notes(records), *_without_a_result(records)]))


def item_notes(records: Sequence[Record]) -> list[str]:
    """Lines on what was not scored, once for each metric and reason, then on what limits the findings; without
    repetitions. Counts of items are added up over findings; for agreement, where findings share items, the
    largest counts.
    """
    counts: dict[tuple[str, str], int] = {}
    for record in records:
        for reason, count in record.unscored.items():
            key = (_metric(record), reason)
            shared = isinstance(record, AgreementRecord | StatisticRecord)
            counts[key] = max(counts.get(key, 0), count) if shared else counts.get(key, 0) + count
    metrics: dict[tuple[int, str], list[str]] = {}
    for (name, reason), count in counts.items():
        metrics.setdefault((count, reason), []).append(name)
    found = [
        f"note: {', '.join(names)}: {counted(count, 'item')} not scored: {reason}"
        for (count, reason), names in metrics.items()
    ]
    for record in records:
        found += _limits(record)
    return list(dict.fromkeys([*found, *_without_variation(records), *_pairing(records), *_judges(records)]))


def _metric(record: Record) -> str:
    """The name of the record's metric; `None` without one."""
    return next(iter(record.named("metric")), "None")


def _limits(record: Record) -> Iterator[str]:
    """Yield the lines on what limits one result."""
    metric = _metric(record)
    if isinstance(record, ScoreRecord | AgreementRecord | DifferenceRecord) and record.in_training:
        yield Warned(f"{metric} learned from {_learned(record, record.in_training)}")
    if isinstance(record, DifferenceRecord | ChangeRecord) and (thinned := _thinned(record)):
        yield thinned
    if isinstance(record, AgreementRecord) and record.uneven:
        fewest, most = record.uneven
        yield Warned(
            f"{metric}{_in_group(record)} depends on the number of items, and agents have {fewest} to {most}: "
            "their order may be that of these numbers; compare agents with about equally many"
        )
    if isinstance(record, DifferenceRecord) and record.position_bias is not None:
        yield _position_bias(record, record.position_bias)
    if isinstance(record, ScoreRecord) and record.cut:
        yield f"note: {metric}: its model read only the beginning of {counted(record.cut, 'text')}"
    if isinstance(record, ScoreRecord) and (unresolved := record.unresolved):
        named = ", ".join(f"{name} ({count})" for name, count in islice(unresolved.items(), SHOWN))
        more = f", and {len(unresolved) - SHOWN} more" if len(unresolved) > SHOWN else ""
        yield f"note: placeholders that the ontology does not know: {named}{more}"


def _learned(record: Record, count: str) -> str:
    """What it means that a metric learned from so many of the items: for its agreement with people, or its scores."""
    if isinstance(record, AgreementRecord):
        return f"{count} items here: its agreement with people says nothing about new ones"
    return f"the ratings of {count} items here: its scores are no evidence beside these ratings"


def _without_variation(records: Sequence[Record]) -> list[str]:
    """A line for each metric, or for several with the same agents, on estimates that have no interval because values do
    not vary. Comparisons are left out: their verdict does not depend on an interval.
    """
    agents: dict[str, list[str]] = {}
    for record in records:
        if record.unvarying and not isinstance(record, DifferenceRecord):
            agents.setdefault(_metric(record), []).append(" minus ".join(record.named("agent", "minus")))
    metrics: dict[tuple[str, ...], list[str]] = {}
    for metric, those in agents.items():
        metrics.setdefault(tuple(filter(None, dict.fromkeys(those))), []).append(metric)
    found = []
    for named_agents, names in metrics.items():
        more = f" and {len(named_agents) - SHOWN} more" if len(named_agents) > SHOWN else ""
        of = f" of {', '.join(named_agents[:SHOWN])}{more}" if named_agents else ""
        found.append(f"note: {', '.join(names)}{of}: no interval, as the values do not vary")
    return found


def coverage(records: Sequence[Record]) -> list[str]:
    """A warning for each estimate of `score` or `compare` that is of less than half of the items that it should be of;
    without repetitions.
    """
    return list(dict.fromkeys(filter(None, map(_mostly_unscored, records))))


def _mostly_unscored(record: Record) -> str | None:
    """A warning if an estimate is of less than half of the items that it should be of; None if not."""
    metric = f"{_metric(record)}{_in_group(record)}"
    others = "the others were not scored, and may differ from these"
    if isinstance(record, DifferenceRecord):
        counts = [
            (record.agent_a, record.scored_a or 0, record.unscored_a or 0),
            (record.agent_b, record.scored_b or 0, record.unscored_b or 0),
        ]
        if record.estimate is None or all(scored >= left for _, scored, left in counts):
            return None
        covered = " and ".join(
            f"{scored} of {counted(scored + left, 'item')} of {agent}" for agent, scored, left in counts
        )
        return Warned(f"{metric} covers only {covered}; {others}")
    left = sum(record.unscored.values())
    if not 0 < record.n_items < left:
        return None
    agent = "".join(f" of {name}" for name in record.named("agent"))
    covered = f"{record.n_items} of {record.n_items + left} items"
    return Warned(f"{metric}{agent} covers only {covered}; {others}")


def _judges(records: Sequence[Record]) -> list[str]:
    """For each judge with several samples how far these differ, and for each panel how far its judges agree."""
    found: dict[str, list[str]] = {}
    for record in records:
        if not isinstance(record, ScoreRecord):
            continue
        whose = f" ({record.agent})" if record.agent else ""
        if record.sample_sd is not None:
            what = f"{record.metric}: standard deviation of the samples of one item"
            found.setdefault(what, []).append(f"{record.sample_sd:.2f}{whose}")
        if record.panel_agreement is not None:
            what = f"{record.metric}: agreement of the judges (alpha)"
            found.setdefault(what, []).append(f"{record.panel_agreement:.2f}{whose}")
    return [f"note: {what}: {', '.join(values)}" for what, values in found.items()]


def _thinned(record: DifferenceRecord | ChangeRecord) -> str | None:
    """A note on items that were left out so that both agents, or runs, have about equally many; None if none were."""
    names = ("the new run", "the old run")
    if isinstance(record, DifferenceRecord):
        names = (str(record.agent_a), str(record.agent_b))
    for whose, left in zip(names, (record.thinned_a, record.thinned_b), strict=True):
        if left:
            return (
                f"note: {record.metric}{_in_group(record)} depends on the amount of text: "
                f"{counted(left, 'item')} of {whose}, chosen by a hash of names, left out, so that both have about "
                "equally many"
            )
    return None


def _in_group(record: Record) -> str:
    """` in GROUP` for a finding of a group, else empty."""
    return "".join(f" in {name}" for name in record.named("group"))


def _position_bias(record: DifferenceRecord, bias: float) -> str:
    """How much more often a judge of pairs chose what was shown first, and how often both orders agree."""
    interval = both_ends(record.position_bias_interval)
    ends = "" if interval is None else f" [{100 * interval[0]:+.1f}, {100 * interval[1]:+.1f}]"
    return (
        f"note: {record.metric}: position bias {100 * bias:+.1f} points{ends} towards what was shown "
        f"first, removed by asking in both orders; they agree in {record.consistent or 0:.0%} of pairs"
    )


def _without_a_result(records: Sequence[Record]) -> list[str]:
    """A line for each status and reason of findings without a result, which names one of them and counts the others.

    A reason that only repeats why items were not scored is left out, as `item_notes` has it.
    """
    there = [record for record in records if record.status != "ok" and not record.only_unscored]
    return _by_reason(there, lambda record: " ".join(filter(None, record.about.values())))


def document_notes(document: Document) -> list[str]:
    """Lines on what a run left out or scored together."""
    return [f"note: {note}" for note in document.notes]


def others_without_a_result(records: Sequence[EstimateRecord]) -> list[str]:
    """As the lines of `notes` on records without a result, for other estimators than those that were asked for."""
    there = [record for record in records if record.status != "ok" and record.beside]
    return _by_reason(there, _estimate_of)


def whole_scales(records: Sequence[EstimateRecord]) -> list[str]:
    """A line on the estimates whose interval is the whole scale of the ratings; empty if there are none."""
    named = [_estimate_of(record) for record in records if record.diagnostics.whole_scale]
    said = "the interval is the whole scale of the ratings, so the logs say nothing about this mean"
    return [f"note: {_first_of(named)}: {said}"] if named else []


def of_own_ratings(records: Sequence[EstimateRecord]) -> Iterator[str]:
    """A line on each answer that the target's own ratings are in: which dialogues these must be of, or that they
    contradict the prediction.
    """
    for record in records:
        if record.beside or record.estimate is None or not record.own_ratings:
            continue
        named = f"{record.target} {record.rating}"
        drawn = f"dialogues of {record.target} that were drawn at random"
        predicted = record.diagnostics.contradicted
        if predicted is None:
            yield f"note: {named}: {counted(record.own_ratings, 'rating')} of its own are in it, and must be of {drawn}"
        else:
            yield Warned(
                f"{named}: its own ratings ({number(record.diagnostics.of_ratings)}) contradict the prediction from "
                f"its dialogues ({number(predicted)}), which is not used: right only if they are of {drawn}"
            )


def _estimate_of(record: EstimateRecord) -> str:
    """Target, rating and estimator of an estimate."""
    return " ".join(record.named("target", "rating", "estimator"))


def _first_of(names: Sequence[str]) -> str:
    """The first name, and how many others there are."""
    return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]


def _by_reason(records: Sequence[AnyRecord], name: Callable[[AnyRecord], str]) -> list[str]:
    """A line for each status and reason, which names the first of these records and counts the others.

    Reasons that differ in fractions alone, such as a correlation, are one line with the least and largest of each.
    """
    alike: dict[tuple[str, ...], list[AnyRecord]] = {}
    for record in records:
        alike.setdefault((record.status, *_without_fractions(record)), []).append(record)
    lines = []
    for (status, *_), those in alike.items():
        whys = [record.why for record in those if record.why is not None]
        reason = WhyNot.merged(whys) if whys else str(those[0].reason)
        lines.append(f"note: {_first_of([name(record) for record in those])}: {status}: {reason}")
    return lines


def _without_fractions(record: Record) -> Iterator[str]:
    """What tells the record's reason from others: its code with the fields that are no fractions; without a code, its
    words.
    """
    if record.why is None:
        yield str(record.reason)
        return
    yield record.why.code
    yield from (
        f"{name} {value}" for name, value in record.why.fields.items() if not isinstance(value, float)
    )


def unseen_parts(document: Document) -> list[str]:
    """A line on the images, audio and files of the data, which text metrics do not see; empty if there are none."""
    unseen = document.unseen_parts
    if unseen is None or not unseen.replies:
        return []
    kinds = ", ".join(f"{count} {kind}" for kind, count in unseen.parts.items())
    return [
        f"note: {unseen.replies} of {unseen.n_replies} replies in the data, or their contexts, hold parts that "
        f"text metrics do not see ({kinds})"
    ]


def automatic_raters(document: Document) -> list[str]:
    """A line on the ratings and preferences that only language models or programs gave, once for the same raters."""
    given: dict[tuple[str, ...], list[str]] = {}
    for name, raters in document.automatic_raters.items():
        given.setdefault(raters, []).append(name)
    return [
        f"note: {', '.join(names)}: given by a language model or a program, not by people"
        + (f" ({', '.join(raters[:SHOWN])})" if raters else "")
        for raters, names in given.items()
    ]


def _pairing(records: Sequence[Record]) -> list[str]:
    """Notes on the items of two compared agents that have no partner or share one. A note names its metrics and groups
    where the notes of others differ.
    """
    compared = [record for record in records if isinstance(record, DifferenceRecord)]
    about: dict[str, list[DifferenceRecord]] = {}
    for record in compared:
        for said in filter(None, (_unpaired(record), _merged(record))):
            about.setdefault(said, []).append(record)
    every = [(record.metric, record.group) for record in compared if record.estimate is not None]
    found = []
    for said, of in about.items():
        mine = [(record.metric, record.group) for record in of]
        names = [
            ", ".join(dict.fromkeys(str(pair[at]) for pair in mine))
            for at in (0, 1)
            if {pair[at] for pair in mine} != {pair[at] for pair in every}
        ]
        found.append(": ".join(filter(None, ["note", " in ".join(names), said])))
    return found


def _unpaired(record: DifferenceRecord) -> str | None:
    """On items of two compared agents that have no partner, or on a comparison without pairs; None if neither
    applies.
    """
    left = any((record.unpaired_a, record.unpaired_b))
    if not left and record.sampling != "unpaired":
        return None
    better = ""
    if record.better_pair_key is not None:
        pairs = counted(record.better_pair_key_pairs or 0, "pair")
        better = f"; --pair {record.better_pair_key} makes {pairs}"
    if not left:
        return (
            f"fewer than half of the items of {record.agent_a} and {record.agent_b} have a partner with the same "
            f"{_pair_key(record)}, so the agents are compared as independent samples{better}"
        )
    counts = f"{record.unpaired_a or 0} of {record.agent_a} and {record.unpaired_b or 0} of {record.agent_b}"
    more = f"{better} instead of {record.n_items}" if better else ""
    return f"items without a partner, left out: {counts}{more}; --pair none compares all items as independent samples"


def _merged(record: DifferenceRecord) -> str | None:
    """On items of one agent with the same partner, which count as one item; None if there are none."""
    if not any((record.merged_a, record.merged_b)) or record.pair_key == TASK:
        return None  # a note on the tasks says it
    named = f"{record.merged_a or 0} fewer of {record.agent_a} and {record.merged_b or 0} fewer of {record.agent_b}"
    return f"items of one agent with the same {_pair_key(record)} count as one, their mean: {named}"


def _pair_key(record: DifferenceRecord) -> str:
    """What pairs the items of two agents."""
    return "context" if record.pair_key is None else f"`{record.pair_key}`"


def reliability_notes(document: ReliabilityDocument) -> list[str]:
    """Lines on tasks with too few trials, on trials that failed for reasons outside the agent, and on what to add."""
    found = []
    for record in document.results:
        about = f"{record.metric} of {record.agent}{_in_group(record)}"
        if record.failures:
            total = counted(sum(record.failures.values()), "trial")
            why = ", ".join(f"{reason} ({count})" for reason, count in islice(record.failures.items(), SHOWN))
            how = "left out" if "failures:left-out" in record.signature else "count as not passed"
            found.append(f"note: {about}: {total} failed for reasons outside the agent, {how}: {why}")
        if record.short and record.estimate is not None:
            tasks = f"{record.short} of {counted(record.short + record.n_clusters, 'task')}"
            found.append(
                f"note: {about}: {tasks} left out for k {record.k}: fewer than {counted(record.k or 0, 'trial')}"
            )
    for noise in document.noise:
        gains = {one.twice: one for one in noise.additions}
        if noise.first is None:
            continue
        ends = ", ".join(f"{one.standard_error:.3f} with twice as many {name}" for name, one in gains.items())
        about = f"{noise.metric} of {noise.agent}{f' in {noise.group}' if noise.group else ''}"
        found += [
            f"note: {about}: add {noise.first} first: the standard error of the mean is {noise.standard_error:.3f}, "
            f"and {ends}",
            f"note: {about}: a second agent with as many values is told apart in 4 of 5 studies if it differs by "
            f"{noise.smallest_difference:.2f}, on the same tasks by {noise.smallest_on_same_tasks:.2f} if they are as "
            "hard for both",
        ]
    return list(dict.fromkeys(found))


def strength_notes(fits: Sequence[PreferenceFit]) -> list[str]:
    """Lines on Bradley-Terry fits: why there is none, which agents have no strength, which cannot be compared."""
    found = []
    for fit in fits:
        reasons = dict.fromkeys([fit.reason, *(one.reason for one in fit.strengths)])
        found += [f"note: {fit.metric}: no strengths: {reason}" for reason in reasons if reason]
        if (fit.n_components or 1) > 1:
            sets: dict[int, list[str]] = {}
            for one in fit.strengths:
                sets.setdefault(one.component, []).append(one.agent)
            listed = "; ".join(", ".join(names) for names in sets.values())
            found.append(
                Warned(
                    f"{fit.metric}: comparisons do not connect all agents, so strengths compare only within each set: "
                    f"{listed}"
                )
            )
    return found


def verdict_notes(records: Sequence[Tested]) -> list[str]:
    """Lines on differences that were not shown, what that excludes and what more data would show; and on verdicts that
    a few more items may turn.
    """
    null: dict[tuple[str, str | None], list[Tested]] = {}
    edge: dict[str, list[str]] = {}
    for record in records:
        group = next(iter(record.named("group")), None)
        if not record.shown and record.at_most_apart:
            null.setdefault((_metric(record), group), []).append(record)
        if record.at_edge and record.p_adjusted is not None:
            edge.setdefault(_metric(record), []).append(f"{_sides(record)} (p {p_value(record.p_adjusted)})")
    found = [_excluded(metric, group, those) for (metric, group), those in null.items()]
    found += [
        f"note: {metric}: at the edge of 5 %, so that a few more items may turn the verdict: "
        f"{', '.join(names[:SHOWN])}"
        for metric, names in edge.items()
    ]
    return found


def _excluded(metric: str, group: str | None, records: Sequence[Tested]) -> str:
    """What differences that were not shown leave open, and what four times the data would show."""
    widest = max(records, key=lambda record: record.at_most_apart or 0.0)
    of = "" if widest.points is None or widest.points <= 1 else f" of {widest.points:g} points"
    some = f"{len(records)} pairs without a difference that was shown, of which the widest is " * (
        len(records) > 1
    )
    said = f"{some}{_sides(widest)}, at most {number(widest.at_most_apart)}{of} apart"
    more = ""
    if widest.standard_error is not None and widest.degrees and widest.at_most_apart is not None:
        from turnwise.stats.anytime import anytime_quantile  # imports numpy, which --help has no need of

        alpha = LEVEL / (widest.family_size or 1)
        limit = (
            anytime_quantile(widest.degrees, alpha)
            if widest.anytime
            else t_quantile(widest.degrees, 1 - alpha / 2)
        )
        quantiles = limit + t_quantile(widest.degrees, 0.8)
        what = "ratings" if widest.family == "people" else "runs"
        smaller = number(quantiles * widest.standard_error / 2)
        more = f"; four times as many {what} would show {smaller} in 4 of 5 studies"
    return f"note: {metric}{'' if group is None else f' in {group}'}: {said}{more}"


def _sides(record: Tested) -> str:
    """What is compared: two agents, or two runs of one."""
    if isinstance(record, DifferenceRecord):
        return f"{record.agent_a} and {record.agent_b}"
    return f"the two runs of {', '.join(record.named('agent'))}"


def _left_out(records: Sequence[ChangeRecord]) -> list[str]:
    """Lines on the scored items of each agent that are in no pair; with their metrics where others differ."""
    metrics: dict[str | None, dict[tuple[int, int], list[str]]] = {}
    for record in records:
        if record.estimate is not None:
            counts = record.left_out_old or 0, record.left_out_new or 0
            metrics.setdefault(record.agent, {}).setdefault(counts, []).append(record.metric)
    found = []
    for agent, by_count in metrics.items():
        for (old, new), names in by_count.items():
            of = "" if len(by_count) == 1 else f"{', '.join(dict.fromkeys(names))}: "
            if old or new:
                found.append(
                    f"note: {of}items of {agent} left out, as the other run does not have them or could not score "
                    f"them: {old} of the old run and {new} of the new one"
                )
    return found


def change_notes(document: DiffDocument) -> list[str]:
    """Lines on what was left out of the comparison of two runs, on pairs by context, and on texts that could not be
    read.
    """
    found = _left_out(document.results)
    for record in document.results:
        if record.sampling == "unpaired":
            found.append(
                f"note: fewer than half of the items of {record.agent} are in both runs, so the runs are compared as "
                "independent samples of all items"
            )
        elif record.paired_by == "context":
            found.append("note: items are paired by their contexts, which match where the ids do not")
    found += [
        f"note: only the {side} run has {', '.join(names)}"
        for side, names in document.metrics_in_one_run.items()
        if names
    ]
    found += [
        f"note: no texts of the {side} run: {reason}" for side, reason in document.texts_missing.items()
    ]
    return list(dict.fromkeys(found))
