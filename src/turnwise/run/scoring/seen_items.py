"""What `meta` and `score` need of items after they were scored, so that their texts do not stay in memory.

Items that a metric was trained on are counted: its agreement with people on them says nothing about new ones, and its
scores of them are no evidence beside their ratings.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from turnwise.meta.length_bias import length_difference
from turnwise.protocols import KnowsTraining
from turnwise.records import AgreementRecord, DifferenceRecord, ScoreRecord
from turnwise.types import Item, Metric

Marked = TypeVar("Marked", ScoreRecord, DifferenceRecord, AgreementRecord)


def in_training(metrics: Mapping[str, Metric], items: Sequence[Item]) -> dict[str, str]:
    """Metrics trained on some of these items -> how many, such as "3 of 60"."""
    return shares(training_counts(metrics, items), len(items))


def training_counts(metrics: Mapping[str, Metric], items: Sequence[Item]) -> dict[str, int]:
    """How many of these items each metric that knows it was trained on."""
    return {
        name: metric.in_training(items)
        for name, metric in metrics.items()
        if isinstance(metric, KnowsTraining)
    }


def shares(counts: Mapping[str, int], total: int) -> dict[str, str]:
    """The counts that are not 0 in words, such as "3 of 60"."""
    return {name: f"{count} of {total}" for name, count in counts.items() if count}


def marked(record: Marked, known: Mapping[str, str]) -> Marked:
    """The record with `in_training`, the text that `known` has for its metric, or unchanged."""
    count = known.get(str(record.metric))
    return replace(record, in_training=count) if count else record


class SeenItems:
    """Counts over items that are given in parts."""

    def __init__(self, metrics: Mapping[str, Metric], *, lengths: bool) -> None:
        self._metrics = metrics
        self._lengths = lengths
        self._trained: Counter[str] = Counter()
        self._n = 0
        self.length_gaps: dict[str, float] = {}  # id -> `length_difference`; empty without `lengths`

    def add(self, items: Sequence[Item]) -> None:
        """Count some more items."""
        self._n += len(items)
        self._trained.update(training_counts(self._metrics, items))
        if self._lengths:
            self.length_gaps.update((item.id, length_difference(item)) for item in items)

    @property
    def in_training(self) -> dict[str, str]:
        """Metrics trained on some of the items -> how many, such as "3 of 60"."""
        return shares(self._trained, self._n)
