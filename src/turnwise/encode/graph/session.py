"""Computes the states of a BERT encoder by ONNX Runtime, in float32 or in whole numbers.

A number does not depend on the other inputs of its batch, nor on the number of threads (tests/encode/graph/
test_session.py). Of the weights every session has the same copy.
"""

import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.graph.bert import WORD_VECTORS, Shape, Variant, write
from turnwise.encode.graph.onnx_format import Network
from turnwise.encode.graph.whole_numbers import Ranges, quantised

Array = NDArray[Any]


class BertSession:
    """A plain BERT with its weights, named as in transformers; with `ranges`, in whole numbers."""

    def __init__(self, shape: Shape, weights: Mapping[str, Array], ranges: Ranges | None = None) -> None:
        self.shape, self.ranges = shape, ranges
        self.words = weights[WORD_VECTORS]
        rows = {name: turned(name, weights[name]) for name in weights if name != WORD_VECTORS}
        self.weights = rows if ranges is None else quantised(rows, ranges, shape)
        self._values: list[Any] = []

    def states(self, ids: Array, kinds: Array, *, picked: Array | None = None) -> NDArray[np.float32]:
        """(b, t, d) states of the last layer for (b, t) tokens and their types; or (b, p, d) of the places `picked`."""
        inputs = {"words": self.words[ids], "kinds": kinds, "places": np.arange(ids.shape[1])}
        if picked is None:
            (found,) = self._whole.run(None, inputs)
        else:
            (found,) = self._picked.run(None, {**inputs, "picked": picked})
        return np.asarray(found)

    @cached_property
    def _whole(self) -> Any:
        """The session that gives all states."""
        return self._session(picked=False)

    @cached_property
    def _picked(self) -> Any:
        """The session that gives some states."""
        return self._session(picked=True)

    def _session(self, *, picked: bool) -> Any:
        """A session with these weights, which lives as long as this object."""
        network = write(self.shape, Variant(picked=picked, quantised=self.ranges is not None))
        running, values = session(network, self.weights)
        self._values.append(values)
        return running


def session(network: Network, weights: Mapping[str, Array]) -> tuple[Any, list[Any]]:
    """A network with its weights, ready to run, and what must live as long as it: weights are not copied."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    # The network is written with the operators that are fastest; more would replace some by slower ones.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    # As torch does; 0 is one thread for each core.
    options.intra_op_num_threads = _threads(os.environ.get("OMP_NUM_THREADS", ""))
    # Threads sleep while they wait, see run/workers/threads.py. Memory of a batch is given back after it.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False
    names = list(network.weights)
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(weights[name]) for name in names]
    options.add_external_initializers(names, values)
    running = onnxruntime.InferenceSession(network.written(), options, providers=["CPUExecutionProvider"])
    return running, values


def _threads(stated: str) -> int:
    """The number of threads that OMP_NUM_THREADS states, which may have one for each level; 0 without a number."""
    first = stated.partition(",")[0].strip()
    return int(first) if first.isdecimal() else 0


def turned(name: str, weight: Array) -> Array:
    """A weight as the network reads it: matrices of linear layers have a row for each input."""
    is_linear = weight.ndim == 2 and not name.startswith("embeddings.")
    return np.ascontiguousarray(weight.T if is_linear else weight)
