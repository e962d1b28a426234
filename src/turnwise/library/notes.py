"""Notes that several commands have: what was not scored and why, and what limits the findings."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Self, TypeAlias, TypeVar

from turnwise.errors import counted
from turnwise.records import (
    LEVEL,
    AgreementRecord,
    ChangeRecord,
    DifferenceRecord,
    Document,
    Record,
    Tested,
    WhyNot,
)
from turnwise.report.text import number, p_value
from turnwise.stats.computing.tails import t_quantile

FEW = 2  # raters with whom tests still reject too often (benchmarks/results/preferences.json)
SHOWN = 5  # placeholders or agents that a note names
AnyRecord = TypeVar("AnyRecord", bound=Record)
OfPreferences = TypeVar("OfPreferences", AgreementRecord, DifferenceRecord)
Limits: TypeAlias = Callable[[AnyRecord], Iterable[str]]  # lines on what limits one finding
Together: TypeAlias = Callable[[Sequence[AnyRecord]], list[str]]  # lines on several findings


class Warned(str):
    """A note that --quiet does not hide."""

    def __new__(cls, words: str) -> Self:
        return super().__new__(cls, f"warning: {words}")


def common_notes(
    document: Document,
    findings: Sequence[AnyRecord],
    *,
    limits: Limits[AnyRecord] | None = None,
    together: Together[AnyRecord] | None = None,
    shared: bool = False,
) -> list[str]:
    """The notes that every command has on its results; for `limits`, `together` and `shared` see `item_notes`."""
    of_findings = notes(findings, limits=limits, together=together, shared=shared)
    return [
        *of_findings,
        *unseen_parts(document),
        *set_apart(document),
        *automatic_raters(document),
        *document_notes(document),
    ]


def notes(
    records: Sequence[AnyRecord],
    *,
    limits: Limits[AnyRecord] | None = None,
    together: Together[AnyRecord] | None = None,
    shared: bool = False,
) -> list[str]:
    """Lines on what was not scored, on what limits the findings, and on findings without a result; without
    repetitions.
    """
    found = item_notes(records, limits=limits, together=together, shared=shared)
    return list(dict.fromkeys([*found, *_without_a_result(records)]))


def item_notes(
    records: Sequence[AnyRecord],
    *,
    limits: Limits[AnyRecord] | None = None,
    together: Together[AnyRecord] | None = None,
    shared: bool = False,
) -> list[str]:
    """Lines on what was not scored, once for each metric and reason, then on what limits the findings; without
    repetitions.

    `limits` has the lines on one finding, `together` those on all; without it, on values that do not vary. Counts of
    items are added up over findings; where findings share items, the largest counts.
    """
    counts: dict[tuple[str, str], int] = {}
    for record in records:
        for reason, count in record.unscored.items():
            key = (metric_of(record), reason)
            counts[key] = max(counts.get(key, 0), count) if shared else counts.get(key, 0) + count
    metrics: dict[tuple[int, str], list[str]] = {}
    for (name, reason), count in counts.items():
        metrics.setdefault((count, reason), []).append(name)
    found = [
        f"note: {', '.join(names)}: {counted(count, 'item')} not scored: {reason}"
        for (count, reason), names in metrics.items()
    ]
    if limits is not None:
        found += [line for record in records for line in limits(record)]
    found += without_variation(records) if together is None else together(records)
    return list(dict.fromkeys(found))


def without_variation(records: Sequence[Record]) -> list[str]:
    """A line for each metric, or for several with the same agents, on estimates that have no interval because values do
    not vary.
    """
    agents: dict[str, list[str]] = {}
    for record in records:
        if record.unvarying:
            agents.setdefault(metric_of(record), []).append(" minus ".join(record.named("agent", "minus")))
    metrics: dict[tuple[str, ...], list[str]] = {}
    for metric, those in agents.items():
        metrics.setdefault(tuple(filter(None, dict.fromkeys(those))), []).append(metric)
    found = []
    for named_agents, names in metrics.items():
        more = f" and {len(named_agents) - SHOWN} more" if len(named_agents) > SHOWN else ""
        of = f" of {', '.join(named_agents[:SHOWN])}{more}" if named_agents else ""
        found.append(f"note: {', '.join(names)}{of}: no interval, as the values do not vary")
    return found


def learned_from_ratings(record: Record, count: str) -> Warned:
    """A warning that a metric learned from so many of the items whose scores are shown."""
    return Warned(
        f"{metric_of(record)} learned from the ratings of {count} items here: its scores are no evidence beside these "
        "ratings"
    )


def thinned(record: DifferenceRecord | ChangeRecord) -> list[str]:
    """A note on items that were left out so that both sides of a comparison have about equally many; at most one."""
    for whose, left in zip(record.sides, (record.thinned_a, record.thinned_b), strict=True):
        if left:
            return [
                f"note: {record.metric}{in_group(record)} depends on the amount of text: "
                f"{counted(left, 'item')} of {whose}, chosen by a hash of names, left out, so that both have about "
                "equally many"
            ]
    return []


def covers_few(whose: str, covered: str) -> Warned:
    """A warning that an estimate is of less than half of the items that it should be of."""
    return Warned(f"{whose} covers only {covered}; the others were not scored, and may differ from these")


def metric_of(record: Record) -> str:
    """The name of the record's metric; `None` without one."""
    return next(iter(record.named("metric")), "None")


