"""The ontology of a task, read from a TOML file: domains, slots, values and placeholders.

Systems write the same thing in many ways: `[restaurant_name]`, `[value_name]` and `[name]`, `leave at` and `leaveAt`,
`17 : 15` and `1715`. The methods here normalise names and values, so that they can be compared.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

from turnwise.errors import UsageError
from turnwise.types import Item, digest

State: TypeAlias = Mapping[str, Mapping[str, str]]  # domain -> slot -> value, normalised
Mention: TypeAlias = tuple[str | None, str]  # the domain, where the placeholder names one, and the slot

_CLOCK = re.compile(r"(\d{1,2})\s*:?\s*(\d{2})")
_PLACEHOLDER = re.compile(r"\[([^\[\]]+)\]")
FILE = "ontology.toml"  # the ontology in a folder that also holds its tables
_ANY_DOMAIN = "value"  # `[value_name]` is a name in whichever domain is active


class OntologyReader:
    """A metric with a setting `ontology`: it reads placeholders and can list those that the ontology does not know."""

    __slots__ = ()

    ontology: str

    def unknown_placeholders(self, items: Sequence[Item], /) -> Iterator[str]:
        """Each placeholder of the scored replies that the ontology does not know, as often as it occurs."""
        known = load(self.ontology)
        for item in items:
            for turn in item.turns if item.turn is None else item.turns[-1:]:
                if turn.role == item.role:
                    yield from known.unknown(turn.text)


@dataclass(frozen=True, slots=True)
class Domain:
    """One domain of a task."""

    name: str
    table: str | None = None  # file of its venues; None: there is nothing to search
    key: str = "id"  # column that identifies a venue
    offer: str = "name"  # slot whose mention offers a venue
    requestable: frozenset[str] = frozenset()
    optional: bool = False  # the goal can be met without an offer, unless it requests the offer's slot


@dataclass(frozen=True, slots=True, eq=False)  # there is one object per file, so identity is equality
class Ontology:
    """The names and values of a task, and how they are normalised."""

    name: str
    domains: Mapping[str, Domain]
    booking: str  # the slot of a booking's reference number
    slots: Mapping[str, Any]  # rules for slots: other names, and which values are compared in a special way
    dont_care: frozenset[str]  # values that say that any value will do
    value_synonyms: Mapping[str, str]  # spelling of a value -> normalised spelling
    placeholders: Mapping[str, str]  # other name of a slot in placeholders -> slot
    known: frozenset[str]  # slots that placeholders can name
    fingerprint: str  # digest of the file

    def slot(self, name: str) -> str:
        """The normalised name of a slot; an unknown name in lower case."""
        plain = name.lower().strip()
        return str(self.slots["names"].get(plain, plain))

    def knows(self, name: str) -> bool:
        """Whether the ontology has this slot or, as `book people`, this detail of a booking, by any of its names."""
        slot = self.slot(name.lower().removeprefix("book "))
        return slot in self.known or self.placeholders.get(slot.replace(" ", "")) in self.known

    def value(self, slot: str, value: object) -> str:
        """The normalised spelling of a slot's value; of a list of allowed values the first one counts."""
        first = (
            (value[0] if value else "")
            if isinstance(value, Sequence) and not isinstance(value, str)
            else value
        )
        text = re.sub(r"\s+", " ", str(first).lower().strip())
        if slot in self.slots["times"] and (clock := _CLOCK.search(text)):
            return f"{int(clock[1]):02d}:{clock[2]}"
        text = re.sub(r"\s*'\s*", "", text)
        if slot == "name":
            text = text.removeprefix("the ")
        if slot in self.slots["joined"]:
            text = text.replace(" ", "").removesuffix("s")
        if slot in self.slots["digits"]:
            text = re.sub(r"\D", "", text)
        return self.value_synonyms.get(text, text)

    def constraints(self, given: Mapping[str, object]) -> dict[str, str]:
        """The given slots and values, normalised, without the slots for which any value will do."""
        values = {(slot := self.slot(name)): self.value(slot, value) for name, value in given.items()}
        return {slot: value for slot, value in values.items() if value not in self.dont_care}

    def state(self, given: Mapping[str, Any] | None) -> dict[str, dict[str, str]]:
        """The given dialogue state (domain -> slot -> value), normalised, without empty domains; empty for None."""
        domains = {
            domain.lower(): self.constraints(slots)
            for domain, slots in (given or {}).items()
            if isinstance(slots, Mapping)
        }
        return {domain: slots for domain, slots in domains.items() if slots}

    def mentions(self, text: str) -> list[Mention]:
        """The placeholders `[...]` of a text as (domain or None, slot), in order."""
        return [self.mention(inside) for inside in _PLACEHOLDER.findall(text)]

    def mention(self, inside: str) -> Mention:
        """Domain and slot of a placeholder: `restaurant_name` -> (restaurant, name), `value_name` -> (None, name)."""
        plain = inside.lower().strip()
        domain, bar, slot = plain.partition("_")
        if not bar or domain not in (*self.domains, _ANY_DOMAIN):
            domain, slot = _ANY_DOMAIN, plain
        slot = self.placeholders.get(slot, slot)
        return (None if domain == _ANY_DOMAIN else domain), slot

    def unknown(self, text: str) -> list[str]:
        """The placeholders of a text, with brackets, whose slot is not in the ontology."""
        return [
            f"[{inside}]"
            for inside in _PLACEHOLDER.findall(text)
            if self.mention(inside)[1] not in self.known
        ]

    def unify_placeholders(self, text: str) -> str:
        """The text with each placeholder `[...]` written as one word, `slotNAME`, whatever the system's spelling."""
        return _PLACEHOLDER.sub(lambda found: f"slot{self.mention(found[1])[1]}", text)


