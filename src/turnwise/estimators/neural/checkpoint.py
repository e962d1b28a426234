"""A training that was stopped goes on where it was, and ends with the same numbers as one that was not."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from turnwise.networks.training import stored

Curves = dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    path: Path

    def save(
        self, step: int, parameters: Sequence[torch.Tensor], optimiser: torch.optim.Optimizer, curves: Curves
    ) -> None:
        named = {str(number): value for number, value in enumerate(parameters)}
        told = {"step": str(step), "curves": json.dumps(curves)}
        stored.write(self.path, {"parameter": named, "state": stored.moments(optimiser)}, told)

    def restore(
        self, parameters: Sequence[torch.Tensor], optimiser: torch.optim.Optimizer
    ) -> tuple[int, Curves]:
        """The next step and the curves so far; both empty where nothing was kept."""
        if not self.path.is_file():
            return 0, {}
        parts, told = stored.read(self.path)
        with torch.no_grad():
            for number, parameter in enumerate(parameters):
                parameter.copy_(parts["parameter"][str(number)])
        stored.remind(optimiser, parts.get("state", {}))
        return int(told["step"]), json.loads(told["curves"])
