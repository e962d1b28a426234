"""A training on disk: named parts of tensors and a few texts in the header of one safetensors file. No pickle.

It is written beside its old version and swapped in, so that being killed at any moment leaves one of the two whole.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

Part = dict[str, Tensor]


def write(path: Path, parts: Mapping[str, Mapping[str, Tensor]], told: Mapping[str, str]) -> None:
    tensors = {
        f"{part}.{name}": tensor.detach().cpu().clone().contiguous()
        for part, mine in parts.items()
        for name, tensor in mine.items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    save_file(tensors, draft, metadata=dict(told))
    draft.replace(path)


def read(path: Path) -> tuple[dict[str, Part], dict[str, str]]:
    """The parts and the texts; a part without a tensor was not written."""
    parts: dict[str, Part] = {}
    with safe_open(path, framework="pt") as file:
        for key in file.keys():  # noqa: SIM118 - not a mapping
            part, _, name = key.partition(".")
            parts.setdefault(part, {})[name] = file.get_tensor(key)
        return parts, dict(file.metadata() or {})


def moments(optimiser: torch.optim.Optimizer) -> Part:
    """What an optimiser remembers of each parameter."""
    return {
        f"{number}.{name}": torch.as_tensor(value)
        for number, mine in optimiser.state_dict()["state"].items()
        for name, value in mine.items()
        if value is not None
    }


def remind(optimiser: torch.optim.Optimizer, remembered: Mapping[str, Tensor]) -> None:
    """Put back what `moments` took."""
    state: dict[int, Part] = {}
    for key, tensor in remembered.items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = tensor
    optimiser.load_state_dict({**optimiser.state_dict(), "state": state})
