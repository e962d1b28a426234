"""The states of a BERT encoder, such as MiniLM, by torch: on a GPU, in bfloat16, and without ONNX Runtime.

The operations and their order are those of `transformers.BertModel`, so that the numbers are the same, bit by bit
(tests/encode/neural/test_bert.py).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from turnwise.encode.graph.bert import Shape

Array = NDArray[Any]


class Bert:
    """A plain BERT with its weights, named as in transformers."""

    def __init__(
        self, shape: Shape, weights: Mapping[str, Array], *, device: str = "cpu", precision: str = "fp32"
    ) -> None:
        self.shape, self.device = shape, device
        dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        self.weights = {
            # A copy: what is mapped from a file cannot be written to, and torch wants to be able to.
            name: torch.tensor(weight).to(device=device, dtype=dtype)
            for name, weight in weights.items()
        }

    @torch.inference_mode()
    def states(self, ids: Array, kinds: Array, *, picked: Array | None = None) -> NDArray[np.float32]:
        """(b, t, d) states of the last layer for (b, t) tokens and their types; or (b, p, d) of the places `picked`."""
        chosen = None if picked is None else torch.from_numpy(picked).to(self.device)
        found = self._states(
            torch.from_numpy(ids).to(self.device), torch.from_numpy(kinds).to(self.device), chosen
        )
        return np.asarray(found.float().cpu().numpy())

    def _states(self, ids: Tensor, kinds: Tensor, picked: Tensor | None) -> Tensor:
        """The states; the last layer need not compute those of other places."""
        of = self.weights
        found = functional.embedding(ids, of["embeddings.word_embeddings.weight"])
        found = found + functional.embedding(kinds, of["embeddings.token_type_embeddings.weight"])
        found = found + of["embeddings.position_embeddings.weight"][: ids.shape[1]]
        found = self._norm(found, "embeddings.LayerNorm")
        for layer in range(self.shape.layers - 1):
            found = self._block(found, found, f"encoder.layer.{layer}.")
        wanted = found if picked is None else found[:, picked]
        return self._block(wanted, found, f"encoder.layer.{self.shape.layers - 1}.")

    def _block(self, states: Tensor, all_states: Tensor, at: str) -> Tensor:
        """One layer for some states, which attend to all: attention and two linear maps, each added to its input."""
        batch, length, width = states.shape
        query, key, value = (
            self._linear(read, f"{at}attention.self.{name}")
            .view(batch, read.shape[1], self.shape.heads, width // self.shape.heads)
            .transpose(1, 2)
            for name, read in (("query", states), ("key", all_states), ("value", all_states))
        )
        seen = functional.scaled_dot_product_attention(query, key, value)
        seen = seen.transpose(1, 2).reshape(batch, length, width)
        states = self._norm(
            self._linear(seen, f"{at}attention.output.dense") + states, f"{at}attention.output.LayerNorm"
        )
        inner = functional.gelu(self._linear(states, f"{at}intermediate.dense"))
        return self._norm(self._linear(inner, f"{at}output.dense") + states, f"{at}output.LayerNorm")

    def _linear(self, states: Tensor, name: str) -> Tensor:
        return functional.linear(states, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _norm(self, states: Tensor, name: str) -> Tensor:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return functional.layer_norm(states, weight.shape, weight, bias, self.shape.epsilon)
