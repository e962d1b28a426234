"""Which raters can be believed: the screening of ADEM's data collection (Lowe et al. 2017, section 2).

"We removed all users who either failed an attention check question or achieved a kappa inter-annotator
agreement score lower than 0.2 (Cohen, 1968)"; Appendix A adds that "excluding all scores where participants
indicated they did not understand the context improved inter-annotator agreement slightly", which is a rule
about scores, not users. The paper does not say which weights kappa had (the citation is weighted kappa),
nor how a user's kappas with several others become one. Here weights are quadratic and the one figure is the
median over the other raters who failed no check, as its Table 2 reports medians. Whoever agrees least is
dropped first and the rest are judged again, because of three raters a bad one drags both others down.

A check is a rating whose `extra` has `expected`; a context not understood is `understood: false` there.
Nothing is deleted: every rating comes back, kept or apart with the reason. Screening by agreement rewards
conformity: a rater who alone is right is dropped too, so look at who was.
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
    MEAN,
    Identity,
    RatedLevel,
    RatingMatrix,
    choose_dimension,
    raters_identity,
    rating_matrix,
)
from turnwise.stats.agreement import cohen_kappa
from turnwise.types import Rating

KAPPA = 0.2  # ADEM, section 2
SHARED = 20  # ADEM gave all participants the same five contexts, four responses each

PASSED, FAILED, CONFUSED = "attention check passed", "attention check failed", "context not understood"


class Agreed(NamedTuple):
    kappa: float  # median over the partners; NaN without any
    partners: int  # other raters with enough items in common


STRANGER = Agreed(nan, 0)


@dataclass(frozen=True, slots=True)
class RaterReport:
    rater: str
    ratings: int  # checks not counted
    checks: int
    failed: int
    not_understood: int
    kappa: float  # as in `Agreed`
    partners: int
    dropped: bool
    reason: str | None  # why dropped, or why agreement was not judged


@dataclass(frozen=True, slots=True)
class Screened:
    kept: tuple[Rating, ...]
    apart: tuple[Rating, ...]
    reasons: tuple[str, ...]  # of each rating apart
    raters: tuple[RaterReport, ...]  # empty where raters are not persons
    identity: Identity

    @property
    def dropped(self) -> tuple[str, ...]:
        return tuple(report.rater for report in self.raters if report.dropped)


def screen(
    ratings: Sequence[Rating],
    dimension: str | None = None,
    *,
    level: RatedLevel | None = None,
    stable_raters: bool | None = None,
    kappa: float = KAPPA,
    weights: Literal["linear", "quadratic"] | None = "quadratic",
    min_shared: int = SHARED,
    tolerance: float = 0.0,
) -> Screened:
    """Ratings kept and apart, and a report on each rater.

    Agreement is judged on one dimension; a rater who fails there is dropped from all. One with fewer than
    `min_shared` items in common with anyone cannot be judged and is kept, marked. Where raters are
    positions or unnamed nobody can be dropped: only single ratings are set apart.
    """
    identity = raters_identity((r.rater for r in ratings if r.rater != MEAN), stable_raters)
    confused = {(r.rater, r.item) for r in ratings if _not_understood(r)}
    faults = [_fault(r, confused, tolerance) for r in ratings]
    if identity != "people":
        return _split(ratings, faults, (), identity)

    tally = Counter((r.rater, fault) for r, fault in zip(ratings, faults, strict=True))
    trusted = [
        r
        for r, fault in zip(ratings, faults, strict=True)
        if fault is None and r.rater != MEAN and not tally[r.rater, FAILED]
    ]
    asked = choose_dimension(ratings, dimension)
    agreed: dict[str, Agreed] = {}
    alone = f"no other rater with {min_shared} items in common and a defined kappa"
    if any(r.dimension == asked for r in trusted):
        matrix = rating_matrix(trusted, asked, level=level, stable_raters=True)
        if matrix.identity == "people":
            agreed = _winnow(_kappas(matrix, weights, min_shared), threshold=kappa)
        else:
            alone = "too many raters to compare each with each; screen a part of the log at a time"
    reports = tuple(
        _report(rater, tally, agreed.get(rater, STRANGER), threshold=kappa, alone=alone)
        for rater in dict.fromkeys(r.rater for r in ratings if r.rater is not None and r.rater != MEAN)
    )
    dropped = {report.rater: f"rater {report.reason}" for report in reports if report.dropped}
    reasons = [fault or dropped.get(str(r.rater)) for r, fault in zip(ratings, faults, strict=True)]
    return _split(ratings, reasons, reports, identity)


def _fault(rating: Rating, confused: set[tuple[str | None, str]], tolerance: float) -> str | None:
    """Why a rating by itself is no judgement to keep; None if it is one."""
    if "expected" in rating.extra:
        expected = rating.extra["expected"]
        if isinstance(expected, bool) or not isinstance(expected, int | float):
            raise DataError(
                f"the attention check on `{rating.item}` expects {expected!r}, which is not a number"
            )
        return PASSED if abs(rating.value - expected) <= tolerance else FAILED
    # What a person did not understand spoils all their scores of the item; the nameless answer for one.
    spoiled = _not_understood(rating) if rating.rater is None else (rating.rater, rating.item) in confused
    return CONFUSED if spoiled else None


def _not_understood(rating: Rating) -> bool:
    return rating.extra.get("understood") in (False, 0)


def _kappas(
    matrix: RatingMatrix, weights: Literal["linear", "quadratic"] | None, min_shared: int
) -> dict[tuple[str, str], float]:
    """Kappa of each two raters who judged enough of the same items, both ways round."""
    rows = dict(zip(matrix.raters, matrix.values, strict=True))
    kappa = partial(cohen_kappa, weights=weights, categories=matrix.categories)
    kappas = {}
    for a, b in combinations(rows, 2):
        shared = ~np.isnan(rows[a]) & ~np.isnan(rows[b])
        if shared.sum() >= min_shared and not isnan(value := kappa(rows[a][shared], rows[b][shared])):
            kappas[a, b] = kappas[b, a] = value
    return kappas


def _winnow(kappas: Mapping[tuple[str, str], float], *, threshold: float) -> dict[str, Agreed]:
    """Each rater's agreement with those who were left when it was decided, the worst decided first."""
    partners: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for (a, b), value in kappas.items():
        partners[a][b] = value
    decided: dict[str, Agreed] = {}
    while True:
        agreed = {a: Agreed(median(of.values()), len(of)) for a, of in partners.items() if of}
        worst = min((rater.kappa for rater in agreed.values()), default=nan)
        if not worst < threshold:
            return decided | agreed
        for rater in [a for a, it in agreed.items() if it.kappa == worst]:
            decided[rater] = agreed[rater]
            for other in partners.pop(rater):
                partners.get(other, {}).pop(rater, None)


