"""Placement of labels beside dots without overlap: positions around a dot are tried from near to far."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

DOT_RADIUS = 4.0  # half the width of the square around a dot that labels must not cover
LINE_HEIGHT = 12.0  # height of a line of text
NEAR = (6.0, 10.0)  # distances of a label from its dot at which no leader line is needed
FAR = tuple(6.0 * step for step in range(1, 20))  # distances of a label with a leader line


class Box(NamedTuple):
    """A rectangle in units of the picture; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Box") -> bool:
        """Whether the boxes share an area; touching edges do not."""
        horizontally = self.left < other.right and other.left < self.right
        return horizontally and self.top < other.bottom and other.top < self.bottom

    def is_inside(self, other: "Box") -> bool:
        """Whether this box lies within the other, edges included."""
        horizontally = self.left >= other.left and self.right <= other.right
        return horizontally and self.top >= other.top and self.bottom <= other.bottom


def place_labels(
    dots: Sequence[tuple[float, float]],
    widths: Sequence[float],
    frame: Box,
    *,
    distances: Sequence[float] = NEAR,
) -> list[Box] | None:
    """A box for the label of each dot, inside `frame`, that overlaps no dot and no other label; None if not all fit.

    Labels are placed in order, each at the first free position; `widths` are those of the labels, `distances` from the
    dot.
    """
    taken = [Box(x - DOT_RADIUS, y - DOT_RADIUS, x + DOT_RADIUS, y + DOT_RADIUS) for x, y in dots]
    found: list[Box] = []
    for (x, y), width in zip(dots, widths, strict=True):
        free = (
            box
            for box in _boxes_around(x, y, width, distances)
            if box.is_inside(frame) and not any(box.overlaps(other) for other in taken)
        )
        box = next(free, None)
        if box is None:
            return None
        found.append(box)
        taken.append(box)
    return found


def _boxes_around(x: float, y: float, width: float, distances: Sequence[float]) -> Iterator[Box]:
    """Yield the possible boxes of a label around a dot, nearest first: right, left, the corners, above, below."""
    half = LINE_HEIGHT / 2
    for distance in distances:
        right, left = x + distance, x - distance - width
        for corner, middle in (
            (right, y), (left, y), (right, y - distance), (right, y + distance),
            (left, y - distance), (left, y + distance),
            (x - width / 2, y - distance - half), (x - width / 2, y + distance + half),
        ):  # fmt: skip
            yield Box(corner, middle - half, corner + width, middle + half)
