"""Which texts go through a model together. No torch here: only counting.

A batch holds inputs of one shape, and the shape follows from an input's own length. So there is no padding to
waste time on or to mask, and a vector cannot depend on its neighbours. Measured on AVX-512 with MiniLM (float32)
and SmolLM2 (float32 and bfloat16): the size of a batch leaves every bit alone, whereas a wider padding moves a hidden
state by 3e-6 (MiniLM), 3e-5 and .5. It costs nothing: 3,115 replies took 10.5 s in exact lengths and 10.5 s or more
sorted and padded by 32.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def distinct(values: Sequence[T]) -> tuple[list[T], list[int]]:
    """The different values in order of appearance, and for each value its place among them."""
    places: dict[T, int] = {}
    inverse = [places.setdefault(value, len(places)) for value in values]
    return list(places), inverse


def by_shape(shapes: Sequence[T], *, cost: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Indices of equal shape, a batch at a time, the sum of their costs within the budget (or a single one)."""
    groups: dict[T, list[int]] = {}
    for index, shape in enumerate(shapes):
        groups.setdefault(shape, []).append(index)
    for group in groups.values():
        batch: list[int] = []
        spent = 0
        for index in group:
            if batch and spent + cost[index] > budget:
                yield batch
                batch, spent = [], 0
            batch.append(index)
            spent += cost[index]
        yield batch
