"""Screening of raters, as in ADEM's data collection (Lowe et al. 2017, section 2).

"We removed all users who either failed an attention check question or achieved a kappa inter-annotator
agreement score lower than 0.2 (Cohen, 1968)"; Appendix A adds that "excluding all scores where participants
indicated they did not understand the context improved inter-annotator agreement slightly", which excludes
ratings, not users. The paper does not say which weights kappa had (it cites weighted kappa), nor how the kappas of a
user with several others are combined. Here weights are quadratic, and a rater's kappa is the median over the other
raters who failed no check, since Table 2 of the paper reports medians. The rater with the lowest kappa is dropped first
and the kappas of the rest are computed again, because one bad rater lowers the kappas of the others.

An attention check is a rating whose `extra` has `expected`; `understood: false` there marks a context that was not
understood. Every rating is returned, either kept or excluded with the reason. Screening by agreement rewards
conformity: it also drops a rater who disagrees because the others are wrong, so check who was dropped.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import isnan, nan
from statistics import median
from typing import Literal, NamedTuple

import numpy as np

from turnwise.errors import DataError
from turnwise.ratings.matrix import (
    Identity,
    RatedLevel,
    RatingMatrix,
    choose_dimension,
    raters_identity,
    rating_matrix,
)
from turnwise.stats.agreement import cohen_kappa
from turnwise.types import MEAN_RATER, Rating

MIN_KAPPA = 0.2  # raters below it are dropped: ADEM, section 2
MIN_SHARED = (
    20  # items two raters must share: ADEM gave all participants the same 5 contexts with 4 responses each
)

PASSED, FAILED, NOT_UNDERSTOOD = "attention check passed", "attention check failed", "context not understood"


class RaterKappa(NamedTuple):
    """A rater's agreement with the other raters."""

    kappa: float  # median over the partners; NaN without partners
    partners: int  # other raters with enough items in common


NO_PARTNERS = RaterKappa(nan, 0)


@dataclass(frozen=True, slots=True)
class RaterReport:
    """The result of the screening for one rater."""

    rater: str
    ratings: int  # without attention checks
    checks: int
    failed: int
    not_understood: int
    kappa: float  # as in `RaterKappa`
    partners: int
    dropped: bool
    reason: str | None  # why the rater was dropped, or why there is no kappa


@dataclass(frozen=True, slots=True)
class Screened:
    """The ratings kept and excluded by the screening, and a report on each rater."""

    kept: tuple[Rating, ...]
    excluded: tuple[Rating, ...]
    reasons: tuple[str, ...]  # reason for each excluded rating
    raters: tuple[RaterReport, ...]  # empty where names do not identify people
    identity: Identity

    @property
    def dropped(self) -> tuple[str, ...]:
        """The names of the raters who were dropped."""
        return tuple(report.rater for report in self.raters if report.dropped)


def screen(
    ratings: Sequence[Rating],
    dimension: str | None = None,
    *,
    level: RatedLevel | None = None,
    stable_raters: bool | None = None,
    kappa: float = MIN_KAPPA,
    weights: Literal["linear", "quadratic"] | None = "quadratic",
    min_shared: int = MIN_SHARED,
    tolerance: float = 0.0,
) -> Screened:
    """Exclude ratings by raters who fail attention checks or agree too little, and ratings of unclear contexts.

    Agreement is computed on one dimension; a rater who is dropped there is dropped on all. A rater who shares fewer
    than `min_shared` items with every other rater has no kappa and is kept; the report says so. Where names do not
    identify people no rater is dropped, and only single ratings are excluded. One failed check drops a rater;
    `tolerance` is the largest difference from the expected value that passes. Raters with a median kappa below `kappa`
    are dropped.
    """
    identity = raters_identity((r.rater for r in ratings if r.rater != MEAN_RATER), stable_raters)
    not_understood = {(r.rater, r.item) for r in ratings if _not_understood(r)}
    exclusions = [_reason_to_exclude(r, not_understood, tolerance) for r in ratings]
    if identity != "people":
        return _split(ratings, exclusions, (), identity)

    tally = Counter((r.rater, exclusion) for r, exclusion in zip(ratings, exclusions, strict=True))
    trusted = [
        r
        for r, exclusion in zip(ratings, exclusions, strict=True)
        if exclusion is None and r.rater != MEAN_RATER and not tally[r.rater, FAILED]
    ]
    asked = choose_dimension(ratings, dimension)
    rater_kappa: dict[str, RaterKappa] = {}
    alone = f"no other rater with {min_shared} items in common and a defined kappa"
    if any(r.dimension == asked for r in trusted):
        matrix = rating_matrix(trusted, asked, level=level, stable_raters=True)
        if matrix.identity == "people":
            rater_kappa = _drop_worst_first(_kappas(matrix, weights, min_shared), threshold=kappa)
        else:
            alone = "too many raters to compare each with each; screen a part of the log at a time"
    reports = tuple(
        _report(rater, tally, rater_kappa.get(rater, NO_PARTNERS), threshold=kappa, alone=alone)
        for rater in dict.fromkeys(r.rater for r in ratings if r.rater is not None and r.rater != MEAN_RATER)
    )
    dropped = {report.rater: f"rater {report.reason}" for report in reports if report.dropped}
    reasons = [
        exclusion or dropped.get(str(r.rater)) for r, exclusion in zip(ratings, exclusions, strict=True)
    ]
    return _split(ratings, reasons, reports, identity)


