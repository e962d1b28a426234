"""Small networks on top of an encoder: from a vector to a scalar, by two layers with a GELU between them."""

import torch


class Head(torch.nn.Module):
    """Two layers, or one if `hidden` is 0; the initial output is near the constant `start`."""

    def __init__(self, width: int, hidden: int, *, start: float, generator: torch.Generator) -> None:
        super().__init__()
        last = hidden or width
        self.first = _linear(width, hidden, generator) if hidden else None
        self.last = _linear(last, 1, generator)
        with torch.no_grad():
            self.last.weight.mul_(0.1)
            self.last.bias.fill_(start)

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """(m, width) -> (m,)"""
        if self.first is not None:
            vectors = torch.nn.functional.gelu(self.first(vectors))
        value: torch.Tensor = self.last(vectors).squeeze(-1)
        return value


def _linear(inputs: int, outputs: int, generator: torch.Generator) -> torch.nn.Linear:
    """A linear layer with uniform weights from `generator` and zero bias; the global generator is not changed."""
    with torch.random.fork_rng(devices=[]):  # the layer's own initialisation uses the global generator
        layer = torch.nn.Linear(inputs, outputs)
    with torch.no_grad():
        layer.weight.uniform_(-(inputs**-0.5), inputs**-0.5, generator=generator)
        layer.bias.zero_()
    return layer
