"""Claims on agents that nobody has rated, or whose return in a task is not known, from `ope`.

`unrated-ranked` is made where the interval of the estimate holds at most a quarter of the known agents,
`unrated-partly` where it holds more, but not all; both assert that the agents outside the interval are better or
worse. Otherwise `unrated-useless` says that the estimate cannot rank the agent. How many dialogues of it would is
said of both. A critic that values a control as high as a system ranks nobody.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil

from turnwise.records import CriticCheck, EstimateRecord, KnownMeans
from turnwise.report.claims.claim import Claim, Fact, listed
from turnwise.report.documents import OpeDocument
from turnwise.report.figure import common_digits, with_estimate, with_interval
from turnwise.report.runs import RunOf
from turnwise.report.text import number

FEW = 1 / 4  # share of the rated agents that an interval may hold and still rank its agent
MIN_AGENTS = 3  # left-out agents from which on a correlation is reported


@dataclass(frozen=True, slots=True)
class _Words:
    """The words for what is estimated; {0} is the target, {1} the interval, {2} the rating or reward."""

    estimate: str
    ranked: str  # {1} and {2} are the numbers of agents below and above, {3} that of all
    partly: str  # {1} is 'above A and below B', {2} the number of agents that are left, {3} that of all
    known: str  # what is known of the agents
    agents: str
    unseen: str
    collect: str


RATINGS = _Words(
    estimate="{0} would get {1} on {2}", ranked="{0} would be rated above {1} and below {2} of {3} agents",
    partly="{0} would be rated {1}; whether it is better than the other {2} of {3} agents is open",
    known="means", agents="rated agents", unseen="nobody rated it", collect="Rate",
)  # fmt: skip
RETURNS = _Words(
    estimate="{0} would return {1} (discounted {2})",
    ranked="{0} would return more than {1} and less than {2} of {3} agents",
    partly="{0} would come {1}; whether it returns more than the other {2} of {3} agents is open",
    known="returns", agents="logged agents", unseen="it held none of these dialogues", collect="Log",
)  # fmt: skip


def unrated_claims(run: RunOf[OpeDocument]) -> Iterator[Claim]:
    """The claims of an `ope` run: on critics, on agents left out in turn, or on each target."""
    records = run.document.results
    if any(record.kind for record in records):
        yield from _critics(run)
    elif run.document.validation:
        yield _validation(run)
    else:
        pairs = dict.fromkeys((r.target, r.rating) for r in records)
        made = [_target(run, next(r for r in records if (r.target, r.rating) == pair)) for pair in pairs]
        # A warning about a critic is the same for all its targets, and said once.
        seen: set[str] = set()
        for claim in made:
            if claim.kind != "critic-fooled" or claim.verdict not in seen:
                yield claim
            seen.add(claim.verdict)


def _target(run: RunOf[OpeDocument], record: EstimateRecord) -> Claim:
    """The claim on one target, by the first estimator."""
    target, rating = record.target, record.rating
    words = RETURNS if run.document.rewarded_by_task else RATINGS
    if record.estimate is None:
        return Claim(
            kind="refused", question="unrated", badge="can't tell", run=run.name,
            verdict=f"What {target} would get on {rating} cannot be said", evidence=str(record.reason),
        )  # fmt: skip
    critics, name = run.document.critics, record.estimator
    critic = critics.get(name) or critics.get(f"{name} {rating}")
    if critic and critic.fooled:
        return _fooled(run, name, critic)
    digits = common_digits([record])
    truth = (
        ""
        if record.truth is None
        else f"; the truth, known here, is {number(record.truth, 3 if digits is None else digits + 1)}"
    )
    unseen = words.unseen if record.logged is None else "estimated without its own dialogues"
    bounds, known = record.bounds, _known(run, rating)
    means = {} if known is None else _others(known, target)
    plain = words.estimate.format(target, with_interval(record), rating)
    if bounds is None or not means:
        return Claim(
            kind="unrated-estimate", question="unrated", badge="caution", run=run.name, interval=bounds, subject=target,
            figure="estimates",
            verdict=plain, evidence=f"{unseen}{truth}",
        )  # fmt: skip
    inside = [name for name, mean in means.items() if bounds[0] <= mean <= bounds[1]]
    below = [name for name, mean in means.items() if mean < bounds[0]]
    above = [name for name, mean in means.items() if mean > bounds[1]]
    claim = Claim(
        kind="unrated-ranked", question="unrated", run=run.name, interval=bounds, subject=target, figure="estimates",
        facts=tuple(
            Fact(
                subject=target, relation="above", object=name, quantity=f"rating:{rating}",
                direction=1 if name in below else -1, basis="estimated",
            )
            for name in (*below, *above)
        ),
        verdict=words.ranked.format(target, len(below), len(above), len(means)),
        number=plain, evidence=f"{unseen}{truth}",
    )  # fmt: skip
    if len(inside) <= FEW * len(means):
        return claim
    advice = _advice(target, known, means, words.collect)
    if below or above:
        place = " and ".join(
            f"{side} {listed(names)}" for side, names in (("above", below), ("below", above)) if names
        )
        return replace(
            claim, kind="unrated-partly", badge="caution", advice=advice,
            verdict=words.partly.format(target, place, len(inside), len(means)),
        )  # fmt: skip
    return Claim(
        kind="unrated-useless", question="unrated", badge="can't tell", run=run.name, interval=bounds, subject=target,
        figure="estimates",
        verdict=f"The estimate for {target} is too uncertain to rank it",
        number=f"{with_interval(record)} on {rating} contains the {words.known} of {len(inside)} of {len(means)} "
        f"{words.agents}",
        evidence=f"{unseen}{truth}", advice=advice,
    )  # fmt: skip


def _others(known: KnownMeans, target: str) -> dict[str, float]:
    """The means of the other agents."""
    return {name: mean for name, mean in known.means.items() if name != target and mean is not None}


def _advice(target: str, known: KnownMeans | None, means: Mapping[str, float], collect: str) -> str:
    """How many dialogues rank the agent among the others: a half-width of an eighth of their means' range."""
    spread = None if known is None else known.spread
    width = (max(means.values()) - min(means.values())) / 8
    if not spread or not width:
        return f"{collect} some dialogues of {target}."
    needed = ceil((1.96 * spread / width) ** 2)
    return f"{collect} about {needed:,} dialogues of {target} for an interval of ±{number(width, 2)}."


