"""Templates as such: the frames that a search begins with, how it varies what is good, and the family of all these."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from turnwise.attacks.strategy import SLOTS

FRAMES = (
    "{}", "so {}", "you said {}", "you said {}, really?", "{} that sounds great!", "i like {}",
    "i don't think it's {}. what do you mean by that?", "tell me more about {}", "what about {}?",
    "i'm not sure about {}. i'll let you know.", "yes, {}", "{} what do you think?",
)  # fmt: skip
LONGEST = 400  # words of a reply: beyond it a search would only learn that length helps
PHRASE = 5  # words of a corpus at most, where a phrase is joined with a slot
POPULATION, GENERATIONS = 6, 4  # of which two are taken, after none to so many
KINDS = {
    "frame": 0.55,
    "before": 0.2,
    "after": 0.2,
    "alone": 0.05,
}  # a phrase before a slot, after one, alone


def plain(text: str) -> str:
    """The text as a template: braces would be slots."""
    return " ".join(text.replace("{", "(").replace("}", ")").split())


def varied(population: Sequence[str], rng: np.random.Generator) -> str:
    """One of the population, edited or joined with another."""
    one, other = (population[int(rng.integers(len(population)))] for _ in range(2))
    said = one.split()
    edits: list[Callable[[], str]] = [
        lambda: f"{one} {other}",
        lambda: f"{one} {one}",
        lambda: f"{one}?" if rng.random() < 0.5 else f"{one} ? ? ?",
        lambda: " ".join(said[: max(1, len(said) // 2)]),
        lambda: " ".join(word for word in said if rng.random() > 0.2 or word.startswith("{")) or one,
        lambda: f"{one} {{{list(SLOTS)[int(rng.integers(len(SLOTS)))]}}}",
        lambda: f"{said[int(rng.integers(len(said)))]} {one}" if said else one,
    ]
    made = edits[int(rng.integers(len(edits)))]()
    return " ".join(made.split()[:LONGEST])


def family(texts: Sequence[str], rng: np.random.Generator) -> Iterator[str]:
    """Templates without end, such as a search of this corpus could come upon, whatever the metric likes."""
    pool = [said for text in texts if (said := plain(text).split())]
    while True:
        population = [_seed(pool, rng) for _ in range(POPULATION)]
        for _ in range(int(rng.integers(GENERATIONS + 1))):
            population = [varied(population, rng) for _ in range(POPULATION)]
        yield from population[:2]


def _seed(pool: Sequence[Sequence[str]], rng: np.random.Generator) -> str:
    slot = f"{{{list(SLOTS)[int(rng.integers(len(SLOTS)))]}}}"
    kind = rng.choice(list(KINDS), p=list(KINDS.values()))
    if kind == "frame":
        return FRAMES[int(rng.integers(len(FRAMES)))].replace("{}", slot)
    said = pool[int(rng.integers(len(pool)))]
    size = int(rng.integers(1, PHRASE + 1)) if rng.random() < 0.7 else len(said)
    start = int(rng.integers(max(1, len(said) - size + 1)))
    phrase = " ".join(said[start : start + size])
    return {"before": f"{phrase} {slot}", "after": f"{slot} {phrase}", "alone": phrase}[str(kind)]
