"""Text to what it names: values of slots, slots, domains and a few words that matter.

A dictionary of phrases, the longest first, so that the `centre` in a venue's name is no area. Both sides read
with it: the tracker what users say, the user what systems say. It looks for words and not for our own sentences.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from turnwise.worlds.task.schema import ANYTHING, TIMES, canonical, words

NOUN, DOMAIN, WORD, UNTOLD = "noun", "domain", "word", "untold"
KEPT = 1 << 14  # texts that are remembered


class Found(NamedTuple):
    """A value of a slot; or a slot that is named, a domain, a word, a slot of which the value is not known."""

    kind: str
    value: str


class Sentence(NamedTuple):
    found: tuple[Found, ...]
    question: bool


# What a slot is called; the first is what we call it ourselves.
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
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTED = {
    "people": "people person persons guests guest tickets ticket seats",
    "stay": "nights night days",
    "stars": "stars star",
    "duration": "minutes minute mins",
    "price": "pounds gbp pound",
}
_READ_BY_RULE = (*TIMES, "price", "duration", "stars", *_YES_NO, "day")
UNIT = {word: slot for slot, units in _COUNTED.items() for word in units.split()}
CUES = {
    "leave": "leaveat", "leaves": "leaveat", "leaving": "leaveat", "depart": "leaveat", "departs": "leaveat",
    "departing": "leaveat", "after": "leaveat", "arrive": "arriveby", "arrives": "arriveby",
    "arriving": "arriveby", "by": "arriveby", "before": "arriveby",
}  # fmt: skip
_CLOCK = re.compile(r"\d{1,2}:\d{2}")
_NUMBER = re.compile(r"£?\d+(?:\.\d+)?")
_PHONE = re.compile(r"\d{10,11}")
_REFERENCE = re.compile(r"\b(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{8}\b")
_SENTENCES = re.compile(r"[^.!?]+(?:[.](?=\S)[^.!?]+)*[.!?]*")
_ENDS = {"from": "departure", "to": "destination"}


class Lexicon:
    def __init__(self, values: Iterable[tuple[str, str, str]]) -> None:
        """From (domain, slot, value): the tables' own, and those that goals have beside them."""
        self._phrases: dict[str, dict[tuple[str, ...], tuple[Found, ...]]] = {}
        self._longest: dict[str, int] = {}
        for phrase, *found in _fixed():
            self._add(phrase, *found)
        for domain, slot, value in values:
            self.learn(domain, slot, value)
        self.said: Callable[[str], tuple[Sentence, ...]] = lru_cache(maxsize=KEPT)(self._said)

    def learn(self, domain: str, slot: str, value: str) -> None:
        """One more value that may be said."""
        canon = canonical(slot, value)
        if slot in _READ_BY_RULE or canon in (ANYTHING, "") or (slot == "fee" and canon[0].isdigit()):
            return
        if slot in ("departure", "destination"):
            self._add(value, Found("place", canon))
            return
        found = [Found(slot, canon)]
        if slot == "type" and domain in ("hotel", "attraction"):
            found.append(Found(DOMAIN, domain))
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

    def _add(self, phrase: str, *found: Found) -> None:
        key = tuple(words(phrase))
        if not key:
            return
        known = self._phrases.setdefault(key[0], {})
        known[key] = (*known.get(key, ()), *(one for one in found if one not in known.get(key, ())))
        self._longest[key[0]] = max(self._longest.get(key[0], 0), len(key))

    def _said(self, text: str) -> tuple[Sentence, ...]:
        sentences = []
        for sentence in _SENTENCES.findall(text):
            references = [Found("reference", one) for one in _REFERENCE.findall(sentence)]
            found = (*self._scan(words(sentence)), *references)
            sentences.append(Sentence(found, sentence.rstrip().endswith("?")))
        return tuple(sentences)

    def _scan(self, tokens: list[str]) -> Iterator[Found]:
        place, cue, end = 0, "", ""
        while place < len(tokens):
            token = tokens[place]
            phrase = self._phrase(tokens, place)
            if phrase is not None:
                length, found = phrase
                for one in found:
                    yield from self._placed(one, end)
                    if one.kind == NOUN and one.value in TIMES:
                        cue = one.value
                last = tokens[place + length - 1]
                cue, end = CUES.get(last, cue), _ENDS.get(last, "")
                place += length
                continue
            after = tokens[place + 1] if place + 1 < len(tokens) else ""
            if _CLOCK.fullmatch(token):
                yield Found(cue or "time", canonical("time", token))
            elif _PHONE.fullmatch(token):
                yield Found("phone", token)
            elif _NUMBER.fullmatch(token) and after in UNIT:
                slot = UNIT[after]
                yield Found(slot, f"{token} {after}" if slot in ("duration", "price") else token)
                place += 1
            cue, end = CUES.get(token, cue), _ENDS.get(token, "")
            place += 1

    def _phrase(self, tokens: list[str], place: int) -> tuple[int, tuple[Found, ...]] | None:
        known = self._phrases.get(tokens[place])
        if known is None:
            return None
        for length in range(min(self._longest[tokens[place]], len(tokens) - place), 0, -1):
            found = known.get(tuple(tokens[place : place + length]))
            if found is not None:
                return length, found
        return None

    def _placed(self, found: Found, end: str) -> Iterator[Found]:
        """A place after `from` or `to` is where one leaves or goes; elsewhere a venue's name is its name."""
        if found.kind in ("place", "name") and end:
            yield Found(end, found.value)
        elif found.kind != "place":
            yield found


def _fixed() -> Iterator[tuple[str, Found] | tuple[str, Found, Found]]:
    for slot, names in NOUNS.items():
        for name in names:
            yield name, Found(NOUN, slot)
            yield f"any {name}", Found(slot, ANYTHING)
            yield f"not care about the {name}", Found(slot, ANYTHING)
            yield f"not have a preference for the {name}", Found(slot, ANYTHING)
            yield f"not know the {name}", Found(UNTOLD, slot)
    for domain, names in _DOMAINS.items():
        for name in names:
            yield name, Found(DOMAIN, domain)
    for word, names in _WORDS.items():
        for name in names:
            yield name, Found(WORD, word)
    for slot in _YES_NO:
        for name in NOUNS[slot]:
            yield f"free {name}", Found(slot, "yes")
            for no in (f"no {name}", f"not need {name}", f"without {name}"):
                yield no, Found(slot, "no")
    for day in _DAYS:
        yield day, Found("day", day)
    yield "center", Found("area", "centre")
    yield "guest house", Found("type", "guesthouse"), Found(DOMAIN, "hotel")
