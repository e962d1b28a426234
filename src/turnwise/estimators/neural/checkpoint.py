"""A training that was stopped goes on where it was, and ends with the same numbers as one that was not."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file

Curves = dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    path: Path

    def save(
        self, step: int, parameters: Sequence[torch.Tensor], optimiser: torch.optim.Optimizer, curves: Curves
    ) -> None:
        tensors = {f"parameter.{number}": value.detach() for number, value in enumerate(parameters)}
        for number, state in optimiser.state_dict()["state"].items():
            for name, value in state.items():
                if value is not None:
                    tensors[f"state.{number}.{name}"] = torch.as_tensor(value)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(f".{os.getpid()}")
        written = {name: tensor.contiguous().clone() for name, tensor in tensors.items()}
        save_file(written, part, metadata={"step": str(step), "curves": json.dumps(curves)})
        part.replace(self.path)

    def restore(
        self, parameters: Sequence[torch.Tensor], optimiser: torch.optim.Optimizer
    ) -> tuple[int, Curves]:
        """The next step and the curves so far; both empty where nothing was kept."""
        if not self.path.is_file():
            return 0, {}
        with safe_open(self.path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
            meta: Mapping[str, str] = file.metadata()
        with torch.no_grad():
            for number, parameter in enumerate(parameters):
                parameter.copy_(tensors[f"parameter.{number}"])
        state: dict[int, dict[str, Any]] = {}
        for name, tensor in tensors.items():
            kind, number_, *rest = name.split(".")
            if kind == "state":
                state.setdefault(int(number_), {})[rest[0]] = tensor
        optimiser.load_state_dict({**optimiser.state_dict(), "state": state})
        return int(meta["step"]), json.loads(meta["curves"])
