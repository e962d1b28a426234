"""Training as it stands, on disk: weights, Adam's moments, the best weights so far and the curve. No pickle.

A checkpoint of other data, settings or seed is refused. It is written beside its old version and swapped in, so that
being killed at any moment leaves one of the two whole.
"""

import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from turnwise.errors import DataError, UsageError

_STATE = "training.safetensors"
State = tuple[int, list[dict[str, float]], dict[str, torch.Tensor]]  # updates done, curve, best weights


class Checkpoint:
    """Without a folder nothing is kept and nothing is found."""

    def __init__(self, folder: Path | None, identity: dict[str, Any]) -> None:
        self.folder = folder
        self.identity = json.dumps(identity, sort_keys=True)

    def write(
        self,
        network: torch.nn.Module,
        optimiser: torch.optim.Adam,
        done: int,
        curve: list[dict[str, float]],
        best: dict[str, torch.Tensor],
    ) -> None:
        if self.folder is None:
            return
        tensors = {f"now.{name}": tensor for name, tensor in network.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in best.items()}
        for number, moments in optimiser.state_dict()["state"].items():
            tensors |= {f"adam.{number}.{name}": tensor for name, tensor in moments.items()}
        told = {"identity": self.identity, "done": str(done), "curve": json.dumps(curve)}
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = self.folder / f"{_STATE}.part"
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, draft, metadata=told)
        os.replace(draft, self.folder / _STATE)

    def read(self, network: torch.nn.Module, optimiser: torch.optim.Adam) -> State | None:
        """Puts network and optimiser back to where they were; None where there is nothing to go on from."""
        if self.folder is None or not (path := self.folder / _STATE).is_file():
            return None
        try:
            told, tensors = _metadata(path), load_file(path)
        except (SafetensorError, OSError, ValueError, KeyError) as error:
            raise DataError(f"{path}: is damaged: {error}; remove it to begin anew") from error
        if told["identity"] != self.identity:
            raise UsageError(
                f"{path} is of training with other data, settings or seed; remove it, or give another folder"
            )
        parts: dict[str, dict[str, torch.Tensor]] = {"now": {}, "best": {}, "adam": {}}
        for name, tensor in tensors.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = tensor
        network.load_state_dict(parts["now"])
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name, tensor in parts["adam"].items():
            number, _, rest = name.partition(".")
            moments.setdefault(int(number), {})[rest] = tensor
        optimiser.load_state_dict({**optimiser.state_dict(), "state": moments})
        return int(told["done"]), json.loads(told["curve"]), parts["best"]


def _metadata(path: Path) -> dict[str, str]:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        head: dict[str, dict[str, str]] = json.loads(file.read(length))
    return head["__metadata__"]
