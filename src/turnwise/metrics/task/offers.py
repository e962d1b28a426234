"""Which venues a system offered, and whether they meet the user's goal, by two published definitions.

*leaderboard* (Nekvinda and Dusek 2021): a turn that names a venue offers every venue that a search with the system's
state finds. The last offer counts, and every venue in it must meet the goal.

*multiwoz2018* (Budzianowski et al. 2018): the system offers one venue, drawn at random from those that a search with
the logged state finds, and keeps it as long as later searches find it. The released script samples, so its figure
varies from run to run. Here each venue has its probability, and the result is the expectation over all draws.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from turnwise.metrics.task.goal import DomainGoal
from turnwise.metrics.task.ontology import Ontology
from turnwise.metrics.task.system_turns import SystemTurn
from turnwise.metrics.task.venues import Venues

Evaluator: TypeAlias = Literal["leaderboard", "multiwoz2018"]
EVALUATORS: tuple[Evaluator, ...] = get_args(Evaluator)


def offer_met_goal(
    goal: DomainGoal,
    domain: str,
    turns: Sequence[SystemTurn],
    venues: Venues,
    ontology: Ontology,
    evaluator: Evaluator,
) -> float:
    """Whether the offered venue meets the goal of one domain: 0 or 1, or with *multiwoz2018* a probability.

    1 for a domain without venue tables and for a goal that names the venue. Without an offer it is 0, unless the domain
    is optional and the goal does not request the offer's slot.
    """
    definition = ontology.domains[domain]
    if domain not in venues or goal.names_venue:
        return 1.0
    offers: dict[str, float] = {}
    for turn in turns:
        if definition.offer in turn.mentioned_slots(domain):
            found = venues.find(domain, turn.state.get(domain, {}))
            offers = _next_offers(offers, found, evaluator)
    if not offers:
        return float(definition.optional and definition.offer not in goal.requests)
    wanted = venues.find(domain, goal.constraints)
    if evaluator == "leaderboard":
        return float(set(offers) <= wanted)
    return sum(probability for venue, probability in offers.items() if venue in wanted)


def _next_offers(
    before: Mapping[str, float], found: frozenset[str], evaluator: Evaluator
) -> dict[str, float]:
    """The offered venues with their probabilities, after a turn whose search found these venues.

    `before` maps the venues offered so far to their probabilities. With *leaderboard* it is ignored, and all found
    venues have 1.
    """
    if evaluator == "leaderboard":
        return dict.fromkeys(found, 1.0)
    if not found:  # the released script then keeps the earlier offer
        return dict(before)
    kept = {venue: probability for venue, probability in before.items() if venue in found}
    redrawn = 1.0 - sum(kept.values())
    return {venue: kept.get(venue, 0.0) + redrawn / len(found) for venue in sorted(found)}


def provided_slots(
    goal: DomainGoal, domain: str, turns: Sequence[SystemTurn], ontology: Ontology
) -> frozenset[str]:
    """The requested slots that the system gave in any turn.

    A reference number counts only after the booking was made.
    """
    return frozenset(
        slot
        for turn in turns
        for slot in turn.mentioned_slots(domain) & goal.requests
        if slot != ontology.booking or domain in turn.booked
    )