def _report(
    rater: str,
    tally: Counter[tuple[str | None, str | None]],
    agreed: Agreed,
    *,
    threshold: float,
    alone: str,
) -> RaterReport:
    failed = tally[rater, FAILED]
    checks = failed + tally[rater, PASSED]
    dropped = bool(failed) or agreed.kappa < threshold
    reason = None
    if failed:
        reason = f"failed {failed} of {checks} attention checks"
    elif dropped:
        reason = f"has a median kappa of {agreed.kappa:.2f} with the others, below {threshold:g}"
    elif not agreed.partners:
        reason = f"not judged: {alone}"
    return RaterReport(
        rater=rater,
        ratings=tally[rater, None] + tally[rater, CONFUSED],
        checks=checks,
        failed=failed,
        not_understood=tally[rater, CONFUSED],
        kappa=agreed.kappa,
        partners=agreed.partners,
        dropped=dropped,
        reason=reason,
    )


def _split(
    ratings: Sequence[Rating],
    reasons: Sequence[str | None],
    reports: tuple[RaterReport, ...],
    identity: Identity,
) -> Screened:
    judged = list(zip(ratings, reasons, strict=True))
    return Screened(
        kept=tuple(rating for rating, why in judged if why is None),
        apart=tuple(rating for rating, why in judged if why is not None),
        reasons=tuple(why for why in reasons if why is not None),
        raters=reports,
        identity=identity,
    )
