"""The topics of small talk, the sentences about them, and the parser that recognises them.

A persona has one thing per topic, for example `pet: dog`. The parser looks for the words that name a thing or a topic,
so any agent can talk in this world. It must understand every sentence of this module; a test checks this.
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
    """A topic with its possible things and its sentences."""

    things: tuple[str, ...]
    template: str  # sentence with which a speaker claims to have one of the things
    asks: str  # question about the topic
    words: str  # pattern of the words that name the topic itself
    comment: str  # template of a comment on someone else's thing


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

Persona = Mapping[str, str]  # topic -> the thing of this person

_TOPIC_OF = {thing: topic for topic, about in TOPICS.items() for thing in about.things}
_SPELLING = {thing.lower(): thing for thing in _TOPIC_OF}
_THING = re.compile(rf"\b(?:{'|'.join(_TOPIC_OF)})\b", re.IGNORECASE)
_WORDS = {topic: re.compile(rf"\b(?:{about.words})\b", re.IGNORECASE) for topic, about in TOPICS.items()}
_FIRST_PERSON = re.compile(r"\b(?:I (?:have|work|listen|do|live|dream|love|play|own)|my)\b", re.IGNORECASE)
_SENTENCES = re.compile(r"[^.!?]+[.!?]*")


@dataclass(frozen=True, slots=True)
class Meaning:
    """The parsed meaning of a turn: all its topics, the topics that it asks about, and topic -> thing that it claims.

    `question` tells whether it has a question at all.
    """

    topics: frozenset[str]  # all topics that it mentions
    asks: tuple[str, ...]  # topics of its questions
    claims: Mapping[str, str]  # topic -> thing that the speaker claims to have
    question: bool  # contains a question


@lru_cache(maxsize=1 << 12)
def parse(text: str) -> Meaning:
    """Parse a turn: its topics, its questions, and what it claims in statements in the first person."""
    topics: set[str] = set()
    asks: list[str] = []
    claims: dict[str, str] = {}
    question = False
    for sentence in _SENTENCES.findall(text):
        things = [_SPELLING[thing.lower()] for thing in _THING.findall(sentence)]
        about = {_TOPIC_OF[thing] for thing in things}
        # The words of a topic count only in a sentence that names no thing.
        about |= {topic for topic, words in _WORDS.items() if not things and words.search(sentence)}
        topics |= about
        if sentence.endswith("?"):
            question = True
            asks += sorted(about)
        elif _FIRST_PERSON.search(sentence):
            claims |= {_TOPIC_OF[thing]: thing for thing in things}
    return Meaning(frozenset(topics), tuple(asks), claims, question)


def pick(options: Sequence[str], rng: np.random.Generator) -> str:
    """A random option."""
    return options[int(rng.random() * len(options))]


def draw_persona(rng: np.random.Generator, *, size: int) -> Persona:
    """Draw a persona with things on `size` topics."""
    chosen = sorted(rng.permutation(len(TOPICS))[:size].tolist())
    names = list(TOPICS)
    return {names[index]: pick(TOPICS[names[index]].things, rng) for index in chosen}


def statement(topic: str, thing: str) -> str:
    """The sentence with which a speaker claims to have a thing."""
    return TOPICS[topic].template.format(thing)


def briefing(persona: Persona) -> Turn:
    """The system turn that gives an agent its persona."""
    facts = " ".join(statement(topic, thing) for topic, thing in persona.items())
    text = f"You chat with someone you have just met. Be this person: {facts}"
    return Turn("system", text)


def persona_from_briefing(turn: Turn) -> Persona:
    """Parse the agent's persona from the briefing turn; raises `UsageError` if the turn is not of the system."""
    if turn.role != "system":
        raise UsageError(
            "an agent needs its persona: the first turn must be the briefing (`meta.briefing` in a log)"
        )
    return parse(turn.text).claims
