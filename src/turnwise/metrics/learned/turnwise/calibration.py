"""`train turnwise`: calibration of the shipped weights to a user's own ratings.

First the ratings are regressed on the shipped prediction, then the residuals on all signals, with a ridge penalty on
the change of the weights that is chosen by cross-validation over contexts. With few ratings the result is mainly a
change of scale; with many it is a new ridge regression. The half-width of a prediction's 95 % interval comes from the
residuals of held-out replies (split conformal).
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from turnwise.encode.models.folder import Folder
from turnwise.errors import UsageError
from turnwise.metrics.learned import training_items
from turnwise.metrics.learned.held_out import context_groups, folds, held_out, on_card
from turnwise.metrics.learned.trained import encoder_of, load_trained
from turnwise.metrics.learned.turnwise import signals
from turnwise.metrics.learned.turnwise.familiar import Familiarity
from turnwise.metrics.learned.turnwise.metric import refusal, weights_of
from turnwise.metrics.learned.turnwise.ridge import RidgeWeights
from turnwise.networks.training.task import TrainedModel, TrainingTask
from turnwise.records import StatisticRecord
from turnwise.stats.clusters import codes
from turnwise.types import Floats, Ints, Item

PENALTIES = (30.0, 100.0, 300.0, 1000.0, 3000.0, 1e6)  # with the last, the weights only change their scale
FOLDS = 10  # folds of the cross-validation
COVERAGE = 0.95  # coverage of the interval of a prediction
# What reinforcement learning found (papers/probing.md). Eighteen searches of up to 20,000 calls found nothing that was
# shown to score above people (papers/flagship/attacks.json).
ATTACKS = (
    "a bot that was trained against `turnwise` learned warm sentences around the user's words, which score above "
    "people's replies on three corpora",
)


def train(task: TrainingTask) -> TrainedModel:
    """Calibrate the shipped model, or that of the setting `start`, to the task's ratings."""
    task.check_settings(("start",))
    start = load_trained(task.metric, task.setting("start", ""))
    if task.model not in (None, start.config["encoder"]["name"]):
        name = start.config["encoder"]["name"]
        raise UsageError(f"`{task.metric}` uses vectors of {name}; it cannot be calibrated with {task.model}")
    items, ratings = task.rated()
    table = scorable_table(start, items)
    known = np.flatnonzero(~np.isnan(table).any(axis=1))
    items = [items[at] for at in known]
    table, ratings = table[known], ratings[known]
    shipped = weights_of(start)
    x = shipped.standardise(table)
    groups, _ = codes([item.group for item in items])
    centred = _centred_within(ratings, groups)
    contexts = context_groups(items)
    fit = calibrate(x, centred, contexts, shipped.weights, rng=task.rng)
    task.say(f"{len(items)} rated replies; penalty {fit.penalty:g} by cross-validation over contexts")
    if fit.penalty >= PENALTIES[-1]:
        task.say("these ratings change the scale of the scores, and hardly the order of replies")
    if known_before := training_items.count_training_items(start, items):
        task.say(
            f"warning: the model that this starts from learned from {known_before} of these {len(items)} replies: the "
            "numbers say little of replies that it has not seen"
        )
    final = RidgeWeights(shipped.centre, shipped.scale, fit.weights, fit.offset, shipped.cut)
    findings = held_out(
        task.metric, fit.predicted, centred, contexts, rng=task.rng, method="contexts held out"
    )
    people = task.ratings
    card = {
        "raters": people.card if people else None,
        "ceiling": people.ceiling if people else None,
        "known_before": known_before,  # of the replies, by the model that this starts from
    }
    config = {"half_width": fit.half_width, "penalty": fit.penalty}
    return tuned(start, final, items, table, config=config, card=card, findings=findings)


def scorable_table(model: Folder, items: Sequence[Item]) -> Floats:
    """(n, k) the signals of the items; NaN for those in another language. Unfamiliar ones can be learned from."""
    made = signals.Signals.load(model)
    table = made.table(items, encoder_of(model), list(model.config["columns"]))
    table[[refusal(item, model, made.lexicon, None) is not None for item in items]] = np.nan
    return table


