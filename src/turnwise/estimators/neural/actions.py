"""Replies as points that a critic reads: binary acts, any encoder's vectors, or a LAVA model's latent actions."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from turnwise.encode.folder import is_trained, load, read_config
from turnwise.encode.neural.hierarchical import padded
from turnwise.encode.neural.lava.model import KINDS, Model
from turnwise.estimators.critic.words import ACTS, BinaryActs
from turnwise.types import Floats


class Points(NamedTuple):
    """(m, z) each; a vector without a spread of its own has that of a standard normal."""

    mean: Tensor
    log_var: Tensor


def points_of(texts: Sequence[str], source: str) -> Points:
    """`acts`, the folder of a LAVA model, or the name or folder of an encoder."""
    if source == ACTS:
        return _still(BinaryActs(texts).encode(texts))
    folder = Path(source)
    if is_trained(folder) and (kind := str(read_config(folder)["kind"])) in KINDS:
        return _latent(Model.of(load(folder, kind), device="cpu"), texts)
    from turnwise.estimators.vectors import vectors

    rows = vectors(tuple(texts), source)
    spread = rows.std(axis=0)
    return _still((rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _still(rows: Floats) -> Points:
    mean = torch.as_tensor(rows, dtype=torch.float32)
    return Points(mean, torch.zeros_like(mean))


@torch.no_grad()
def _latent(model: Model, texts: Sequence[str]) -> Points:
    words = padded([model.words.encode(text, longest=model.longest) for text in texts], torch.device("cpu"))
    found = [model.network.action(part) for part in torch.split(words, 4096)]
    return Points(torch.cat([one.mean for one in found]), torch.cat([one.log_var for one in found]))
