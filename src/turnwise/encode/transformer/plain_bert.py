"""A plain BERT: by ONNX Runtime on a processor; by torch on a GPU, in bfloat16 and where only torch is installed."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.graph.bert import Shape
from turnwise.encode.graph.session import BertSession
from turnwise.encode.graph.whole_numbers import Ranges
from turnwise.encode.models import folder
from turnwise.encode.transformer.precision import Chosen, runs_graphs
from turnwise.extras import has_module, require

Array = NDArray[Any]
SUFFIX = "-int8"  # of the folder with the ranges of a model


class PlainBert(Protocol):
    """Computes the states of a plain BERT."""

    def states(self, ids: Array, kinds: Array, *, picked: Array | None = None) -> NDArray[np.float32]:
        """(b, t, d) states of the last layer for (b, t) tokens and their types; or (b, p, d) of the places `picked`."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ShippedRanges:
    """The ranges of a model's inputs of linear layers, which the package ships."""

    ranges: Ranges
    of: str  # the model that they were measured on
    digest: str


@cache
def shipped_ranges(name: str) -> ShippedRanges | None:
    """The ranges of the model of this name; None if the package has none."""
    path = folder.shipped(f"{name}{SUFFIX}")
    if path is None:
        return None
    stored = folder.load(path, f"{name}{SUFFIX}")
    return ShippedRanges(Ranges.load(stored.tensors), str(stored.config["of"]), stored.digest)


def open_bert(
    shape: Shape, weights: Mapping[str, Array], *, device: str, precision: Chosen, ranges: Ranges | None
) -> PlainBert:
    """The network with these weights; in whole numbers, which ONNX Runtime alone computes, if `ranges` are given."""
    if ranges is not None:
        require("models", "a network in whole numbers (precision=fp32 needs `neural` alone)")
        return BertSession(shape, weights, ranges)
    if device == "cpu" and precision == "fp32" and (runs_graphs() or not has_module("torch")):
        require("models", "an encoder")
        return BertSession(shape, weights)
    from turnwise.encode.neural.bert import Bert

    return Bert(shape, weights, device=device, precision=precision)
