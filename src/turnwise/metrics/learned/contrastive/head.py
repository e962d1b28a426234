"""The small networks on top of frozen turn vectors, as numpy reads them.

A head looks at a context vector q and a reply vector r: a layer of rectifiers over [q*r, |q-r|, q, r], then a
logit. The context is a mean of turns, each older one weighing `decay` times the next newer, or what a gated recurrent
unit (Cho et al. 2014) makes of them, oldest first. Items are computed one by one: a sum over a batch would depend, in
its last digit, on who else is in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from turnwise.encode import Vectors
from turnwise.encode.models.folder import Folder
from turnwise.metrics.learned.views import View

Tensors = Mapping[str, NDArray[Any]]
GATES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    first: Vectors  # (h, 4d)
    bias: Vectors  # (h,)
    last: Vectors  # (h,)
    offset: float
    turns: int
    decay: float
    gates: Mapping[str, Vectors] | None = None  # of the recurrent unit, where it reads the context

    @classmethod
    def of(cls, tensors: Tensors, name: str, *, turns: int, decay: float) -> "Head":
        """The head of this name among a folder's tensors."""
        parts = {
            key.removeprefix(f"{name}."): value.astype(np.float32)
            for key, value in tensors.items()
            if key.startswith(f"{name}.")
        }
        gates = {key: parts[f"unit.{key}"] for key in GATES} if "unit.weight_ih" in parts else None
        return cls(
            parts["first"], parts["bias"], parts["last"], float(parts["offset"][0]), turns, decay, gates
        )

    def logit(self, view: View, *, context: Vectors | None = None) -> float:
        """Above 0 says that the reply belongs here."""
        q = self.context(view.context) if context is None else context
        r = view.reply
        hidden = self.first @ np.concatenate([q * r, np.abs(q - r), q, r]) + self.bias
        return float(self.last @ np.maximum(hidden, 0)) + self.offset

    def logits(self, contexts: Vectors, reply: Vectors) -> Vectors:
        """(k, d) contexts as `context` makes them -> (k,): the same reply in each."""
        beside = np.broadcast_to(reply, contexts.shape)
        seen = np.concatenate([contexts * beside, np.abs(contexts - beside), contexts, beside], axis=1)
        found: Vectors = np.maximum(seen @ self.first.T + self.bias, 0) @ self.last + self.offset
        return found

    def context(self, turns: Vectors) -> Vectors:
        """(t, d) newest first -> (d,)."""
        turns = turns[: self.turns]
        return mean_context(turns, self.decay) if self.gates is None else _recur(turns[::-1], self.gates)


def head_of(folder: Folder, name: str) -> Head:
    """The head of this name in a model's folder."""
    shape = folder.config["heads"][name]
    return Head.of(folder.tensors, name, turns=int(shape["turns"]), decay=float(shape["decay"]))


def mean_context(turns: Vectors, decay: float) -> Vectors:
    weights = decay ** np.arange(len(turns), dtype=np.float32)
    mean: Vectors = (weights / weights.sum()) @ turns
    return mean


def logits(heads: Sequence[Head], view: View) -> list[float]:
    return [head.logit(view) for head in heads]


def _recur(turns: Vectors, gates: Mapping[str, Vectors]) -> Vectors:
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
    # The tanh form cannot overflow.
    half: Vectors = 0.5 * (np.tanh(0.5 * x) + 1)
    return half


def probability(logit: float) -> float:
    return float(0.5 * (np.tanh(0.5 * logit) + 1))
