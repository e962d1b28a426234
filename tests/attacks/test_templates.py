"""The family of templates: endless, the same for a seed, and each of them a strategy."""

from itertools import islice

import numpy as np

from tests.attacks.planted import talks
from turnwise.attacks.strategy import strategy
from turnwise.attacks.templates import MAX_WORDS, random_templates, vary


def test_random_templates_have_fixed_replies_copies_and_patterns() -> None:
    contexts = talks(5)
    texts = [context.human for context in contexts]
    made = [strategy(text) for text in islice(random_templates(texts, np.random.default_rng(3)), 300)]
    assert {one.kind for one in made} == {"fixed", "parrot", "pattern"}
    assert all("{" not in one.reply(context) for one in made for context in contexts)


def test_random_templates_depend_on_the_seed_only() -> None:
    first, again = (
        list(islice(random_templates(["so it is"], np.random.default_rng(8)), 40)) for _ in range(2)
    )
    assert first == again


def test_a_variant_has_at_most_the_maximum_number_of_words() -> None:
    rng = np.random.default_rng(1)
    population = ["word " * MAX_WORDS]
    assert all(len(vary(population, rng).split()) <= MAX_WORDS for _ in range(50))
