"""What there is to talk about: five domains of MultiWOZ, their slots, and how a log spells them.

Inside this world a slot has one short name (`leaveat`, `id`, `fee`) and a value one spelling (`canonical`).
Other spellings come from `multiwoz.toml`, which the task metrics read too.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

ANYTHING = "dontcare"
TIMES = ("leaveat", "arriveby")  # a user has one of the two
_TOKEN = re.compile(r"[a-z0-9£]+(?:[:'.][a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Domain:
    name: str
    informs: tuple[str, ...]  # slots by which something is found
    asks: tuple[str, ...]  # those that a system asks for, in this order
    requests: tuple[str, ...]  # slots that a user may want to know
    books: tuple[str, ...] = ()  # details of a booking
    table: str | None = None
    offer: str = "name"  # the slot that names what was found


DOMAINS: Mapping[str, Domain] = {
    "restaurant": Domain(
        "restaurant",
        ("food", "pricerange", "area", "name"),
        ("food", "area", "pricerange"),
        ("phone", "address", "postcode", "food", "pricerange", "area"),
        ("people", "day", "time"),
        "restaurant_db.json",
    ),
    "hotel": Domain(
        "hotel",
        ("type", "pricerange", "area", "stars", "internet", "parking", "name"),
        ("area", "pricerange", "stars", "type", "parking", "internet"),
        ("phone", "address", "postcode", "type", "stars", "internet", "parking", "pricerange", "area"),
        ("people", "day", "stay"),
        "hotel_db.json",
    ),
    "attraction": Domain(
        "attraction",
        ("type", "area", "name"),
        ("type", "area"),
        ("phone", "address", "postcode", "fee", "type", "area"),
        (),
        "attraction_db.json",
    ),
    "train": Domain(
        "train",
        ("departure", "destination", "day", "leaveat", "arriveby"),
        ("departure", "destination", "day", "leaveat"),
        ("id", "duration", "price", "leaveat", "arriveby"),
        ("people",),
        "train_db.json",
        "id",
    ),
    "taxi": Domain(
        "taxi",
        ("departure", "destination", "leaveat", "arriveby"),
        ("departure", "destination", "leaveat"),
        ("phone", "type"),
        offer="type",
    ),
}  # fmt: skip

# How a log spells what this world spells otherwise.
SPELT = {"leaveat": "leaveAt", "arriveby": "arriveBy", "id": "trainID", "fee": "entrance fee"}
_SHORT = {
    "trainid": "id",
    "train id": "id",
    "entrance fee": "fee",
    "entrancefee": "fee",
    "car type": "type",
    "car": "type",
}


@cache
def _spellings() -> tuple[Mapping[str, str], Mapping[str, str], frozenset[str], Mapping[str, str]]:
    raw = tomllib.loads((files("turnwise") / "data" / "task" / "multiwoz.toml").read_text("utf-8"))
    return (
        {name: to for name, to in raw["slots"]["names"].items() if name != "price"} | _SHORT,
        raw["values"]["same"],
        frozenset(raw["values"]["anything"]),
        raw["placeholders"]["names"],
    )


def slot_of(name: str) -> str:
    """`leave at`, `leaveAt` -> `leaveat`; `trainID` -> `id`."""
    plain = name.lower().strip()
    return _spellings()[0].get(plain, plain)


def placeholder_slot(name: str) -> str:
    """The slot of a placeholder without its domain: `trainid` -> `id`, `choice` -> `count`."""
    plain = name.lower().strip()
    return _SHORT.get(plain) or _spellings()[3].get(plain, plain)


def words(text: str) -> list[str]:
    return _TOKEN.findall(text.lower())


@lru_cache(maxsize=1 << 14)
def canonical(slot: str, text: str) -> str:
    """One spelling of a value; `dontcare` for whatever means anything."""
    plain = text.lower().strip()
    if plain in _spellings()[2]:
        return ANYTHING
    value = " ".join(words(plain))
    if slot in ("name", "departure", "destination"):
        value = value.removeprefix("the ")
    if slot == "type":
        value = value.replace(" ", "").removesuffix("s")
    if slot in (*TIMES, "time") and re.fullmatch(r"\d:\d\d", value):
        value = f"0{value}"
    return str(_spellings()[1].get(value, value))
