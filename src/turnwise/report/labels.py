"""Names beside dots, none over another: each is tried on every side of its dot, near before far."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

DOT = 4.0  # half the width of what must stay free around a dot
TALL = 12.0  # height of a line of letters
NEAR = (6.0, 10.0)  # from the middle of a dot to a name that is seen to be its own
FAR = tuple(6.0 * step for step in range(1, 20))  # and to a number, with a line between them


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def within(self, other: "Box") -> bool:
        across = self.left >= other.left and self.right <= other.right
        return across and self.top >= other.top and self.bottom <= other.bottom


def beside(
    dots: Sequence[tuple[float, float]], widths: Sequence[float], frame: Box, *, reach: Sequence[float] = NEAR
) -> list[Box] | None:
    """A box for the name of each dot, free of all dots and other names; None where they cannot all have one."""
    taken = [Box(x - DOT, y - DOT, x + DOT, y + DOT) for x, y in dots]
    found: list[Box] = []
    for (x, y), width in zip(dots, widths, strict=True):
        free = (
            box
            for box in _around(x, y, width, reach)
            if box.within(frame) and not any(box.meets(other) for other in taken)
        )
        box = next(free, None)
        if box is None:
            return None
        found.append(box)
        taken.append(box)
    return found


def _around(x: float, y: float, width: float, reach: Sequence[float]) -> Iterator[Box]:
    half = TALL / 2
    for far in reach:
        right, left = x + far, x - far - width
        for corner, middle in (
            (right, y), (left, y), (right, y - far), (right, y + far), (left, y - far), (left, y + far),
            (x - width / 2, y - far - half), (x - width / 2, y + far + half),
        ):  # fmt: skip
            yield Box(corner, middle - half, corner + width, middle + half)
