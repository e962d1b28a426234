"""A user's goal: for each domain its constraints, the requested slots, and whether a booking is wanted."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from turnwise.errors import DataError, nearest
from turnwise.metrics.task.ontology import Ontology


@dataclass(frozen=True, slots=True)
class DomainGoal:
    """The part of a goal that concerns one domain."""

    constraints: Mapping[str, str]
    requests: frozenset[str]  # slots whose values the system must give
    wants_booking: bool

    @property
    def names_venue(self) -> bool:
        """Whether the user gives the venue's name, so that the system need not find one."""
        return "name" in self.constraints


def domain_goals(
    goal: Mapping[str, Any], ontology: Ontology, *, where: str = "the goal"
) -> dict[str, DomainGoal]:
    """The goal by domain, with the ontology's names; a domain or slot that the ontology lacks is a `DataError`.

    `goal` maps a domain to an object with the keys `info` (slot -> wanted value), `reqt` (requested slots) and `book`.
    Of the requested slots those are kept that users of the domain can ask for; a key `book` adds the slot of the
    reference number. `where` begins the error message.
    """
    goals = {}
    for name, part in goal.items():
        domain = ontology.domains.get(name.lower())
        if domain is None:
            known = ", ".join(ontology.domains)
            raise DataError(
                f"{where} has a domain `{name}` that ontology `{ontology.name}` lacks; it has: {known}"
            )
        if not isinstance(part, Mapping):
            raise DataError(f"{where}: domain `{name}` is not an object with `info`, `reqt` or `book`")
        info, requested = part.get("info") or {}, part.get("reqt") or ()
        if (
            not isinstance(info, Mapping)
            or isinstance(requested, str)
            or not isinstance(requested, Collection)
        ):
            raise DataError(
                f"{where}: domain `{name}` needs `info` as an object of slots and `reqt` as a list of them"
            )
        for slot in (*info, *requested):
            if not ontology.knows(str(slot)):
                raise DataError(
                    f"{where}: domain `{name}` has a slot `{slot}` that ontology `{ontology.name}` lacks; "
                    f"{nearest(str(slot), sorted(ontology.known))}"
                )
        requests = {ontology.slot(slot) for slot in requested} & domain.requestable
        wants_booking = "book" in part
        if wants_booking:
            requests |= {ontology.booking}
        goals[domain.name] = DomainGoal(ontology.constraints(info), frozenset(requests), wants_booking)
    return goals
