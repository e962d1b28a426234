"""Deterministic random numbers and shuffling from a seed and names."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from turnwise.types import digest

T = TypeVar("T")


def uniform(seed: int, *names: object) -> float:
    """A uniform number in [0, 1) that depends only on the seed and the names (a hash)."""
    return int(digest(str(seed), *map(str, names)), 16) / 2**64


def shuffled(values: Iterable[T], seed: int, *names: object, key: Callable[[T], str]) -> list[T]:
    """The values in a random order that depends only on the seed, the names and the values' keys."""
    return sorted(values, key=lambda value: uniform(seed, *names, key(value)))
