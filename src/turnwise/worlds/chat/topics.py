"""What small talk is about: topics, on each of which a person holds one thing, and how it is said and read.

Meaning is read from text by the words that name a thing or its topic, so that any agent can be put in this
world; every sentence here must be read as what it says, and a test holds it to that.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from turnwise.errors import UsageError
from turnwise.types import Turn


@dataclass(frozen=True, slots=True)
class Topic:
    things: tuple[str, ...]
    says: str  # I hold one of them
    asks: str
    words: str  # by which it is known, besides its things: a pattern
    likes: str  # said of someone else's


TOPICS: Mapping[str, Topic] = {
    "food": Topic(
        ("pizza", "sushi", "curry", "tacos", "ramen", "salad"),
        "My favourite food is {}.", "What is your favourite food?", r"foods?|eat|cook|dish", "{} is so tasty.",
    ),
    "pet": Topic(
        ("dog", "cat", "parrot", "rabbit", "hamster", "turtle"),
        "I have a {} at home.", "Do you have a pet?", r"pets?|animals?", "A {} is good company.",
    ),
    "work": Topic(
        ("nurse", "teacher", "baker", "lawyer", "farmer", "pilot"),
        "I work as a {}.", "What do you do for work?", r"work|jobs?|living", "Being a {} must be hard.",
    ),
    "music": Topic(
        ("jazz", "rock", "opera", "techno", "folk", "reggae"),
        "I listen to {} all day.", "What music do you like?", r"music|songs?|bands?|listen", "I heard some {} lately.",
    ),
    "sport": Topic(
        ("tennis", "football", "rowing", "judo", "hockey", "climbing"),
        "I do {} every weekend.", "Do you do any sport?", r"sports?|training|exercise", "I watched {} on television.",
    ),
    "home": Topic(
        ("Oslo", "Lima", "Cairo", "Dublin", "Hanoi", "Quito"),
        "I live in {}.", "Where do you live?", r"live|city|town", "I hear {} is beautiful.",
    ),
    "travel": Topic(
        ("Japan", "Kenya", "Iceland", "Brazil", "Greece", "Nepal"),
        "I dream of a trip to {}.", "Where would you like to travel?", r"travel|trip|holidays?", "{} must be lovely.",
    ),
    "books": Topic(
        ("poems", "comics", "thrillers", "biographies", "westerns", "fables"),
        "I love reading {}.", "What do you like to read?", r"books?|read|reading|novels?", "{} are fun to read.",
    ),
}  # fmt: skip

Persona = Mapping[str, str]  # topic -> the thing that this person holds

_TOPIC_OF = {thing: topic for topic, about in TOPICS.items() for thing in about.things}
_CALLED = {thing.lower(): thing for thing in _TOPIC_OF}
_THING = re.compile(rf"\b(?:{'|'.join(_TOPIC_OF)})\b", re.IGNORECASE)
_WORDS = {topic: re.compile(rf"\b(?:{about.words})\b", re.IGNORECASE) for topic, about in TOPICS.items()}
_OWN = re.compile(r"\b(?:I (?:have|work|listen|do|live|dream|love|play|own)|my)\b", re.IGNORECASE)
_SENTENCES = re.compile(r"[^.!?]+[.!?]*")


@dataclass(frozen=True, slots=True)
class Said:
    """What a turn means."""

    topics: frozenset[str]  # that it is about
    asks: tuple[str, ...]  # topics of its questions
    holds: Mapping[str, str]  # what the speaker says to hold
    question: bool


@lru_cache(maxsize=1 << 12)
def said(text: str) -> Said:
    topics: set[str] = set()
    asks: list[str] = []
    holds: dict[str, str] = {}
    question = False
    for sentence in _SENTENCES.findall(text):
        things = [_CALLED[thing.lower()] for thing in _THING.findall(sentence)]
        about = {_TOPIC_OF[thing] for thing in things}
        # A thing settles what a sentence is about; only without one do the topic's own words.
        about |= {topic for topic, words in _WORDS.items() if not things and words.search(sentence)}
        topics |= about
        if sentence.endswith("?"):
            question = True
            asks += sorted(about)
        elif _OWN.search(sentence):
            holds |= {_TOPIC_OF[thing]: thing for thing in things}
    return Said(frozenset(topics), tuple(asks), holds, question)


def one(options: Sequence[str], rng: np.random.Generator) -> str:
    return options[int(rng.random() * len(options))]


def persona(rng: np.random.Generator, *, size: int) -> Persona:
    """Someone with something to say on so many topics."""
    chosen = sorted(rng.permutation(len(TOPICS))[:size].tolist())
    names = list(TOPICS)
    return {names[place]: one(TOPICS[names[place]].things, rng) for place in chosen}


def states(topic: str, thing: str) -> str:
    return TOPICS[topic].says.format(thing)


def briefing(who: Persona) -> Turn:
    """What an agent is told of itself."""
    facts = " ".join(states(topic, thing) for topic, thing in who.items())
    text = f"You chat with someone you have just met. Be this person: {facts}"
    return Turn("system", text)


def persona_of(turn: Turn) -> Persona:
    """Who an agent was told to be."""
    if turn.role != "system":
        raise UsageError(
            "an agent needs its persona: the first turn must be the briefing (`meta.briefing` in a log)"
        )
    return said(turn.text).holds
