"""Training as it stands, on disk: weights, Adam's moments, the best weights so far and the curve. No pickle.

A checkpoint of other data, settings or seed is refused.
"""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from turnwise.errors import DataError, UsageError
from turnwise.networks.training import stored

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
        parts = {"now": network.state_dict(), "best": best, "adam": stored.moments(optimiser)}
        told = {"identity": self.identity, "done": str(done), "curve": json.dumps(curve)}
        stored.write(self.folder / _STATE, parts, told)

    def read(self, network: torch.nn.Module, optimiser: torch.optim.Adam) -> State | None:
        """Puts network and optimiser back to where they were; None where there is nothing to go on from."""
        if self.folder is None or not (path := self.folder / _STATE).is_file():
            return None
        try:
            parts, told = stored.read(path)
            identity = told["identity"]
        except (SafetensorError, OSError, ValueError, KeyError) as error:
            raise DataError(f"{path}: is damaged: {error}; remove it to begin anew") from error
        if identity != self.identity:
            raise UsageError(
                f"{path} is of training with other data, settings or seed; remove it, or give another folder"
            )
        network.load_state_dict(parts["now"])
        stored.remind(optimiser, parts.get("adam", {}))
        return int(told["done"]), json.loads(told["curve"]), parts.get("best", {})
