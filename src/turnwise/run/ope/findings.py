"""Estimates of targets as findings, and as files in the output folder."""

from collections.abc import Mapping, Sequence

from turnwise.report import regression, results
from turnwise.run.ope.estimate import TargetEstimate
from turnwise.run.ope.truth import Mean
from turnwise.run.spec import OpeSpec
from turnwise.types import Finding


def target_finding(one: TargetEstimate, rating: str, logged: float | None, truth: Mean | None) -> Finding:
    """One estimate as a finding.

    `logged` is the target's mean rating in the logs, `truth` that of --truth, if known.
    """
    refused = one.estimate is None
    return Finding(
        what={"target": one.target, "rating": rating, "estimator": one.estimator},
        estimate=one.estimate,
        interval=one.interval,
        n_items=one.n_dialogues,
        n_clusters=one.n_agents,
        method=one.method,
        signature=one.signature,
        status="ok" if not refused else "error" if one.failed else "refused",
        reason=one.reason,
        details={
            "raw": one.diagnostics.get("raw"),
            "refused": refused,
            "logged": logged,
            "truth": None if truth is None else truth.mean,
            "truth_se": None if truth is None else truth.se,
            "diagnostics": one.diagnostics,
        },
    )


def write_figures(
    spec: OpeSpec, rating: str, estimates: Sequence[TargetEstimate], truth: Mapping[str, float]
) -> None:
    """Write each estimator's plot of estimates against true means (two or more), and training curves, into -o.

    Without -o nothing is written.
    """
    if spec.output is None:
        return
    place = spec.output / rating.replace(":", "-")
    for name in dict.fromkeys(one.estimator for one in estimates):
        mine = [one for one in estimates if one.estimator == name and one.estimate is not None]
        drawn = [
            regression.Dot(one.target, truth[one.target], one.estimate, one.interval)
            for one in mine
            if one.target in truth and one.estimate is not None
        ]
        if len(drawn) > 1:
            with results.replacing(place / f"{name}.svg") as file:
                file.write(regression.standalone_svg(drawn, title=f"{name}, {rating}").encode())
        curves = {
            one.target: {key: list(map(float, curve)) for key, curve in one.curves.items()}
            for one in mine
            if one.curves
        }
        if curves:
            results.write(place / f"{name}.curves.json", curves)
