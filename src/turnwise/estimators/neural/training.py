"""How all neural estimators are trained: batches of dialogues, learning-rate schedule, clipping and curves."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np
import torch

from turnwise.estimators.neural.settings import Settings
from turnwise.networks.training.checkpoint import Checkpoint
from turnwise.networks.training.loop import Hooks, descend, run
from turnwise.types import Floats, Ints


class Learner(Protocol):
    """What `train` needs: parameters, a loss of some dialogues, and measurements."""

    size: int  # number of dialogues

    def groups(self) -> list[tuple[float, list[torch.nn.Parameter]]]:
        """Groups of parameters, each with the factor of its learning rate."""
        ...

    def state(self) -> list[torch.Tensor]:
        """Further tensors that a checkpoint must hold, e.g. a target network."""
        ...

    def loss(self, dialogues: Ints) -> torch.Tensor:
        """The loss of these dialogues, by index."""
        ...

    def reading(self) -> Mapping[str, float]:
        """Name -> number at one point of the curves, over all dialogues."""
        ...


def train(
    learner: Learner,
    settings: Settings,
    *,
    seed: int,
    readings: int = 40,
    checkpoint: Checkpoint | None = None,
    hooks: Hooks = Hooks(),  # noqa: B008 - immutable
) -> dict[str, Floats]:
    """Train in place; returns the curves by name, with `iteration` (the number of steps) as their x axis.

    There are at most `readings` + 1 points of a curve, before the first step and after the last included. With a
    checkpoint, an interrupted training resumes. `hooks` may end it early; its `measured` is not used.
    """
    groups = learner.groups()
    optimiser = _optimiser(groups, settings)
    steps = settings.epochs * -(-learner.size // settings.batch)
    measured = set(np.linspace(0, steps, readings + 1).astype(int).tolist())
    live = [*(parameter for _, group in groups for parameter in group), *learner.state()]

    def update(step: int) -> None:
        """One step of gradient descent on the batch of this step, with the learning rates of the schedule."""
        for group, (times, _) in zip(optimiser.param_groups, groups, strict=True):
            group["lr"] = settings.rate * times * factor(settings, step, steps)
        dialogues = _batch(learner.size, settings, seed=seed, step=step)
        descend(optimiser, [learner.loss(dialogues)], clip=settings.clip)

    curve = run(
        update,
        lambda done: {"iteration": float(done), **learner.reading()},
        updates=steps,
        hooks=replace(hooks, measured=measured.__contains__),
        weights=lambda: {str(number): tensor for number, tensor in enumerate(live)},
        optimiser=optimiser,
        checkpoint=checkpoint,
    ).curve
    return {name: np.array([point[name] for point in curve]) for name in curve[0]}


def factor(settings: Settings, step: int, steps: int) -> float:
    """The factor of the learning rate in step `step` (from 0) of `steps`: linear warm-up times the schedule's decay."""
    warmup = max(1, settings.warmup)
    warm = min(1.0, (step + 1) / warmup)
    if settings.schedule == "linear":
        return warm * (1 - step / steps)
    if settings.schedule == "inverse-sqrt":
        return warm * math.sqrt(warmup / max(step + 1, warmup))
    return warm


def _batch(size: int, settings: Settings, *, seed: int, step: int) -> Ints:
    """Indices of the dialogues of a step; the last batch of an epoch may be smaller.

    The order of an epoch depends on its number and the seed alone.
    """
    epoch, index = divmod(step, -(-size // settings.batch))
    order = np.random.default_rng([seed, epoch]).permutation(size)
    return order[index * settings.batch : (index + 1) * settings.batch]


def _optimiser(
    groups: list[tuple[float, list[torch.nn.Parameter]]], settings: Settings
) -> torch.optim.Optimizer:
    """SGD or Adam over the groups, with the rate of each times its factor."""
    learning = [{"params": group, "lr": settings.rate * times} for times, group in groups]
    if settings.optimiser == "sgd":
        return torch.optim.SGD(learning, momentum=settings.momentum, weight_decay=settings.decay)
    return torch.optim.Adam(learning, weight_decay=settings.decay, foreach=True)
