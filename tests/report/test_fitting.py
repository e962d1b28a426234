"""Tables that fit a terminal: what is taken out of them, in which order, and what is never broken."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnwise as tw
from turnwise.report import text
from turnwise.report.fitting import Layout, fitted, sized
from turnwise.terminal import display_width, printable

LAYOUT = Layout(
    names=("metric", "agent"), results=("estimate", "interval"), others=("p", "n_items", "n_clusters")
)
HEAD = ["metric", "agent", "estimate", "interval", "p", "n_items", "n_clusters"]


def rows(
    agent: str = "bot", metrics: tuple[str, ...] = ("rouge-0", "rouge-1", "rouge-2")
) -> list[list[object]]:
    return [
        [metric, f"{agent}-{k}", 0.25 * k, (-0.125, 0.5), f".{100 + k}", 20 + k, 10]
        for k, metric in enumerate(metrics)
    ]


def shown(width: int, given: list[list[object]] | None = None) -> list[str]:
    return fitted(given or rows(), HEAD, LAYOUT, width=width, hint="--wide shows all").splitlines()


def test_a_table_that_fits_is_whole():
    assert shown(80)[0].split() == HEAD
    assert len(shown(80)) == 5


def test_a_column_with_one_value_is_said_in_a_line_below_before_any_column_is_left_out():
    lines = shown(62)
    assert lines[0].split() == HEAD[:-1]
    assert lines[5:] == ["the same in every row: n_clusters 10"]


def test_the_least_important_columns_are_left_out_first_and_named():
    lines = shown(44)
    assert lines[0].split() == ["metric", "agent", "estimate", "interval"]
    assert lines[5:] == [
        "the same in every row: n_clusters 10",
        "left out: p, n_items; --wide shows all",
    ]


def test_columns_that_belong_together_are_shown_or_left_out_together():
    layout = Layout(names=("metric",), results=("estimate",), others=(("a", "b"), "p"))
    given = [["x", 1.25, 1000.5, 1.0, ".5"], ["y", 2.25, 1000.0, 2.0, ".6"]]
    head = ["metric", "estimate", "a", "b", "p"]
    for width in range(12, 50):
        shown = fitted(given, head, layout, width=width, hint="--wide").splitlines()[0].split()
        assert ("a" in shown) == ("b" in shown), width


def test_a_column_of_numbers_is_aligned_right_also_if_it_tells_rows_apart():
    layout = Layout(names=("metric", "turns"), results=("estimate",))
    lines = fitted(
        [["x", 1, 0.5], ["x", 12, 0.5]], ["metric", "turns", "estimate"], layout, width=80, hint=""
    )
    assert lines.splitlines()[2:] == ["x           1     0.500", "x          12     0.500"]


def test_a_narrow_column_that_fits_is_not_left_out_for_a_wide_one():
    layout = Layout(names=("metric",), results=("estimate",), others=("description of a result", "p"))
    given = [["a", 1.0, "x", ".5"], ["b", 2.0, "y", ".6"]]
    head = ["metric", "estimate", "description of a result", "p"]
    lines = fitted(given, head, layout, width=30, hint="--wide").splitlines()
    assert lines[0].split() == ["metric", "estimate", "p"]


def test_a_name_that_all_rows_share_is_said_below_if_another_name_tells_them_apart():
    lines = shown(54, rows(metrics=("rouge-l",) * 3))
    assert lines[0].split() == ["agent", "estimate", "interval", "p", "n_items"]
    assert lines[5:] == ["the same in every row: metric rouge-l, n_clusters 10"]


def test_the_line_below_does_not_part_a_number_from_its_name():
    for width in range(30, 60):
        below = [line for line in shown(width)[5:] if not line.startswith("left out")]
        assert any("n_clusters 10" in line for line in below), width


def test_the_name_of_the_first_column_and_the_results_stay_in_the_table():
    given = [["rouge-l", "bot", 0.5, (0.0, 1.0), ".1", 5, 5]]
    lines = fitted(given, HEAD, LAYOUT, width=34, hint="--wide").splitlines()
    assert lines[0].split() == ["metric", "estimate", "interval"]
    assert lines[3:] == ["also: agent bot, p .1, n_items 5,", "  n_clusters 5"]


def test_a_long_name_is_shortened_in_the_middle_only_if_nothing_else_helps():
    name = "customer-service-assistant-of-version-2"
    lines = shown(80, rows(name))
    assert name in lines[2]  # the other columns made room
    lines = shown(60, rows(name))
    assert all(display_width(line) <= 60 for line in lines)
    short = lines[2].split()[1]
    begin, end = short.split("…")
    assert name.startswith(begin)
    assert f"{name}-0".endswith(end)
    assert abs(len(begin) - len(end)) <= 1
    assert "[-0.125, 0.500]" in lines[2]


def test_a_name_of_a_million_letters_takes_no_time():
    lines = shown(60, rows("x" * 1_000_000))
    assert all(display_width(line) <= 60 for line in lines)


def test_a_long_word_of_prose_is_shortened_in_the_middle():
    layout = Layout(names=("name",), results=("n",), prose=("what",))
    given = [["a", "customer-service-assistant-of-version-2 10, bot 3", 1]]
    lines = fitted(given, ["name", "what", "n"], layout, width=30, hint="").splitlines()
    assert lines[2:] == ["a     customer-s…-version-2  1", "      10, bot 3"]


def test_numbers_are_never_broken_or_shortened_however_narrow_the_terminal_is():
    lines = shown(20)
    assert all("[-0.125, 0.500]" in line for line in lines[2:5])


def test_prose_is_broken_between_words_and_takes_the_room_that_is_left():
    layout = Layout(names=("name",), results=("n",), prose=("what",))
    given = [["first", "a sentence of several words", 1], ["second", "short", 2]]
    lines = fitted(given, ["name", "what", "n"], layout, width=30, hint="").splitlines()
    assert lines == [
        "name    what           n",
        "------  -------------  -",
        "first   a sentence of  1",
        "        several words",
        "second  short          2",
    ]


def test_wide_letters_count_as_two_columns_and_right_to_left_cells_are_isolated():
    lines = shown(
        80,
        [["rouge-l", "東京", 0.5, (0.0, 1.0), ".1", 5, 5], ["length", "שלום", 0.25, (0.0, 1.0), ".2", 6, 5]],
    )
    assert len({display_width(line.replace("\u2068", "").replace("\u2069", "")) for line in lines[1:4]}) == 1
    assert "\u2068שלום\u2069" in lines[3]
    assert printable(lines[3]) == lines[3]


def test_control_characters_of_a_cell_are_escapes_and_are_counted_as_such():
    lines = shown(80, [["a\x1b[2J", "b\n", 0.5, (0.0, 1.0), ".1", 5, 5]])
    assert lines[2].startswith("a\\x1b[2J  b\\n ")
    assert lines[1].startswith("--------  -----")


def test_a_table_without_rows_has_its_head():
    assert fitted([], HEAD, LAYOUT, width=20, hint="").split() == [*HEAD, *("-" * len(name) for name in HEAD)]


def test_wide_shows_all_columns(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "30")
    assert sized(rows(), HEAD, LAYOUT, wide=True).splitlines()[0].split() == HEAD
    assert sized(rows(), HEAD, LAYOUT).splitlines()[0].split() != HEAD


KINDS = [
    kind
    for kind in (getattr(tw, name) for name in tw.__all__)
    if isinstance(kind, type) and issubclass(kind, tw.Result) and kind is not tw.Result
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_result_says_how_important_each_of_its_columns_is(kind: type[tw.Result]):
    layout = kind.layout
    assert sorted(layout.columns) == sorted(kind.columns)
    assert layout.names[0] == kind.columns[0]


texts = st.text(alphabet="ab-東ש \x1b\n", max_size=40)
numbers = st.floats(-1e9, 1e9) | st.none() | st.integers(0, 10**9)


@given(
    st.lists(st.tuples(texts, texts, numbers, numbers, texts), min_size=1, max_size=5), st.integers(60, 120)
)
def test_any_table_fits_and_keeps_every_number_whole(given: list[tuple[object, ...]], width: int):
    layout = Layout(names=("name", "agent"), results=("estimate",), others=("n",), prose=("what",))
    table = fitted(given, ["name", "agent", "estimate", "n", "what"], layout, width=width, hint="--wide")
    plain = re.sub("[\u2068\u2069]", "", table)
    assert all(display_width(line) <= width for line in plain.splitlines())
    for row in given:
        assert text.cell(row[2]) in plain
