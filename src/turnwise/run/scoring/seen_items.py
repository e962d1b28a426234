"""What `meta` needs of items after they were scored, so that their texts do not stay in memory."""

from collections import Counter
from collections.abc import Mapping, Sequence

from turnwise.meta.length_bias import length_difference
from turnwise.run.scoring.training_overlap import shares, training_counts
from turnwise.types import Item, Metric


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
