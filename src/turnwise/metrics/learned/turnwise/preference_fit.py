"""`train turnwise --on preferences`: weights from people's choices between two replies.

The log odds that the first of two replies is chosen are the difference of their scores (Bradley and Terry 1952, with a
linear score): a logistic regression on the differences of the signals, in which a tie is half a choice for either. As
in `calibration`, it first scales the shipped weights, never below 0, and then changes them with a ridge penalty that
cross-validation over contexts chooses, here by the likelihood. Choices determine differences of scores only, so the
mean score of the compared replies is set to 0, and there is no interval of a single prediction. A whole dialogue has
the mean score of its replies.

The reported accuracy is that on choices whose contexts were held out; ties of people are left out of it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from turnwise.errors import DataError, UsageError
from turnwise.metrics.learned.held_out import folds, long_turns
from turnwise.metrics.learned.trained import load_trained
from turnwise.metrics.learned.turnwise.calibration import FOLDS, PENALTIES, scorable_table, tuned
from turnwise.metrics.learned.turnwise.metric import weights_of
from turnwise.metrics.learned.turnwise.ridge import RidgeWeights
from turnwise.networks.training.preferences import Choice
from turnwise.networks.training.task import FEWEST, TrainedModel, TrainingTask
from turnwise.records import StatisticRecord, finite
from turnwise.stats.clusters import codes, connected_components
from turnwise.stats.crossed import standard_errors
from turnwise.stats.shares import share_test
from turnwise.types import Floats, Ints, Item

MAX_STEPS = 50  # of Newton's method
TOLERANCE = 1e-8  # largest change of a weight at which the fit has converged
BEFORE = "accuracy-before"  # the accuracy of the model that training started from


def train(task: TrainingTask) -> TrainedModel:
    """Fit the shipped model, or that of the setting `start`, to the task's preferences."""
    task.check_settings(("start",))
    start = load_trained(task.metric, task.setting("start", ""))
    if task.model not in (None, start.config["encoder"]["name"]):
        name = start.config["encoder"]["name"]
        raise UsageError(f"`{task.metric}` uses vectors of {name}; it cannot be trained with {task.model}")
    people = task.preferences
    if people is None or not people.choices:
        raise DataError(f"`train {task.metric}` has no preferences to learn from")
    compared = {side for choice in people.choices for side in (choice.first, choice.second)}
    items = [item for item in task.items if item.missing is None and {item.id, item.dialogue} & compared]
    table = scorable_table(start, items)
    known = np.flatnonzero(~np.isnan(table).any(axis=1))
    items, table = [items[at] for at in known], table[known]
    shipped = weights_of(start)
    sides = _Sides(items, shipped.standardise(table))
    choices = [one for one in people.choices if one.first in sides and one.second in sides]
    _check(task, choices, lost=len(people.choices) - len(choices))
    gaps = np.stack([sides.row(one.first) - sides.row(one.second) for one in choices])
    outcomes = np.array([one.outcome for one in choices])
    contexts = connected_components(
        [[*sides.context(one.first), *sides.context(one.second)] for one in choices]
    )[0]
    fit = fit_choices(gaps, outcomes, contexts, shipped.weights, rng=task.rng)
    task.say(f"{len(choices)} choices; penalty {fit.penalty:g} by cross-validation over contexts")
    findings = [
        accuracy(task.metric, fit.predicted, choices, contexts, method="contexts held out"),
        accuracy(
            task.metric, gaps @ shipped.weights, choices, contexts, statistic=BEFORE, method="before training"
        ),
    ]
    offset = -float(np.mean(shipped.standardise(table) @ fit.weights))
    final = RidgeWeights(shipped.centre, shipped.scale, fit.weights, offset, shipped.cut)
    card = {"raters": people.card, "ceiling": None if np.isnan(people.one_rater) else people.one_rater}
    config = {"half_width": None, "penalty": fit.penalty, "learned_from": "preferences"}
    return tuned(start, final, items, table, config=config, card=card, findings=findings)


class _Sides:
    """The signals and contexts of what was compared: replies by id, and dialogues as the mean of their replies."""

    def __init__(self, items: Sequence[Item], rows: Floats) -> None:
        self._rows = rows
        self._items = items
        self._places: dict[str, list[int]] = {}
        for at, item in enumerate(items):
            self._places.setdefault(item.id, []).append(at)
            if item.dialogue != item.id:
                self._places.setdefault(item.dialogue, []).append(at)

    def __contains__(self, side: str) -> bool:
        return side in self._places

    def row(self, side: str) -> Floats:
        """(k,) the signals of a reply, or their mean over the replies of a dialogue."""
        mean: Floats = self._rows[self._places[side]].mean(axis=0)
        return mean

    def context(self, side: str) -> list[str]:
        """The cluster and the long turns before the replies: sides that share one are in one group of contexts."""
        items = [self._items[at] for at in self._places[side]]
        turns = dict.fromkeys(f"turn {text}" for item in items for text in long_turns(item))
        return [*(f"cluster {item.cluster}" for item in items[:1]), *turns]


