"""Texts to vectors by all workers: each text once, whoever needs it afterwards."""

from collections.abc import Sequence

import numpy as np

from turnwise.estimators import vectors
from turnwise.run.workers.execute import Executor
from turnwise.types import Floats

PART = 2048  # texts of a task; so many or fewer are encoded here


def encoded(texts: Sequence[str], model: str, workers: Executor) -> Floats:
    """(m, q). The parts are the same whoever encodes them, and so are the vectors."""
    parts = [texts[at : at + PART] for at in range(0, len(texts), PART)]
    if len(parts) == 1:
        return vectors.encoded(texts, model)
    return np.concatenate([found for _, found in workers.in_order(_encode, model, parts, model=True)])


def _encode(model: str, texts: Sequence[str]) -> Floats:
    return vectors.encoded(texts, model)
