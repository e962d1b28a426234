"""One vector from the vectors of a text's tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    import torch

Pooling = Literal["mean", "cls", "max", "last"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)


def pool(hidden: torch.Tensor, chosen: torch.Tensor, pooling: Pooling) -> torch.Tensor:
    """(b, t, d) states and (b, t) which tokens count -> (b, d); NaN where none does.

    `cls` is the first token that counts, as `last` is the last: over a whole input that is [CLS] or its like.
    """
    import torch  # here, because the names of poolings are needed where every vector is in the cache

    some = chosen.any(dim=1, keepdim=True)
    if pooling == "mean":
        weight = chosen.to(hidden.dtype)
        pooled = torch.einsum("bt,btd->bd", weight, hidden) / weight.sum(dim=1, keepdim=True)
    elif pooling == "max":
        pooled = hidden.masked_fill(~chosen.unsqueeze(-1), -torch.inf).amax(dim=1)
    else:
        index = torch.arange(chosen.shape[1], device=chosen.device).expand_as(chosen)
        if pooling == "cls":
            picked = index.masked_fill(~chosen, chosen.shape[1] - 1).amin(dim=1)
        else:
            picked = index.masked_fill(~chosen, 0).amax(dim=1)
        pooled = hidden[torch.arange(len(hidden), device=hidden.device), picked]
    return pooled.masked_fill(~some, torch.nan)
