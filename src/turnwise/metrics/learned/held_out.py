"""How well predictions agree with people on replies that were not learned from, as findings with intervals."""

from collections.abc import Sequence

import numpy as np

from turnwise.stats.clusters import codes
from turnwise.stats.correlation import STATISTICS
from turnwise.stats.interval import interval_of_correlation
from turnwise.types import Finding, Floats, Ints

SHOWN = ("spearman", "pearson")
DRAWS = 1000


def held_out(
    metric: str,
    predicted: Floats,
    people: Floats,
    clusters: Sequence[str],
    *,
    rng: np.random.Generator,
    method: str,
) -> list[Finding]:
    """Spearman and Pearson over items, resampling whole clusters."""
    known = ~np.isnan(predicted)
    of, n_clusters = codes([name for name, keep in zip(clusters, known, strict=True) if keep])
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


def folds(clusters: Sequence[str], count: int, rng: np.random.Generator) -> Ints:
    """(n,) a fold for each item; a cluster is in one fold."""
    of, n_clusters = codes(clusters)
    deal = rng.permutation(n_clusters) % min(count, n_clusters)
    return np.asarray(deal[of], dtype=np.int64)
