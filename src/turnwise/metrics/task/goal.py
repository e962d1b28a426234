"""A user's goal: by domain, what must hold, what is asked for, and whether something is to be booked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnwise.errors import DataError
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


def wishes(goal: Mapping[str, Any], ontology: Ontology) -> dict[str, Wish]:
    """The goal in our words. A domain that the ontology does not know is an error: it could not be met."""
    found = {}
    for name, part in goal.items():
        domain = ontology.domains.get(name.lower())
        if domain is None:
            known = ", ".join(ontology.domains)
            raise DataError(
                f"the goal has a domain `{name}` that ontology `{ontology.name}` lacks; it has: {known}"
            )
        if not isinstance(part, Mapping):
            raise DataError(f"the goal's domain `{name}` is no object with `info`, `reqt` or `book`")
        asked = {ontology.slot(slot) for slot in part.get("reqt", ())} & domain.requestable
        books = "book" in part
        requests = frozenset(asked | {ontology.booking} if books else asked)
        found[domain.name] = Wish(ontology.constraints(part.get("info", {})), requests, books)
    return found
