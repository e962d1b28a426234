"""Items that a metric was trained on: its agreement with people there says nothing about new ones."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from turnwise.protocols import KnowsTraining
from turnwise.types import Finding, Item, Metric


def in_training(metrics: Mapping[str, Metric], items: Sequence[Item]) -> dict[str, str]:
    """Metrics trained on some of these items -> how many, such as "3 of 60"."""
    counts = {
        name: metric.in_training(items)
        for name, metric in metrics.items()
        if isinstance(metric, KnowsTraining)
    }
    return {name: f"{count} of {len(items)}" for name, count in counts.items() if count}


def marked(finding: Finding, known: Mapping[str, str]) -> Finding:
    """The finding with `in_training`, the text that `known` has for its metric, or unchanged."""
    count = known.get(str(finding.what.get("metric")))
    return replace(finding, details={**finding.details, "in_training": count}) if count else finding