def tuned(
    start: Folder,
    final: RidgeWeights,
    items: Sequence[Item],
    table: Floats,
    *,
    config: Mapping[str, object],
    card: Mapping[str, object],
    findings: Sequence[StatisticRecord],
) -> TrainedModel:
    """The model `start` with other weights of its signals, learned from these items, whose signals are `table`.

    It predicts what these items were rated for, has no other dimensions, and takes the items for familiar.
    """
    familiar = Familiarity.load(start.tensors)
    lexicon = signals.Signals.load(start).lexicon
    kept = {key: value for key, value in start.config.items() if key != "dimensions"}
    return TrainedModel(
        kind=start.kind,
        tensors={
            **signals.signal_tensors(start),
            **(familiar.widened(items, lexicon).tensors if familiar else {}),
            "ridge.centre": final.centre,
            "ridge.scale": final.scale,
            "ridge.weights": final.weights,
            training_items.KEY: np.union1d(training_items.hashes(items), start.tensors[training_items.KEY]),
        },
        config={
            **kept,
            "offset": final.offset,
            "floor": float(np.quantile(final.predict(table), 0.01)),
            "from": start.digest,
            **config,
        },
        card={
            **card,
            "held_out": on_card(findings),
            "attacks": list(start.card.get("attacks") or ATTACKS),
            "languages": start.card.get("languages"),
            "licence": start.card.get("licence"),
            "start": {"data": start.card.get("data"), "command": start.card.get("command")},
        },
        findings=findings,
    )


def _centred_within(ratings: Floats, groups: Ints) -> Floats:
    """The ratings with every group's mean moved to the overall mean; `groups` has the group number of each rating."""
    if groups.max() == 0:
        return ratings
    means = np.bincount(groups, ratings) / np.bincount(groups)
    return np.asarray(ratings - means[groups] + ratings.mean())


class Fit(NamedTuple):
    """Calibrated weights, with cross-validated predictions."""

    weights: Floats  # (k,)
    offset: float
    penalty: float
    predicted: Floats  # (n,) predictions for each reply by weights that were fitted to other contexts
    half_width: float  # half the width of the 95 % interval of a prediction


def calibrate(x: Floats, ratings: Floats, contexts: Ints, prior: Floats, *, rng: np.random.Generator) -> Fit:
    """Fit weights for standardised signals x (n, k), starting from `prior`, with the penalty of the smallest error.

    The error is the mean square in cross-validation over contexts; `contexts` has the context group of each row.
    """
    fold_of = folds(contexts, FOLDS, rng)
    predictions = {penalty: _cross_predict(x, ratings, fold_of, prior, penalty) for penalty in PENALTIES}
    penalty = min(PENALTIES, key=lambda one: float(np.mean((ratings - predictions[one]) ** 2)))
    predicted = predictions[penalty]
    return Fit(
        *_solve(x, ratings, prior, penalty), penalty, predicted, half_width(np.abs(ratings - predicted))
    )


def half_width(errors: Floats) -> float:
    """The split-conformal 95 % quantile of absolute errors: the ceil(.95 (n + 1))-th smallest of n.

    With fewer than 39 errors it is the largest. The plain .95 quantile would cover too little.
    """
    rank = min(len(errors), math.ceil((len(errors) + 1) * COVERAGE))
    return float(np.sort(errors)[rank - 1])


def _solve(x: Floats, y: Floats, prior: Floats, penalty: float) -> tuple[Floats, float]:
    """Weights and offset: a regression on the prior's prediction, then a ridge regression on its residuals.

    A negative slope of the first regression counts as 0.
    """
    centre, mean = x.mean(axis=0), y.mean()
    centred = x - centre
    prediction = centred @ prior
    slope = float(np.clip(prediction @ (y - mean) / max(prediction @ prediction, 1e-12), 0.0, None))
    residuals = y - mean - slope * prediction
    if len(y) <= x.shape[1]:
        change = centred.T @ np.linalg.solve(centred @ centred.T + penalty * np.eye(len(y)), residuals)
    else:  # the same, by the smaller of two systems of equations
        change = np.linalg.solve(centred.T @ centred + penalty * np.eye(x.shape[1]), centred.T @ residuals)
    weights = slope * prior + change
    return weights, float(mean - centre @ weights)


def _cross_predict(x: Floats, y: Floats, fold_of: Ints, prior: Floats, penalty: float) -> Floats:
    """(n,) predictions for each fold by weights that were fitted to the other folds."""
    predicted = np.full(len(y), np.nan)
    for fold in np.unique(fold_of):
        test = fold_of == fold
        weights, offset = _solve(x[~test], y[~test], prior, penalty)
        predicted[test] = x[test] @ weights + offset
    return predicted
