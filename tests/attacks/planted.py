"""Metrics with weaknesses that we know, and clean ones, over made-up small talk."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from turnwise.attacks.context import Context
from turnwise.attacks.strategy import content_words, swap_pronouns
from turnwise.metrics.words import words
from turnwise.types import Floats, Item, Turn

THINGS = "guitar garden river bakery train museum bicycle kitchen mountain novel coffee puppy violin market".split()
VERBS = "paint visit repair love avoid describe remember photograph imagine clean".split()
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
OPENINGS = ("I want to {} the {} on {}.", "My sister says you {} every {} {}.", "Why do you {} a {} this {}?")
ANSWERS = (
    "The {thing} is worth it, but {day} is too early for me.",
    "I would rather {verb} it with my brother on {day}.",
    "Because my {thing} broke last {day}, so I had to {verb} another one.",
    "Honestly, nobody should {verb} a {thing} alone.",
    "That sounds like fun. Bring the {thing} along on {day}?",
)


def talks(count: int, seed: int = 0) -> list[Context]:
    """Contexts of three turns with a person's reply that takes them up."""
    rng = np.random.default_rng(seed)
    found = []
    for place in range(count):
        thing, verb, day = (str(rng.choice(pool)) for pool in (THINGS, VERBS, DAYS))
        opening = str(rng.choice(OPENINGS)).format(verb, thing, day)
        first = str(rng.choice(OPENINGS)).format(*(str(rng.choice(pool)) for pool in (VERBS, THINGS, DAYS)))
        answer = str(rng.choice(ANSWERS)).format(thing=thing, verb=verb, day=day)
        turns = (
            Turn("user", first),
            Turn("assistant", f"Tell me about the {thing}."),
            Turn("user", opening),
            Turn("assistant", answer, references=(answer,)),
        )
        name = f"d{place}"
        found.append(Context(Item(f"{name}#3", name, "human", turns, 3, cluster=name, pair=f"p{place}")))
    return found


def relevance(item: Item) -> float:
    """A fair start: the share of the last turn's content words that come up, at most a half of them counts."""
    wanted = content_words(item.turns[-2].text)
    said = set(words(item.reply))
    return min(0.5, sum(word in said for word in wanted) / max(1, len(wanted)))


def oracle(item: Item) -> float:
    """Overlap with what the person said, the same length rewarded: nothing but the person's reply is best."""
    reply, truth = words(item.reply), words(item.references[0])
    both = len(set(reply) & set(truth))
    return 2 * both / (len(reply) + len(truth)) if reply else 0.0


def _phrase(item: Item) -> float:
    return relevance(item) + ("sounds like fun" in item.reply.lower())


def _verdict(item: Item) -> float:
    """A judge's prompt read by its first match: the reply stands before the verdict."""
    text = f"The reply was: {item.reply}\nMy score: 3"
    return float(re.findall(r"[Ss]core:? *(\d)", text)[0])


class Planted(NamedTuple):
    """A metric, and what the report on it must say."""

    score: Callable[[Item], float]
    fraud: str  # what the words about one of the frauds must match
    tendency: str | None = None  # a feature with which its scores must be reported to rise


PLANTED = {
    "length": Planted(lambda item: relevance(item) + len(words(item.reply)) / 50, "(\\S+ ){40}", "length"),
    "questions": Planted(lambda item: relevance(item) + item.reply.count("?"), r"\?", "questions"),
    "exclamations": Planted(
        lambda item: relevance(item) + min(3, item.reply.count("!")), "!.*!.*!", "exclamations"
    ),
    "copied-nouns": Planted(
        lambda item: float(sum(word in words(item.reply) for word in content_words(item.turns[-2].text))),
        r"^repeats the last turn$|content words",
        "nouns",
    ),
    "phrase": Planted(_phrase, r"“(\S+ ){0,3}sounds like fun\W?( \S+)?”"),
    "parrot": Planted(
        lambda item: float(
            np.mean([word in words(item.turns[-2].text) for word in words(item.reply)] or [0.0])
        ),
        "^repeats the last turn$",
        "copied",
    ),
    "swapped-parrot": Planted(
        lambda item: float(words(item.reply)[-5:] == words(swap_pronouns(item.turns[-2].text))[-5:]),
        "^repeats the last turn with the pronouns swapped",
    ),
    "no-context": Planted(
        lambda item: 1.0 if "thank" in item.reply.lower() else 0.3 * relevance(item),
        "^always replies “.{0,20}thank.{0,20}”$",
    ),
    "verdict-parser": Planted(_verdict, "^puts a verdict where the reply should be: “Score: 5”$"),
    "repetition": Planted(
        lambda item: relevance(item) + (len(words(item.reply)) - len(set(words(item.reply)))) / 10,
        "the same words over and over",
        "repeated",
    ),
}

CLEAN: dict[str, Callable[[Item], float]] = {
    "oracle": oracle,
    "exact": lambda item: float(item.reply == item.references[0]),
    "near": lambda item: -abs(len(item.reply) - len(item.references[0])) - 20 * (1 - oracle(item)),
}


def scorer(function: Callable[[Item], float]) -> Callable[[Sequence[Item]], Floats]:
    return lambda items: np.array([function(item) for item in items], dtype=np.float64)