def _check(task: TrainingTask, choices: Sequence[Choice], *, lost: int) -> None:
    """Raise `DataError` with fewer than 30 choices that are no ties; a warning counts those that are left out."""
    if lost:
        task.say(
            f"warning: {lost} of {lost + len(choices)} choices have a side without a context or text, left out"
        )
    decided = sum(one.outcome != 0.5 for one in choices)
    if decided < FEWEST:
        raise DataError(
            f"{decided} choices for one of two replies with a context ({len(choices) - decided} ties); at least "
            f"{FEWEST} are needed to learn from"
        )


class ChoiceFit(NamedTuple):
    """Fitted weights, with cross-validated predictions."""

    weights: Floats  # (k,) in log odds
    penalty: float
    predicted: Floats  # (n,) log odds of each choice by weights that were fitted to other contexts


def fit_choices(
    gaps: Floats, outcomes: Floats, contexts: Ints, prior: Floats, *, rng: np.random.Generator
) -> ChoiceFit:
    """Weights for differences of standardised signals (n, k), starting from `prior`, with the most likely penalty.

    `outcomes` are 1, 0 or, for a tie, 0.5. The likelihood is that in cross-validation over contexts; `contexts` has the
    context group of each choice.
    """
    fold_of = folds(contexts, FOLDS, rng)
    predictions = {}
    for penalty in PENALTIES:
        predicted = np.full(len(outcomes), np.nan)
        for fold in np.unique(fold_of):
            test = fold_of == fold
            predicted[test] = gaps[test] @ _solve(gaps[~test], outcomes[~test], prior, penalty)
        predictions[penalty] = predicted
    penalty = min(PENALTIES, key=lambda one: _loss(predictions[one], outcomes))
    return ChoiceFit(_solve(gaps, outcomes, prior, penalty), penalty, predictions[penalty])


def _loss(log_odds: Floats, outcomes: Floats) -> float:
    """The sum of negative log-likelihoods; a tie counts half for either side."""
    return float(np.sum(np.logaddexp(0.0, log_odds) - outcomes * log_odds))


def _solve(gaps: Floats, outcomes: Floats, prior: Floats, penalty: float) -> Floats:
    """The weights: the prior times a factor that is not negative, plus a change with a ridge penalty."""
    along = (gaps @ prior)[:, None]
    factor = np.clip(_newton(along, outcomes, np.zeros(len(outcomes)), 1e-6), 0.0, None)
    weights: Floats = factor[0] * prior + _newton(gaps, outcomes, along @ factor, penalty)
    return weights


def _newton(x: Floats, outcomes: Floats, base: Floats, penalty: float) -> Floats:
    """The coefficients (k,) that minimise the loss of `base + x c` plus half the penalty times |c|^2."""
    found = np.zeros(x.shape[1])
    value = _loss(base, outcomes)
    for _ in range(MAX_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(base + x @ found, -50, 50)))
        gradient = x.T @ (chance - outcomes) + penalty * found
        curvature = (x * (chance * (1 - chance))[:, None]).T @ x + penalty * np.eye(x.shape[1])
        step, scale = np.linalg.solve(curvature, gradient), 1.0
        while True:
            tried = found - scale * step
            better = _loss(base + x @ tried, outcomes) + penalty / 2 * float(tried @ tried)
            if better <= value or scale < 1e-6:
                break
            scale /= 2
        found, value = tried, better
        if np.max(np.abs(scale * step)) < TOLERANCE:
            break
    return found


def accuracy(
    metric: str,
    predicted: Floats,
    choices: Sequence[Choice],
    contexts: Ints,
    *,
    statistic: str = "accuracy",
    method: str,
) -> StatisticRecord:
    """How often the predicted log odds have the sign of the choice, without ties of people; no prediction counts half.

    The interval is Wilson's, by context and, if all raters are named, by rater.
    """
    decided = [at for at, one in enumerate(choices) if one.outcome != 0.5]
    agreed = np.array([(np.sign(predicted[at]) * (2 * choices[at].outcome - 1) + 1) / 2 for at in decided])
    share, sides, by = float(agreed.mean()), [contexts[decided]], "context"
    raters = [choices[at].rater for at in decided]
    if None not in raters and len(set(raters)) > 1:
        sides, by = [*sides, codes([str(name) for name in raters])[0]], "context and rater"
    errors = standard_errors((agreed - share)[:, None] / len(agreed), *sides, floor=True)
    n_clusters = len(np.unique(contexts[decided]))
    test = share_test(share, errors, null=0.5, n_clusters=n_clusters, by=by)
    return StatisticRecord(
        metric=metric,
        statistic=statistic,
        estimate=share,
        interval=test.interval,
        p=finite(test.p),
        unvarying=test.interval is None and float(errors.values[0]) == 0,
        n_items=len(agreed),
        n_clusters=n_clusters,
        method=f"{method}; {test.method}",
    )
