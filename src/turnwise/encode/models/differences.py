"""Weights stored as 4-bit differences from a model that is already on this machine.

The package ships its masked language model and the readers of replies this way. Of a matrix only the difference from
the other model's is stored, in 4 bits: each group of weights of a row has a scale. A vector is stored as it is, in half
precision.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.errors import DataError

GROUP = 128  # weights of a row that share a scale
LEVELS = 7  # codes are -7 to 7
CODES, SCALES = ".codes", ".scales"
_STEPS = np.linspace(0.6, 1.0, 9)  # shares of the largest weight that are tried as the end of a group's range

Arrays = dict[str, NDArray[Any]]


def pack(
    trained: Mapping[str, NDArray[Any]], base: Mapping[str, NDArray[Any]], *, group: int = GROUP
) -> Arrays:
    """Tensors to store: 4-bit differences of the matrices from `base` (from 0 where it has none), vectors in half.

    A matrix whose rows are no multiple of `group` weights is stored in half precision.
    """
    stored: Arrays = {}
    for name, array in trained.items():
        if array.ndim != 2 or array.shape[1] % group:
            stored[name] = array.astype(np.float16)
            continue
        difference = array.astype(np.float32) - base.get(name, np.zeros((), dtype=np.float32))
        groups = difference.reshape(len(difference), -1, group)
        scales = _scales(groups)
        codes = np.clip(np.round(groups / scales[..., None]), -LEVELS, LEVELS).astype(np.int8) + LEVELS
        flat = codes.reshape(len(difference), -1).astype(np.uint8)
        stored[name + CODES] = flat[:, ::2] << 4 | flat[:, 1::2]
        stored[name + SCALES] = scales.astype(np.float16)
    return stored


def unpack(stored: Mapping[str, NDArray[Any]], base: Mapping[str, NDArray[Any]]) -> Arrays:
    """The weights that `pack` stored, up to rounding; a `DataError` if `base` has other shapes."""
    weights: Arrays = {}
    for key, array in stored.items():
        if key.endswith(SCALES):
            continue
        if not key.endswith(CODES):
            weights[key] = array.astype(np.float32)
            continue
        name = key.removesuffix(CODES)
        flat = np.stack([array >> 4, array & 15], axis=2).reshape(len(array), -1).astype(np.float32) - LEVELS
        scales = stored[name + SCALES].astype(np.float32)
        scales = np.repeat(scales, flat.shape[1] // scales.shape[1], axis=1)
        start = base.get(name)
        if start is not None and start.shape != flat.shape:
            raise DataError(
                f"`{name}` is the difference from another model: {flat.shape} is not {start.shape}"
            )
        weights[name] = flat * scales + (0 if start is None else start)
    return weights


def _scales(groups: NDArray[np.float32]) -> NDArray[np.float32]:
    """(r, g) the scale of each group with the smallest squared error, rounded to half precision."""
    largest = np.maximum(np.abs(groups).max(axis=2), 1e-6)
    best, error = np.zeros_like(largest), np.full_like(largest, np.inf)
    for step in _STEPS:
        scales = (largest * step / LEVELS).astype(np.float16).astype(np.float32)
        codes = np.clip(np.round(groups / scales[..., None]), -LEVELS, LEVELS)
        wrong = ((codes * scales[..., None] - groups) ** 2).sum(axis=2)
        best, error = np.where(wrong < error, scales, best), np.minimum(wrong, error)
    scales_found: NDArray[np.float32] = best.astype(np.float32)
    return scales_found
