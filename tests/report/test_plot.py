"""The plotting module: round ticks, places inside the picture, and texts that stay texts."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from turnwise.report import plot

NUMBERS = st.floats(-1e9, 1e9)
TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="￾￿"), min_size=1)
SVG = "{http://www.w3.org/2000/svg}"


@given(st.lists(NUMBERS, min_size=1))
def test_every_value_and_every_tick_lies_within_the_padded_range(values: list[float]):
    low, high = plot.padded_range(values)
    assert low < high
    assert low <= min(values)
    assert max(values) <= high
    scale = plot.Scale(low, high, 40.0, 390.0)
    assert 2 <= len(scale.ticks) <= 12
    slack = 1e-6 * (high - low)
    assert all(low - slack <= tick <= high + slack for tick in scale.ticks)
    assert all(40 <= scale(value) <= 390 for value in values)


def test_a_picture_without_values_has_an_axis():
    assert plot.padded_range([]) == (-0.05, 1.05)
    assert plot.padded_range([None, float("nan"), 3.0]) == (2.7, 3.3)


def test_an_axis_of_counts_has_integer_ticks():
    assert plot.Scale(1, 3, 0, 100, True).ticks == [1, 2, 3]


@given(TEXT, TEXT, TEXT)
def test_texts_are_escaped_and_read_back_unchanged(name: str, tip: str, title: str):
    panel = plot.Panel.with_names([name], (0, 1))
    panel.dot(0.5, 0, tip=tip)
    panel.axes(name)
    root = ElementTree.fromstring(plot.standalone(panel.svg(title, legend=[name])))
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg", "g", "style", "text", "title", "path", "circle",
    }  # fmt: skip
    assert root.get("aria-label") == title
    assert tip in [element.text for element in root.iter(f"{SVG}title")]
    words = "".join(element.text or "" for element in root.iter(f"{SVG}text"))
    assert all(line in words for line in plot.broken(name))


@given(st.text(alphabet="ab_- :[", max_size=90), st.integers(3, 30))
def test_a_long_name_is_broken_into_lines_and_never_cut(name: str, letters: int):
    lines = plot.broken(name, letters)
    assert all(len(line) <= letters for line in lines)
    assert "".join(lines).replace(" ", "") == name.replace(" ", "")


def test_a_name_is_broken_after_a_sign_where_it_has_one():
    assert plot.broken("turnwise[dimension=dialogue,trained=free]") == [
        "turnwise[dimension=",
        "dialogue,trained=free]",
    ]
    assert plot.broken("the-first-agent of-them-all") == ["the-first-agent of-", "them-all"]


def test_a_line_is_interrupted_at_nan():
    panel = plot.Panel.with_axes((0, 3), (0, 1))
    panel.line([0, 1, 2, 3], [0.1, float("nan"), 0.2, 0.3])
    assert panel.marks[-1].count("M") == 2
    assert "nan" not in panel.marks[-1]
