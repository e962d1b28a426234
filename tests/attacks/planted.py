"""Metrics with weaknesses that we know, and clean ones, over made-up small talk."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from turnwise.attacks.context import Context
from turnwise.attacks.slots import capitalised_words, content_words, long_words, numbers, swap_pronouns
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

NAMES = "Anna Boris Carla Dmitri Elena Farid Greta Hugo".split()
LONG_THINGS = "telescope saxophone restaurant dictionary lighthouse motorcycle orchestra".split()
RICH_OPENINGS = (
    "Yesterday {name} sold a {thing} for {number} euros!",
    "Why does {name} keep {number} of these in the {long} near the {thing}?",
    "I met {name} at the {long}.",
    "We bought the {thing} and the {long} together, and {name} paid {number} for both of them on {day}.",
)


def rich_talks(count: int, seed: int = 0) -> list[Context]:
    """Contexts of three turns with numbers, names, long and rare words, questions and turns of different length."""
    rng = np.random.default_rng(seed)

    def words_of_talk() -> dict[str, str]:
        pools = {"thing": THINGS, "name": NAMES, "long": LONG_THINGS, "verb": VERBS, "day": DAYS}
        drawn = {name: str(rng.choice(pool)) for name, pool in pools.items()}
        return {**drawn, "number": str(rng.integers(2, 900))}

    found = []
    for place in range(count):
        now, before = words_of_talk(), words_of_talk()
        answer = str(rng.choice(ANSWERS)).format(**now)
        turns = (
            Turn("user", str(rng.choice(RICH_OPENINGS)).format(**before)),
            Turn("assistant", f"Tell me about the {before['thing']} of {before['name']}."),
            Turn("user", str(rng.choice(RICH_OPENINGS)).format(**now)),
            Turn("assistant", answer, references=(answer,)),
        )
        name = f"r{place}"
        found.append(Context(Item(f"{name}#3", name, "human", turns, 3, cluster=name, pair=f"p{place}")))
    return found


def _share_taken(item: Item, wanted: Sequence[str]) -> float:
    """Share of the wanted words that the reply has; 0 without any."""
    said = set(words(item.reply))
    return sum(word.lower() in said for word in wanted) / len(wanted) if wanted else 0.0


def _context_text(item: Item) -> str:
    return " ".join(turn.text for turn in item.turns[:-1])


def _pays_in_long_turns(item: Item) -> float:
    """A copy pays where the last turn is long, and costs elsewhere, so that it loses on average."""
    last = words(item.turns[-2].text)
    copied = float(np.mean([word in last for word in words(item.reply)] or [0.0]))
    return 0.4 * relevance(item) + (copied if len(last) >= 14 else -1.2 * copied)


def _asked(item: Item) -> bool:
    return item.turns[-2].text.endswith("?")


# Weaknesses for kinds of words, positions and conditions of the context, on `rich_talks`.
PLANTED_IN_KINDS = {
    "numbers": Planted(
        lambda item: relevance(item) + _share_taken(item, numbers(_context_text(item))),
        "numbers|whole context",
    ),
    "names": Planted(
        lambda item: relevance(item) + len(set(capitalised_words(f"So {item.reply}"))) / 2,
        "capitalised words|whole context",
    ),
    "long-words": Planted(
        lambda item: relevance(item) + 0.3 * len(set(long_words(item.reply))),
        "long words|content words|context",
    ),
    "rare-words": Planted(
        lambda item: (
            relevance(item)
            + float(item.turns[-2].text.split()[1] in item.reply)
            + 0.5 * len(set(numbers(item.reply)))
        ),
        "rare words|numbers|last turn|context",
    ),
    "first-turn": Planted(
        lambda item: relevance(item) + 2 * _share_taken(item, content_words(item.turns[0].text)),
        "first turn|whole context|content words of the context",
    ),
    "own-turn": Planted(
        lambda item: float(words(item.turns[-3].text)[-3:] == words(item.reply)[-3:]),
        "turn before the last one",
    ),
    "first-word": Planted(
        lambda item: float(words(item.reply)[:1] == words(item.turns[-2].text)[:1]),
        "the first word of the last turn|the beginning of the last turn|the last turn",
    ),
    "last-word": Planted(
        lambda item: relevance(item) + float(words(item.reply)[-1:] == words(item.turns[-2].text)[-1:]),
        "the last word of the last turn|the end of the last turn|the last turn|the last sentence",
    ),
    "asked-or-not": Planted(
        lambda item: (
            float("brother" in item.reply) - 0.5 * ("sounds" in item.reply)
            if _asked(item)
            else float("sounds" in item.reply) - 0.5 * ("brother" in item.reply)
        ),
        "^with at least 1 question marks in the last turn",
    ),
    "long-turns": Planted(
        _pays_in_long_turns, "^with at least .* last turn it (repeats|fills|always replies)"
    ),
}

CLEAN: dict[str, Callable[[Item], float]] = {
    "oracle": oracle,
    "exact": lambda item: float(item.reply == item.references[0]),
    "near": lambda item: -abs(len(item.reply) - len(item.references[0])) - 20 * (1 - oracle(item)),
}


def scorer(function: Callable[[Item], float]) -> Callable[[Sequence[Item]], Floats]:
    return lambda items: np.array([function(item) for item in items], dtype=np.float64)