def _known(run: RunOf[OpeDocument], rating: str) -> KnownMeans | None:
    """What the run knows of the agents on this rating or reward; None if it was made by an earlier version."""
    return next((one for one in run.document.known if one.rating == rating), None)


def _validation(run: RunOf[OpeDocument]) -> Claim:
    """How well left-out agents were predicted, by the first estimator with a correlation over at least three."""
    known = "truth" if any(record.truth is not None for record in run.document.results) else "known mean"
    for check in run.document.validation:
        if check.n_agents >= MIN_AGENTS and check.pearson is not None:
            covered = check.coverage
            cover = "" if covered is None else f"; {covered:.0%} of intervals hold the {known}"
            return Claim(
                kind="ope-accuracy", question="unrated", run=run.name,
                verdict=f"{check.estimator} predicted {check.rating} of {check.n_agents} agents left out",
                number=f"correlation {number(check.pearson, 2)}, mean error {number(check.mae)}{cover}",
                subject=check.estimator, figure="regression",
            )  # fmt: skip
    return Claim(
        kind="refused", question="unrated", badge="can't tell", run=run.name,
        verdict="Agents left out in turn could not be predicted", evidence=run.first_reason,
    )  # fmt: skip


def _fooled(run: RunOf[OpeDocument], name: str, critic: CriticCheck) -> Claim:
    """The warning that this critic values a control as high as a system."""
    return Claim(
        kind="critic-fooled", question="unrated", badge="no", run=run.name, subject=name,
        verdict=f"Do not rank systems by {name}",
        evidence=f"it values {', '.join(critic.fooled_by)} as much as {critic.worst_system}",
    )  # fmt: skip


def _critics(run: RunOf[OpeDocument]) -> Iterator[Claim]:
    """The best system by each critic, or a warning if a control scores as high as a system."""
    for name, critic in run.document.critics.items():
        systems = [
            r for r in with_estimate(run.document.results) if r.estimator == name and r.kind == "system"
        ]
        if not systems:
            continue
        best = max(systems, key=lambda record: record.value)
        if critic.fooled:
            yield _fooled(run, name, critic)
            continue
        yield Claim(
            kind="critic-first", question="unrated", badge="caution", run=run.name, subject=name,
            verdict=f"{name} values {best.target} most of {len(systems)} systems",
            number=with_interval(best),
            evidence=f"every control is below every system by {number(critic.margin)} or more; its intervals "
            "account for sampling alone, and are not calibrated",
        )  # fmt: skip
