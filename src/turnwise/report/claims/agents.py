"""Claims on which of two agents is better, or which of several is the best, from `compare`.

People decide. Where language models or programs rated the agents, they are named in place of people, and the claim is
made with a reservation. `rated-higher` is made where people's ratings or preferences show a difference, whatever
metrics say; if they show none, it is `no-difference`: what size of difference is excluded, the metrics that show one
beside it, and how many ratings would show it. A metric never makes an agent better: `scores-higher` is made only where
nobody rated the agents, beside what is known of the metric's agreement with people and of attacks that fool it. Metrics
that contradict each other are named. Of several agents `leaderboard` says who leads.

The numbers are those that decided: the interval that is adjusted for all comparisons of its family, from the agent that
leads to the other, so that the sentence does not depend on the order in which the agents were named.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from turnwise.metrics import is_preference, is_rating
from turnwise.records import DifferenceRecord
from turnwise.report.claims.claim import Badge, Claim, Direction, Fact, listed, ratings_for
from turnwise.report.documents import CompareDocument
from turnwise.report.figure import digits_for, in_words, with_estimate
from turnwise.report.rated_by import rated_by
from turnwise.report.runs import RunOf
from turnwise.report.text import number, p_value

TOO_MANY = 20  # times the ratings there are: a difference that needs more is said to be too small


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What other runs of the report and the package know of a metric: its agreement and attacks, as clauses."""

    agreement: Mapping[str, str]  # metric -> clause
    attacks: Mapping[str, str]

    def of(self, metric: str) -> str:
        """What is known of the metric, as a clause."""
        name = metric.split("[")[0]
        known = [
            self.agreement.get(metric, f"how {metric} agrees with people was not measured here"),
            self.attacks.get(metric) or self.attacks.get(name, ""),
        ]
        return "; ".join(part for part in known if part)


def agent_claims(run: RunOf[CompareDocument], knowledge: Knowledge) -> Iterator[Claim]:
    """A claim for each two agents and group of a `compare` run, or one on why nothing could be compared."""
    records = with_estimate(run.document.results)
    if not records:
        yield Claim(
            kind="nothing-compared", question="agents", verdict="Nothing could be compared", evidence=run.first_reason,
            badge="can't tell", run=run.name,
        )  # fmt: skip
        return
    people = with_estimate(run.document.people)
    for about in dict.fromkeys(_about(record) for record in records):
        mine = [record for record in records if _about(record) == about]
        asked = [r for r in mine if by_people(r)]
        rated = asked or [r for r in people if _about(r) == about]
        metrics = [r for r in mine if r not in asked]
        yield _claim(run, about, _main(rated), metrics, knowledge)


def by_people(record: DifferenceRecord) -> bool:
    """Whether the comparison is by ratings or preferences, and not by a metric."""
    return is_rating(record.metric) or is_preference(record.metric)


def fact(record: DifferenceRecord) -> Fact:
    """What a comparison says of its two agents."""
    direction: Direction = 0
    if record.shown:
        direction = 1 if leader(record) == record.agent_a else -1
    return Fact(
        subject=str(record.agent_a), relation="above", object=str(record.agent_b), quantity=record.metric,
        direction=direction, family=record.family_size, group=record.group,
    )  # fmt: skip


def leader(record: DifferenceRecord) -> str:
    """The agent on the good end of the difference; the one with the higher number where no end is good, and of equals
    the first by name.
    """
    if record.value == 0:
        return min(str(record.agent_a), str(record.agent_b))
    first = (record.value > 0) == (record.better != "lower")
    return record.leader or str(record.agent_a if first else record.agent_b)


def dimension(metric: str) -> str:
    """The dimension of ratings or preferences."""
    return metric.split(":", 1)[1].split("[")[0]


def adjusted(record: DifferenceRecord) -> str:
    """For how many comparisons the interval and the test are adjusted, after a comma; empty for one."""
    size = record.family_size or 1
    return f", adjusted for {size} comparisons" if size > 1 else ""


def _about(record: DifferenceRecord) -> tuple[frozenset[str], str | None]:
    """The two agents and the group of a comparison."""
    return frozenset((str(record.agent_a), str(record.agent_b))), record.group


def _main(records: Sequence[DifferenceRecord]) -> DifferenceRecord | None:
    """The comparison by `overall`, else the first; None without any."""
    overall = [r for r in records if dimension(r.metric) == "overall"]
    return next(iter(overall or records), None)


