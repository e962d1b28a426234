"""Claims on agents that nobody has rated, or whose return in a task is not known, from `ope`.

`unrated-ranked` is made where the interval of the estimate holds at most a quarter of the known agents,
`unrated-partly` where it holds more, but not all; both assert that the agents outside the interval are better or
worse. Otherwise `unrated-useless` says that the estimate cannot rank the agent. How many dialogues of it would is
said of both. `unrated-better` says above which other targets the best of several is. A critic that values a control as
high as a system ranks nobody.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil, sqrt

from turnwise.errors import counted
from turnwise.records import AgentDifference, CriticCheck, EstimateRecord, KnownMeans, both_ends
from turnwise.report.claims.claim import Claim, Fact, listed
from turnwise.report.documents import OpeDocument
from turnwise.report.figure import common_digits, in_words, with_estimate, with_interval
from turnwise.report.runs import RunOf
from turnwise.report.text import number

FEW = 1 / 4  # share of the rated agents that an interval may hold and still rank its agent
MIN_AGENTS = 4  # left-out agents from which on it is said how well they are predicted


@dataclass(frozen=True, slots=True)
class _Words:
    """The words for what is estimated; {0} is the target, {1} the interval, {2} the rating or reward."""

    estimate: str
    would: str  # rank
    higher: str  # {0} is what the target is above
    lower: str
    partly: str  # {1} is 'above A and below B', {2} the number of agents that are left, {3} that of all
    known: str  # what is known of the agents
    agents: str
    unseen: str
    collect: str


RATINGS = _Words(
    estimate="{0} would get {1} on {2}", would="be rated", higher="above {0}", lower="below {0}",
    partly="{0} would be rated {1}; whether it is better than the other {2} of {3} agents is open",
    known="means", agents="rated agents", unseen="nobody rated it", collect="Rate",
)  # fmt: skip
RETURNS = _Words(
    estimate="{0} would return {1} (discounted {2})",
    would="return", higher="more than {0}", lower="less than {0}",
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
        answers = run.document.answers
        made = [*_better(run), *(_target(run, record) for record in answers)]
        # A warning about a critic is the same for all its targets, and said once.
        seen: set[str] = set()
        for claim in made:
            if claim.kind != "critic-fooled" or claim.verdict not in seen:
                yield claim
            seen.add(claim.verdict)


def _better(run: RunOf[OpeDocument]) -> Iterator[Claim]:
    """For each rating on which several targets have an estimate: above which others the best of them is."""
    words = _words(run)
    answers = with_estimate(run.document.answers)
    for rating in dict.fromkeys(one.rating for one in answers):
        best = max((one for one in answers if one.rating == rating), key=lambda record: record.value).target
        pairs = {
            name: (
                gap,
                bounds,
                one.p_above if name == one.minus else None if one.p_above is None else 1 - one.p_above,
            )
            for one in run.document.compared_answers
            if one.rating == rating and not one.rated
            for name, gap, bounds in _less(one, best)
        }
        if not pairs:
            continue
        shown = [name for name, (_, bounds, _) in pairs.items() if bounds[0] > 0]
        uncertain = [name for name in pairs if name not in shown]
        # The number is that of the other target that comes nearest.
        nearest = min(pairs, key=lambda name: pairs[name][0])
        gap, bounds, p_above = pairs[nearest]
        above = words.higher.format(listed(shown))
        open_ = f"whether it would {words.would} {words.higher.format(listed(uncertain))} is open"
        yield Claim(
            kind="unrated-better", question="unrated", run=run.name, interval=bounds, subject=best,
            figure=_figure(run.document.answers[0]),
            badge="yes" if not uncertain else "caution" if shown else "can't tell",
            facts=tuple(
                Fact(subject=best, relation="above", object=name, quantity=f"rating:{rating}", direction=1,
                     basis="estimated")
                for name in shown
            ),
            verdict=f"{best} would {words.would} {above}" + (f"; {open_}" if uncertain else "")
            if shown
            else f"{best} has the highest estimate; {open_}",
            number=f"{nearest} is lower by {in_words(gap, bounds)} on {rating}",
            evidence=f"the probability that {best} is the better one is {number(p_above)}",
        )  # fmt: skip


def _less(one: AgentDifference, best: str) -> Iterator[tuple[str, float, tuple[float, float]]]:
    """The other agent of a difference, and by how much `best` is above it; nothing without an interval."""
    bounds = both_ends(one.interval)
    if one.estimate is None or bounds is None:
        return
    if one.agent == best:
        yield one.minus, one.estimate, bounds
    elif one.minus == best:
        yield one.agent, -one.estimate, (-bounds[1], -bounds[0])


def _figure(record: EstimateRecord) -> str:
    """The kind of the figure that shows an estimate: among the rated agents, if these were left out for it."""
    return "estimates" if record.own_dialogues is None else "regression"


def _words(run: RunOf[OpeDocument]) -> _Words:
    """The words for what the run estimates."""
    return RETURNS if run.document.rewarded_by_task else RATINGS


def _target(run: RunOf[OpeDocument], record: EstimateRecord) -> Claim:
    """The claim on one target, by the estimate that answers."""
    target, rating = record.target, record.rating
    words = _words(run)
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
    unseen = _sources(record, words)
    bounds, known = record.bounds, _known(run, rating)
    means = {} if known is None else _others(known, target)
    plain = words.estimate.format(target, with_interval(record), rating)
    if bounds is None or not means:
        return Claim(
            kind="unrated-estimate", question="unrated", badge="caution", run=run.name, interval=bounds, subject=target,
            figure=_figure(record),
            verdict=plain, evidence=f"{unseen}{truth}",
        )  # fmt: skip
    inside = [name for name, mean in means.items() if bounds[0] <= mean <= bounds[1]]
    below = [name for name, mean in means.items() if mean < bounds[0]]
    above = [name for name, mean in means.items() if mean > bounds[1]]
    claim = Claim(
        kind="unrated-ranked", question="unrated", run=run.name, interval=bounds, subject=target,
        figure=_figure(record),
        facts=tuple(
            Fact(
                subject=target, relation="above", object=name, quantity=f"rating:{rating}",
                direction=1 if name in below else -1, basis="estimated",
            )
            for name in (*below, *above)
        ),
        verdict=f"{target} would {words.would} {_ranks(words, len(below), len(above), len(means))}",
        badge="yes" if record.diagnostics.contradicted is None else "caution",
        number=plain, evidence=f"{unseen}{truth}",
    )  # fmt: skip
    if len(inside) <= FEW * len(means):
        return claim
    # What more ratings would show is no question where the truth is known.
    advice = "" if record.truth is not None else _advice(record, known, means, words.collect)
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
        figure=_figure(record),
        verdict=f"The estimate for {target} is too uncertain to rank it",
        number=f"{with_interval(record)} on {rating} contains the {words.known} of {len(inside)} of {len(means)} "
        f"{words.agents}",
        evidence=f"{unseen}{truth}", advice=advice,
    )  # fmt: skip


def _others(known: KnownMeans, target: str) -> dict[str, float]:
    """The means of the other agents."""
    return {name: mean for name, mean in known.means.items() if name != target and mean is not None}


def _ranks(words: _Words, below: int, above: int, n: int) -> str:
    """`above 3 and below 2 of 5 agents`; without a part that is none."""
    parts = [form.format(count) for form, count in ((words.higher, below), (words.lower, above)) if count]
    return f"{' and '.join(parts)} of {counted(n, 'agent')}"


def _sources(record: EstimateRecord, words: _Words) -> str:
    """What the estimate was made from."""
    if record.own_dialogues is None:
        return words.unseen if record.logged is None else "estimated without its own dialogues"
    own = f"from its {counted(record.own_dialogues, 'dialogue')}"
    if not record.own_ratings:
        return f"{own}, without any rating of them"
    both = f"{own} and {counted(record.own_ratings, 'rating')} of these"
    predicted = record.diagnostics.contradicted
    if predicted is None:
        return f"{both}, which must be of dialogues that were drawn at random"
    return (
        f"{both}, which contradict what the dialogues alone say ({number(predicted, 1)}): that is not used, which is "
        "right only if the rated dialogues were drawn at random"
    )


def _advice(
    record: EstimateRecord, known: KnownMeans | None, means: Mapping[str, float], collect: str
) -> str:
    """How many dialogues rank the agent among the others: a half-width of an eighth of their means' range; not more
    than it has.
    """
    target, there = record.target, record.own_dialogues
    spread = None if known is None else known.spread
    width = (max(means.values()) - min(means.values())) / 8
    if not spread or not width:
        return f"{collect} some dialogues of {target}."
    needed = ceil((1.96 * spread / width) ** 2)
    if there is not None and needed > there:
        width = 1.96 * spread / sqrt(there)
        return f"{collect} all {there:,} dialogues of {target}, for an interval of ±{number(width, 2)}."
    return (
        f"{collect} about {needed:,} dialogues of {target} for an interval of ±{number(width, 2)}, an eighth of the "
        "range of the other agents' means."
    )


def _known(run: RunOf[OpeDocument], rating: str) -> KnownMeans | None:
    """What the run knows of the agents on this rating or reward; None if it was made by an earlier version."""
    return next((one for one in run.document.known if one.rating == rating), None)


def _validation(run: RunOf[OpeDocument]) -> Claim:
    """How well agents left out in turn were predicted, by the first estimator that answers enough of them.

    It is no plain yes where fewer than half were answered, or where intervals are wider than half the range of means.
    """
    document = run.document
    known = "truth" if any(record.truth is not None for record in document.results) else "known mean"
    answered = [check for check in document.validation if check.n_agents >= MIN_AGENTS]
    if not answered:
        most = max(document.validation, key=lambda check: check.n_agents)
        n, asked = most.n_agents, most.n_agents + most.refused
        verdict, evidence = "Agents left out in turn could not be predicted", run.first_reason
        if n:
            verdict = f"{n} of {asked} agents left out in turn were answered, too few to say how right"
            evidence = f"mean error {number(most.mae)}; of one that was refused: {evidence}"
        return Claim(
            kind="refused", question="unrated", badge="can't tell", run=run.name, figure="regression" if n else "",
            verdict=verdict, evidence=evidence,
        )  # fmt: skip
    check = next((one for one in answered if one.pearson is not None), answered[0])
    n, asked = check.n_agents, check.n_agents + check.refused
    parts = []
    if check.pearson is not None and check.spearman is not None:
        parts.append(f"correlation {number(check.pearson, 2)} (of ranks {number(check.spearman, 2)})")
    parts.append(f"mean error {number(check.mae)}")
    if check.coverage is not None:
        parts.append(f"{check.coverage:.0%} of intervals hold the {known}")
    agents = _known(run, check.rating)
    means = [] if agents is None else [mean for mean in agents.means.values() if mean is not None]
    spread = max(means) - min(means) if means else None
    wide = spread is not None and check.half_width is not None and 4 * check.half_width > spread
    if wide:
        parts.append(
            f"intervals are {number(2 * (check.half_width or 0.0))} wide, and the means span {number(spread)}"
        )
    return Claim(
        kind="ope-accuracy", question="unrated", run=run.name,
        badge="caution" if wide or 2 * n < asked or check.pearson is None else "yes",
        verdict=f"{check.estimator} predicted {check.rating} of {n} of {asked} agents left out"
        + (f"; {check.refused} refused" if check.refused else ""),
        number=", ".join(parts[:2]) + "".join(f"; {part}" for part in parts[2:]),
        subject=check.estimator, figure="regression",
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
