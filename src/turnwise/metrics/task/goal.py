"""A user's goal: by domain, what must hold, what is asked for, and whether something is to be booked."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from turnwise.errors import DataError, nearest
from turnwise.metrics.task.ontology import Ontology


@dataclass(frozen=True, slots=True)
class Wish:
    constraints: Mapping[str, str]
    requests: frozenset[str]  # slots that the system must tell
    books: bool

    @property
    def names_it(self) -> bool:
        """The user knows which one it is, so there is nothing to find."""
        return "name" in self.constraints


def wishes(goal: Mapping[str, Any], ontology: Ontology, *, where: str = "the goal") -> dict[str, Wish]:
    """The goal in our words. A domain or slot that the ontology does not know is an error: it could not be met."""
    found = {}
    for name, part in goal.items():
        domain = ontology.domains.get(name.lower())
        if domain is None:
            known = ", ".join(ontology.domains)
            raise DataError(
                f"{where} has a domain `{name}` that ontology `{ontology.name}` lacks; it has: {known}"
            )
        if not isinstance(part, Mapping):
            raise DataError(f"{where}: domain `{name}` is no object with `info`, `reqt` or `book`")
        info, asked = part.get("info") or {}, part.get("reqt") or ()
        if not isinstance(info, Mapping) or isinstance(asked, str) or not isinstance(asked, Collection):
            raise DataError(
                f"{where}: domain `{name}` needs `info` as an object of slots and `reqt` as a list of them"
            )
        for slot in (*info, *asked):
            if not ontology.knows(str(slot)):
                raise DataError(
                    f"{where}: domain `{name}` has a slot `{slot}` that ontology `{ontology.name}` lacks; "
                    f"{nearest(str(slot), sorted(ontology.known))}"
                )
        requests = {ontology.slot(slot) for slot in asked} & domain.requestable
        books = "book" in part
        told = frozenset(requests | {ontology.booking} if books else requests)
        found[domain.name] = Wish(ontology.constraints(info), told, books)
    return found
