"""Weights and inputs of linear layers in 8 bits, with fixed scales (static quantisation).

The inputs of a layer become unsigned numbers with one scale, its weights signed ones with a scale for each output. The
scales of inputs come from the smallest and the largest input over much text (papers/flagship/ranges.py), so a number
depends on its own text alone. Products of whole numbers are exact. Weights have 7 bits, because processors without
instructions for such products add pairs of them in 16 bits, where 8 bits would be cut off: 2 x 255 x 127 is too large
for these, 2 x 255 x 63 is not. The seventh bit moves the columns of the small reader no further (papers/learned.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.graph.bert import Shape, inputs_of_linear

Array = NDArray[Any]
STEPS = 255  # of an input
LARGEST = 63  # of a weight


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """The smallest and the largest input of linear layers, by the names of `inputs_of_linear`."""

    bounds: Mapping[str, tuple[float, float]]

    @classmethod
    def load(cls, tensors: Mapping[str, Array]) -> "Ranges":
        """Read them from the tensors of a model's folder."""
        return cls({name: (float(one[0]), float(one[1])) for name, one in tensors.items()})

    @property
    def tensors(self) -> dict[str, Array]:
        """The tensors of a model's folder."""
        return {name: np.array(one, np.float32) for name, one in self.bounds.items()}


def quantised(weights: Mapping[str, Array], ranges: Ranges, shape: Shape) -> dict[str, Array]:
    """The weights of a quantised network; those of linear layers are given with a row for each input."""
    found = dict(weights)
    for read, layers in inputs_of_linear(shape.layers).items():
        low, high = min(ranges.bounds[read][0], 0.0), max(ranges.bounds[read][1], 0.0)
        scale = np.float32((high - low) / STEPS)
        found[f"{read}.scale"] = np.array(scale)
        found[f"{read}.zero"] = np.array(round(-low / float(scale)), np.uint8)
        for layer in layers:
            weight = weights[f"{layer}.weight"]
            scales = np.abs(weight).max(axis=0) / np.float32(LARGEST)
            found[f"{layer}.weight"] = np.rint(weight / scales).astype(np.int8)
            found[f"{layer}.scales"] = scales.astype(np.float32)
    return found
