"""The lexicon: finds values of slots, names of slots, domains and keywords in a text.

It is a dictionary of phrases. The longest phrase wins, so that `centre` in a venue's name is not taken for an area. The
tracker uses it on users' turns, and the user on systems' turns. It does not depend on the sentences of this package.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from turnwise.worlds.task.schema import ANYTHING, TIMES, canonical, tokenize

# Kinds of a match other than the slots: a slot named without a value, a domain, a keyword, a slot said to be unknown.
SLOT_NAME, DOMAIN, KEYWORD, UNKNOWN_SLOT = "noun", "domain", "word", "untold"
CACHE_SIZE = 1 << 14  # texts whose parse is cached


class Match(NamedTuple):
    """A phrase that was found: a value of the slot `kind`, or a slot name, domain, keyword or unknown slot."""

    kind: str
    value: str


class Sentence(NamedTuple):
    """The matches in one sentence."""

    found: tuple[Match, ...]
    question: bool


# Slot -> its names; the sentences of this package use the first.
NOUNS: Mapping[str, tuple[str, ...]] = {
    "phone": ("phone number", "telephone number", "phone", "contact number"),
    "address": ("address",),
    "postcode": ("postcode", "post code", "postal code"),
    "fee": ("entrance fee", "admission fee", "entry fee"),
    "duration": ("travel time", "duration", "how long"),
    "price": ("price", "ticket price", "cost", "how much"),
    "id": ("train id", "train number", "trainid"),
    "leaveat": ("departure time", "leave time", "time to leave", "time would you like to leave", "when does it leave"),
    "arriveby": ("arrival time", "time to arrive", "when does it arrive"),
    "reference": ("reference number", "reference", "confirmation number"),
    "food": ("type of food", "kind of food", "food type", "cuisine", "food"),
    "pricerange": ("price range", "pricerange", "budget"),
    "area": ("area", "part of town", "side of town"),
    "type": ("type", "kind of place", "type of place", "car type", "kind of car", "type of attraction"),
    "stars": ("star rating", "how many stars", "number of stars", "stars"),
    "internet": ("wifi", "internet"),
    "parking": ("parking",),
    "people": ("how many people", "number of people", "how many tickets", "how many guests", "party size"),
    "day": ("day", "which day", "what day"),
    "time": ("what time", "which time", "time"),
    "stay": ("how many nights", "number of nights", "length of stay", "how long will you stay"),
    "departure": ("departure", "leaving from", "departing from", "coming from", "start from", "travel from"),
    "destination": ("destination", "going to", "heading to", "travelling to", "like to go"),
    "name": ("name",),
}  # fmt: skip

_DOMAINS: Mapping[str, tuple[str, ...]] = {
    "restaurant": ("restaurant", "restaurants", "place to eat", "place to dine"),
    "hotel": ("hotel", "hotels", "place to stay", "lodging", "accommodation"),
    "attraction": ("attraction", "attractions", "place to go", "place to visit", "things to do"),
    "train": ("train", "trains"),
    "taxi": ("taxi", "cab", "taxis"),
}  # fmt: skip

# Keyword -> the phrases that mean it.
_WORDS: Mapping[str, tuple[str, ...]] = {
    "book": ("book", "reserve", "reservation", "booking"),
    "bye": ("goodbye", "bye", "that is all", "that will be all", "have a nice day"),
    "yes": ("yes", "sure", "sounds good", "that works", "perfect"),
    "no": ("no", "nope"),
    "none": (
        "there is no", "there are no", "no such", "could not find", "cannot find", "can not find", "did not find",
        "no matching", "nothing matches", "nothing like", "unable to find", "not find any", "don't have any",
        "do not have any", "i have no", "we have no", "couldn't find", "can't find",
    ),
    "booked": ("booked", "reserved", "booking was successful", "reservation is made"),
    "again": ("say that again", "repeat that", "did not understand", "rephrase"),
}  # fmt: skip

_YES_NO = ("internet", "parking")
# How systems say that they do not know the value of a slot.
_UNTOLD = (
    "not know the {}",
    "{} is not listed",
    "{} is unknown",
    "do not have any information on the {}",
    "do not have any information about the {}",
    "do not have information on the {}",
)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
# Slot -> the units after its number.
_UNITS = {
    "people": "people person persons guests guest tickets ticket seats",
    "stay": "nights night days",
    "stars": "stars star",
    "duration": "minutes minute mins",
    "price": "pounds gbp pound",
}
# Slots whose values are recognised by a rule and not by phrases.
_READ_BY_RULE = (*TIMES, "price", "duration", "stars", *_YES_NO, "day")
SLOT_OF_UNIT = {word: slot for slot, units in _UNITS.items() for word in units.split()}
# Word before a time -> the slot of the time.
TIME_CUES = {
    "leave": "leaveat", "leaves": "leaveat", "leaving": "leaveat", "depart": "leaveat", "departs": "leaveat",
    "departing": "leaveat", "after": "leaveat", "arrive": "arriveby", "arrives": "arriveby",
    "arriving": "arriveby", "by": "arriveby", "before": "arriveby",
}  # fmt: skip
_CLOCK = re.compile(r"\d{1,2}:\d{2}")
_NUMBER = re.compile(r"£?\d+(?:\.\d+)?")
_PHONE = re.compile(r"\d{10,11}")
_REFERENCE = re.compile(r"\b(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{8}\b")
_SENTENCES = re.compile(r"[^.!?]+(?:[.](?=\S)[^.!?]+)*[.!?]*")
# Word before a place -> the slot of the place.
_PLACE_CUES = {"from": "departure", "to": "destination"}


class Lexicon:
    """A parser for texts that mention the given values."""

    def __init__(self, values: Iterable[tuple[str, str, str]]) -> None:
        """`values` are (domain, slot, value) of the tables and of goals."""
        self._phrases: dict[str, dict[tuple[str, ...], tuple[Match, ...]]] = {}
        self._longest: dict[str, int] = {}
        for phrase, *found in _fixed_phrases():
            self._add(phrase, *found)
        for domain, slot, value in values:
            self.add_value(domain, slot, value)
        self.parse: Callable[[str], tuple[Sentence, ...]] = lru_cache(maxsize=CACHE_SIZE)(self._parse)

    def add_value(self, domain: str, slot: str, value: str) -> None:
        """Add a value with the phrases that users and systems use for it.

        Nothing is added for `dontcare` or for slots whose values are recognised by rules, such as times and prices.
        """
        canon = canonical(slot, value)
        if slot in _READ_BY_RULE or canon in (ANYTHING, "") or (slot == "fee" and canon[0].isdigit()):
            return
        if slot in ("departure", "destination"):
            self._add(value, Match("place", canon))
            return
        found = [Match(slot, canon)]
        if slot == "type" and domain in ("hotel", "attraction"):
            found.append(Match(DOMAIN, domain))
        self._add(value, *found)
        if slot == "name":
            self._add(canon, *found)
        if slot == "food":
            self._add(f"{value} food", *found)
        if slot == "pricerange":
            self._add(f"{value} price range", *found)
            self._add(f"{value}ly priced", *found)
        if slot == "type" and not value.endswith("s"):
            self._add(f"{value}s", *found)

    def _add(self, phrase: str, *found: Match) -> None:
        """Add the matches of a phrase to those that it has; a phrase without tokens is ignored."""
        key = tuple(tokenize(phrase))
        if not key:
            return
        known = self._phrases.setdefault(key[0], {})
        known[key] = (*known.get(key, ()), *(one for one in found if one not in known.get(key, ())))
        self._longest[key[0]] = max(self._longest.get(key[0], 0), len(key))

    def _parse(self, text: str) -> tuple[Sentence, ...]:
        """The matches in a text, by sentence."""
        sentences = []
        for sentence in _SENTENCES.findall(text):
            references = [Match("reference", one) for one in _REFERENCE.findall(sentence)]
            found = (*self._scan(tokenize(sentence)), *references)
            sentences.append(Sentence(found, sentence.rstrip().endswith("?")))
        return tuple(sentences)

    def _scan(self, tokens: list[str]) -> Iterator[Match]:
        """The matches in a sentence, from left to right."""
        index, cue, end = 0, "", ""
        while index < len(tokens):
            token = tokens[index]
            phrase = self._phrase(tokens, index)
            if phrase is not None:
                length, found = phrase
                for one in found:
                    yield from self._resolve_place(one, end)
                    if one.kind == SLOT_NAME and one.value in TIMES:
                        cue = one.value
                last = tokens[index + length - 1]
                cue, end = TIME_CUES.get(last, cue), _PLACE_CUES.get(last, "")
                index += length
                continue
            after = tokens[index + 1] if index + 1 < len(tokens) else ""
            if _CLOCK.fullmatch(token):
                yield Match(cue or "time", canonical("time", token))
            elif _PHONE.fullmatch(token):
                yield Match("phone", token)
            elif _NUMBER.fullmatch(token) and after in SLOT_OF_UNIT:
                slot = SLOT_OF_UNIT[after]
                yield Match(slot, f"{token} {after}" if slot in ("duration", "price") else token)
                index += 1
            cue, end = TIME_CUES.get(token, cue), _PLACE_CUES.get(token, "")
            index += 1

    def _phrase(self, tokens: list[str], index: int) -> tuple[int, tuple[Match, ...]] | None:
        """The longest known phrase at a position, as its number of tokens and its matches; None if there is none."""
        known = self._phrases.get(tokens[index])
        if known is None:
            return None
        for length in range(min(self._longest[tokens[index]], len(tokens) - index), 0, -1):
            found = known.get(tuple(tokens[index : index + length]))
            if found is not None:
                return length, found
        return None

    def _resolve_place(self, found: Match, end: str) -> Iterator[Match]:
        """The match with its final kind: after `from` or `to` a place is a departure or a destination.

        Elsewhere the name of a venue stays a name, and any other place is no match.
        """
        if found.kind in ("place", "name") and end:
            yield Match(end, found.value)
        elif found.kind != "place":
            yield found


def _fixed_phrases() -> Iterator[tuple[str, Match] | tuple[str, Match, Match]]:
    """The phrases that do not depend on the tables, with their matches."""
    for slot, names in NOUNS.items():
        for name in names:
            yield name, Match(SLOT_NAME, slot)
            yield f"any {name}", Match(slot, ANYTHING)
            yield f"not care about the {name}", Match(slot, ANYTHING)
            yield f"not have a preference for the {name}", Match(slot, ANYTHING)
            for phrase in _UNTOLD:
                yield phrase.format(name), Match(UNKNOWN_SLOT, slot)
    for domain, names in _DOMAINS.items():
        for name in names:
            yield name, Match(DOMAIN, domain)
    for word, names in _WORDS.items():
        for name in names:
            yield name, Match(KEYWORD, word)
    for slot in _YES_NO:
        for name in NOUNS[slot]:
            yield f"free {name}", Match(slot, "yes")
            for no in (f"no {name}", f"not need {name}", f"without {name}"):
                yield no, Match(slot, "no")
    for day in _DAYS:
        yield day, Match("day", day)
    yield "center", Match("area", "centre")
    yield "guest house", Match("type", "guesthouse"), Match(DOMAIN, "hotel")
