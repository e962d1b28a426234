"""The loop that every training runs in: updates, measurements, best weights, early stopping, checkpoints.

`run` counts updates and knows nothing of the model: what differs between trainings (the update, the measurement, when
to measure, which point is best, when to stop) is passed in as small functions. `descend` is one gradient step, and
`fit` is the usual training by epochs on top of both.

A run that was killed and resumed ends in the same weights as one that was not (on one machine and device): all
randomness of an update must follow from the seed and the number of the update, and everything else that changes a
number must be in the checkpoint.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from turnwise.errors import Unmeasured, UsageError
from turnwise.networks.training.checkpoint import (
    FILE,
    Checkpoint,
    Curve,
    Point,
    Progress,
    Weights,
    copy_of,
    restore_weights,
)
from turnwise.types import digest

Losses = Callable[[Sequence[int]], Tensor]  # positions of examples -> (b,) the loss of each
Say = Callable[[str], None]  # takes one line of progress


class Stop(Exception):
    """Raised by an update that must not be made: the training ends as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What differs between trainings, beside the update and the measurement. Defaults: measure never, keep no best."""

    measured: Callable[[int], bool] = lambda _: False  # whether to measure after this number of updates
    best: Callable[[Curve], int] | None = None  # which point of the curve is best: its weights are kept
    finished: Callable[[Curve], bool] = lambda _: False  # early stopping, asked before every round
    stop: Callable[[], bool] = lambda: False  # asked after every measurement, e.g. whether time is up
    # The context in which a round runs that begins after this number of updates.
    around: Callable[[int], AbstractContextManager[None]] = lambda _: nullcontext()
    line: Callable[[Point], str] | None = None  # the progress line of a point, "POSITION: ..."


def run(
    update: Callable[[int], object],
    measure: Callable[[int], Point] = lambda _: {},
    *,
    updates: int,
    hooks: Hooks = Hooks(),  # noqa: B008 - immutable
    weights: Callable[[], Weights] = dict,
    optimiser: torch.optim.Optimizer | None = None,
    checkpoint: Checkpoint | None = None,
    say: Say = lambda _: None,
) -> Progress:
    """Make `updates` updates, in rounds that end with a measurement; the best weights are in the result.

    `weights` returns the live tensors of the model (`model.state_dict`). `update(number)`, numbered from 0, makes one
    update, and may raise `Stop`. `measure(done)` returns a point of the curve. With a checkpoint, an interrupted run
    resumes.
    """
    progress = None if checkpoint is None else checkpoint.read(weights(), optimiser)
    if progress is None:
        progress = Progress()
    elif hooks.line is not None:
        say(f"resumed after {hooks.line(progress.curve[-1]).partition(':')[0]}")
    measured_at = progress.updates if progress.curve else -1

    def look() -> None:
        """Measure, keep the weights if this point is the best, write the checkpoint and say the progress line.

        No checkpoint is written before the first update.
        """
        nonlocal measured_at
        measured_at = progress.updates
        progress.curve.append(measure(measured_at))
        if hooks.best is not None and hooks.best(progress.curve) == len(progress.curve) - 1:
            progress.best = copy_of(weights())
        if checkpoint is not None and measured_at:
            checkpoint.write(progress, weights(), optimiser)
        if hooks.line is not None:
            say(hooks.line(progress.curve[-1]))

    if not progress.updates and hooks.measured(0):
        look()
    try:
        while progress.updates < updates and not hooks.finished(progress.curve):
            with hooks.around(progress.updates):
                _round(update, progress, updates, hooks.measured)
            if hooks.measured(progress.updates):
                look()
                if hooks.stop():
                    break
    except Stop:
        if measured_at != progress.updates:
            look()
    return progress


def _round(
    update: Callable[[int], object], progress: Progress, updates: int, measured: Callable[[int], bool]
) -> None:
    """Make updates up to the next measurement, or to the last one; at least one."""
    while True:
        update(progress.updates)
        progress.updates += 1
        if progress.updates == updates or measured(progress.updates):
            return


def descend(optimiser: torch.optim.Optimizer, losses: Iterable[Tensor], *, clip: float | None) -> None:
    """One gradient step: the gradients of the partial losses add up and are clipped by their norm (None: not clipped).

    Raises `Unmeasured` if the loss is not finite or, with `clip`, the norm.
    """
    optimiser.zero_grad(set_to_none=True)
    total = 0.0
    for loss in losses:
        loss.backward()  # type: ignore[no-untyped-call]
        total += float(loss.detach())
    if not math.isfinite(total):
        raise Unmeasured("training diverged: the loss is not finite; a lower learning rate (`rate`) may help")
    if clip is not None:
        parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
        if not torch.isfinite(torch.nn.utils.clip_grad_norm_(parameters, clip)):
            raise Unmeasured(
                "training diverged: the gradient is not finite; a lower learning rate (`rate`) may help"
            )
    optimiser.step()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How `fit` trains: AdamW by epochs, with early stopping."""

    epochs: int = 20
    batch: int = 64
    piece: int | None = None  # examples computed at once; None: the whole batch
    rate: float = 1e-3
    decay: float = 0.0  # AdamW's
    clip: float | None = 1.0
    patience: int | None = 3  # epochs without a better validation before stopping; None: never
    better: str = "lower"  # which end of the validation number is good
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.epochs, self.batch, self.piece or 1) < 1:
            raise UsageError("epochs, batch and piece are 1 or more")
        if not self.rate > 0:
            raise UsageError(f"the learning rate is above 0, not {self.rate:g}")

    def best(self, curve: Curve) -> int:
        """The index of the point with the best `validation`, the first of equals; a number is better than NaN.

        0 for an empty curve.
        """
        sign, best = (1 if self.better == "lower" else -1), 0
        for index, point in enumerate(curve):
            value = curve[best]["validation"]
            if math.isnan(value) or sign * point["validation"] < sign * value:
                best = index
        return best

    def is_stale(self, curve: Curve) -> bool:
        """Whether `patience` or more points came after the best one; false without `patience` or for an empty curve."""
        waited = len(curve) - 1 - self.best(curve)
        return self.patience is not None and bool(curve) and waited >= self.patience


