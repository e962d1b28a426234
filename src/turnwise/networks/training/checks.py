"""Checks of a trainer of another package and of what it returns, each with one sentence for what is wrong."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np

from turnwise.conformance.attributes import shown
from turnwise.networks.training.task import TrainedModel
from turnwise.protocols import Learns, trainer_extras
from turnwise.types import Finding


def trainer_problem(trainer: object) -> str | None:
    """What keeps an object from being a trainer; None where nothing does."""
    if isinstance(trainer, type):
        return f"is the class {trainer.__name__}; expected a function, or an instance of the class"
    if not callable(trainer):
        return f"is {shown(trainer)}; expected a function of a TrainingTask that returns a TrainedModel"
    learns: object = trainer_extras(trainer).learns
    if learns not in get_args(Learns):
        return f"`learns` is {shown(learns)}; expected one of {', '.join(get_args(Learns))}"
    takes_guard: object = trainer_extras(trainer).takes_guard
    if not isinstance(takes_guard, bool):
        return f"`takes_guard` is {shown(takes_guard)}; expected True or False"
    return None


def trained_problem(trained: object) -> str | None:
    """What keeps a trainer's result from being written as a model folder; None where nothing does."""
    if not isinstance(trained, TrainedModel):
        return f"returned {shown(trained)}; expected a turnwise.plugins.TrainedModel"
    parts: Any = trained  # fields may hold anything, whatever their annotations say
    if not isinstance(parts.kind, str) or not parts.kind:
        return f"returned a TrainedModel with {shown(parts.kind)} as `kind`; expected a name"
    if not isinstance(parts.tensors, Mapping) or not all(
        isinstance(name, str) and isinstance(one, np.ndarray) for name, one in parts.tensors.items()
    ):
        return "returned a TrainedModel whose `tensors` is not a dict of numpy arrays"
    for name in ("config", "card"):
        if not isinstance(getattr(parts, name), Mapping):
            return f"returned a TrainedModel with {shown(getattr(parts, name))} as `{name}`; expected a dict"
    if not isinstance(parts.findings, Sequence) or not all(
        isinstance(one, Finding) for one in parts.findings
    ):
        return "returned a TrainedModel whose `findings` are not a list of turnwise.plugins.Finding"
    return None
