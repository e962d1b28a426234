"""How far the raters agree, and who of them can be believed: what `turnwise meta` says without a metric."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isnan
from typing import Any

from turnwise.logs.items import lookup
from turnwise.logs.scan import scan
from turnwise.ratings.agreement import Agreement, Figure, agreement
from turnwise.ratings.matrix import RatedLevel, dialogue_of, dimensions, levels
from turnwise.ratings.quality import screen
from turnwise.run.outcome import Outcome, finish
from turnwise.run.scoring import dialogues
from turnwise.run.spec import Spec
from turnwise.types import Finding, Rating

# Field of `Agreement` -> name of the statistic.
FIGURES = {
    "alpha_ordinal": "alpha-ordinal",
    "alpha_interval": "alpha-interval",
    "alpha_nominal": "alpha-nominal",
    "fleiss": "fleiss-kappa",
    "pairwise_kappa": "median-kappa",
    "pairwise_kappa_quadratic": "median-kappa-quadratic",
    "pairwise_correlation": "median-correlation",
    "leave_one_out": "leave-one-out",
    "reliability": "reliability",
    "ceiling": "ceiling",
}


def raters(spec: Spec) -> Outcome:
    """Agreement on every dimension that was asked for, after screening where that was."""
    census = scan(spec.data)
    asked = dict(spec.options)
    grouped: dict[str, list[Rating]] = {}
    for dialogue in dialogues(spec.data):
        if all(lookup(dialogue, key) == value for key, value in spec.selection.where):
            group = (lookup(dialogue, spec.selection.by) or "") if spec.selection.by else ""
            grouped.setdefault(group, []).extend(dialogue.ratings)
    found: list[Finding] = []
    reports: list[dict[str, Any]] = []
    for group, ratings in grouped.items():
        wanted = asked["dimension"]
        for name in dimensions(ratings) if wanted in (None, "all") else (wanted,):
            for level in levels(rating for rating in ratings if rating.dimension == name):
                mine, reported = believed(ratings, name, level, group, asked)
                reports += reported
                for row in agreement(mine, stable_raters=asked["stable_raters"], rescale=asked["rescale"]):
                    found += _findings(row, group, len({dialogue_of(rating) for rating in mine}))
    return finish(spec, tuple(found), census.sha256, raters=reports)


def believed(
    ratings: Sequence[Rating], dimension: str, level: RatedLevel, group: str, asked: Mapping[str, Any]
) -> tuple[list[Rating], list[dict[str, Any]]]:
    """The ratings of one dimension and level, of all raters or of those who pass; and who does not."""
    kept, reports = ratings, []
    if asked["screen"]:
        # Attention checks may stand on any dimension, so all ratings are looked at.
        screened = screen(ratings, dimension, level=level, stable_raters=asked["stable_raters"])
        kept = screened.kept
        about = {"group": group or None, "dimension": dimension, "level": level}
        reports = [{**about, **asdict(one)} for one in screened.raters]
    whole = level == "dialogue"
    mine = [r for r in kept if r.dimension == dimension and (r.turn is None) == whole]
    return mine, reports


def _findings(row: Agreement, group: str, n_clusters: int) -> list[Finding]:
    named: dict[str, Figure] = {name: getattr(row, field) for field, name in FIGURES.items()}
    return [
        Finding(
            what={
                "dimension": row.dimension,
                "group": group or None,
                "level": row.level,
                "statistic": name,
            },
            estimate=None if isnan(figure.value) else figure.value,
            interval=figure.interval,
            n_items=row.n_items,
            n_clusters=n_clusters,
            method="jackknife by dialogue" if figure.interval else "",
            status="skipped" if isnan(figure.value) else "ok",
            reason=figure.reason,
            details={"n_raters": row.n_raters, "n_ratings": row.n_ratings, "raters_are": row.identity},
        )
        for name, figure in named.items()
    ]
