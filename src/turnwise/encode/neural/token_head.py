"""The last step of a language model: from a state to the log-probability of one token of the vocabulary."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from turnwise.errors import UsageError
from turnwise.types import Floats

_ROWS = 32  # states multiplied together: 32 x 49,152 float32 are 6 MB and fit the processor cache


@dataclass(frozen=True, slots=True)
class Head:
    """The output layer of a language model in float32."""

    weight: torch.Tensor  # (vocabulary, d) float32: in bfloat16 a logit of 20 is rounded by up to .06
    bias: torch.Tensor | None

    @classmethod
    def of(cls, model: Any) -> "Head":
        """The output layer of the model; raises an error if the model changes the logits afterwards."""
        layer = model.get_output_embeddings()
        if layer is None:
            raise UsageError(f"{type(model).__name__} has no output layer that could be used apart from it")
        head = cls(layer.weight.float(), None if layer.bias is None else layer.bias.float())
        with torch.inference_mode():
            sample = torch.arange(1, 5, device=model.device).unsqueeze(0)
            own = model(input_ids=sample, use_cache=False).logits.float()
            ours = head._logits(model.base_model(input_ids=sample, use_cache=False).last_hidden_state)
        # Some models scale or cap their logits. 2^-6 is four times the rounding of bfloat16.
        if not torch.allclose(own, ours, rtol=2**-6, atol=2**-6 * float(own.abs().max())):
            raise UsageError(
                f"{type(model).__name__} changes its logits after the output layer; it is not supported"
            )
        return head

    def log_probs(self, states: torch.Tensor, targets: torch.Tensor) -> Floats:
        """(n, d) states and (n,) tokens -> (n,) natural log-probabilities."""
        parts = [
            torch.nn.functional.cross_entropy(self._logits(some), target, reduction="none")
            for some, target in zip(torch.split(states, _ROWS), torch.split(targets, _ROWS), strict=True)
        ]
        return -torch.cat(parts).double().cpu().numpy().astype(np.float64)

    def _logits(self, states: torch.Tensor) -> torch.Tensor:
        """(n, vocabulary) logits in float32."""
        return torch.nn.functional.linear(states.float(), self.weight, self.bias)
