"""USR's full score (Mehri and Eskenazi 2020): a linear regression from its sub-metrics to the overall rating.

The score is a predicted rating in standard deviations of the training ratings; 0 is an average reply.

The paper combines a masked-LM score and two retrieval scores (context, facts). Here the sub-metrics are a setting. By
default they are the retrieval score with several turns and with one, and `loglik` of a small language model instead of
the masked LM. With the masked LM: `train usr-full DATA --set parts=usr-ret+usr-ret[context=one]+usr-mlm`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from turnwise.encode.models.folder import Folder
from turnwise.errors import UsageError
from turnwise.metrics import resolve
from turnwise.metrics.learned.held_out import context_groups, folds, held_out, on_card
from turnwise.metrics.learned.trained import load_trained
from turnwise.metrics.learned.turnwise.ridge import RidgeWeights, fit_ridge
from turnwise.metrics.rows import Ratio
from turnwise.networks.training.task import TrainedModel, TrainingTask
from turnwise.types import Card, Floats, Item, Level, Metric, Need, Signature, Summed

PARTS = "usr-ret+usr-ret[context=one]+loglik"  # the default sub-metrics, joined by +
PENALTY = 1.0  # penalty of the ridge regression
FOLDS = 10  # folds of the cross-validation


@dataclass(frozen=True)
class UsrFull(Ratio):
    """`usr-full`: the rating predicted from sub-metrics by a linear regression."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"context"})
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "a sub-metric has no number for the reply"
    card: ClassVar[Card] = Card(
        kind="learned",
        meaning="Rating predicted from USR's sub-metrics, in standard deviations of the ratings.",
        range="about -2 to 2",
        limits="No better than its sub-metrics: an attack on the retrieval score works on it too. The paper fitted and "
        "tested it on one corpus.",
        citation="Mehri and Eskenazi 2020, USR: An Unsupervised and Reference Free Evaluation Metric for Dialog",
    )

    trained: str = (
        ""  # a folder that `turnwise train usr-full` wrote; "": the one that ships with the package
    )

    @property
    def folder(self) -> Folder:
        """The trained model; raises `NotTrained` if there is none."""
        return load_trained("usr-full", self.trained)

    @property
    def parts(self) -> list[Metric]:
        """The sub-metrics; raises `UsageError` if one has another signature than at training."""
        parts = [sub_metric(name) for name in self.folder.config["parts"]]
        for metric, signature in zip(parts, self.folder.config["signatures"], strict=True):
            if (now := str(metric.signature)) != signature:
                raise UsageError(
                    f"{self.folder.path} was trained on {signature}, and that is {now} here; train it anew"
                )
        return parts

    @property
    def signature(self) -> Signature:
        """The digest of the trained model and the signatures of its sub-metrics; `NotTrained` without a model."""
        return Signature(
            "usr-full", (("trained", self.folder.digest),), tuple(part.signature for part in self.parts)
        )

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): prediction, 1; NaN where a sub-metric has no score."""
        tensors = self.folder.tensors
        weights = RidgeWeights(tensors["centre"], tensors["scale"], tensors["weights"], 0.0)
        return np.stack([weights.predict(scores(self.parts, items)), np.ones(len(items))], axis=1)


def sub_metric(name: str) -> Metric:
    """The metric of this name; `UsageError` if it gives no score to single replies."""
    metric = resolve(name)
    if not isinstance(metric, Summed) or metric.level != "turn":
        raise UsageError(f"`{name}` gives no score to single replies, which a part of usr-full must")
    return metric


def scores(parts: Sequence[Metric], items: Sequence[Item]) -> Floats:
    """(n, k) the score of each item by each sub-metric; NaN where there is none."""
    table = np.full((len(items), len(parts)), np.nan)
    for column, part in enumerate(parts):
        rows = part.rows(items)
        if isinstance(part, Summed) and isinstance(rows, np.ndarray):
            table[:, column] = part.of_sums(rows)
    return table


def train(task: TrainingTask) -> TrainedModel:
    """Fit the regression to rated replies, and measure it by cross-validation over contexts."""
    task.check_settings(("parts",))
    names = str(task.setting("parts", PARTS)).split("+")
    parts = [sub_metric(name) for name in names]
    items, ratings = task.rated()
    table = scores(parts, items)
    known = np.flatnonzero(~np.isnan(table).any(axis=1))
    items, table, ratings = [items[at] for at in known], table[known], ratings[known]
    task.say(f"{len(items)} rated replies, {len(names)} sub-metrics")
    groups = np.array([item.group for item in items])
    contexts = context_groups(items)
    predicted = np.full(len(items), np.nan)
    fold_of = folds(contexts, FOLDS, task.rng)
    for fold in np.unique(fold_of):
        test = fold_of == fold
        predicted[test] = _fit_weights(table, ratings, groups, ~test).predict(table[test])
    weights = _fit_weights(table, ratings, groups, np.ones(len(items), dtype=bool))
    findings = held_out(task.metric, predicted, ratings, contexts, rng=task.rng, method="contexts held out")
    return TrainedModel(
        kind="usr-full",
        tensors={"centre": weights.centre, "scale": weights.scale, "weights": weights.weights},
        config={"parts": names, "signatures": [str(part.signature) for part in parts]},
        card={
            "raters": task.ratings.card if task.ratings else None,
            "ceiling": task.ratings.ceiling if task.ratings else None,
            "held_out": on_card(findings),
            "attacks": ["whatever fools its parts"],
        },
        findings=findings,
    )


def _fit_weights(
    table: Floats, ratings: Floats, groups: NDArray[np.str_], chosen: NDArray[np.bool_]
) -> RidgeWeights:
    """The ridge regression over the chosen items; groups with fewer than 3 items or constant ratings are left out."""
    masks = [chosen & (groups == group) for group in np.unique(groups)]
    masks = [mask for mask in masks if mask.sum() > 2 and np.ptp(ratings[mask]) > 0]
    return fit_ridge([table[mask] for mask in masks], [ratings[mask] for mask in masks], penalty=PENALTY)
