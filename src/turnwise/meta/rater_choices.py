"""Agreement of raters about preferences: do two people choose the same one of two?

Krippendorff's alpha and Cohen's kappa compare the choices between the same two (the first, neither, the second; neither
is in the middle for the ordinal alpha) with choices between any two. Which of two is called the first is arbitrary, so
each pair is counted in both orders. Leave-one-out is how often one rater chooses as the majority of the others does:
the accuracy that a metric must reach to be as good as one more person.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan, nan

import numpy as np

from turnwise.meta.pair_accuracy import agreed_with_others
from turnwise.meta.preferences import ComparedPair, errors_of
from turnwise.ratings.agreement import Coefficient, jackknife_interval
from turnwise.ratings.matrix import RatingMatrix, rating_matrix
from turnwise.records import AgreementRecord, finite
from turnwise.stats.agreement import MIN_OVERLAP, cohen_kappa, krippendorff_alpha, pairwise_median
from turnwise.stats.clusters import connected_components
from turnwise.stats.shares import share_test
from turnwise.types import Floats, Rating

CHOICES = np.array([-1.0, 0.0, 1.0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the choices are about: labels of the records."""

    dimension: str
    group: str | None


def choice_matrix(
    pairs: Sequence[ComparedPair], dimension: str, *, stable_raters: bool | None
) -> RatingMatrix:
    """Choices as a matrix of raters by pairs: 1 for the item whose id sorts first, -1 for the other, 0 for neither."""
    choices, clusters = [], {}
    of_pair, _ = connected_components([list(pair.clusters) for pair in pairs])
    for pair, cluster in zip(pairs, of_pair.tolist(), strict=True):
        first, second = sorted(pair.items)
        value = float(pair.outcome if pair.items[0] == first else -pair.outcome)
        choices.append(Rating(f"{first} {second}", dimension, value, pair.rater, scale=(-1.0, 1.0)))
        clusters[f"{first} {second}"] = str(cluster)
    return rating_matrix(choices, dimension, stable_raters=stable_raters, clusters=clusters)


def rater_agreement(
    pairs: Sequence[ComparedPair], asked: Asked, *, stable_raters: bool | None = None
) -> list[AgreementRecord]:
    """A record for each coefficient of the agreement of raters; `skipped` with the reason where it is undefined."""
    matrix = choice_matrix(pairs, asked.dimension, stable_raters=stable_raters)
    reason = _why_not(matrix)
    persons = reason or (
        None
        if matrix.identity == "people"
        else "raters are positions, so a pair of names is not a pair of people"
    )

    def coefficient(statistic: Callable[[Floats], float]) -> Coefficient:
        """The statistic of the choices in both orders, with its interval; NaN with the reason if it is undefined."""

        def in_both_orders(values: Floats) -> float:
            """The statistic of a (raters, pairs) table and its mirror image."""
            return statistic(np.concatenate([values, -values], axis=1))

        value = nan if reason else in_both_orders(matrix.values)
        if isnan(value):
            return Coefficient(nan, reason=reason or "the choices leave nothing to compare")
        return Coefficient(value, jackknife_interval(matrix, in_both_orders, value))

    def kappa(values: Floats) -> float:
        """The median kappa of two raters that share five pairs or more, in both orders of each pair."""

        def of_two(a: Floats, b: Floats) -> float:
            """The kappa of two raters."""
            return cohen_kappa(np.append(a, -a), np.append(b, -b), categories=CHOICES)

        return pairwise_median(values, of_two)

    median = nan if persons else kappa(matrix.values)
    found = {
        "alpha-ordinal": coefficient(lambda values: krippendorff_alpha(values, level="ordinal")),
        "alpha-nominal": coefficient(lambda values: krippendorff_alpha(values, level="nominal")),
        "median-kappa": Coefficient(
            median, reason=(persons or f"no two raters share {MIN_OVERLAP} pairs") if isnan(median) else None
        ),
        "leave-one-out": _leave_one_out(pairs, reason),
    }
    return [_record(asked, name, one, matrix) for name, one in found.items()]


def _why_not(matrix: RatingMatrix) -> str | None:
    """Why agreement is undefined; None where it is defined."""
    if np.sum(matrix.counts > 1) < 2:
        return "fewer than two pairs were compared by two raters"
    if not np.any(matrix.values[~np.isnan(matrix.values)]):
        return "all choices are ties"
    return None


def _leave_one_out(pairs: Sequence[ComparedPair], reason: str | None) -> Coefficient:
    """How often one rater chooses as the majority of the others, with Wilson's interval over contexts and raters."""
    kept, agreed = agreed_with_others(pairs)
    if reason or not kept:
        return Coefficient(nan, reason=reason or "fewer than two pairs were compared by two raters")
    share = float(agreed.mean())
    errors, by = errors_of((agreed - share)[:, None] / len(agreed), kept)
    contexts = len({frozenset(pair.items) for pair in kept})
    return Coefficient(share, share_test(share, errors, null=0.5, n_clusters=contexts, by=by).interval)


def _record(asked: Asked, statistic: str, figure: Coefficient, matrix: RatingMatrix) -> AgreementRecord:
    """The record of one coefficient."""
    by = "Wilson by context and rater" if statistic == "leave-one-out" else "jackknife by cluster"
    return AgreementRecord(
        dimension=asked.dimension,
        group=asked.group,
        level="pair",
        statistic=statistic,
        estimate=finite(figure.value),
        interval=figure.interval,
        n_items=len(matrix.items),
        n_clusters=len(set(matrix.clusters)),
        method=by if figure.interval else "",
        status="skipped" if isnan(figure.value) else "ok",
        reason=figure.reason,
        n_raters=len(matrix.raters),
        n_ratings=int(matrix.counts.sum()),
        raters_are=matrix.identity,
    )
