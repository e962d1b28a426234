"""Random draws that several statistics share, such as all statistics, metrics and pairs of metrics of `meta`."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from turnwise.types import Floats

MOST = 2**21  # numbers that are kept: 16 MB, twice 1,000 draws of 1,024 clusters


class SharedDraws:
    """Draws that begin at the same place whoever asks for them, so that what is drawn for one need not be drawn again.

    `generator` makes a generator that always starts at the same place.
    """

    def __init__(self, generator: Callable[[], np.random.Generator]) -> None:
        self._generator = generator
        self._kept: dict[tuple[str, int, int], tuple[Floats, ...]] = {}

    def generator(self) -> np.random.Generator:
        """A generator at the place where all draws begin."""
        return self._generator()

    def blocks(
        self, kind: str, n: int, draws: int, draw: Callable[[np.random.Generator], Iterator[Floats]]
    ) -> Iterator[Floats]:
        """The blocks of `draws` rows of `n` numbers that `draw` yields; kept while they are few, else drawn again."""
        if n * draws > MOST:
            return draw(self._generator())
        key = (kind, n, draws)
        if key not in self._kept:
            while self._kept and n * draws + sum(n * draws for _, n, draws in self._kept) > MOST:
                del self._kept[next(iter(self._kept))]  # the oldest
            blocks = tuple(draw(self._generator()))
            for block in blocks:
                block.flags.writeable = False
            self._kept[key] = blocks
        return iter(self._kept[key])


Source: TypeAlias = np.random.Generator | SharedDraws  # where random numbers come from


def blocks_from(
    source: Source, kind: str, n: int, draws: int, draw: Callable[[np.random.Generator], Iterator[Floats]]
) -> Iterator[Floats]:
    """The blocks that `draw` yields, from a generator or from shared draws."""
    if isinstance(source, SharedDraws):
        return source.blocks(kind, n, draws, draw)
    return draw(source)


def generator_of(source: Source) -> np.random.Generator:
    """The generator itself, or one at the place where shared draws begin."""
    return source.generator() if isinstance(source, SharedDraws) else source
