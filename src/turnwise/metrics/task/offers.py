"""Which venues a system offered, and whether they are what the user wanted: two published definitions.

*leaderboard* (Nekvinda and Dusek 2021): when the system names a venue, it offers all that its state finds;
the last offer counts, and every venue in it must meet the goal.

*multiwoz2018* (Budzianowski et al. 2018): the system offers one venue, drawn at random from those that the TRUE state
finds, and keeps it while it is still among them. The released script draws, so its figure moves from run to
run; here the probability of each venue is kept, and the figure is the expectation over all draws.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from turnwise.metrics.task.conversation import Move
from turnwise.metrics.task.goal import Wish
from turnwise.metrics.task.ontology import Ontology
from turnwise.metrics.task.venues import Venues

Evaluator: TypeAlias = Literal["leaderboard", "multiwoz2018"]
EVALUATORS: tuple[Evaluator, ...] = get_args(Evaluator)


def matched(
    wish: Wish, domain: str, moves: Sequence[Move], venues: Venues, ontology: Ontology, evaluator: Evaluator
) -> float:
    """How surely the goal of one domain was met by what was offered: 0 or 1, or with *multiwoz2018* a probability."""
    facts = ontology.domains[domain]
    if domain not in venues or wish.names_it:
        return 1.0
    offers: dict[str, float] = {}
    for move in moves:
        if facts.offer in move.about(domain):
            found = venues.find(domain, move.state.get(domain, {}))
            offers = _offered(offers, found, evaluator)
    if not offers:
        return float(facts.optional and facts.offer not in wish.requests)
    wanted = venues.find(domain, wish.constraints)
    if evaluator == "leaderboard":
        return float(set(offers) <= wanted)
    return sum(chance for venue, chance in offers.items() if venue in wanted)


def _offered(before: Mapping[str, float], found: frozenset[str], evaluator: Evaluator) -> dict[str, float]:
    if evaluator == "leaderboard":
        return dict.fromkeys(found, 1.0)
    if not found:  # the script keeps what it had
        return dict(before)
    kept = {venue: chance for venue, chance in before.items() if venue in found}
    free = 1.0 - sum(kept.values())
    return {venue: kept.get(venue, 0.0) + free / len(found) for venue in sorted(found)}


def told(wish: Wish, domain: str, moves: Sequence[Move], ontology: Ontology) -> frozenset[str]:
    """Which of the requested slots the system told; a reference only once something was booked."""
    return frozenset(
        slot
        for move in moves
        for slot in move.about(domain) & wish.requests
        if slot != ontology.booking or domain in move.booked
    )
