"""Claims on which of two agents is better, from `compare`.

People decide. Where language models or programs rated the agents, they are named in place of people, and the claim is
made with a reservation. `rated-higher` is made where people's ratings or preferences show a difference, whatever
metrics say; if they show none, it is `no-difference`, with the metrics that show one beside it, and how many ratings
would show it. A metric never makes an agent better: `scores-higher` is made only where nobody rated the agents, beside
what is known of the metric's agreement with people and of attacks that fool it. Metrics that contradict each other are
named.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from turnwise.metrics import is_preference, is_rating
from turnwise.records import CompareDocument, DifferenceRecord
from turnwise.report.claims.claim import LEVEL, Claim, listed, ratings_for
from turnwise.report.figure import with_estimate, with_interval
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
            strength="open", run=run.name,
        )  # fmt: skip
        return
    people = with_estimate(run.document.people)
    for about in dict.fromkeys(_about(record) for record in records):
        mine = [record for record in records if _about(record) == about]
        asked = [r for r in mine if is_rating(r.metric) or is_preference(r.metric)]
        by_people = asked or [r for r in people if _about(r)[:2] == about[:2]]
        metrics = [r for r in mine if r not in asked]
        yield _claim(run, about, _main(by_people), metrics, knowledge)


def _about(record: DifferenceRecord) -> tuple[str, str, str | None]:
    """The two agents and the group of a comparison."""
    return str(record.agent_a), str(record.agent_b), record.group


def _main(records: Sequence[DifferenceRecord]) -> DifferenceRecord | None:
    """The comparison by `overall`, else the first; None without any."""
    overall = [r for r in records if r.metric.split(":")[1].split("[")[0] == "overall"]
    return next(iter(overall or records), None)


def _claim(
    run: RunOf[CompareDocument],
    about: tuple[str, str, str | None],
    people: DifferenceRecord | None,
    metrics: Sequence[DifferenceRecord],
    knowledge: Knowledge,
) -> Claim:
    """The claim on two agents."""
    a, b, group = about
    where = f" ({group})" if group else ""
    judging = [r for r in metrics if r.better]
    shown = [r for r in judging if _shown(r)]
    if people is not None and _shown(people):
        return _by_people(run, about, people, shown, where)
    if people is not None:
        who = rated_by(run, [people])
        whose = "People's ratings" if who.are_people else f"The ratings by {who.words}"
        return Claim(
            kind="no-difference", question="agents", strength="open", run=run.name,
            verdict=f"{whose} do not show which is better, {a} or {b}{where}",
            number=f"{_difference(a, b)} is {with_interval(people)} on {_dimension(people)}",
            evidence="; ".join([*_favoured(shown, a, b), *([knowledge.of(shown[0].metric)] if shown else [])]),
            advice=_advice(people, a, b),
            facts={"agents": (a, b)},
            items=_items(shown[:1]),
        )  # fmt: skip
    if len({_leader(r) for r in shown}) > 1:
        return Claim(
            kind="metrics-disagree", question="agents", strength="open", run=run.name,
            verdict=f"The metrics contradict each other on {a} and {b}{where}",
            evidence="; ".join(_favoured(shown, a, b)),
            advice=_advice(None, a, b),
            facts={"agents": (a, b)},
        )  # fmt: skip
    if shown:
        return _by_metric(run, about, shown, knowledge, where)
    best = next(iter(judging or metrics))
    return Claim(
        kind="no-difference", question="agents", strength="open", run=run.name,
        verdict=f"No difference between {a} and {b} was shown{where}",
        number=f"{_difference(a, b)} is {with_interval(best)} by {best.metric}",
        advice=_advice(None, a, b),
        facts={"agents": (a, b)},
    )  # fmt: skip


def _favoured(shown: Sequence[DifferenceRecord], a: str, b: str) -> list[str]:
    """For each agent that some metric scores on the good end, a clause with these metrics."""
    found = []
    for agent in (a, b):
        metrics = [r.metric for r in shown if _leader(r) == agent]
        if metrics:
            found.append(f"{listed(metrics)} score{'s' * (len(metrics) == 1)} in favour of {agent}")
    return found


def _by_people(
    run: RunOf[CompareDocument],
    about: tuple[str, str, str | None],
    people: DifferenceRecord,
    shown: Sequence[DifferenceRecord],
    where: str,
) -> Claim:
    """Raters show a difference: the claim, beside the metrics that agree with them and those that do not."""
    a, b, _ = about
    who = rated_by(run, [people])
    first = _leader(people)
    second = b if first == a else a
    with_them = [r.metric for r in shown if _leader(r) == first]
    against = [r.metric for r in shown if _leader(r) == second]
    evidence = [f"{listed(with_them)} agree{'s' * (len(with_them) == 1)}"] if with_them else []
    if against:
        evidence.append(f"{listed(against)} say{'s' * (len(against) == 1)} the opposite")
    if who.reservation:
        evidence.append(who.reservation)
    better = people.better is not None
    if is_preference(people.metric):
        said = f"{who.verb('prefer')} {first} to {second}"
    elif better:
        said = f"{who.verb('rate')} {first} above {second}"
    else:
        said = f"{who.verb('give')} higher ratings to {first} than to {second}"
    return Claim(
        kind="rated-higher", question="agents", strength="limited" if who.automatic else "shown", run=run.name,
        verdict=f"{who.first} {said}{where}",
        number=f"{_difference(a, b)} is {with_interval(people)} on {_dimension(people)}, p {p_value(_p(people))}",
        evidence="; ".join(evidence),
        advice=f"Between these two ask people, not {listed(against)}." if against and who.are_people else "",
        facts={"higher": first, "lower": second, "dimension": _dimension(people)},
        items=_items(shown),
    )  # fmt: skip


def _by_metric(
    run: RunOf[CompareDocument],
    about: tuple[str, str, str | None],
    shown: Sequence[DifferenceRecord],
    knowledge: Knowledge,
    where: str,
) -> Claim:
    """Nobody rated the agents, and metrics show a difference: a claim on scores, beside what is known of the metric."""
    a, b, _ = about
    main = shown[0]
    first = _leader(main)
    second = b if first == a else a
    others = [r.metric for r in shown[1:]]
    return Claim(
        kind="scores-higher", question="agents", strength="limited", run=run.name,
        verdict=f"{first} scores {main.better} than {second} by {listed([main.metric, *others])}{where}",
        number=f"{_difference(a, b)} is {with_interval(main)} by {main.metric}, p {p_value(_p(main))}",
        evidence=f"nobody rated them here; {knowledge.of(main.metric)}",
        advice=_advice(None, a, b),
        facts={"higher": first, "lower": second, "metric": main.metric},
        items=_items(shown[:1]),
    )  # fmt: skip


def _advice(people: DifferenceRecord | None, a: str, b: str) -> str:
    """How many ratings would show the difference that was found; or to ask people, where nobody did."""
    if people is None:
        return f"A score is not a person's judgement: rate dialogues of {a} and {b} (`turnwise power` says how many)."
    bounds = people.bounds
    if bounds is None:
        return ""
    n = people.n_items
    needed = ratings_for(people.value, bounds, n)
    if needed is None or needed > TOO_MANY * n:
        return (
            f"{a} and {b} are too close to be told apart with {TOO_MANY} times the {n} rated items there are."
        )
    size = number(abs(people.value))
    return f"Rate about {max(needed, n):,} items of {a} and {b}, not {n}, to show {size} in 4 of 5 studies (power .8)."


def _shown(record: DifferenceRecord) -> bool:
    """Whether a difference was shown: by the test, adjusted for several tests, and by the interval if there is one."""
    p, bounds = _p(record), record.bounds
    return p is not None and p <= LEVEL and (bounds is None or bounds[0] > 0 or bounds[1] < 0)


def _p(record: DifferenceRecord) -> float | None:
    """The adjusted p-value, or the plain one where there is no other."""
    return record.p if record.p_adjusted is None else record.p_adjusted


def _leader(record: DifferenceRecord) -> str:
    """The agent on the good end of the difference; the one with the higher number where no end is good."""
    first = (record.value > 0) == (record.better != "lower")
    return str(record.agent_a if first else record.agent_b)


def _difference(a: str, b: str) -> str:
    """How the difference is named."""
    return f"{a} minus {b}"


def _dimension(record: DifferenceRecord) -> str:
    """The dimension of a comparison by people."""
    return record.metric.split(":", 1)[1].split("[")[0]


def _items(records: Sequence[DifferenceRecord]) -> tuple[str, ...]:
    """Ids of the pairs that differ most."""
    flips = [flip for r in records for flip in r.flips]
    return tuple(dict.fromkeys(name for flip in flips[:3] for name in (flip.id_a, flip.id_b)))
