"""Claims on several agents, from a `compare` run with a leaderboard.

One claim for each group: on people's ratings if there are any, else on the first metric, with a reservation. Agents
that nobody was shown to be better than lead. Whether one is better than another is said by the tests of all pairs,
which are adjusted together; a mean alone ranks nobody.
"""

from collections.abc import Iterator, Sequence

from turnwise.metrics import is_preference, is_rating
from turnwise.records import DifferenceRecord, RankedAgent
from turnwise.report.claims.agents import Knowledge, by_people, dimension, fact, leader, more
from turnwise.report.claims.claim import Badge, Claim, listed
from turnwise.report.documents import CompareDocument
from turnwise.report.figure import common_digits, in_words, with_estimate
from turnwise.report.rated_by import rated_by
from turnwise.report.runs import RunOf

MAX_GROUPS = 3  # groups of `--by` with claims of their own
MAX_LEADERS = 3  # agents that are named, with their numbers

NOBODY = (
    "A score is not a person's judgement: rate some dialogues of each agent (`turnwise power` says how many)."
)


def leaderboard_claims(run: RunOf[CompareDocument], knowledge: Knowledge) -> Iterator[Claim]:
    """A claim for each of the first three groups."""
    ranked = with_estimate(run.document.leaderboard)
    pairs = with_estimate((*run.document.people, *run.document.results))
    for group in list(dict.fromkeys(agent.group for agent in ranked))[:MAX_GROUPS]:
        mine = [agent for agent in ranked if agent.group == group]
        metric = mine[0].metric
        about = [pair for pair in pairs if pair.group == group]
        yield _claim(
            run, [agent for agent in mine if agent.metric == metric], about, knowledge, f" ({group})" if group else ""
        )  # fmt: skip


def _claim(
    run: RunOf[CompareDocument],
    agents: Sequence[RankedAgent],
    pairs: Sequence[DifferenceRecord],
    knowledge: Knowledge,
    where: str,
) -> Claim:
    """The claim on the agents by the metric that they are ranked by."""
    metric = agents[0].metric
    tested = [pair for pair in pairs if pair.metric == metric]
    rated = is_rating(metric) or is_preference(metric)
    who = rated_by(run, tested)
    by = f"{who.possessive} {'preferences' if is_preference(metric) else 'ratings'}" if rated else metric
    badge: Badge = "yes" if rated and not who.automatic else "caution"
    first = [agent.agent for agent in agents if not agent.n_above]
    n, better = len(agents), agents[0].better
    # A metric makes no agent the best, nor do ratings of which nothing says which end is good.
    best = "the best" if rated and better else "the lowest" if better == "lower" else "the highest"
    if not any(agent.n_below for agent in agents):
        badge, verdict = "can't tell", f"The {n} agents are not told apart by {by}{where}"
    elif not first:
        badge, verdict = "can't tell", f"Each of the {n} agents is below another by {by}{where}"
    elif len(first) == 1:
        verdict = f"{first[0]} is {best} of {n} agents by {by}{where}"
    elif len(first) <= MAX_LEADERS:
        verdict = f"{listed(first)} lead {n} agents by {by}{where}; which of them is {best} is open"
    else:
        others = [agent.agent for agent in agents if agent.n_above]
        are = "are" if len(others) > 1 else "is"
        verdict = (
            f"Any of {len(first)} of {n} agents may be {best} by {by}{where}; {listed(others)} {are} not"
        )
    digits = common_digits(agents)
    named = "; ".join(
        f"{one.agent} {in_words(one.estimate, one.bounds, digits)}" for one in agents[:MAX_LEADERS]
    )
    on = f" on {dimension(metric)}" if rated else ""
    evidence = [*_last(agents), *(["nobody rated them here", knowledge.of(metric)] if not rated else [])]
    evidence += [who.reservation] if rated and who.reservation else []
    against = _against(tested, pairs) if rated else []
    if against:
        evidence.append(f"{listed(against)} rank{'s' * (len(against) == 1)} some of them the other way round")
    family = next((pair.family_size for pair in tested if pair.family_size), len(tested))
    return Claim(
        kind="leaderboard", question="agents", badge=badge, run=run.name, figure="leaderboard", subject=metric,
        verdict=verdict,
        number=f"{named}{on} (verdicts adjusted for {family} comparisons)",
        evidence="; ".join(evidence),
        advice=_advice(tested, first) if rated else NOBODY,
        facts=tuple(map(fact, tested)),
    )  # fmt: skip


def _advice(tested: Sequence[DifferenceRecord], first: Sequence[str]) -> str:
    """How many ratings would tell the two highest of the leading agents apart; empty for one."""
    top = next((pair for pair in tested if {pair.agent_a, pair.agent_b} == set(first[:2])), None)
    return more(top, first[0], first[1], people=True) if top is not None and len(first) > 1 else ""


def _last(agents: Sequence[RankedAgent]) -> list[str]:
    """A clause on the agents at the end, if all others were shown to be above each of them."""
    last = [agent for agent in agents if agent.n_above and not agent.n_below]
    if not last or any(agent.n_above < len(agents) - len(last) for agent in last):
        return []
    return [f"{listed([agent.agent for agent in last])} {'is' if len(last) == 1 else 'are'} below all others"]


def _against(tested: Sequence[DifferenceRecord], pairs: Sequence[DifferenceRecord]) -> list[str]:
    """The metrics that show the opposite of some pair that the raters show."""
    shown = {frozenset((pair.agent_a, pair.agent_b)): leader(pair) for pair in tested if pair.shown}
    return list(
        dict.fromkeys(
            pair.metric
            for pair in pairs
            if pair.shown
            and pair.better
            and not by_people(pair)
            and shown.get(frozenset((pair.agent_a, pair.agent_b)), leader(pair)) != leader(pair)
        )
    )
