"""Actions of the recurrent critic as vectors: acts by rule, any encoder's vectors, or a LAVA model's latent actions."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from turnwise.encode.models.folder import load, read_config
from turnwise.encode.neural.loading import default_device
from turnwise.estimators.critic.critic import is_latent
from turnwise.estimators.critic.words import RULES
from turnwise.networks.hred.encoder import padded
from turnwise.networks.lava.model import Model
from turnwise.types import Floats, Signature

_AT_ONCE = 4096  # texts encoded together


class Points(NamedTuple):
    """(m, z) Gaussians, one for each text; a plain vector has log-variance 0."""

    mean: Tensor
    log_var: Tensor


def points_of(texts: Sequence[str], source: str) -> Points:
    """The points of texts; `source` is `acts`, `semantic`, a LAVA model's folder, or an encoder's name or folder.

    Vectors of an encoder are standardised over these texts.
    """
    if source in RULES:
        return _plain(np.asarray(RULES[source](texts).encode(texts), dtype=np.float64))
    if is_latent(source):
        return LatentActions(source).points(texts)
    from turnwise.estimators.vectors import vectors

    rows = vectors(tuple(texts), source)
    spread = rows.std(axis=0)
    return _plain((rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _plain(rows: Floats) -> Points:
    """Rows as points with log-variance 0."""
    mean = torch.as_tensor(rows, dtype=torch.float32)
    return Points(mean, torch.zeros_like(mean))


class LatentActions:
    """The action encoder of a trained LAVA model, which maps a reply to its latent space."""

    def __init__(self, folder: str) -> None:
        kind = str(read_config(Path(folder))["kind"])
        stored = load(folder, kind)
        self.model = Model.of(stored, device=default_device())
        self.signature = Signature(f"{kind}@{stored.digest[:8]}")

    @torch.no_grad()
    def points(self, texts: Sequence[str]) -> Points:
        """(m, z) the Gaussians of the texts, each cut to the model's longest reply."""
        words = [self.model.words.encode(text, longest=self.model.longest) for text in texts]
        parts = torch.split(padded(words, self.model.device), _AT_ONCE)
        found = [self.model.network.action(part) for part in parts]
        return Points(*(torch.cat(part).cpu() for part in zip(*found, strict=True)))

    def encode(self, texts: Sequence[str], /) -> Floats:
        """(m, z) the means of the points."""
        return self.points(texts).mean.double().numpy()
