"""The regression plot of an off-policy evaluation (ENIGMA, figure 1): estimates against what is known."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from turnwise.report import plot
from turnwise.report.figure import Figure, Record, answered, interval, stated
from turnwise.report.runs import Run
from turnwise.report.text import number
from turnwise.stats.correlation import pearson, spearman
from turnwise.types import Floats

FEWEST = 3  # dots that make a line
STEPS = 40  # of the band


class Dot(NamedTuple):
    name: str
    known: float
    estimate: float
    interval: tuple[float, float] | None


class Band(NamedTuple):
    x: Floats
    middle: Floats
    low: Floats
    high: Floats


def band(x: Floats, y: Floats, *, level: float = 0.95) -> Band | None:
    """Least squares and where the line itself may lie; None where there is none."""
    n = len(x)
    if n < FEWEST or np.ptp(x) == 0:
        return None
    from scipy.stats import t

    slope, offset = np.polyfit(x, y, 1)
    at = np.linspace(x.min(), x.max(), STEPS)
    residual = float(np.sum((y - slope * x - offset) ** 2)) / (n - 2)
    spread = np.sqrt(residual * (1 / n + (at - x.mean()) ** 2 / np.sum((x - x.mean()) ** 2)))
    half = float(t.ppf((1 + level) / 2, n - 2)) * spread
    middle = slope * at + offset
    return Band(at, middle, middle - half, middle + half)


def picture(dots: Sequence[Dot], *, title: str) -> str:
    """A square with the line on which estimates would be right, the fitted line and its band."""
    values = [value for dot in dots for value in (dot.known, dot.estimate, *(dot.interval or ()))]
    span = plot.reach(values)
    panel = plot.Panel.over(span, span, height=360)
    panel.axes("known mean", "estimate")
    panel.path([(span[0], span[0]), (span[1], span[1])], style="rule")
    fitted = band(np.array([dot.known for dot in dots]), np.array([dot.estimate for dot in dots]))
    if fitted is not None:
        low, high = (np.clip(edge, *span).tolist() for edge in (fitted.low, fitted.high))
        panel.band(fitted.x.tolist(), low, high, 2)
        panel.line(fitted.x.tolist(), np.clip(fitted.middle, *span).tolist(), 2)
    for dot in dots:
        if dot.interval is not None:
            panel.path([(dot.known, edge) for edge in dot.interval], style="whisker s0")
        panel.dot(
            dot.known,
            dot.estimate,
            tip=f"{dot.name}: known {number(dot.known)}, estimate {number(dot.estimate)}",
        )
    return panel.svg(title)


def figure(dots: Sequence[Dot], *, title: str) -> str:
    """The picture as a file of its own."""
    return plot.alone(picture(dots, title=title))


def known(record: Record) -> float | None:
    """The truth where somebody knows it, else the mean of the target's own dialogues."""
    value = record.get("truth")
    return value if value is not None else record.get("logged")


def dots(records: Sequence[Record]) -> list[Dot]:
    return [
        Dot(r["target"], mean, r["estimate"], interval(r))
        for r in answered(records)
        if (mean := known(r)) is not None
    ]


def regressions(run: Run) -> Iterator[Figure]:
    """One figure for each rating and estimator with three known targets or more."""
    for rating, name in dict.fromkeys((r["rating"], r["estimator"]) for r in run.results):
        mine = [r for r in run.results if (r["rating"], r["estimator"]) == (rating, name)]
        drawn = dots(mine)
        if len(drawn) < FEWEST:
            continue
        x, y = np.array([dot.known for dot in drawn]), np.array([dot.estimate for dot in drawn])
        agreed = ", ".join(
            f"{word} {value:.3f}"
            for word, value in (("Pearson", pearson(x, y)), ("Spearman", spearman(x, y)))
            if math.isfinite(value)
        )
        refused = len(mine) - len(answered(mine))
        title = f"{name}: estimates of {rating} against what is known"
        yield Figure(
            kind="regression",
            title=title,
            meaning="Each dot is an agent that was left out; its bar is the 95 % interval of the estimate. On the "
            "dashed line an estimate is right; the green line is fitted to the dots, in its band. "
            + agreed + (f"; {refused} refused." if refused else "."),
            notes=stated(answered(mine), more=[f"{len(drawn)} agents; the band is Student's, at 95 %"]),
            head=("agent", "known", "estimate", "low", "high"),
            rows=tuple((d.name, d.known, d.estimate, *(d.interval or (None, None))) for d in drawn),
            svg=picture(drawn, title=title),
        )  # fmt: skip
