"""Pseudo-state padding (ENIGMA, 3.1): every dialogue becomes T_max steps, and the last leads to the first of another.

Step 0 is the pseudo state Pad_{T_max} of the dialogue before; steps 1 to T_i are the dialogue; then come Pad_{T_i + 1}
and so on up to Pad_{T_max}. Only with padding is the value of the infinite chain that of the policy over T_max: without
it a dialogue is weighted by its length (Example 1 of A.1). T_i must be at most T_max - 1, which the paper does not say:
the zeta of step T_max is not in the loss.
"""

import numpy as np
import torch

from turnwise.errors import UsageError
from turnwise.types import Ints


def horizon(lengths: Ints, t_max: int | None) -> int:
    """T_max: `t_max` if given, otherwise the length of the longest dialogue plus 1.

    Raises a `UsageError` if `t_max` is too small for a dialogue.
    """
    longest = int(np.max(lengths))
    if t_max is None:
        return longest + 1
    beyond = int((lengths > t_max - 1).sum())
    if beyond:
        raise UsageError(
            f"{beyond} of {len(lengths)} dialogues have more than t_max - 1 = {t_max - 1} turns; "
            f"t_max={longest + 1} is enough for all"
        )
    return t_max


def padded(turns: torch.Tensor, inside: torch.Tensor, pseudo: torch.Tensor) -> torch.Tensor:
    """(B, T) values at turns, (B, T) whether there is such a turn, (T_max,) values at Pad_{T_max}, Pad_1, Pad_2, ...

    Returns (B, T_max + 1), steps 0 to T_max.
    """
    batch, longest = turns.shape
    steps = torch.cat([pseudo, pseudo[:1]]).repeat(batch, 1)
    within = torch.where(inside, turns, steps[:, 1 : longest + 1])
    return torch.cat([steps[:, :1], within, steps[:, longest + 1 :]], dim=1)


def following(turns: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
    """(B, T) the value at the next turn, without padding: after the last comes the first turn of any dialogue."""
    start = turns[:, 0].mean()
    after = torch.cat([turns[:, 1:], turns[:, :1]], dim=1)
    goes_on = torch.cat([inside[:, 1:], torch.zeros_like(inside[:, :1])], dim=1)
    return torch.where(goes_on, after, start)
