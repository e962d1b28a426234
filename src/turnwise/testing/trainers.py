"""The contract of trainers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from turnwise.encode.models import folder
from turnwise.errors import UsageError
from turnwise.networks.training.checks import trained_problem, trainer_problem
from turnwise.networks.training.task import TrainedModel, TrainingTask
from turnwise.testing.data import training_task
from turnwise.testing.expect import expect, no_problem, raises, running

UNKNOWN = "no_such_setting"


def check_trainer(trainer: Callable[[TrainingTask], TrainedModel], task: TrainingTask | None = None) -> None:
    """Check that a trainer keeps its contract; raises `ContractError` with one sentence where it does not.

    Parameters:
        trainer: The function of a `TrainingTask` that returns a `TrainedModel`.
        task: What it is trained on, twice, with settings that make it fast. Default: `training_task()`.
    """
    no_problem(trainer_problem(trainer))
    task = training_task() if task is None else task
    before = copy.deepcopy((list(task.dialogues), list(task.items), dict(task.settings)))
    with running("training"):
        first, again = trainer(task), trainer(task)
    no_problem(trained_problem(first))
    after = (list(task.dialogues), list(task.items), dict(task.settings))
    expect(after == before, "training changed the task's dialogues, items or settings")
    expect(set(first.tensors) == set(again.tensors), "two trainings with the same seed have other tensors")
    for name, tensor in first.tensors.items():
        expect(np.isfinite(tensor).all(), f"`{name}` holds numbers that are not finite")
        expect(
            np.array_equal(tensor, again.tensors[name]),
            f"`{name}` differs between two trainings with the same seed",
        )
    with TemporaryDirectory() as place, running("writing the model folder"):
        made = folder.save(
            Path(place) / "model",
            kind=first.kind,
            tensors=first.tensors,
            config=first.config,
            card=first.card,
        )
        read = folder.load(Path(place) / "model", first.kind)
        expect(read.digest == made.digest, "the model folder reads back differently")
    asked = replace(task, settings={**task.settings, UNKNOWN: 1})
    sentence = f"an unknown setting must raise turnwise.plugins.UsageError (call task.check_settings); asked: {UNKNOWN}"
    raises(UsageError, lambda: trainer(asked), sentence)