def in_group(record: Record) -> str:
    """` in GROUP` for a finding of a group, else empty."""
    return "".join(f" in {name}" for name in record.named("group"))


def _without_a_result(records: Sequence[Record]) -> list[str]:
    """A line for each status and reason of findings without a result, which names one of them and counts the others.

    A reason that only repeats why items were not scored is left out, as `item_notes` has it.
    """
    there = [record for record in records if record.status != "ok" and not record.only_unscored]
    return by_reason(there, lambda record: " ".join(filter(None, record.about.values())))


def document_notes(document: Document) -> list[str]:
    """Lines on what a run left out or scored together."""
    return [f"note: {note}" for note in document.notes]


def first_of(names: Sequence[str]) -> str:
    """The first name, and how many others there are."""
    return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]


def by_reason(records: Sequence[AnyRecord], name: Callable[[AnyRecord], str]) -> list[str]:
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
        lines.append(f"note: {first_of([name(record) for record in those])}: {status}: {reason}")
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


def set_apart(document: Document) -> list[str]:
    """A line on the ratings that the rating app set apart; empty if there are none."""
    if not document.ratings_apart:
        return []
    return [f"note: set apart and not used: {apart_in_words(document.ratings_apart)}"]


def apart_in_words(reasons: Mapping[str, int]) -> str:
    """How many ratings were set apart, and why."""
    listed = ", ".join(f"{reason} {count}" for reason, count in reasons.items())
    return f"{counted(sum(reasons.values()), 'rating')} ({listed})"


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


def verdict_notes(records: Sequence[Tested]) -> list[str]:
    """Lines on differences that were not shown, what that excludes and what more data would show; and on verdicts that
    a few more items may turn.
    """
    null: dict[tuple[str, str | None], list[Tested]] = {}
    edge: dict[str, list[str]] = {}
    for record in records:
        group = next(iter(record.named("group")), None)
        if not record.shown and (record.at_most_apart or (record.at_most_apart is None and record.decisive)):
            null.setdefault((metric_of(record), group), []).append(record)
        if record.at_edge and record.p_adjusted is not None:
            edge.setdefault(metric_of(record), []).append(
                f"{record.compared} (p {p_value(record.p_adjusted)})"
            )
    found = [_excluded(metric, group, those) for (metric, group), those in null.items()]
    found += [
        f"note: {metric}: at the edge of 5 %, so that a few more items may turn the verdict: "
        f"{', '.join(names[:SHOWN])}"
        for metric, names in edge.items()
    ]
    return found


def _excluded(metric: str, group: str | None, records: Sequence[Tested]) -> str:
    """What differences that were not shown leave open, and what four times the data would show."""
    widest = max(records, key=lambda record: inf if record.at_most_apart is None else record.at_most_apart)
    of = "" if widest.points is None or widest.points <= 1 else f" of {widest.points:g} points"
    some = f"{len(records)} pairs without a difference that was shown, of which the widest is " * (
        len(records) > 1
    )
    apart = f"at most {number(widest.at_most_apart)}{of} apart"
    said = (
        f"{some}{widest.compared}, {'no difference is excluded' if widest.at_most_apart is None else apart}"
    )
    more = ""
    if widest.standard_error is not None and widest.degrees:
        from turnwise.stats.anytime import anytime_quantile  # imports numpy, which --help has no need of

        alpha = LEVEL / (widest.family_size or 1)
        limit = (
            anytime_quantile(widest.degrees, alpha)
            if widest.anytime
            else t_quantile(widest.degrees, 1 - alpha / 2)
        )
        quantiles = limit + t_quantile(widest.degrees, 0.8)
        what = "ratings" if widest.family == "people" else "runs"
        smaller = quantiles * widest.standard_error / 2
        if widest.points is None or smaller < widest.points:
            more = f"; four times as many {what} would show {number(smaller)} in 4 of 5 studies"
    return f"note: {metric}{'' if group is None else f' in {group}'}: {said}{more}"


def rater_notes(
    records: Sequence[OfPreferences], name: Callable[[OfPreferences], str], *, shared: bool = False
) -> list[str]:
    """A line for each set of preferences that is by one or two raters, whose intervals say little or nothing about
    other raters; `name` says what people chose by, and if `shared`, records with one name have the same choices.
    """
    sets: dict[str, list[OfPreferences]] = {}
    for record in records:
        if record.n_raters is not None:
            sets.setdefault(name(record), []).append(record)
    found = []
    for about, mine in sets.items():
        alone: dict[str, list[OfPreferences]] = {}
        for record in mine:
            if record.n_raters == 1:
                alone.setdefault(str(record.rater), []).append(record)
        for rater, by_one in alone.items():
            whose = "all " if len(by_one) == len(mine) else ""
            counts = [record.n_items for record in by_one]
            choices = max(counts) if shared else sum(counts)
            found.append(
                f"note: {about}: {whose}{counted(choices, 'choice')} are by one rater, `{rater}`: intervals cover "
                "other contexts, not other raters"
            )
        if any(record.n_raters == FEW for record in mine):
            found.append(
                f"note: {about}: with {FEW} raters intervals may be too narrow for other raters (docs/statistics.md)"
            )
    return found
