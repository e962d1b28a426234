"""`train turnwise`: the shipped weights, moved as far towards a user's own ratings as those can justify.

The ratings are regressed on the shipped prediction, and what is left on all signals, with a penalty on leaving the
shipped weights that is chosen by cross-validation over contexts. With few ratings that is a change of scale; with many
it is a new ridge. The half-width of the interval of a prediction comes from the residuals of replies held out.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from turnwise.errors import UsageError
from turnwise.metrics.learned import seen
from turnwise.metrics.learned.held_out import context_groups, folds, held_out, on_card
from turnwise.metrics.learned.trained import encoder_of, trained
from turnwise.metrics.learned.turnwise import signals
from turnwise.metrics.learned.turnwise.metric import weights_of
from turnwise.metrics.learned.turnwise.weights import Weights
from turnwise.networks.training.task import Trained, TrainingTask
from turnwise.stats.clusters import codes
from turnwise.types import Floats, Ints

PENALTIES = (30.0, 100.0, 300.0, 1000.0, 3000.0, 1e6)  # the last keeps the shipped weights up to their scale
FOLDS = 10
COVER = 0.95
# Measured on 60 contexts of usr_persona (papers/learned.md); `turnwise attack` finds more.
ATTACKS = (
    "a warm reply that fits anywhere beats people in a quarter of contexts",
    "'you said X, really?' made of the last turn, likewise",
)


def train(task: TrainingTask) -> Trained:
    task.check_settings(("start",))
    start = trained("turnwise", task.setting("start", ""))
    if task.model not in (None, start.config["encoder"]["name"]):
        name = start.config["encoder"]["name"]
        raise UsageError(f"`turnwise` stands on vectors of {name}; it cannot be calibrated with {task.model}")
    items, ratings = task.rated()
    columns = list(start.config["columns"])
    table = signals.Signals.load(start).table(items, encoder_of(start), columns)
    known = np.flatnonzero(~np.isnan(table).any(axis=1))
    items = [items[at] for at in known]
    table, ratings = table[known], ratings[known]
    shipped = weights_of(start)
    x = shipped.standard(table)
    groups, _ = codes([item.group for item in items])
    centred = _within(ratings, groups)
    contexts = context_groups(items)
    fit = fitted(x, centred, contexts, shipped.weights, rng=task.rng)
    task.say(f"{len(items)} rated replies; penalty {fit.penalty:g} by cross-validation over contexts")
    final = Weights(shipped.centre, shipped.scale, fit.weights, fit.offset)
    findings = held_out(
        task.metric, fit.predicted, centred, contexts, rng=task.rng, method="contexts held out"
    )
    people = task.ratings
    return Trained(
        kind="turnwise",
        tensors={
            **signals.parts(start),
            "ridge.centre": final.centre,
            "ridge.scale": final.scale,
            "ridge.weights": final.weights,
            seen.KEY: np.union1d(seen.hashes(items), start.tensors[seen.KEY]),
        },
        config={
            **start.config,
            "offset": final.offset,
            "half_width": fit.half_width,
            "floor": float(np.quantile(final.predict(table), 0.01)),
            "penalty": fit.penalty,
            "from": start.digest,
        },
        card=_card(
            start.card, people.card if people else None, people.ceiling if people else None, on_card(findings)
        ),
        findings=findings,
    )


def _card(start: Any, raters: Any, ceiling: Any, found: dict[str, object]) -> dict[str, Any]:
    return {
        "raters": raters,
        "ceiling": ceiling,
        "held_out": found,
        "attacks": list(ATTACKS),
        "languages": start.get("languages"),
        "licence": start.get("licence"),
        "start": {"data": start.get("data"), "command": start.get("command")},
    }


def _within(ratings: Floats, groups: Ints) -> Floats:
    """Ratings less their group's mean, where there are groups; as they are where there is one."""
    if groups.max() == 0:
        return ratings
    means = np.bincount(groups, ratings) / np.bincount(groups)
    return np.asarray(ratings - means[groups] + ratings.mean())


class Fit(NamedTuple):
    weights: Floats  # (k,)
    offset: float
    penalty: float
    predicted: Floats  # (n,) each reply from those of other contexts
    half_width: float


def fitted(x: Floats, ratings: Floats, contexts: Ints, prior: Floats, *, rng: np.random.Generator) -> Fit:
    """Weights for standardised signals, with the penalty that foretells other contexts best."""
    parts = folds(contexts, FOLDS, rng)
    crossed = {penalty: _crossed(x, ratings, parts, prior, penalty) for penalty in PENALTIES}
    penalty = min(PENALTIES, key=lambda one: float(np.mean((ratings - crossed[one]) ** 2)))
    predicted = crossed[penalty]
    return Fit(
        *_solved(x, ratings, prior, penalty), penalty, predicted, half_width(np.abs(ratings - predicted))
    )


def half_width(errors: Floats) -> float:
    """The ceil((n + 1) .95)-th smallest: a new reply's error, one of n + 1 alike, is no larger in 95 %.

    Below 39 errors that is the largest; the .95 quantile of the errors themselves would cover too little.
    """
    place = min(len(errors), math.ceil((len(errors) + 1) * COVER))
    return float(np.sort(errors)[place - 1])


def _solved(x: Floats, y: Floats, prior: Floats, penalty: float) -> tuple[Floats, float]:
    """Weights and offset: a slope on the prior's prediction, then a ridge on what is left."""
    centre, mean = x.mean(axis=0), y.mean()
    base = (x - centre) @ prior
    slope = float(np.clip(base @ (y - mean) / max(base @ base, 1e-12), 0.0, None))
    rest = y - mean - slope * base
    part = x - centre
    moved = part.T @ np.linalg.solve(part @ part.T + penalty * np.eye(len(y)), rest)
    weights = slope * prior + moved
    return weights, float(mean - centre @ weights)


def _crossed(x: Floats, y: Floats, parts: Ints, prior: Floats, penalty: float) -> Floats:
    """(n,) predictions of each fold from the others."""
    found = np.full(len(y), np.nan)
    for part in np.unique(parts):
        held = parts == part
        weights, offset = _solved(x[~held], y[~held], prior, penalty)
        found[held] = x[held] @ weights + offset
    return found
