"""Hidden characters of logged texts are shown, and nothing else is changed."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.web.pages.characters import pieces, visible

KEPT = "\t\n é 漢字 שלום 👩‍👩‍👧 ❤️ a\u200db l\u200er \u200f"  # scripts and emoji need joiners and marks


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "␛[2J"),
        ("a\r\nb", "a␍\nb"),
        ("\x00\x7f\x9b", "␀␡⟨U+009B⟩"),
        ("a\u202eb\u2066c", "a⟨U+202E⟩b⟨U+2066⟩c"),
        ("\U000e0041", "⟨U+E0041⟩"),
        ("\ud800", "⟨U+D800⟩"),
        (KEPT, KEPT),
        ("", ""),
    ],
)
def test_hidden_characters_have_signs(text, shown):
    assert visible(text) == shown
    assert "".join(part for _, part in pieces(text)) == shown


def test_hits_and_hidden_characters_are_pieces_of_their_own():
    found = list(pieces("one Two\x1btwo", re.compile("two", re.IGNORECASE)))
    assert found == [("", "one "), ("hit", "Two"), ("hidden", "␛"), ("hit", "two")]
    assert list(pieces("")) == []
    assert list(pieces("a", re.compile("x*"))) == [("", "a")]  # a match of nothing is no hit


@given(st.text())
def test_a_shown_text_can_be_sent_and_holds_no_control_character(text):
    shown = visible(text)
    shown.encode()
    assert not [one for one in shown if unicodedata.category(one) in ("Cc", "Cs") and one not in "\t\n"]
    assert "".join(part for _, part in pieces(text)) == shown
