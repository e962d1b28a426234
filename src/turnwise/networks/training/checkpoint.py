"""The checkpoint of a training: weights, optimiser state, best weights so far and the curve, in one file. No pickle.

The file is written under another name and then moved into place, so a process that is killed at any moment leaves
either the old checkpoint or the new one, never half of one. Its header has a checksum of everything else in it; a file
without one is of an earlier version and not used.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from turnwise.errors import DataError, UsageError
from turnwise.logs.files import atomic

FILE = "checkpoint.safetensors"  # its name in a work folder
Point = dict[str, float]  # one record of the curve
Curve = list[Point]
Weights = Mapping[str, Tensor]


@dataclass(slots=True)
class Progress:
    """How far a training has come."""

    updates: int = 0  # updates done
    curve: Curve = field(default_factory=list)
    best: dict[str, Tensor] = field(default_factory=dict)  # weights at the best point of the curve


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checkpoint file of one training."""

    path: Path
    identity: str  # hash of data, settings and seed: a checkpoint of another training is not used
    strict: bool = (
        False  # raise an error if the file is damaged or of another training, instead of starting anew
    )

    def write(
        self, progress: Progress, weights: Weights, optimiser: torch.optim.Optimizer | None = None
    ) -> None:
        """Write weights, best weights, curve and optimiser state, replacing the old checkpoint."""
        parts = {"weights": weights, "best": progress.best, "optimiser": _moments(optimiser)}
        tensors = {
            f"{part}.{name}": tensor.detach().cpu().clone().contiguous()
            for part, named in parts.items()
            for name, tensor in named.items()
        }
        header = {
            "identity": self.identity,
            "updates": str(progress.updates),
            "curve": json.dumps(progress.curve),
        }
        header["checksum"] = _checksum(header, tensors)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with atomic(self.path) as file:
            file.write(save(tensors, metadata=header))

    def read(self, weights: Weights, optimiser: torch.optim.Optimizer | None = None) -> Progress | None:
        """Restore `weights` and `optimiser` in place, and return the progress; None if there is nothing to resume from.

        A damaged file, or one of another training, is an error if `strict`, otherwise nothing to resume from.
        """
        try:
            tensors, header = _read(self.path)
            if "checksum" not in header:
                return None
            if header.pop("checksum") != _checksum(header, tensors):
                raise ValueError("its checksum differs")
            identity, updates, curve = header["identity"], int(header["updates"]), json.loads(header["curve"])
        except FileNotFoundError:
            return None
        except (SafetensorError, OSError, ValueError, KeyError) as error:
            if self.strict:
                raise DataError(f"{self.path}: is damaged: {error}; remove it to begin anew") from error
            return None
        if identity != self.identity:
            if self.strict:
                raise UsageError(
                    f"{self.path} is of training with other data, settings or seed; "
                    "remove it, or give another folder"
                )
            return None
        parts = _parts(tensors)
        restore_weights(weights, parts["weights"])
        if optimiser is not None:
            restore_optimizer(optimiser, parts.get("optimiser", {}))
        return Progress(updates, curve, parts.get("best", {}))


def copy_of(weights: Weights) -> dict[str, Tensor]:
    """A copy of the weights on the CPU."""
    return {name: tensor.detach().cpu().clone() for name, tensor in weights.items()}


@torch.no_grad()
def restore_weights(weights: Weights, saved: Weights) -> None:
    """Copy the saved values into the tensors `weights`, which a model shares; a `DataError` if the names differ."""
    if weights.keys() != saved.keys():
        raise DataError("the checkpoint holds the weights of another network")
    for name, tensor in weights.items():
        tensor.copy_(saved[name])


def restore_optimizer(optimiser: torch.optim.Optimizer, saved: Weights) -> None:
    """Restore what `_moments` took from an optimiser of the same parameters."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in saved.items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = tensor
    optimiser.load_state_dict({**optimiser.state_dict(), "state": state})


def _moments(optimiser: torch.optim.Optimizer | None) -> dict[str, Tensor]:
    """What an optimiser stores for each parameter (Adam: the moments), named `PARAMETER.NAME`."""
    stored = {} if optimiser is None else optimiser.state_dict()["state"]
    return {
        f"{number}.{name}": torch.as_tensor(value)
        for number, own in stored.items()
        for name, value in own.items()
        if value is not None
    }


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors by name, and the header."""
    with safe_open(path, framework="pt") as file:
        return {key: file.get_tensor(key) for key in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118 - not a mapping


def _parts(tensors: Weights) -> dict[str, dict[str, Tensor]]:
    """The tensors of each part by their names in it; a part without tensors is absent."""
    parts: dict[str, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        part, _, name = key.partition(".")
        parts.setdefault(part, {})[name] = tensor
    return parts


def _checksum(header: Mapping[str, str], tensors: Weights) -> str:
    """The CRC-32 of the header and of all tensors with their names, types and shapes."""
    found = zlib.crc32(json.dumps(sorted(header.items())).encode())
    for name, tensor in sorted(tensors.items()):
        found = zlib.crc32(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode(), found)
        found = zlib.crc32(tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes(), found)
    return f"{found:08x}"
