"""The agreement of a metric with people that sentences and figures rest on.

It is the agreement inside agents where there are several agents, because agents that differ in quality and in some
feature make the feature agree with people over all items.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

from turnwise.records import LEVEL, AgreementRecord, both_ends
from turnwise.report.figure import in_words, with_estimate
from turnwise.stats.power import clusters_needed

HALF_WIDTH = 0.05  # half-width of an interval for which more ratings are advised
LEVELS = ("turn", "dialogue", "pair", "system")  # the finest first


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of one metric that a claim rests on: inside agents where it is known, else over all items."""

    record: AgreementRecord
    inside: bool  # whether it is the agreement inside agents

    @property
    def metric(self) -> str:
        """The name of the metric."""
        return str(self.record.metric)

    @property
    def value(self) -> float:
        """The estimate."""
        if not self.inside:
            return self.record.value
        return nan if self.record.within_agents is None else self.record.within_agents

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The interval of the estimate; None if there is none."""
        return both_ends(self.record.within_agents_interval if self.inside else self.record.interval)

    @property
    def one_rater(self) -> float | None:
        """The agreement of one rater with the others, computed alike."""
        return self.record.one_rater_within_agents if self.inside else self.record.one_rater

    @property
    def chance(self) -> float:
        """The agreement of a metric without information."""
        if self.record.level == "pair":
            return self.record.floor or 0.0
        return 0.5 if self.record.statistic == "pairwise" else 0.0

    @property
    def is_shown(self) -> bool:
        """Whether the agreement is above chance: the lower bound, or without an interval the test, says so."""
        if self.bounds is not None:
            return self.bounds[0] > self.chance
        p = self.record.p
        return not self.inside and p is not None and p <= LEVEL and self.value > self.chance

    @property
    def is_reversed(self) -> bool:
        """Whether the agreement is below chance, by the upper bound."""
        return self.bounds is not None and self.bounds[1] < self.chance

    @property
    def quantity(self) -> str:
        """What was measured: the statistic, whether inside agents, the dimension and the level."""
        inside = " inside agents" if self.inside else ""
        return f"{self.record.statistic}{inside} on {self.record.dimension}, {self.record.level} level"

    @property
    def text(self) -> str:
        """The estimate with its interval."""
        return in_words(self.value, self.bounds)

    @property
    def advice(self) -> str:
        """How many clusters narrow the interval to `HALF_WIDTH`; empty if it is unknown or as narrow already."""
        half = (self.bounds[1] - self.bounds[0]) / 2 if self.bounds is not None else 0.0
        n = self.record.n_clusters
        if half <= HALF_WIDTH or not n:
            return ""
        needed = clusters_needed(half, n, HALF_WIDTH)
        return (
            f"Rate {needed:,} clusters instead of {n:,} to know the agreement of {self.metric} to ±.05 (a cluster is a "
            "dialogue, or all replies to one context)."
        )


def ranked(records: Sequence[AgreementRecord], *, group: str | None = None) -> list[Agreement]:
    """The agreement of each metric, the highest first: by one statistic on one dimension at the finest level.

    Levels are turn, dialogue, pair and system. The statistic is Spearman and the dimension `overall` if the run has
    them, else its first. Metrics that learned from the items are left out. Empty without metrics.
    """
    mine = [
        r
        for r in with_estimate(records)
        if r.metric and r.statistic and r.group == group and not r.in_training
    ]
    if not mine:
        return []
    statistic = chosen_statistic(mine)
    finest = next(level for level in LEVELS if any(r.level == level for r in mine))
    dimensions = {r.dimension for r in mine}
    dimension = "overall" if "overall" in dimensions else mine[0].dimension
    chosen = [r for r in mine if (r.statistic, r.level, r.dimension) == (statistic, finest, dimension)]
    found = measured(chosen)
    return sorted(
        (one for one in found if not one.inside or one.record.within_agents is not None),
        key=lambda one: -one.value,
    )


def chosen_statistic(records: Sequence[AgreementRecord]) -> str | None:
    """Spearman if the records have it, else their first statistic; None if there is none."""
    there = dict.fromkeys(record.statistic for record in records if record.statistic)
    return "spearman" if "spearman" in there else next(iter(there), None)


def measured(records: Sequence[AgreementRecord]) -> list[Agreement]:
    """The agreement of each record: inside agents if any of them has one, as one table has one statistic."""
    inside = any(record.within_agents is not None for record in records)
    return [Agreement(record, inside) for record in records]