def _claim(
    run: RunOf[CompareDocument],
    about: tuple[frozenset[str], str | None],
    people: DifferenceRecord | None,
    metrics: Sequence[DifferenceRecord],
    knowledge: Knowledge,
) -> Claim:
    """The claim on two agents."""
    group = about[1]
    where = f" ({group})" if group else ""
    judging = [r for r in metrics if r.better]
    shown = [r for r in judging if r.shown]
    if people is not None:
        return (_shown_by_people if people.shown else _open)(run, people, shown, knowledge, where)
    if len({leader(r) for r in shown}) > 1:
        one, other = sorted(about[0])
        return Claim(
            kind="metrics-disagree", question="agents", badge="can't tell", run=run.name, figure="differences",
            verdict=f"The metrics contradict each other on {one} and {other}{where}",
            evidence="; ".join(_favoured(shown)),
            advice=_ask_people(one, other),
            facts=tuple(map(fact, shown)),
        )  # fmt: skip
    if shown:
        return _by_metric(run, shown, knowledge, where)
    return _open(run, next(iter(judging or metrics)), (), knowledge, where)


def _favoured(shown: Sequence[DifferenceRecord]) -> list[str]:
    """For each agent that some metric scores on the good end, a clause with these metrics."""
    clauses = []
    for agent in sorted({leader(r) for r in shown}):
        metrics = [r.metric for r in shown if leader(r) == agent]
        clauses.append(f"{listed(metrics)} score{'s' * (len(metrics) == 1)} in favour of {agent}")
    return clauses


def _shown_by_people(
    run: RunOf[CompareDocument],
    people: DifferenceRecord,
    shown: Sequence[DifferenceRecord],
    _: Knowledge,
    where: str,
) -> Claim:
    """Raters show a difference: the claim, beside the metrics that agree with them and those that do not."""
    who = rated_by(run, [people])
    first, second = ordered(people)
    with_them = [r.metric for r in shown if leader(r) == first]
    against = [r.metric for r in shown if leader(r) == second]
    evidence = [f"{listed(with_them)} say{'s' * (len(with_them) == 1)} the same"] if with_them else []
    if against:
        evidence.append(f"{listed(against)} say{'s' * (len(against) == 1)} the opposite")
    evidence += edge(people)
    if who.reservation:
        evidence.append(who.reservation)
    if is_preference(people.metric):
        said = f"{who.verb('prefer')} {first} to {second}"
    elif people.better == "lower":
        said = f"{who.verb('find')} {first} better than {second} (low is good)"
    elif people.better is not None:
        said = f"{who.verb('rate')} {first} above {second}"
    else:
        said = f"{who.verb('give')} higher ratings to {first} than to {second}"
    return Claim(
        kind="rated-higher", question="agents", run=run.name, figure=_figure(people),
        badge="caution" if who.automatic or people.at_edge else "yes",
        verdict=f"{who.first} {said}{where}",
        number=f"{difference(people)}, p {p_value(_p(people))}",
        evidence="; ".join(evidence),
        advice=f"Between these two ask people, not {listed(against)}." if against and who.are_people else "",
        facts=(fact(people), *map(fact, shown)),
        items=_items(shown),
    )  # fmt: skip


def _by_metric(
    run: RunOf[CompareDocument], shown: Sequence[DifferenceRecord], knowledge: Knowledge, where: str
) -> Claim:
    """Nobody rated the agents, and metrics show a difference: a claim on scores, beside what is known of the metric."""
    main = shown[0]
    first, second = ordered(main)
    metrics = listed([r.metric for r in shown])
    return Claim(
        kind="scores-higher", question="agents", badge="caution", run=run.name, figure=_figure(main),
        subject=main.metric,
        verdict=f"{first} scores {main.better} than {second} by {metrics}{where}",
        number=f"{difference(main)}, p {p_value(_p(main))}",
        evidence="; ".join(["nobody rated them here", *edge(main), knowledge.of(main.metric)]),
        advice=_ask_people(first, second),
        facts=tuple(map(fact, shown)),
        items=_items(shown[:1]),
    )  # fmt: skip


