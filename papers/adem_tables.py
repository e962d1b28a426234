"""Agreement with ratings and the tables of papers/adem.py."""

from pathlib import Path
from typing import Any

import numpy as np
from adem_corpora import REFERENCED, Pool

from turnwise.stats.correlation import pearson, spearman
from turnwise.stats.interval import interval_of_correlation
from turnwise.stats.permutation import correlation_test
from turnwise.types import Floats

DRAWS = 1000


def agreement(scores: Floats, people: Pool) -> dict[str, Any]:
    """Spearman and Pearson correlation with interval and p value; contexts are the clusters."""
    own, clusters = np.unique(people.contexts, return_inverse=True)
    found: dict[str, Any] = {"n": len(scores), "contexts": len(own)}
    for name, of in (("spearman", spearman), ("pearson", pearson)):
        rng = np.random.default_rng(0)
        bounds, _ = interval_of_correlation(
            name, scores, people.ratings, clusters, len(own), draws=DRAWS, rng=rng
        )
        p = correlation_test(name, scores, people.ratings, clusters, len(own), draws=DRAWS, rng=rng)
        found[name] = {"estimate": of(scores, people.ratings), "interval": bounds, "p": p}
    return found


def by_group(scores: Floats, people: Pool) -> dict[str, Any]:
    """The agreement in each group with more than 30 scored replies."""
    known = np.isfinite(scores)
    found = {}
    for group in dict.fromkeys(people.groups):
        mine = known & (people.groups == group)
        if np.count_nonzero(mine) > 30:
            found[str(group)] = agreement(scores[mine], people.where(mine))
    return found


def mean(found: dict[str, Any], groups: tuple[str, ...] = REFERENCED) -> float:
    return float(np.mean([found[group]["spearman"]["estimate"] for group in groups]))


def difference(one: Floats, other: Floats, people: Pool) -> tuple[float, float]:
    """95 % percentile interval of the difference of two metrics' mean Spearman over groups, resampling contexts."""
    rng = np.random.default_rng(0)
    rows_of = [np.flatnonzero(people.contexts == code) for code in np.unique(people.contexts)]
    drawn = []
    for _ in range(300):
        rows = np.concatenate([rows_of[place] for place in rng.integers(len(rows_of), size=len(rows_of))])
        gaps = []
        for group in REFERENCED:
            mine = rows[people.groups[rows] == group]
            gaps.append(
                spearman(one[mine], people.ratings[mine]) - spearman(other[mine], people.ratings[mine])
            )
        drawn.append(np.mean(gaps))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def cell(one: dict[str, Any] | None) -> str:
    if one is None:
        return "-"
    low, high = one["spearman"]["interval"]
    return f"{one['spearman']['estimate']:.3f} {one['pearson']['estimate']:.3f} [{low:.2f}, {high:.2f}]"


def with_p(one: dict[str, Any]) -> list[str]:
    return [f"{one[name]['estimate']:.3f} (p {one[name]['p']:.3f})" for name in ("spearman", "pearson")]


def systems(scores: Floats, people: Pool) -> dict[str, float]:
    """Pearson over systems of mean score and mean rating, in groups of three systems or more."""
    found = {}
    for group in dict.fromkeys(people.groups):
        mine = np.isfinite(scores) & (people.groups == group)
        x, y = means(scores[mine], people.where(mine))
        if len(x) > 2:
            found[str(group)] = pearson(x, y)
    return found


def means(scores: Floats, people: Pool) -> tuple[Floats, Floats]:
    """The mean score and the mean rating of each agent."""
    agents = people.agents
    names = np.unique(agents)
    return tuple(np.array([of[agents == name].mean() for name in names]) for of in (scores, people.raw))


def draw(kept: dict[str, Any], target: Path) -> None:
    """Draw scatter plots of replies and of systems, with ratings on the x axis and ADEM on the y axis."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    _, (left, right) = pyplot.subplots(1, 2, figsize=(9, 4))
    left.plot(kept["replies"]["people"], kept["replies"]["adem"], ".", alpha=0.3)
    right.plot([one["people"] for one in kept["systems"]], [one["adem"] for one in kept["systems"]], "o")
    pyplot.savefig(target)


def table(head: list[str], lines: list[list[str]]) -> str:
    rule = ["---"] * len(head)
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *lines])
