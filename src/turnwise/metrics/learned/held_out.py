"""Agreement of predictions with ratings on replies that were held out of training, as findings with intervals."""

from collections.abc import Iterator, Sequence

import numpy as np

from turnwise.encode.text.normalise import plain
from turnwise.errors import DataError
from turnwise.records import StatisticRecord, finite
from turnwise.stats.clusters import connected_components
from turnwise.stats.correlation import STATISTICS
from turnwise.stats.interval import interval_of_correlation
from turnwise.types import Floats, Ints, Item, without_prompt

SHOWN = ("spearman", "pearson")  # statistics that are reported
DRAWS = 1000  # bootstrap samples of an interval
MIN_WORDS = 4  # shorter turns occur in many dialogues, so a common one does not connect two dialogues


def held_out(
    metric: str,
    predicted: Floats,
    people: Floats,
    contexts: Ints,
    *,
    rng: np.random.Generator,
    method: str,
) -> list[StatisticRecord]:
    """Spearman and Pearson correlation over items; intervals resample whole contexts.

    Items with a NaN prediction are left out. `contexts` has the context group of each item. A finding is `skipped` with
    fewer than 3 items or constant predictions.
    """
    known = ~np.isnan(predicted)
    different, cluster = np.unique(contexts[known], return_inverse=True)
    n_clusters = len(different)
    x, y = predicted[known], people[known]
    findings = []
    for name in SHOWN:
        value = float(STATISTICS[name](x, y)) if len(x) > 2 and np.ptp(x) > 0 else float("nan")
        bounds = None
        if not np.isnan(value):
            bounds, _ = interval_of_correlation(name, x, y, cluster, n_clusters, draws=DRAWS, rng=rng)
        findings.append(
            StatisticRecord(
                metric=metric,
                statistic=name,
                estimate=finite(value),
                interval=bounds,
                n_items=len(x),
                n_clusters=n_clusters,
                method=method,
                status="skipped" if np.isnan(value) else "ok",
                reason="predictions do not vary" if np.isnan(value) else None,
            )
        )
    return findings


def on_card(findings: Sequence[StatisticRecord]) -> dict[str, object]:
    """The findings in the form of a model's card: statistic -> estimate, interval and n."""
    return {
        str(finding.statistic): {
            "estimate": finding.estimate,
            "interval": finding.interval,
            "n": finding.n_items,
        }
        for finding in findings
    }


def context_groups(items: Sequence[Item]) -> Ints:
    """(n,) group numbers; items that share a cluster or a long turn of context, also indirectly, are in one group."""
    return connected_components(
        [[f"cluster {item.cluster}", *map("turn {}".format, long_turns(item))] for item in items]
    )[0]


def long_turns(item: Item) -> Iterator[str]:
    """The turns of the context that have at least `MIN_WORDS` words, normalised, without the system prompt."""
    texts = (plain(turn.text) for turn in without_prompt(item.context))
    return (text for text in texts if len(text.split()) >= MIN_WORDS)


def folds(contexts: Ints, count: int, rng: np.random.Generator) -> Ints:
    """(n,) a random fold, 0 to `count` - 1, for each item; all items of a context are in the same fold.

    There are at most as many folds as contexts; one context is a `DataError`.
    """
    different, index = np.unique(contexts, return_inverse=True)
    count = min(count, len(different))
    if count < 2:
        raise DataError("all rated replies are to the same context: nothing can be held out")
    fold_of_context = rng.permutation(len(different)) % count
    return np.asarray(fold_of_context[index], dtype=np.int64)
