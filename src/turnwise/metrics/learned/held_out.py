"""How well predictions agree with people on replies that were not learned from, as findings with intervals."""

from collections.abc import Iterator, Sequence

import numpy as np

from turnwise.encode.text.normalise import plain
from turnwise.errors import DataError
from turnwise.stats.clusters import connected_components
from turnwise.stats.correlation import STATISTICS
from turnwise.stats.interval import interval_of_correlation
from turnwise.types import Finding, Floats, Ints, Item

SHOWN = ("spearman", "pearson")
DRAWS = 1000
LONG = 4  # words: a turn of fewer is said in many conversations


def held_out(
    metric: str,
    predicted: Floats,
    people: Floats,
    contexts: Ints,
    *,
    rng: np.random.Generator,
    method: str,
) -> list[Finding]:
    """Spearman and Pearson over items, resampling whole contexts."""
    known = ~np.isnan(predicted)
    own, of = np.unique(contexts[known], return_inverse=True)
    n_clusters = len(own)
    x, y = predicted[known], people[known]
    found = []
    for name in SHOWN:
        value = float(STATISTICS[name](x, y)) if len(x) > 2 and np.ptp(x) > 0 else float("nan")
        bounds = None
        if not np.isnan(value):
            bounds, _ = interval_of_correlation(name, x, y, of, n_clusters, draws=DRAWS, rng=rng)
        found.append(
            Finding(
                what={"metric": metric, "statistic": name},
                estimate=None if np.isnan(value) else value,
                interval=bounds,
                n_items=len(x),
                n_clusters=n_clusters,
                method=method,
                status="skipped" if np.isnan(value) else "ok",
                reason="predictions do not vary" if np.isnan(value) else None,
            )
        )
    return found


def on_card(findings: Sequence[Finding]) -> dict[str, object]:
    """Held-out numbers as they stand in a card."""
    return {
        str(finding.what["statistic"]): {
            "estimate": finding.estimate,
            "interval": finding.interval,
            "n": finding.n_items,
        }
        for finding in findings
    }


def context_groups(items: Sequence[Item]) -> Ints:
    """(n,) equal for items that share their cluster or a turn of context, directly or through others."""
    return connected_components(
        [[f"cluster {item.cluster}", *map("turn {}".format, _long_turns(item))] for item in items]
    )[0]


def _long_turns(item: Item) -> Iterator[str]:
    words = (plain(turn.text) for turn in item.context)
    return (text for text in words if len(text.split()) >= LONG)


def folds(contexts: Ints, count: int, rng: np.random.Generator) -> Ints:
    """(n,) a fold for each item; a context is in one fold."""
    own, of = np.unique(contexts, return_inverse=True)
    count = min(count, len(own))
    if count < 2:
        raise DataError("all rated replies answer the same context: nothing can be held out")
    deal = rng.permutation(len(own)) % count
    return np.asarray(deal[of], dtype=np.int64)
