"""Checks of a trainer of another package and of what it returns, each with one sentence for what is wrong."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import msgspec
import numpy as np

from turnwise.conformance.attributes import shown
from turnwise.networks.training.task import TrainedModel
from turnwise.protocols import Learns, trainer_extras
from turnwise.records import StatisticRecord

STORED = {np.dtype(name) for name in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")}


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
    for name, one in parts.tensors.items():
        if one.dtype not in STORED:
            wrong = f"tensor `{name}` has the type {one.dtype}"
            return f"returned a TrainedModel whose {wrong}; expected real numbers or bytes"
    for name in ("config", "card"):
        if not isinstance(getattr(parts, name), Mapping):
            return f"returned a TrainedModel with {shown(getattr(parts, name))} as `{name}`; expected a dict"
        if (odd := _not_json(getattr(parts, name), name)) is not None:
            return f"returned a TrainedModel with {odd}; expected what JSON holds, with texts as keys"
    if not isinstance(parts.findings, Sequence) or not all(
        isinstance(one, StatisticRecord) for one in parts.findings
    ):
        return "returned a TrainedModel whose `findings` are not a list of turnwise.plugins.StatisticRecord"
    try:
        msgspec.convert(msgspec.to_builtins(parts.findings), list[StatisticRecord])
    except (TypeError, msgspec.ValidationError) as error:
        return f"returned a TrainedModel with `findings` that cannot be written: {error}"
    return None


def _not_json(value: object, place: str) -> str | None:
    """The first part of a value that JSON cannot hold, with its place; None if there is none."""
    if value is None or isinstance(value, str | bool | int | float | np.integer | np.floating):
        return None
    if isinstance(value, Mapping):
        if keys := [key for key in value if not isinstance(key, str)]:
            return f"{shown(keys[0])} as a key of `{place}`"
        inside = ((f"{place}.{key}", part) for key, part in value.items())
    elif isinstance(value, list | tuple):
        inside = ((f"{place}[{at}]", part) for at, part in enumerate(value))
    else:
        return f"{shown(value)} as `{place}`"
    return next((odd for where, part in inside if (odd := _not_json(part, where)) is not None), None)
