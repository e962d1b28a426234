"""The next word: drawn from a model's distribution by a uniform number of its own for each reply.

By inverting the cumulative distribution, so that a reply depends on its own numbers and not on who else is in the
batch. Temperature 0 takes the likeliest word.
"""

import torch
from torch import Tensor

from turnwise.errors import UsageError


def check(temperature: float, top_p: float) -> None:
    if not temperature >= 0 or not 0 < top_p <= 1:
        raise UsageError(
            f"a temperature is 0 or more and top_p above 0 and at most 1, not {temperature} and {top_p}"
        )


def choose(logits: Tensor, uniform: Tensor, *, temperature: float, top_p: float = 1.0) -> Tensor:
    """(b, v) logits and (b,) uniform numbers -> (b,) words. `top_p` keeps the likeliest words that sum to it."""
    if temperature == 0:
        return logits.argmax(dim=1)
    # Double, as a sum of 50,000 small numbers in single precision does not reach 1.
    likely, words = torch.softmax(logits.double() / temperature, dim=1).sort(
        dim=1, descending=True, stable=True
    )
    reached = likely.cumsum(dim=1)
    kept = likely.masked_fill(reached - likely >= top_p, 0.0)
    ladder = kept.cumsum(dim=1)
    wanted = uniform.to(ladder).unsqueeze(1) * ladder[:, -1:]
    place = torch.searchsorted(ladder, wanted, right=True).clamp(max=ladder.shape[1] - 1)
    return words.gather(1, place).squeeze(1)