@cache
def load(source: str = "multiwoz") -> Ontology:
    """The shipped ontology of this name, or one from a TOML file of the same format, or `ontology.toml` in a folder.

    Raises `UsageError` if it cannot be read.
    """
    path = Path(source)
    if path.is_dir():
        path = path / FILE
    if path.suffix == ".toml":
        if not path.is_file():
            raise UsageError(f"ontology `{source}`: there is no file {path}")
        text = path.read_text("utf-8")
    else:
        shipped = files("turnwise") / "data" / "task" / f"{source}.toml"
        if not shipped.is_file():
            raise UsageError(
                f"ontology `{source}`: turnwise ships `multiwoz`; for another give a .toml file, or a folder with "
                f"{FILE} and the tables"
            )
        text = shipped.read_text("utf-8")
    try:
        return _parse_ontology(path.parent.name if path.name == FILE else path.stem, text)
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise UsageError(f"ontology `{source}`: {error.args[0] if error.args else error}") from None


def own_tables(source: str) -> str | None:
    """The folder of the tables that belong to an ontology: the folder that it is in; None if it is not a folder."""
    return source if (Path(source) / FILE).is_file() else None


# The sections of an ontology beside `domains`: key -> its default, or `...` where it must be given.
_SECTIONS: Mapping[str, Mapping[str, Any]] = {
    "booking": {"slot": "reference"},
    "slots": {"names": {}, "near": (), "from": (), "until": (), "times": (), "joined": (), "digits": ()},
    "values": {"anything": ("", "dontcare", "any"), "same": {}},
    "placeholders": {"names": {}, "known": ...},
}


def _parse_ontology(name: str, text: str) -> Ontology:
    """The ontology in a TOML text; a wrong text or key raises `TOMLDecodeError`, `KeyError` or `TypeError`."""
    raw = tomllib.loads(text)
    if not raw.get("domains"):
        raise KeyError("there is no [domains.NAME]")
    if wrong := [section for section in raw if section not in ("domains", *_SECTIONS)]:
        raise KeyError(f"[{wrong[0]}] is not known; the sections are domains, {', '.join(_SECTIONS)}")
    given = {section: _with_defaults(section, raw.get(section, {})) for section in _SECTIONS}
    domains = {
        domain: Domain(domain, **{**facts, "requestable": frozenset(facts.get("requestable", ()))})
        for domain, facts in raw["domains"].items()
    }
    return Ontology(
        name=name,
        domains=domains,
        booking=given["booking"]["slot"],
        slots=given["slots"],
        dont_care=frozenset(given["values"]["anything"]),
        value_synonyms=given["values"]["same"],
        placeholders=given["placeholders"]["names"],
        known=frozenset(given["placeholders"]["known"]),
        fingerprint=digest(text),
    )


def _with_defaults(section: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """A section with all of its keys; raises `KeyError` for an unknown key, or for a missing one without a default."""
    known = _SECTIONS[section]
    if wrong := [key for key in given if key not in known]:
        raise KeyError(f"`{wrong[0]}` is not known in [{section}]; the keys are {', '.join(known)}")
    found = {**known, **given}
    if missing := [key for key, value in found.items() if value is ...]:
        raise KeyError(f"`{missing[0]}` is missing in [{section}]")
    return found