def _open(
    run: RunOf[CompareDocument],
    record: DifferenceRecord,
    shown: Sequence[DifferenceRecord],
    knowledge: Knowledge,
    where: str,
) -> Claim:
    """No difference was shown: what is excluded, the metrics that show one where people do not, and what would help."""
    first, second = ordered(record)
    people = by_people(record)
    who = rated_by(run, [record])
    whose = ("people's" if who.are_people else who.possessive) if people else ""
    what = (
        f"{whose} ratings"
        if is_rating(record.metric)
        else f"{whose} preferences"
        if people
        else record.metric
    )
    badge, verdict = null(record, f"{first} and {second}", what, where)
    evidence = [*edge(record), *_favoured(shown)]
    if shown:
        evidence.append(knowledge.of(shown[0].metric))
    return Claim(
        kind="equivalent" if badge == "no" else "no-difference", question="agents", badge=badge, run=run.name,
        figure=_figure(record), verdict=verdict, number=difference(record), evidence="; ".join(evidence),
        advice="" if badge == "no" else more(record, first, second, people=people),
        facts=(fact(record), *map(fact, shown)), items=_items(shown[:1]),
    )  # fmt: skip


def null(record: DifferenceRecord, agents: str, what: str, where: str) -> tuple[Badge, str]:
    """The badge and the verdict where no difference was shown: first what is excluded."""
    if is_same(record):
        return "no", f"{agents} are the same by {what}{where}"
    if record.equivalent:
        return "no", f"{agents} are equal within {number(record.margin)} by {what}{where}"
    if record.no_worse:
        least = listed(record.no_worse)
        return "caution", f"{least} is no worse by more than {number(record.margin)}, by {what}{where}"
    apart = record.at_most_apart
    if apart is None:
        return "can't tell", f"{agents} are not told apart by {what}{where}"
    of = f" of {record.points:g} points" if (record.points or 0) > 1 else ""
    return (
        "can't tell",
        f"{agents} are at most {number(apart, digits_for(apart))}{of} apart by {what}{where}; which is better is open",
    )


def is_same(record: DifferenceRecord) -> bool:
    """Whether the agents do not differ at all, in any item."""
    if record.value:
        return False
    return record.p_elsewhere is not None if record.decisive is None else not any(record.decisive)


def more(record: DifferenceRecord, first: str, second: str, *, people: bool) -> str:
    """How many ratings, or where nobody rates how many runs, would show the difference that was measured."""
    bounds, n = record.decisive, record.n_items
    if bounds is None:
        return "" if people else _ask_people(first, second)
    needed = ratings_for(record.value, bounds, n)
    choices = is_preference(record.metric)
    what = "choices" if choices else "rated items" if people else "items"
    if needed is None or needed > TOO_MANY * n:
        return (
            f"Do not collect more to tell {first} and {second} apart: {TOO_MANY} times the {n} {what} that there are "
            "would not be enough."
        )
    half = (bounds[1] - bounds[0]) / 2
    size = number(abs(record.value), digits_for(half))
    do = "Rate" if people else "Run the agents until there are"
    of = f"choices between {first} and {second}" if choices else f"items of {first} and {second} together"
    collect = f"{'Ask for' if choices else do} about {max(needed, n):,} {of}, not {n}"
    return f"{collect}, to show {size} in 4 of 5 studies (power .8)."


def _ask_people(first: str, second: str) -> str:
    """What to do where nobody rated."""
    what = f"rate dialogues of {first} and {second}"
    return f"A score is not a person's judgement: {what} (`turnwise power` says how many)."


def edge(record: DifferenceRecord) -> list[str]:
    """A clause where the data is at the edge between two verdicts."""
    return ["this is at the edge: a few more items may turn it"] if record.at_edge else []


def _p(record: DifferenceRecord) -> float | None:
    """The adjusted p-value, or the plain one where there is no other."""
    return record.p if record.p_adjusted is None else record.p_adjusted


def ordered(record: DifferenceRecord) -> tuple[str, str]:
    """The agent that leads and the other one."""
    first = leader(record)
    return first, str(record.agent_b if first == record.agent_a else record.agent_a)


def difference(record: DifferenceRecord) -> str:
    """The difference from the agent that leads to the other one, with the interval that decides and its adjustment."""
    first, second = ordered(record)
    value, bounds = record.value, record.decisive
    if first != record.agent_a:
        value, bounds = -value, None if bounds is None else (-bounds[1], -bounds[0])
    by = f"on {dimension(record.metric)}" if by_people(record) else f"by {record.metric}"
    return f"{first} minus {second} is {in_words(value, bounds)} {by}{adjusted(record)}"


def _figure(record: DifferenceRecord) -> str:
    """The kind of the figure that shows a comparison."""
    return "differences" if record.win_rate is None else "win rates"


def _items(records: Sequence[DifferenceRecord]) -> tuple[str, ...]:
    """Ids of the pairs that differ most."""
    flips = [flip for r in records for flip in r.flips]
    return tuple(dict.fromkeys(name for flip in flips[:3] for name in (flip.id_a, flip.id_b)))
