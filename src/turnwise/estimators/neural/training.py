"""The loop that all neural estimators share: batches, a schedule, clipping, curves, and going on after a stop."""

import math
from collections.abc import Iterator, Mapping
from typing import Protocol

import numpy as np
import torch

from turnwise.errors import Unmeasured
from turnwise.estimators.neural.checkpoint import Checkpoint, Curves
from turnwise.estimators.neural.settings import Settings
from turnwise.types import Floats, Ints


class Learner(Protocol):
    size: int  # dialogues

    def groups(self) -> list[tuple[float, list[torch.nn.Parameter]]]:
        """What learns, and how many times the learning rate."""
        ...

    def state(self) -> list[torch.Tensor]:
        """What it learnt beside those, and must be kept to go on."""
        ...

    def loss(self, dialogues: Ints) -> torch.Tensor: ...

    def reading(self) -> Mapping[str, float]:
        """What the curves show."""
        ...


def train(
    learner: Learner,
    settings: Settings,
    *,
    seed: int,
    readings: int = 40,
    checkpoint: Checkpoint | None = None,
) -> dict[str, Floats]:
    """Trains in place; gives the curves, against `iteration`."""
    groups = learner.groups()
    parameters = [parameter for _, group in groups for parameter in group]
    optimiser = _optimiser(groups, settings)
    a_pass = -(-learner.size // settings.batch)
    steps = settings.epochs * a_pass
    shown = set(np.linspace(0, steps, readings + 1).astype(int).tolist())
    learnt = [*parameters, *learner.state()]
    begun, curves = (0, {}) if checkpoint is None else checkpoint.restore(learnt, optimiser)
    if not begun:
        _note(curves, 0, learner)
    for step, dialogues in _batches(learner.size, settings, seed, begun):
        for group, (times, _) in zip(optimiser.param_groups, groups, strict=True):
            group["lr"] = settings.rate * times * factor(settings, step, steps)
        optimiser.zero_grad(set_to_none=True)
        learner.loss(dialogues).backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(parameters, settings.clip)
        if not torch.isfinite(norm):
            raise Unmeasured(f"the training diverged at step {step} of {steps}; a lower `rate` may hold it")
        optimiser.step()
        if step + 1 in shown:
            _note(curves, step + 1, learner)
            if checkpoint is not None:
                checkpoint.save(step + 1, learnt, optimiser, curves)
    return {name: np.array(values) for name, values in curves.items()}


def factor(settings: Settings, step: int, steps: int) -> float:
    """What the learning rate is multiplied by in a step."""
    warmup = max(1, settings.warmup)
    warm = min(1.0, (step + 1) / warmup)
    if settings.schedule == "linear":
        return warm * (1 - step / steps)
    if settings.schedule == "inverse-sqrt":
        return warm * math.sqrt(warmup / max(step + 1, warmup))
    return warm


def _batches(size: int, settings: Settings, seed: int, begun: int) -> Iterator[tuple[int, Ints]]:
    """From step `begun` on. The order of an epoch depends on its number and the seed alone."""
    step = 0
    for epoch in range(settings.epochs):
        order = np.random.default_rng([seed, epoch]).permutation(size)
        for start in range(0, size, settings.batch):
            if step >= begun:
                yield step, order[start : start + settings.batch]
            step += 1


def _optimiser(
    groups: list[tuple[float, list[torch.nn.Parameter]]], settings: Settings
) -> torch.optim.Optimizer:
    learning = [{"params": group, "lr": settings.rate * times} for times, group in groups]
    if settings.optimiser == "sgd":
        return torch.optim.SGD(learning, momentum=settings.momentum, weight_decay=settings.decay)
    return torch.optim.Adam(learning, weight_decay=settings.decay, foreach=True)


def _note(curves: Curves, step: int, learner: Learner) -> None:
    for name, value in {"iteration": float(step), **learner.reading()}.items():
        curves.setdefault(name, []).append(value)
