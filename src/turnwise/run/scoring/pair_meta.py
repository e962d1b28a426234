"""`turnwise meta --level pair`: the agreement of metrics with people's preferences."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from turnwise.errors import DataError, UsageError, nearest
from turnwise.logs.scan import Census
from turnwise.meta.differences import with_adjusted_p
from turnwise.meta.pair_accuracy import PairScores, accuracy_differences, pair_accuracy
from turnwise.meta.preferences import ComparedPair
from turnwise.meta.table import ScoreTable, unit_scores
from turnwise.metrics.rows import better_direction
from turnwise.run.scoring.blocks import item_scores
from turnwise.run.scoring.collect import collect_in_store
from turnwise.run.scoring.preferences import compared_pairs
from turnwise.run.scoring.shards import Watch, prepare
from turnwise.run.spec import MetaSpec, Outcome, finish
from turnwise.stats.clusters import codes
from turnwise.types import Finding


def pair_meta(spec: MetaSpec, census: Census) -> Outcome:
    """The accuracy of each metric on preferences, for each dimension and group; with tests between metrics.

    Raises `DataError` if the data has no preferences, and `UsageError` for a dimension without any.
    """
    dimensions = _dimensions(spec, census)
    census.hold()
    metrics, absent = prepare(spec, census)
    watch = Watch(spec.max_errors)
    chosen = replace(spec.selection, items="all", as_agents=())
    tables, _ = collect_in_store(spec, census, metrics, chosen, watch)
    found: list[Finding] = [*absent, *watch.findings()]
    compared: list[dict[str, Any]] = []
    scores = {name: _Scored(table) for name, table in tables.items()}
    for dimension in dimensions:
        groups, _ = compared_pairs(spec, census, dimension)
        for group, pairs in groups.items():
            scored = [scores[name].on(pairs) for name in tables]
            found += [pair_accuracy(one, dimension=dimension, group=group) for one in scored]
            if spec.differences:
                compared += accuracy_differences(scored, dimension=dimension, group=group)
    return finish(spec, tuple(found), census.sha256, differences=with_adjusted_p(compared), raters=[])


def _dimensions(spec: MetaSpec, census: Census) -> Sequence[str]:
    """The dimensions of the preferences to report on: that of the spec, else `overall`, else the only one."""
    known = tuple(census.preferences)
    if not known:
        raise DataError("there are no preferences in the data, and --level pair asks what people chose")
    if spec.dimension == "all":
        return known
    if spec.dimension is None and "overall" not in known and len(known) > 1:
        raise UsageError(f"there are preferences on {', '.join(known)}; choose with --dimension, or `all`")
    wanted = spec.dimension or ("overall" if "overall" in known else known[0])
    if wanted not in known:
        raise UsageError(f"no preference has the dimension `{wanted}`; {nearest(wanted, known)}")
    return (wanted,)


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
