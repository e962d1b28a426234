"""The family of templates: endless, the same for a seed, and each of them a strategy."""

from itertools import islice

import numpy as np

from tests.attacks.planted import talks
from turnwise.attacks.strategy import strategy
from turnwise.attacks.templates import LONGEST, family, varied


def test_a_family_has_fixed_replies_copies_and_patterns_and_all_of_them_answer() -> None:
    contexts = talks(5)
    texts = [context.human for context in contexts]
    made = [strategy(text) for text in islice(family(texts, np.random.default_rng(3)), 300)]
    assert {one.kind for one in made} == {"fixed", "parrot", "pattern"}
    assert all("{" not in one.reply(context) for one in made for context in contexts)


def test_a_family_is_the_same_for_a_seed() -> None:
    first, again = (list(islice(family(["so it is"], np.random.default_rng(8)), 40)) for _ in range(2))
    assert first == again


def test_a_variant_is_no_longer_than_a_reply_may_be() -> None:
    rng = np.random.default_rng(1)
    population = ["word " * LONGEST]
    assert all(len(varied(population, rng).split()) <= LONGEST for _ in range(50))
