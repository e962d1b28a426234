"""Which texts go through a model together. No torch here: only counting.

A batch holds inputs of one shape, and the shape follows from an input's own length. So there is no padding to
waste time on or to mask, and a vector cannot depend on its neighbours. Measured with MiniLM and SmolLM2 on AVX-512,
float32 and bfloat16: batch size and order leave every bit alone, whereas padding to the longest of a batch moves
a hidden state by 3e-6 in float32 and by .5 in bfloat16. It costs nothing: 3,115 replies take as long as sorted and
padded batches of 32.
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
