"""Regression plot of an off-policy evaluation (ENIGMA, figure 1): estimates against known mean ratings."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from turnwise.errors import counted
from turnwise.records import EstimateRecord
from turnwise.report import plot
from turnwise.report.documents import OpeDocument
from turnwise.report.figure import Figure, provenance_notes, with_estimate
from turnwise.report.runs import RunOf
from turnwise.report.text import number
from turnwise.stats.correlation import pearson, spearman
from turnwise.types import Floats

MIN_DOTS = 3  # minimum number of dots for a fitted line
BAND_POINTS = 40  # points at which the band is drawn
LARGEST_FITTED, SMALLEST_FITTED = 1e150, 1e-150  # sizes whose squares are numbers
SMALLEST_SPREAD = 1e-12  # of x, as a share of its size: a smaller one is rounding


class Dot(NamedTuple):
    """An agent with its known mean rating and its estimate."""

    name: str
    known: float
    estimate: float
    interval: tuple[float, float] | None


class Band(NamedTuple):
    """A fitted line and its confidence band at points `x`."""

    x: Floats
    middle: Floats
    low: Floats
    high: Floats


def fit_with_band(x: Floats, y: Floats, *, level: float = 0.95) -> Band | None:
    """The least-squares line and its pointwise confidence band at 40 points; None for fewer than three or equal x.

    None as well where the numbers are not finite, or so large, small or close that a line is all rounding.
    """
    n = len(x)
    if n < MIN_DOTS or not (np.abs([x, y]) < LARGEST_FITTED).all():
        return None
    if not np.ptp(x) > max(SMALLEST_FITTED, SMALLEST_SPREAD * float(np.max(np.abs(x)))):
        return None
    from scipy.stats import t

    slope, offset = np.polyfit(x, y, 1)
    at = np.linspace(x.min(), x.max(), BAND_POINTS)
    residual = float(np.sum((y - slope * x - offset) ** 2)) / (n - 2)
    spread = np.sqrt(residual * (1 / n + (at - x.mean()) ** 2 / np.sum((x - x.mean()) ** 2)))
    half = float(t.ppf((1 + level) / 2, n - 2)) * spread
    middle = slope * at + offset
    return Band(at, middle, middle - half, middle + half)


def draw(dots: Sequence[Dot], *, title: str, new: Dot | None = None) -> str:
    """The SVG picture: dots with names and intervals, the diagonal, and if there are enough dots the fitted line and
    its band.

    `new` is one more agent in another colour; with it there is no line, which says nothing about its interval.
    """
    shown = [*dots, *([] if new is None else [new])]
    values = [value for dot in shown for value in (dot.known, dot.estimate, *(dot.interval or ()))]
    span = plot.padded_range(values)
    panel = plot.Panel.with_axes(span, span, height=360)
    panel.axes("known mean", "estimate")
    panel.path([(span[0], span[0]), (span[1], span[1])], style="rule")
    known, estimates = (np.array([dot[at] for dot in dots]) for at in (1, 2))
    fitted = fit_with_band(known, estimates) if new is None else None
    if fitted is not None:
        low, high = (np.clip(edge, *span).tolist() for edge in (fitted.low, fitted.high))
        panel.band(fitted.x.tolist(), low, high, 2)
        panel.line(fitted.x.tolist(), np.clip(fitted.middle, *span).tolist(), 2)
    for dot in shown:
        series = int(dot is new)
        if dot.interval is not None:
            panel.path([(dot.known, edge) for edge in dot.interval], style=f"whisker s{series}")
        about = f"new, estimate {number(dot.estimate)}"
        if dot is not new:
            about = f"known {number(dot.known)}, estimate {number(dot.estimate)}"
        panel.dot(dot.known, dot.estimate, series=series, tip=f"{dot.name}: {about}")
    key = panel.label_dots([(dot.known, dot.estimate, dot.name) for dot in shown])
    return panel.svg(title, key=key)


def standalone_svg(dots: Sequence[Dot], *, title: str) -> str:
    """The picture with its style, as the text of an SVG file."""
    return plot.standalone(draw(dots, title=title))


def dots_of(records: Sequence[EstimateRecord]) -> list[Dot]:
    """A dot for each record that has an estimate and a known mean, in order."""
    return [
        Dot(r.target, mean, r.value, r.bounds)
        for r in with_estimate(records)
        if (mean := r.known_mean) is not None
    ]


def new_agents(run: RunOf[OpeDocument]) -> Iterator[Figure]:
    """For each target with an estimate from its own dialogues: the rated agents, left out, and the target.

    None of a run in which each rated agent is the target in turn: it has a figure of all.
    """
    if run.document.validation:
        return
    known = {one.rating: one.means for one in run.document.known}
    answers = {(one.target, one.rating): one for one in run.document.answers}
    for record in run.document.results:
        answer = answers[record.target, record.rating]
        if answer.estimate is None:
            continue
        means = known.get(record.rating, {})
        drawn = [
            Dot(name, mean, estimate, None)
            for name, estimate in record.diagnostics.left_out.items()
            if estimate is not None and (mean := means.get(name)) is not None
        ]
        if len(drawn) < MIN_DOTS:
            continue
        truth = answer.truth
        new = Dot(record.target, answer.value if truth is None else truth, answer.value, answer.bounds)
        place = (
            f"is drawn at its estimate on this line, as its mean is not known{_from_ratings(answer)}"
            if truth is None
            else "has a known mean here, which the estimate has not seen"
        )
        title = f"{record.target} among the rated agents: {record.rating}"
        yield Figure(
            kind="regression",
            title=title,
            meaning="Each dot is a rated agent, estimated without its own ratings. On the dashed line estimates equal "
            f"the known mean. {record.target} {place}; its bar is the 95 % interval.",
            notes=provenance_notes([answer], more=[f"{len(drawn)} rated agents, each left out"]),
            head=("agent", "known", "estimate", "low", "high"),
            rows=(
                *((d.name, d.known, d.estimate, None, None) for d in drawn),
                (new.name, truth, new.estimate, *(new.interval or (None, None))),
            ),
            svg=draw(drawn, title=title, new=new),
        )


def _from_ratings(record: EstimateRecord) -> str:
    """How many of its own ratings the estimate has; empty without any."""
    return f" beyond {counted(record.own_ratings, 'rating')}" if record.own_ratings else ""


def regressions(run: RunOf[OpeDocument]) -> Iterator[Figure]:
    """One figure for each rating and estimator with at least three targets of known mean, with --all two."""
    records = run.document.results
    for rating, name in dict.fromkeys((r.rating, r.estimator) for r in records):
        mine = [r for r in records if (r.rating, r.estimator) == (rating, name)]
        drawn = dots_of(mine)
        if len(drawn) < (2 if run.document.validation else MIN_DOTS):
            continue
        x, y = np.array([dot.known for dot in drawn]), np.array([dot.estimate for dot in drawn])
        correlations = ", ".join(
            f"{word} {value:.3f}"
            for word, value in (("Pearson", pearson(x, y)), ("Spearman", spearman(x, y)))
            if math.isfinite(value) and len(drawn) > MIN_DOTS
        )
        fitted = (
            "; the green line is fitted to the dots, with its 95 % band." if len(drawn) >= MIN_DOTS else "."
        )
        band = "; the band is Student's, at 95 %" if len(drawn) >= MIN_DOTS else ""
        refused = len(mine) - len(with_estimate(mine))
        title = f"{name}: estimates of {rating} against known means"
        yield Figure(
            kind="regression",
            title=title,
            meaning="Each dot is an agent that was left out; its bar is the 95 % interval of the estimate. On the "
            f"dashed line estimates equal the known mean{fitted}"
            + (f" {correlations}." if correlations else "")
            + (f" {refused} of {len(mine)} refused." if refused else ""),
            notes=provenance_notes(with_estimate(mine), more=[f"{len(drawn)} agents" + band]),
            head=("agent", "known", "estimate", "low", "high"),
            rows=tuple((d.name, d.known, d.estimate, *(d.interval or (None, None))) for d in drawn),
            svg=draw(drawn, title=title),
        )  # fmt: skip