def _reason_to_exclude(
    rating: Rating, not_understood: set[tuple[str | None, str]], tolerance: float
) -> str | None:
    """Why a single rating is excluded: it is an attention check, passed or failed, or its context was not understood.

    None to keep it. `not_understood` has the (rater, item) pairs of which any rating says so. An attention check whose
    expected answer is no number raises `DataError`.
    """
    if "expected" in rating.extra:
        expected = rating.extra["expected"]
        if isinstance(expected, bool) or not isinstance(expected, int | float):
            raise DataError(
                f"the attention check on `{rating.item}` expects {expected!r}, which is not a number"
            )
        return PASSED if abs(rating.value - expected) <= tolerance else FAILED
    # A context that a named rater did not understand excludes all the rater's ratings of the item; without a name only
    # the rating itself can be excluded.
    excluded = (
        _not_understood(rating) if rating.rater is None else (rating.rater, rating.item) in not_understood
    )
    return NOT_UNDERSTOOD if excluded else None


def _not_understood(rating: Rating) -> bool:
    """Whether the rating itself says that its context was not understood."""
    return rating.extra.get("understood") in (False, 0)


def _kappas(
    matrix: RatingMatrix, weights: Literal["linear", "quadratic"] | None, min_shared: int
) -> dict[tuple[str, str], float]:
    """Kappa of each pair of raters who share `min_shared` items, in both orders.

    Pairs whose kappa is undefined are left out.
    """
    rows = dict(zip(matrix.raters, matrix.values, strict=True))
    kappa = partial(cohen_kappa, weights=weights, categories=matrix.categories)
    kappas = {}
    for a, b in combinations(rows, 2):
        shared = ~np.isnan(rows[a]) & ~np.isnan(rows[b])
        if shared.sum() >= min_shared and not isnan(value := kappa(rows[a][shared], rows[b][shared])):
            kappas[a, b] = kappas[b, a] = value
    return kappas


def _drop_worst_first(kappas: Mapping[tuple[str, str], float], *, threshold: float) -> dict[str, RaterKappa]:
    """Each rater's median kappa with the remaining raters; those with the lowest are dropped until none is too low.

    Too low is below `threshold`; raters with equal lowest kappas are dropped together. A dropped rater has
    the kappa at the time of dropping. Raters without partners are absent.
    """
    partners: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for (a, b), value in kappas.items():
        partners[a][b] = value
    decided: dict[str, RaterKappa] = {}
    while True:
        rater_kappa = {a: RaterKappa(median(of.values()), len(of)) for a, of in partners.items() if of}
        worst = min((rater.kappa for rater in rater_kappa.values()), default=nan)
        if not worst < threshold:
            return decided | rater_kappa
        for rater in [a for a, it in rater_kappa.items() if it.kappa == worst]:
            decided[rater] = rater_kappa[rater]
            for other in partners.pop(rater):
                partners.get(other, {}).pop(rater, None)


def _report(
    rater: str,
    tally: Counter[tuple[str | None, str | None]],
    rater_kappa: RaterKappa,
    *,
    threshold: float,
    alone: str,
) -> RaterReport:
    """The report on one rater, who is dropped after a failed check or with a kappa below `threshold`.

    `tally` counts ratings by (rater, reason to exclude); `alone` is the reason given where there is no kappa.
    """
    failed = tally[rater, FAILED]
    checks = failed + tally[rater, PASSED]
    dropped = bool(failed) or rater_kappa.kappa < threshold
    reason = None
    if failed:
        reason = f"failed {failed} of {checks} attention checks"
    elif dropped:
        reason = f"has a median kappa of {rater_kappa.kappa:.2f} with the others, below {threshold:g}"
    elif not rater_kappa.partners:
        reason = f"not screened: {alone}"
    return RaterReport(
        rater=rater,
        ratings=tally[rater, None] + tally[rater, NOT_UNDERSTOOD],
        checks=checks,
        failed=failed,
        not_understood=tally[rater, NOT_UNDERSTOOD],
        kappa=rater_kappa.kappa,
        partners=rater_kappa.partners,
        dropped=dropped,
        reason=reason,
    )


def _split(
    ratings: Sequence[Rating],
    reasons: Sequence[str | None],
    reports: tuple[RaterReport, ...],
    identity: Identity,
) -> Screened:
    """The result of the screening: ratings whose entry in `reasons` is None are kept, the others excluded."""
    with_reasons = list(zip(ratings, reasons, strict=True))
    return Screened(
        kept=tuple(rating for rating, why in with_reasons if why is None),
        excluded=tuple(rating for rating, why in with_reasons if why is not None),
        reasons=tuple(why for why in reasons if why is not None),
        raters=reports,
        identity=identity,
    )
