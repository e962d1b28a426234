"""The words of a text: the short way for ASCII gives what the definition gives."""

import re
from itertools import product

from turnwise.metrics.words import words

DEFINITION = re.compile(r"\w+(?:'\w+)*", re.ASCII)


def test_every_short_text_of_letters_signs_and_apostrophes_has_the_words_of_the_definition() -> None:
    for signs in product("aB1_' .-\n", repeat=5):
        text = "".join(signs)
        assert words(text) == DEFINITION.findall(text.lower()), text


def test_every_ascii_sign_alone_and_between_letters() -> None:
    for sign in map(chr, range(128)):
        for text in (sign, f"a{sign}B", f"'{sign}'x"):
            assert words(text) == DEFINITION.findall(text.lower()), text
