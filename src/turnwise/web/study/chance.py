"""Chance that can be had again: an order and a draw that depend on a seed and on names, on nothing else."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from turnwise.types import digest

T = TypeVar("T")


def draw(seed: int, *names: object) -> float:
    """A number in [0, 1) for this seed and these names."""
    return int(digest(str(seed), *map(str, names)), 16) / 2**64


def ordered(values: Iterable[T], seed: int, *names: object, key: Callable[[T], str]) -> list[T]:
    """The values in an order of chance."""
    return sorted(values, key=lambda value: draw(seed, *names, key(value)))
