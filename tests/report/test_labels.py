"""Names beside dots: none over another, none over a dot, all within the picture."""

import re
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from turnwise.report import labels, plot

FRAME = labels.Box(40.0, 10.0, 388.0, 250.0)
DOTS = st.lists(
    st.tuples(st.floats(FRAME.left, FRAME.right), st.floats(FRAME.top, FRAME.bottom)), min_size=1, max_size=14
)


@given(DOTS, st.integers(1, 20))
def test_labels_overlap_neither_each_other_nor_a_dot(dots: list[tuple[float, float]], letters: int):
    boxes = labels.place_labels(dots, [plot.LETTER_WIDTH * letters] * len(dots), FRAME)
    if boxes is None:
        return
    assert all(box.is_inside(FRAME) for box in boxes)
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    marks = [labels.Box(x - 2, y - 2, x + 2, y + 2) for x, y in dots]
    assert not any(box.overlaps(mark) for box in boxes for mark in marks)


def test_a_dozen_agents_with_similar_ratings_are_numbered_with_a_key():
    names = [f"an-agent-with-a-name-{place}" for place in range(12)]
    panel = plot.Panel.with_axes((0, 1), (0, 1))
    key = panel.label_dots([(0.5 + place / 400, 0.5, name) for place, name in enumerate(names)])
    assert [line.partition(" ")[0] for line in key] == [str(number) for number in range(1, 13)]
    picture = panel.svg("a cloud", key=key)
    assert all(name in picture for name in names)
    at = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*class="quiet"', picture)
    assert len(set(at)) == 12


def test_agents_with_distant_dots_have_their_names():
    panel = plot.Panel.with_axes((0, 1), (0, 1))
    assert panel.label_dots([(0.1, 0.1, "dull"), (0.5, 0.5, "good"), (0.9, 0.9, "best")]) == []
    assert all(f">{name}</text>" in panel.svg("few") for name in ("dull", "good", "best"))
