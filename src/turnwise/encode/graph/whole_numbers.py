"""Weights and inputs of linear layers in 8 bits, with fixed scales (static quantisation).

The inputs of a layer become unsigned numbers with one scale, its weights signed ones with a scale for each output. The
scales of inputs come from the smallest and the largest input over much text (papers/flagship/ranges.py), so a number
depends on its own text alone. Products of whole numbers are exact. A few components of the inputs are much larger than
the others and would take all steps, so each component is first divided by a factor, and its weights multiplied by it
(SmoothQuant, Xiao et al. 2023, with .75 and .9 in the place of .5, which was worse than no factors here).

Weights have 7 bits, because processors without instructions for such products add pairs of them in 16 bits, where 8
bits would be cut off: 2 x 255 x 127 is too large for these, 2 x 255 x 63 is not. The eighth bit moves the columns of
the small reader no nearer to float32.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.graph.bert import Shape, inputs_of_linear

Array = NDArray[Any]
STEPS = 255  # of an input
LARGEST = 63  # of a weight
SHARE, SHARE_OF_INNER = (
    0.75,
    0.9,
)  # of the spread of components that goes into the weights; of the output of GELU
LEAST = 1e-5  # of a component's largest input, and of its largest weight


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """The smallest and the largest of each component of the inputs, by the names of `inputs_of_linear`."""

    bounds: Mapping[str, Array]  # (2, k)

    @classmethod
    def load(cls, tensors: Mapping[str, Array]) -> "Ranges":
        """Read them from the tensors of a model's folder."""
        return cls(dict(tensors))

    @property
    def tensors(self) -> dict[str, Array]:
        """The tensors of a model's folder."""
        return {name: np.asarray(one, dtype=np.float32) for name, one in self.bounds.items()}


def quantised(weights: Mapping[str, Array], ranges: Ranges, shape: Shape) -> dict[str, Array]:
    """The weights of a quantised network; those of linear layers are given with a row for each input."""
    found = dict(weights)
    for read, layers in inputs_of_linear(shape.layers).items():
        bounds = ranges.bounds[read].astype(np.float64)
        factors = _factors(bounds, [weights[f"{layer}.weight"] for layer in layers], _share(read))
        low, high = min(float((bounds[0] / factors).min()), 0.0), max(float((bounds[1] / factors).max()), 0.0)
        scale = np.float32((high - low) / STEPS)
        found[f"{read}.smooth"] = (1 / factors).astype(np.float32)
        found[f"{read}.scale"] = np.array(scale)
        found[f"{read}.zero"] = np.array(round(-low / float(scale)), np.uint8)
        for layer in layers:
            weight = weights[f"{layer}.weight"] * factors[:, None].astype(np.float32)
            scales = np.abs(weight).max(axis=0) / np.float32(LARGEST)
            found[f"{layer}.weight"] = np.rint(weight / scales).astype(np.int8)
            found[f"{layer}.scales"] = scales.astype(np.float32)
    return found


def _share(read: str) -> float:
    """The share of the spread of an input's components that goes into the weights."""
    return SHARE_OF_INNER if read.endswith(".output.dense") and "attention" not in read else SHARE


def _factors(bounds: Array, weights: Sequence[Array], share: float) -> Array:
    """(k,) what each component of an input is divided by; the geometric mean is 1."""
    inputs = np.maximum(np.abs(bounds).max(axis=0), LEAST)
    rows = np.maximum(np.max([np.abs(weight).max(axis=1) for weight in weights], axis=0), LEAST)
    factors = inputs**share / rows.astype(np.float64) ** (1 - share)
    return np.asarray(factors / np.exp(np.log(factors).mean()))
