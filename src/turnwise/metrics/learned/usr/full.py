"""USR's full score: a regression from its sub-metrics to people's overall rating (Mehri and Eskenazi 2020).

The paper combines its masked-LM score and two retrieval scores (context, facts) by a linear regression on its own
ratings. The sub-metrics here are a setting: by default the retrieval score with several turns and with one, and
`loglik` of a small language model in the place of the masked LM, whose weights are in no package registry. With a
masked LM at hand: `train usr-full DATA --set parts=usr-ret+usr-mlm`.
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
from turnwise.metrics.learned.trained import trained
from turnwise.metrics.learned.turnwise.weights import Weights, ridge
from turnwise.metrics.rows import Ratio
from turnwise.networks.training.task import Trained, TrainingTask
from turnwise.types import Card, Floats, Item, Level, Metric, Need, Signature, Summed

PARTS = "usr-ret+usr-ret[context=one]+loglik"
PENALTY = 1.0
FOLDS = 10


@dataclass(frozen=True)
class UsrFull(Ratio):
    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"context"})
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "a sub-metric has no number for the reply"
    card: ClassVar[Card] = Card(
        kind="learned",
        meaning="People's rating as foretold from USR's sub-metrics, in standard deviations of the ratings.",
        range="about -2 to 2",
        limits="No better than its parts: what fools the retrieval score fools it. The paper's was fitted and tested "
        "on one corpus.",
        citation="Mehri and Eskenazi 2020, USR: An Unsupervised and Reference Free Evaluation Metric for Dialog",
    )

    trained: str = ""  # a folder that `turnwise train usr-full` wrote; "": the one of the package

    @property
    def folder(self) -> Folder:
        return trained("usr-full", self.trained)

    @property
    def parts(self) -> list[Metric]:
        found = [part_of(name) for name in self.folder.config["parts"]]
        for metric, signature in zip(found, self.folder.config["signatures"], strict=True):
            if (now := str(metric.signature)) != signature:
                raise UsageError(
                    f"{self.folder.path} was trained on {signature}, and that is {now} here; train it anew"
                )
        return found

    @property
    def signature(self) -> Signature:
        return Signature(
            "usr-full", (("trained", self.folder.digest),), tuple(part.signature for part in self.parts)
        )

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): prediction, 1."""
        tensors = self.folder.tensors
        weights = Weights(tensors["centre"], tensors["scale"], tensors["weights"], 0.0)
        return np.stack([weights.predict(scores(self.parts, items)), np.ones(len(items))], axis=1)


def part_of(name: str) -> Metric:
    metric = resolve(name)
    if not isinstance(metric, Summed) or metric.level != "turn":
        raise UsageError(f"`{name}` has no number for a single reply, and a part of usr-full must")
    return metric


def scores(parts: Sequence[Metric], items: Sequence[Item]) -> Floats:
    """(n, k) each part's number of each item."""
    found = np.full((len(items), len(parts)), np.nan)
    for at, part in enumerate(parts):
        rows = part.rows(items)
        if isinstance(part, Summed) and isinstance(rows, np.ndarray):
            found[:, at] = part.of_sums(rows)
    return found


def train(task: TrainingTask) -> Trained:
    task.check_settings(("parts",))
    names = str(task.setting("parts", PARTS)).split("+")
    parts = [part_of(name) for name in names]
    items, ratings = task.rated()
    table = scores(parts, items)
    known = np.flatnonzero(~np.isnan(table).any(axis=1))
    items, table, ratings = [items[at] for at in known], table[known], ratings[known]
    task.say(f"{len(items)} rated replies, {len(names)} sub-metrics")
    groups = np.array([item.group for item in items])
    contexts = context_groups(items)
    predicted = np.full(len(items), np.nan)
    of = folds(contexts, FOLDS, task.rng)
    for fold in np.unique(of):
        predicted[of == fold] = _fitted(table, ratings, groups, of != fold).predict(table[of == fold])
    weights = _fitted(table, ratings, groups, np.ones(len(items), dtype=bool))
    findings = held_out(task.metric, predicted, ratings, contexts, rng=task.rng, method="contexts held out")
    return Trained(
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


def _fitted(table: Floats, ratings: Floats, groups: NDArray[np.str_], chosen: NDArray[np.bool_]) -> Weights:
    there = [chosen & (groups == group) for group in np.unique(groups)]
    there = [mask for mask in there if mask.sum() > 2 and np.ptp(ratings[mask]) > 0]
    return ridge([table[mask] for mask in there], [ratings[mask] for mask in there], penalty=PENALTY)
