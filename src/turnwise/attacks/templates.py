"""Templates of the search: initial frames, variation of templates, and random templates for training a guard."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from turnwise.attacks.slots import SLOTS

FRAMES = (
    "{}", "so {}", "you said {}", "you said {}, really?", "{} that sounds great!", "i like {}",
    "i don't think it's {}. what do you mean by that?", "tell me more about {}", "what about {}?",
    "i'm not sure about {}. i'll let you know.", "yes, {}", "{} what do you think?",
)  # fmt: skip
MAX_WORDS = 400  # most words of a template: longer ones would only show that the metric likes length
MAX_PHRASE_WORDS = 5  # maximum length of a phrase of the corpus that is joined with a slot
POPULATION, MAX_GENERATIONS = (
    6,
    4,
)  # size of a random population, of which two are used, and its maximum number of generations
SEED_KINDS = {
    "frame": 0.55,
    "before": 0.2,
    "after": 0.2,
    "alone": 0.05,
}  # probabilities of a slot in a frame, a phrase before a slot, a phrase after a slot, a phrase alone


def escape_braces(text: str) -> str:
    """The text as a template: braces, which mark slots, become parentheses, and white space is normalised."""
    return " ".join(text.replace("{", "(").replace("}", ")").split())


def vary(population: Sequence[str], rng: np.random.Generator) -> str:
    """A random template of the population with one random edit, or joined with another; at most 400 words."""
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
    return " ".join(made.split()[:MAX_WORDS])


def random_templates(texts: Sequence[str], rng: np.random.Generator) -> Iterator[str]:
    """Yield random templates, without end: fixed frames, slots, and phrases of `texts`, varied as the search does.

    At least one of `texts` must have a word.
    """
    pool = [said for text in texts if (said := escape_braces(text).split())]
    while True:
        population = [_seed_template(pool, rng) for _ in range(POPULATION)]
        for _ in range(int(rng.integers(MAX_GENERATIONS + 1))):
            population = [vary(population, rng) for _ in range(POPULATION)]
        yield from population[:2]


def _seed_template(pool: Sequence[Sequence[str]], rng: np.random.Generator) -> str:
    """A random template: a slot in a frame, a phrase of the corpus with a slot, or a phrase alone.

    `pool` has the words of each text.
    """
    slot = f"{{{list(SLOTS)[int(rng.integers(len(SLOTS)))]}}}"
    kind = rng.choice(list(SEED_KINDS), p=list(SEED_KINDS.values()))
    if kind == "frame":
        return FRAMES[int(rng.integers(len(FRAMES)))].replace("{}", slot)
    said = pool[int(rng.integers(len(pool)))]
    size = int(rng.integers(1, MAX_PHRASE_WORDS + 1)) if rng.random() < 0.7 else len(said)
    start = int(rng.integers(max(1, len(said) - size + 1)))
    phrase = " ".join(said[start : start + size])
    return {"before": f"{phrase} {slot}", "after": f"{slot} {phrase}", "alone": phrase}[str(kind)]
