"""Items that a metric was trained on: its agreement with people there says nothing about new ones."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from turnwise.protocols import KnowsTraining
from turnwise.types import Finding, Item, Metric


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


def marked(finding: Finding, known: Mapping[str, str]) -> Finding:
    """The finding with `in_training`, the text that `known` has for its metric, or unchanged."""
    count = known.get(str(finding.what.get("metric")))
    return replace(finding, details={**finding.details, "in_training": count}) if count else finding
