"""The trials of each agent with their values: what `turnwise reliability` reads of scored items."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwise.conformance.calls import number_of
from turnwise.logs.items.items import all_items
from turnwise.logs.items.keys import value_at
from turnwise.logs.scan import Census
from turnwise.metrics.rating import MeanRating
from turnwise.metrics.rows import stack_rows
from turnwise.run.resume.block_store import BlockStore
from turnwise.run.scoring.blocks import item_scores
from turnwise.run.scoring.collect import listing
from turnwise.run.scoring.shards import Shard, Watch, shards
from turnwise.run.workers.execute import progress
from turnwise.types import MEAN_RATER, Item, Metric, Rows, label

if TYPE_CHECKING:
    from turnwise.commands.reliability import MeasureReliability

NOTHING = "nothing in the trial is scored"


class Trial(NamedTuple):
    """One dialogue of an agent about a task."""

    dialogue: str
    agent: str
    group: str
    task: str  # empty where it is not known
    number: str
    failure: str  # what broke down outside the agent; else empty


class Observation(NamedTuple):
    """One value of an item of a trial: of one rater in one sitting, or of one sample of a judge."""

    item: str
    value: float
    rater: str = ""


@dataclass(slots=True)
class Measured:
    """What one metric says of one trial."""

    rows: list[Rows] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    reason: str = NOTHING  # why there is no value
    value: float = float("nan")


def read_trials(spec: "MeasureReliability", census: Census) -> list[Trial]:
    """Every selected dialogue as a trial; a key that --cluster names says what its task is."""
    selection = replace(spec.selection, items="all")
    return [
        Trial(
            item.dialogue,
            item.agent,
            item.group,
            item.task if spec.cluster is None else item.cluster,
            item.trial if spec.cluster is None else "",
            _failure(item, spec),
        )
        for item in all_items(spec.paths, selection, census, whole=True, silent=True)
    ]


def measure(
    spec: "MeasureReliability", census: Census, metrics: Mapping[str, Metric], watch: Watch
) -> dict[str, dict[tuple[str, str], Measured]]:
    """What each metric says of each trial, by dialogue and group."""
    found: dict[str, dict[tuple[str, str], Measured]] = {name: {} for name in metrics}
    with (
        BlockStore(spec.folder, reuse=spec.reuse) as store,
        spec.executor() as workers,
        listing(metrics, spec.files) as lines,
        progress("scoring", census.n_dialogues, quiet=spec.quiet) as advance,
    ):
        for shard in shards(spec, census, metrics, store, spec.selection, watch, workers):
            for name in shard.blocks:
                _add(found[name], name, metrics[name], shard)
            if lines is not None:
                lines.add(shard)
            advance(len({item.dialogue for item in shard.items}))
    for name, of_metric in found.items():
        for measured in of_metric.values():
            if measured.rows:
                measured.value = number_of(metrics[name], stack_rows(measured.rows))
    return found


def _add(found: dict[tuple[str, str], Measured], name: str, metric: Metric, shard: Shard) -> None:
    """Add the items of a shard that one metric was asked to score."""
    block = shard.blocks[name]
    scores = item_scores(metric, block.rows).tolist()
    for row, at in enumerate(block.scored.tolist()):
        item = shard.items[at]
        measured = found.setdefault((item.dialogue, item.group), Measured())
        measured.rows.append(block.rows[[row]])
        measured.observations += _observations(metric, item, scores[row], block.explained.get(at, {}))
    for failure in block.failures:
        item = shard.items[failure.position]
        found.setdefault((item.dialogue, item.group), Measured()).reason = failure.counted_as


def _failure(item: Item, spec: "MeasureReliability") -> str:
    """What broke down outside the agent: as the record says it, or a key with the value of --failed; else empty."""
    if item.failure:
        return item.failure
    known: Mapping[str, Any] = {"meta": item.meta, "goal": item.goal, "agent": item.agent}
    pairs = [(key, value) for key, value in spec.failed_pairs if label(value_at(known, key)) == value]
    return "".join(f"{key}={value}" for key, value in pairs[:1])


def _observations(
    metric: Metric, item: Item, score: float, explained: Mapping[str, Any]
) -> list[Observation]:
    """The values behind the score of an item: one of each rater and sitting, or of each sample of a judge; else the
    score.
    """
    rated: object = metric
    if isinstance(rated, MeanRating):
        mine = [one for one in item.ratings if one.dimension == rated.dimension]
        if all(one.rater not in (None, MEAN_RATER) for one in mine):
            return [Observation(item.id, one.value, str(one.rater)) for one in mine]
    samples = [one for one in explained.get("samples") or () if one is not None]
    if len(samples) > 1:
        return [Observation(item.id, float(one)) for one in samples]
    return [Observation(item.id, score)] if np.isfinite(score) else []
