"""`turnwise meta --level pair`: the agreement of metrics with people's preferences, or of the raters themselves."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

from turnwise.errors import DataError, UsageError, setting
from turnwise.logs.scan import Census
from turnwise.meta.differences import with_adjusted_p
from turnwise.meta.pair_accuracy import PairScores, accuracy_differences, pair_accuracy
from turnwise.meta.preferences import ComparedPair
from turnwise.meta.rater_choices import Asked, rater_agreement
from turnwise.meta.table import ScoreTable, unit_scores
from turnwise.metrics.rows import better_direction
from turnwise.records import AgreementRecord, MetricDifference
from turnwise.report.documents import MetaDocument
from turnwise.run.resume.block_store import BlockStore
from turnwise.run.scoring.blocks import item_scores
from turnwise.run.scoring.collect import collect, listing
from turnwise.run.scoring.preferences import chosen_dimension, compared_pairs
from turnwise.run.scoring.seen_items import in_training, marked
from turnwise.run.scoring.shards import Watch, prepare
from turnwise.run.spec import finish
from turnwise.stats.clusters import codes

if TYPE_CHECKING:
    from turnwise.commands.meta import MetaEvaluate


def pair_meta(spec: "MetaEvaluate", census: Census) -> MetaDocument:
    """The accuracy of each metric on preferences, for each dimension and group; with tests between metrics.

    Raises `DataError` if the data has no preferences, and `UsageError` for a dimension without any.
    """
    dimensions = _dimensions(spec, census)
    census.hold()
    metrics, absent = prepare(spec, census)
    watch = Watch(spec.max_errors)
    chosen = replace(spec.selection, items="all", as_agents=())
    with (
        spec.executor() as workers,
        BlockStore(spec.folder, reuse=spec.reuse) as store,
        listing(metrics, spec.files) as lines,
    ):
        settings: dict[str, Any] = {"watch": watch, "workers": workers, "lines": lines}
        tables, items = collect(spec, census, metrics, store, chosen, **settings)
    records = [metric.record(AgreementRecord) for metric in (*absent, *watch.unavailable())]
    compared: list[MetricDifference] = []
    scores = {name: _Scored(table) for name, table in tables.items()}
    for dimension in dimensions:
        groups, _ = compared_pairs(spec, census, dimension)
        for group, pairs in groups.items():
            scored = [scores[name].on(pairs) for name in tables]
            compared_ids = {item for pair in pairs for item in pair.items}
            there = [item for item in items.values() if {item.id, item.dialogue} & compared_ids]
            known = in_training(metrics, there)
            records += [
                marked(pair_accuracy(metric, dimension=dimension, group=group), known) for metric in scored
            ]
            if spec.differences:
                compared += accuracy_differences(scored, dimension=dimension, group=group)
    return finish(
        MetaDocument,
        spec,
        records,
        census.sha256,
        differences=with_adjusted_p(compared),
        raters=(),
        **census.automatic_section(),
    )


def with_automatic_raters(records: Sequence[AgreementRecord], census: Census) -> list[AgreementRecord]:
    """The records of the agreement of raters, with `raters_are` automatic where names identify raters, of whom none is
    a person.
    """
    return [
        structs.replace(record, raters_are="automatic")
        if record.raters_are == "people"
        and f"{'preference' if record.level == 'pair' else 'rating'}:{record.dimension}"
        in census.automatic_raters
        else record
        for record in records
    ]


def pair_raters(spec: "MetaEvaluate", census: Census) -> MetaDocument:
    """The agreement of raters about preferences, for each dimension and group: `meta --level pair` without a metric.

    Raises `DataError` if the data has no preferences, and `UsageError` for a dimension without any.
    """
    dimensions = _dimensions(spec.changed(dimension=spec.dimension or "all"), census)
    records: list[AgreementRecord] = []
    for dimension in dimensions:
        groups, _ = compared_pairs(spec, census, dimension)
        for group, pairs in groups.items():
            asked = Asked(dimension=dimension, group=group or None)
            records += rater_agreement(pairs, asked, stable_raters=spec.stable_raters) if pairs else []
    if not records:
        raise DataError("no two that were compared are both in the selected data")
    records = with_automatic_raters(records, census)
    return finish(MetaDocument, spec, records, census.sha256, raters=(), **census.automatic_section())


def _dimensions(spec: "MetaEvaluate", census: Census) -> Sequence[str]:
    """The dimensions of the preferences to report on: that of the spec, else `overall`, else the only one."""
    known = tuple(census.preferences)
    if spec.screen:
        raise UsageError(
            f"{setting('--screen')} sets raters apart by their ratings; it does not apply to "
            f"{setting('--level', 'pair')}"
        )
    if not known:
        raise DataError(
            f"there are no preferences in the data, and {setting('--level', 'pair')} asks what people chose"
        )
    if spec.dimension == "all":
        return known
    return (chosen_dimension(spec.dimension, census),)


class _Scored:
    """The scores of one metric by item id and by dialogue id, with higher being better."""

    def __init__(self, table: ScoreTable) -> None:
        metric = table.metric
        self._table = table
        sign = 1.0 if metric.higher_is_better else -1.0
        self._by_id: dict[str, float] = {}
        if metric.level == "turn" or "dialogue" in metric.needs:
            values = sign * item_scores(metric, table.rows)
            self._by_id = dict(zip(table.ids, values.tolist(), strict=True))
        if metric.level != "system" and "dialogue" not in metric.needs:
            # A dialogue is scored from the rows of its replies.
            of_dialogue, n = codes(table.dialogues)
            values = sign * unit_scores(metric, table.rows, of_dialogue, n)
            self._by_id |= dict(zip(dict.fromkeys(table.dialogues), values.tolist(), strict=True))

    def on(self, pairs: Sequence[ComparedPair]) -> PairScores:
        """The differences on the pairs of which both are scored."""
        metric = self._table.metric
        kept, differences = [], []
        for pair in pairs:
            first, second = (self._by_id.get(item, np.nan) for item in pair.items)
            if np.isfinite(first - second):
                kept.append(pair)
                differences.append(first - second)
        lost = len(pairs) - len(kept)
        return PairScores(
            self._table.name,
            str(metric.signature),
            tuple(kept),
            np.array(differences, dtype=np.float64),
            _reasons(self._table, lost),
            better_direction(metric),
        )


def _reasons(table: ScoreTable, lost: int) -> Mapping[str, int]:
    """The count of pairs without two scores, with the commonest reason of unscored items."""
    if not lost:
        return {}
    if table.metric.level == "system":
        return {"the metric has no number for a single reply or dialogue": lost}
    commonest = Counter(table.unscored).most_common(1)
    return {commonest[0][0] if commonest else "one of the two has no score": lost}
