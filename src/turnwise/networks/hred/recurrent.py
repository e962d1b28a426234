"""A recurrent layer with layer normalisation inside the cell (Ba et al. 2016, eq. 20-22), which fused kernels lack."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn


class NormalisedLSTM(nn.Module):
    """An LSTM with layer normalisation for sequences of different lengths; padding is not computed."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.of_input = nn.Linear(inputs, 4 * hidden, bias=False)
        self.of_state = nn.Linear(hidden, 4 * hidden, bias=False)
        self.norm_input = nn.LayerNorm(4 * hidden)
        self.norm_state = nn.LayerNorm(4 * hidden, bias=False)
        self.norm_cell = nn.LayerNorm(hidden)
        with torch.no_grad():
            self.norm_input.bias[hidden : 2 * hidden] = (
                1.0  # bias of the forget gate: keep the state at first
            )

    def forward(self, inputs: Tensor, lengths: Sequence[int]) -> Tensor:
        """(b, t, d) -> (b, t, h); each length is 1 or more, and after its end a sequence keeps its last state."""
        sizes = np.asarray(lengths)
        order = np.argsort(
            -sizes, kind="stable"
        )  # longest first, so the sequences that continue are always a prefix
        alive = [int(np.sum(sizes > step)) for step in range(int(sizes.max()))]
        driven = self.norm_input(self.of_input(inputs[torch.as_tensor(order, device=inputs.device)]))
        state = cell = inputs.new_zeros(len(sizes), self.hidden)
        states = []
        # `unbind`, because the gradient of a slice of `driven` would fill a table of its whole size at every step.
        for now, count in zip(driven[:, : len(alive)].unbind(dim=1), alive, strict=True):
            state, cell = self._step(now[:count], state[:count], cell[:count])
            states.append(state)
        starts = np.cumsum([0, *alive[:-1]])
        ends = np.minimum(np.arange(inputs.shape[1]), sizes[:, None] - 1)  # (b, t)
        indices = starts[ends] + np.argsort(order, kind="stable")[:, None]
        return torch.cat(states)[torch.as_tensor(indices, device=inputs.device)]

    def _step(self, driven: Tensor, state: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        """State and cell after one step; `driven` is the normalised contribution of the input."""
        gates = driven + self.norm_state(self.of_state(state))
        into, forget, out = gates[:, : 3 * self.hidden].sigmoid().chunk(3, dim=1)
        cell = forget * cell + into * gates[:, 3 * self.hidden :].tanh()
        return out * self.norm_cell(cell).tanh(), cell
