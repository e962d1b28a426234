"""Normalisation of case, punctuation and contractions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.encode.text.normalise import plain


@pytest.mark.parametrize(
    ("written", "other"),
    [
        ("Don't!", "dont"),
        ("do n't", "don't"),
        ("do n ' t", "don't"),
        ("I ’ m fine .", "im fine"),
        ("OK...", "ok"),
        ("?!", ""),
    ],
)
def test_spellings_of_one_text_are_normalised_to_the_same(written: str, other: str) -> None:
    assert plain(written) == plain(other)


@given(st.text(max_size=60))
def test_normalisation_is_idempotent(text: str) -> None:
    assert plain(plain(text)) == plain(text)
