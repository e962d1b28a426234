"""Sampling of the next token from a model's distribution, with one uniform number per reply of a batch.

The cumulative distribution is inverted, so a reply depends on its own random numbers and not on the rest of the
batch. Temperature 0 takes the most likely token.
"""

import torch
from torch import Tensor

from turnwise.errors import UsageError


def check_sampling(temperature: float, top_p: float) -> None:
    """Raise `UsageError` if the temperature is negative or `top_p` is not above 0 and at most 1."""
    if not temperature >= 0 or not 0 < top_p <= 1:
        raise UsageError(
            f"a temperature is 0 or more and top_p above 0 and at most 1, not {temperature} and {top_p}"
        )


def sample_tokens(logits: Tensor, uniform: Tensor, *, temperature: float, top_p: float = 1.0) -> Tensor:
    """The (b,) sampled tokens for (b, v) logits and (b,) uniform numbers; at temperature 0 the most likely tokens.

    Only the fewest most likely tokens whose probabilities sum to `top_p` or more can be sampled.
    """
    if temperature == 0:
        return logits.argmax(dim=1)
    # Double precision: in single precision 50,000 probabilities do not sum to 1.
    probabilities, tokens = torch.softmax(logits.double() / temperature, dim=1).sort(
        dim=1, descending=True, stable=True
    )
    cumulative = probabilities.cumsum(dim=1)
    kept = probabilities.masked_fill(cumulative - probabilities >= top_p, 0.0)
    cumulative_kept = kept.cumsum(dim=1)
    quantile = uniform.to(cumulative_kept).unsqueeze(1) * cumulative_kept[:, -1:]
    index = torch.searchsorted(cumulative_kept, quantile, right=True).clamp(max=cumulative_kept.shape[1] - 1)
    return tokens.gather(1, index).squeeze(1)
