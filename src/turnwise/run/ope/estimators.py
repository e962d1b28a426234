"""Makes estimators by name, and gives the scores of metrics to those that are based on metrics.

`metric:NAME` takes a metric's score of the replies that an agent would have given as its estimate, such as BLEU and
perplexity in the paper's tables. `features` takes the paper's eight hand-crafted features, and `spe[played=FILE]` the
agents' dialogues with a stand-in for people.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from turnwise import estimators as registry
from turnwise.conformance.calls import called, foreign, metric_names_of, signature_of
from turnwise.conformance.plugins import estimator_problem
from turnwise.errors import PluginError, Refused
from turnwise.estimators.baselines.ranker import Ranker
from turnwise.protocols import TakesMetrics, TakesSelfPlay, TaskCritic
from turnwise.run.dialogues.selfplay import with_self_play, without_played
from turnwise.run.ope import task_log
from turnwise.run.ope.logged_data import METRIC
from turnwise.run.ope.reward import scored
from turnwise.settings.option import as_text
from turnwise.types import Card, Dialogue, Episodes, Estimate, Estimator, Signature

if TYPE_CHECKING:
    from turnwise.commands.ope import Ope


@dataclass(frozen=True)
class Unusable:
    """Stands for a plugin that cannot be used: `estimate` raises `PluginError` with the problem, for every target."""

    card: ClassVar[Card] = Card(
        kind="estimator",
        meaning="None: the plugin cannot be used.",
        range="none",
        limits="none",
        citation="none",
    )

    name: str
    problem: str

    @property
    def signature(self) -> Signature:
        """The estimator's name alone."""
        return Signature(self.name)

    def estimate(self, episodes: Episodes, target: str, /, *, rng: np.random.Generator) -> Estimate:
        """Raise `PluginError` with what is wrong."""
        raise PluginError(self.problem)


def resolved_estimators(
    spec: "Ope",
    dialogues: Sequence[Dialogue],
    names: Sequence[str],
    agents: Sequence[str],
    *,
    rating: str,
    scale: tuple[float, float] | None,
) -> dict[str, Estimator]:
    """Name -> the estimator, with what it needs already given: metric scores, self-play dialogues or task facts.

    A plugin that cannot be used becomes `Unusable`; wrong names and settings raise a `UsageError`.
    """
    found: dict[str, Estimator] = {}
    for name in names:
        if name.startswith(METRIC):
            found[name] = _ranker(spec, dialogues, name.removeprefix(METRIC), agents)
            continue
        try:
            estimator, played = _resolved(name, as_text(spec.model))
            metrics = metric_names_of(estimator) if isinstance(estimator, TakesMetrics) else None
        except PluginError as error:  # the other estimators go on without it
            found[name] = Unusable(name, str(error))
            continue
        columns = {metric: scored(spec, dialogues, metric, agents) for metric in metrics or ()}
        try:
            if metrics is not None:
                estimator = called(estimator, "with_scores", columns)
            elif isinstance(estimator, TakesSelfPlay):
                estimator = with_self_play(
                    estimator,
                    name,
                    played,
                    rating=rating,
                    scale=scale,
                    delexicalised=spec.delexicalise,
                )
            if foreign(estimator):
                _check(estimator)
        except PluginError as error:
            found[name] = Unusable(name, str(error))
            continue
        if isinstance(estimator, TaskCritic):
            ontology = task_log.critics_ontology(estimator)
            if task_log.is_task(dialogues, ontology):
                estimator = estimator.with_facts(task_log.facts(dialogues, ontology=ontology))
        found[name] = estimator
    return found


def _resolved(name: str, model: str | None) -> tuple[Estimator, str | None]:
    """The estimator of this name, and the file of its setting `played` if it takes self-play dialogues."""
    plain, played = without_played(name)
    estimator = registry.resolve(plain, model=model)
    if played is None or isinstance(estimator, TakesSelfPlay):
        return estimator, played
    return registry.resolve(name, model=model), None


def _check(estimator: Estimator) -> None:
    """Raise `PluginError` if what `with_scores` or `with_dialogues` returned is no estimator, or if its signature
    raises.
    """
    if (problem := estimator_problem(estimator)) is not None:
        raise PluginError(problem)
    signature_of(estimator)


def _ranker(spec: "Ope", dialogues: Sequence[Dialogue], metric: str, agents: Sequence[str]) -> Ranker:
    """The estimator of a metric's scores; if the metric refuses these replies, it refuses every target."""
    try:
        return Ranker(metric, scored(spec, dialogues, metric, agents))
    except Refused as why:
        return Ranker(metric, refused=str(why))