def fit(
    model: torch.nn.Module,
    losses: Losses,
    n: int,
    *,
    plan: Plan,
    validate: Callable[[], float] | None = None,
    measures: Callable[[], Mapping[str, float]] | None = None,
    work: Path | None = None,
    about: str = "",
    stop: Callable[[], bool] | None = None,
    say: Say = lambda _: None,
) -> Curve:
    """Train `model` on `n` examples in place, leave the weights of its best epoch, and return the curve.

    An epoch's order is drawn from (seed, epoch). The gradient of a batch is the sum over its examples divided by their
    number, whatever the size of the pieces it is computed in: eight pieces of one give the curve of one piece of eight,
    up to rounding. `about` tells runs apart that share a folder: a checkpoint of another is not used. `measures` are
    further numbers for the curve; `stop` is asked after every epoch.
    """
    optimiser = torch.optim.AdamW(model.parameters(), lr=plan.rate, weight_decay=plan.decay)
    steps = -(-n // plan.batch)
    total, order = 0.0, list[int]()

    def pieces(batch: Sequence[int]) -> Iterator[Tensor]:
        """The loss of each piece of the batch, divided by the size of the batch; adds to the epoch's total."""
        nonlocal total
        for at in range(0, len(batch), plan.piece or len(batch)):
            loss = losses(batch[at : at + (plan.piece or len(batch))]).sum()
            total += float(loss.detach())
            yield loss / len(batch)

    def update(number: int) -> None:
        """One gradient step on a batch; the first of an epoch draws its order."""
        nonlocal total, order
        epoch, step = divmod(number, steps)
        if step == 0:
            total, order = 0.0, np.random.default_rng([plan.seed, epoch]).permutation(n).tolist()
        descend(optimiser, pieces(order[step * plan.batch : (step + 1) * plan.batch]), clip=plan.clip)

    def measure(done: int) -> Point:
        """A point of the curve: epoch, mean training loss, `validation` (that loss without `validate`), `measures`."""
        model.eval()
        loss = total / n
        with torch.no_grad():
            value = validate() if validate is not None else loss
            more = measures() if measures is not None else {}
        return {"epoch": done // steps, "loss": loss, "validation": value, **more}

    @contextmanager
    def seeded(done: int) -> Iterator[None]:
        """Dropout and the like draw from torch's own generator: seeded for this epoch, and put back afterwards."""
        model.train()
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            torch.manual_seed(int(digest(str(plan.seed), str(done // steps)), 16) % 2**63)
            yield

    identity = digest(json.dumps(asdict(plan), sort_keys=True), about, str(n))
    progress = run(
        update,
        measure,
        updates=plan.epochs * steps,
        hooks=Hooks(
            measured=lambda done: done > 0 and done % steps == 0,
            best=plan.best,
            finished=plan.is_stale,
            stop=stop or (lambda: False),
            around=seeded,
            line=lambda point: (
                f"epoch {point['epoch']}/{plan.epochs}: "
                f"loss {point['loss']:.4f}, validation {point['validation']:.4f}"
            ),
        ),
        weights=model.state_dict,
        optimiser=optimiser,
        checkpoint=None if work is None else Checkpoint(work / FILE, identity),
        say=say,
    )
    restore_weights(model.state_dict(), progress.best)
    model.eval()
    return progress.curve
