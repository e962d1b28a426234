"""The loop that trains every model of ours: epochs of batches, checkpoints, resumption, early stopping.

An epoch's order is drawn from (seed, epoch), and everything else that moves a number is in the checkpoint, so a run
that was killed and resumed ends in the same weights as one that was not (on one machine and device). The gradient of
a batch is the sum over its examples divided by their number, whatever the size of the pieces it is computed in: eight
pieces of one give the curve of one piece of eight, up to rounding.

Optimiser: AdamW, gradients clipped by norm.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError

from turnwise.errors import DataError, UsageError
from turnwise.networks.training import stored
from turnwise.types import digest

Losses = Callable[[Sequence[int]], torch.Tensor]  # places of examples -> (b,) a loss each
CHECKPOINT = "checkpoint.safetensors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
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


@dataclass(slots=True)
class _State:
    epoch: int = 0  # epochs done
    curve: list[dict[str, float]] = field(default_factory=list)
    best: float = math.nan
    waited: int = 0
    kept: dict[str, torch.Tensor] = field(default_factory=dict)  # the weights of the best epoch


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
    say: Callable[[str], None] = lambda _: None,
) -> list[dict[str, float]]:
    """Train `model` on `n` examples in place, leave the weights of its best epoch, and return the curve.

    `about` tells runs apart that share a folder: a checkpoint of another is not taken up. `measures` are further
    numbers for the curve; `stop` is asked after every epoch whether it was the last. Losses that are not finite stop
    the training with an error.
    """
    optimiser = torch.optim.AdamW(model.parameters(), lr=plan.rate, weight_decay=plan.decay)
    name = digest(json.dumps(asdict(plan), sort_keys=True), about, str(n))
    state = _State()
    if work is not None and (found := _read(work / CHECKPOINT, name, model, optimiser)):
        state = found
        say(f"resumed after epoch {state.epoch}")
    while state.epoch < plan.epochs and not _is_over(state, plan):
        with _seeded(plan.seed, state.epoch):
            loss = _epoch(model, losses, n, plan, optimiser, state.epoch)
        model.eval()
        with torch.no_grad():
            value = validate() if validate is not None else loss
            more = dict(measures()) if measures is not None else {}
        state.epoch += 1
        state.curve.append({"epoch": state.epoch, "loss": loss, "validation": value, **more})
        _note(state, model, value, plan)
        say(f"epoch {state.epoch}/{plan.epochs}: loss {loss:.4f}, validation {value:.4f}")
        if work is not None:
            _write(work / CHECKPOINT, name, model, optimiser, state)
        if stop is not None and stop():
            break
    if state.kept:
        model.load_state_dict(state.kept)
    model.eval()
    return state.curve


def _epoch(
    model: torch.nn.Module, losses: Losses, n: int, plan: Plan, optimiser: torch.optim.Optimizer, epoch: int
) -> float:
    model.train()
    order = np.random.default_rng([plan.seed, epoch]).permutation(n)
    total = 0.0
    for start in range(0, n, plan.batch):
        batch = order[start : start + plan.batch].tolist()
        optimiser.zero_grad(set_to_none=True)
        for at in range(0, len(batch), plan.piece or len(batch)):
            piece = batch[at : at + (plan.piece or len(batch))]
            loss = losses(piece).sum()
            (loss / len(batch)).backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        if not math.isfinite(total):
            raise DataError("the loss is no longer finite: training diverged; a smaller --set rate may help")
        if plan.clip is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), plan.clip)
        optimiser.step()
    return total / n


def _is_over(state: _State, plan: Plan) -> bool:
    return plan.patience is not None and state.waited >= plan.patience


def _note(state: _State, model: torch.nn.Module, value: float, plan: Plan) -> None:
    sign = 1 if plan.better == "lower" else -1
    if math.isnan(state.best) or sign * value < sign * state.best:
        state.best, state.waited = value, 0
        state.kept = {key: tensor.detach().cpu().clone() for key, tensor in model.state_dict().items()}
    else:
        state.waited += 1


@contextmanager
def _seeded(seed: int, epoch: int) -> Iterator[None]:
    """Dropout and the like draw from torch's own generator: seeded for this epoch, and put back afterwards."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(int(digest(str(seed), str(epoch)), 16) % 2**63)
        yield


def _write(
    path: Path, name: str, model: torch.nn.Module, optimiser: torch.optim.Optimizer, state: _State
) -> None:
    parts = {"model": model.state_dict(), "kept": state.kept, "optimiser": stored.moments(optimiser)}
    head = {key: getattr(state, key) for key in ("epoch", "curve", "best", "waited")}
    stored.write(path, parts, {"state": json.dumps({"name": name, **head})})


def _read(path: Path, name: str, model: torch.nn.Module, optimiser: torch.optim.Optimizer) -> _State | None:
    """What a checkpoint of the same run holds; one of another run, or a damaged one, is passed over."""
    try:
        parts, told = stored.read(path)
        head: dict[str, Any] = json.loads(told.get("state", "{}"))
    except (FileNotFoundError, SafetensorError, json.JSONDecodeError):
        return None
    if head.get("name") != name:
        return None
    model.load_state_dict(parts["model"])
    stored.remind(optimiser, parts.get("optimiser", {}))
    return _State(head["epoch"], head["curve"], head["best"], head["waited"], parts.get("kept", {}))
