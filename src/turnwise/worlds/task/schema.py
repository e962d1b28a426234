"""The domains of the task world, five of MultiWOZ's, with their slots and the spelling of slots and values.

Inside this world a slot has one short name (`leaveat`, `id`, `fee`) and a value has one spelling (`canonical`).
Alternative spellings are listed in `multiwoz.toml`, which the task metrics use too.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

ANYTHING = "dontcare"  # the value of a slot on which the user has no preference
TIMES = ("leaveat", "arriveby")  # a goal has one of the two
_TOKEN = re.compile(r"[a-z0-9£]+(?:[:'.][a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Domain:
    """A domain: the slots to search by, for a system to ask for, for a user to ask for, and of a booking.

    `table` is the file name of its table (None: it has none), `offer` the slot that identifies a venue.
    """

    name: str
    informs: tuple[str, ...]  # slots by which venues are searched
    asks: tuple[str, ...]  # slots that a system asks for, in this order
    requests: tuple[str, ...]  # slots that a user may ask for
    books: tuple[str, ...] = ()  # slots of a booking
    table: str | None = None  # file name of its table
    offer: str = "name"  # the slot that identifies a venue


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

# Slot -> its name in logs, where it differs.
LOG_NAME = {"leaveat": "leaveAt", "arriveby": "arriveBy", "id": "trainID", "fee": "entrance fee"}
# Other names of slots -> the name used here.
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
    """Four tables: names of slots, spellings of values, values that mean `dontcare`, and names of placeholders."""
    raw = tomllib.loads((files("turnwise") / "data" / "task" / "multiwoz.toml").read_text("utf-8"))
    return (
        {name: to for name, to in raw["slots"]["names"].items() if name != "price"} | _SHORT,
        raw["values"]["same"],
        frozenset(raw["values"]["anything"]),
        raw["placeholders"]["names"],
    )


def slot_of(name: str) -> str:
    """The short name of a slot: `leave at`, `leaveAt` -> `leaveat`; `trainID` -> `id`; unknown names in lower case."""
    plain = name.lower().strip()
    return _spellings()[0].get(plain, plain)


def placeholder_slot(name: str) -> str:
    """The slot of a placeholder without its domain: `trainid` -> `id`, `choice` -> `count`."""
    plain = name.lower().strip()
    return _SHORT.get(plain) or _spellings()[3].get(plain, plain)


def tokenize(text: str) -> list[str]:
    """The tokens of a text in lower case, without punctuation."""
    return _TOKEN.findall(text.lower())


@lru_cache(maxsize=1 << 14)
def canonical(slot: str, text: str) -> str:
    """The canonical spelling of a value; `dontcare` for all expressions of no preference."""
    plain = text.lower().strip()
    if plain in _spellings()[2]:
        return ANYTHING
    value = " ".join(tokenize(plain))
    if slot in ("name", "departure", "destination"):
        value = value.removeprefix("the ")
    if slot == "type":
        value = value.replace(" ", "").removesuffix("s")
    if slot in (*TIMES, "time") and re.fullmatch(r"\d:\d\d", value):
        value = f"0{value}"
    return str(_spellings()[1].get(value, value))
