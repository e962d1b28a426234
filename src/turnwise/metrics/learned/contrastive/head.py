"""Inference of contrastive heads in numpy: small networks on frozen turn vectors.

A head takes a context vector q and a reply vector r: one hidden layer of rectified linear units over [q*r, |q-r|, q,
r], then a logit. The context vector is a weighted mean of the turns, in which each older turn has `decay` times the
weight of the next newer one, or the last state of a gated recurrent unit (Cho et al. 2014), oldest turn first. Items
are computed one by one, because the last digit of a batched product depends on the other items of the batch.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.encode import Vectors
from turnwise.encode.models.folder import Folder
from turnwise.metrics.learned.encoded_items import EncodedItem

Tensors = Mapping[str, NDArray[Any]]
GATES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")  # parameters of the recurrent unit, by torch's names


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """A trained contrastive head."""

    first: Vectors  # (h, 4d) weights of the hidden layer
    bias: Vectors  # (h,) of the hidden layer
    last: Vectors  # (h,) weights of the logit
    offset: float  # bias of the logit
    turns: int  # turns of context that are used
    decay: float  # weight of a turn relative to the next newer one
    gates: Mapping[str, Vectors] | None = None  # parameters of the recurrent unit; None: a weighted mean

    @classmethod
    def of(cls, tensors: Tensors, name: str, *, turns: int, decay: float) -> "Head":
        """The head of this name among a folder's tensors.

        `turns` of context are used, with weights that fall by `decay`.
        """
        parts = {
            key.removeprefix(f"{name}."): value.astype(np.float32)
            for key, value in tensors.items()
            if key.startswith(f"{name}.")
        }
        gates = {key: parts[f"unit.{key}"] for key in GATES} if "unit.weight_ih" in parts else None
        return cls(
            parts["first"], parts["bias"], parts["last"], float(parts["offset"][0]), turns, decay, gates
        )

    def logit(self, item: EncodedItem, *, context: Vectors | None = None) -> float:
        """The logit of an item; above 0 the reply is more likely the logged one than a wrong one.

        `context` is the context vector (d,), if it is already computed.
        """
        return self.of_input(
            head_input(self.context(item.context) if context is None else context, item.reply)
        )

    def of_input(self, inputs: Vectors) -> float:
        """The logit from the input (4d,) of the hidden layer."""
        return float(self.last @ np.maximum(self.first @ inputs + self.bias, 0)) + self.offset

    def logits(self, contexts: Vectors, reply: Vectors) -> Vectors:
        """(k,) the logits of one reply in k contexts, whose vectors (k, d) come from `context`."""
        replies = np.broadcast_to(reply, contexts.shape)
        inputs = np.concatenate([contexts * replies, np.abs(contexts - replies), contexts, replies], axis=1)
        logits: Vectors = np.maximum(inputs @ self.first.T + self.bias, 0) @ self.last + self.offset
        return logits

    def context(self, turns: Vectors) -> Vectors:
        """(d,) the context vector from turn vectors (t, d), newest first; only the first `self.turns` are used."""
        turns = turns[: self.turns]
        return mean_context(turns, self.decay) if self.gates is None else _gru(turns[::-1], self.gates)


def head_input(q: Vectors, r: Vectors) -> Vectors:
    """(4d,) the input of a head's hidden layer from the context vector and the reply vector."""
    return np.concatenate([q * r, np.abs(q - r), q, r])


def head_of(folder: Folder, name: str) -> Head:
    """The head of this name in a model's folder."""
    shape = folder.config["heads"][name]
    return Head.of(folder.tensors, name, turns=int(shape["turns"]), decay=float(shape["decay"]))


def mean_context(turns: Vectors, decay: float) -> Vectors:
    """(d,) weighted mean of turns (t, d), newest first; each older turn has `decay` times the weight of the next."""
    weights = decay ** np.arange(len(turns), dtype=np.float32)
    mean: Vectors = (weights / weights.sum()) @ turns
    return mean


def _gru(turns: Vectors, gates: Mapping[str, Vectors]) -> Vectors:
    """(d,) the last state of the gated recurrent unit over turns (t, d), oldest first."""
    state = np.zeros(gates["weight_hh"].shape[1], dtype=np.float32)
    for turn in turns:
        into = gates["weight_ih"] @ turn + gates["bias_ih"]
        back = gates["weight_hh"] @ state + gates["bias_hh"]
        (reset_in, update_in, new_in), (reset_back, update_back, new_back) = (
            np.split(into, 3),
            np.split(back, 3),
        )
        reset, update = _sigmoid(reset_in + reset_back), _sigmoid(update_in + update_back)
        new = np.tanh(new_in + reset * new_back)
        state = ((1 - update) * new + update * state).astype(np.float32)
    return state


def _sigmoid(x: Vectors) -> Vectors:
    """The logistic function of each element."""
    # The tanh form cannot overflow.
    half: Vectors = 0.5 * (np.tanh(0.5 * x) + 1)
    return half


def probability(logit: float) -> float:
    """The logistic function of a logit: 0 to 1."""
    return float(0.5 * (np.tanh(0.5 * logit) + 1))
