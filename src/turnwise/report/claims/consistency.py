"""Whether claims contradict each other, by the facts that they state.

Facts are compared if they are about the same items, group and quantity. Two claims contradict each other

* if one says that a relation was shown and the other that its opposite was shown, on whatever basis;
* if one says that it was shown and the other that it was not, on the same basis and after the same adjustment: what one
  comparison shows alone may well not be shown among 21;
* if they state that a is above b, b above c and c above a.

A report is built from runs that know nothing of each other, so this check is made where all claims are at hand.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

from turnwise.report.claims.claim import Claim, Direction, Fact

SYMMETRIC = ("above",)  # a above b by 1 is b above a by -1
OPPOSITE: Mapping[Direction, Direction] = {1: -1, 0: 0, -1: 1}


class Contradiction(NamedTuple):
    """Two claims that cannot both be believed, and the facts in which they differ."""

    first: Claim
    second: Claim
    facts: tuple[Fact, Fact]


def contradictions(claims: Sequence[Claim]) -> list[Contradiction]:
    """All pairs of claims that contradict each other, each pair once."""
    found: dict[tuple[int, int], Contradiction] = {}
    stated = [(at, _ordered(fact)) for at, claim in enumerate(claims) for fact in claim.facts]
    by_about: dict[tuple[Any, ...], list[tuple[int, Fact]]] = {}
    for at, fact in stated:
        by_about.setdefault((claims[at].data, *_about(fact)), []).append((at, fact))
    for facts in by_about.values():
        for (at, one), (other_at, other) in combinations(facts, 2):
            if _conflict(one, other):
                found.setdefault((at, other_at), Contradiction(claims[at], claims[other_at], (one, other)))
    for at, one, other_at, other in _circles(claims, stated):
        found.setdefault((at, other_at), Contradiction(claims[at], claims[other_at], (one, other)))
    return list(found.values())


def reconciled(claims: Sequence[Claim]) -> list[Claim]:
    """The claims in order, where those that contradict each other are made with caution, each naming the other; what
    is contested is no longer stated as a fact.
    """
    settled = list(claims)
    while found := contradictions(settled):
        first, second, facts = found[0]
        places = [next(at for at, claim in enumerate(settled) if claim is one) for one in (first, second)]
        settled[places[0]] = _contested(first, second, facts[0])
        settled[places[1]] = _contested(second, first, facts[1])
    return settled


def _contested(claim: Claim, other: Claim, fact: Fact) -> Claim:
    """The claim, with what another claim says to the contrary and without the contested fact."""
    where = f" ({other.run})" if other.run != claim.run else ""
    contrary = f"contradicted elsewhere in this report{where}: {other.verdict}"
    known = contrary in claim.evidence
    return replace(
        claim,
        badge="caution",
        evidence=claim.evidence if known else "; ".join(filter(None, [claim.evidence, contrary])),
        facts=tuple(stated for stated in claim.facts if _ordered(stated) != fact),
    )


def _ordered(fact: Fact) -> Fact:
    """The fact with the names of a symmetric relation in alphabetical order."""
    if fact.relation not in SYMMETRIC or fact.subject <= fact.object:
        return fact
    return replace(fact, subject=fact.object, object=fact.subject, direction=OPPOSITE[fact.direction])


def _about(fact: Fact) -> tuple[Any, ...]:
    """What a fact is about."""
    return fact.relation, fact.subject, fact.object, fact.quantity, fact.group


def _conflict(one: Fact, other: Fact) -> bool:
    """Whether two facts about the same cannot both hold."""
    if one.direction == other.direction:
        return False
    if one.direction and other.direction:
        return True
    return (one.basis, one.level, one.family) == (other.basis, other.level, other.family)


def _circles(
    claims: Sequence[Claim], stated: Sequence[tuple[int, Fact]]
) -> Iterator[tuple[int, Fact, int, Fact]]:
    """Yield an edge that closes a circle of `above`, with the edge that it meets, for each such circle."""
    edges: dict[tuple[Any, ...], dict[str, dict[str, tuple[int, Fact]]]] = {}
    for at, fact in stated:
        if fact.relation in SYMMETRIC and fact.direction:
            upper, lower = (fact.subject, fact.object)[:: fact.direction]
            graph = edges.setdefault((claims[at].data, fact.quantity, fact.group), {})
            graph.setdefault(upper, {}).setdefault(lower, (at, fact))
    for graph in edges.values():
        for upper, lowers in graph.items():
            for lower, (at, fact) in lowers.items():
                # A circle of two is a conflict, and found as such.
                for middle, (other_at, other) in graph.get(lower, {}).items():
                    if middle != upper and _reaches(graph, middle, upper):
                        yield (at, fact, other_at, other) if at <= other_at else (other_at, other, at, fact)


def _reaches(graph: Mapping[str, Mapping[str, Any]], start: str, end: str) -> bool:
    """Whether a path of `above` leads from one name to the other."""
    seen, waiting = {start}, [start]
    while waiting:
        for name in graph.get(waiting.pop(), {}):
            if name == end:
                return True
            if name not in seen:
                seen.add(name)
                waiting.append(name)
    return False
