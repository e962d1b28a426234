"""Pilot analysis: on which questions raters agree (ADEM, Lowe et al. 2017, Appendix A).

The paper asked 18 people several questions about the same replies, plotted the normalised scores, and kept the
questions on which people agreed and which added to the overall score. It dropped specificity (kappa .12) and
background (.05), and topicality correlated with the overall score (Pearson .72). This module does the same for each
question of a running study. Normalised scores are ratings minus the rater's mean; the paper gives no formula
(`ratings.aggregate`).
"""

from dataclasses import dataclass
from math import isnan, nan

import numpy as np

from turnwise.errors import DataError
from turnwise.ratings import Agreement, RatingMatrix, agreement_of, normalised, rating_matrix
from turnwise.stats.correlation import pearson
from turnwise.types import Floats
from turnwise.web.study.ledger import Ledger
from turnwise.web.study.ratings import CHECK, collected_ratings

REDUNDANT_CORRELATION = (
    0.7  # a question that correlates more with the first one adds nothing (ADEM, Appendix A)
)
MAX_COLUMNS = 60  # most tasks in a plot
WIDTH, HEIGHT = 640, 180  # size of a plot in pixels, as in templates/pilot.html


@dataclass(frozen=True, slots=True)
class Dot:
    """A dot of a plot: its centre and radius in pixels."""

    x: float
    y: float
    size: float  # radius, which grows with the number of raters at this position


@dataclass(frozen=True, slots=True)
class QuestionAnalysis:
    """The pilot analysis of one question: agreement, overlap with the first question, conclusion, and a plot."""

    name: str
    text: str
    agreement: Agreement
    correlation_with_first: (
        float  # correlation of the task means with those of the first question; NaN for the first
    )
    conclusion: str
    dots: tuple[Dot, ...]  # x: task; y: rating relative to the rater's mean
    columns: int  # tasks in the plot


def analyse_questions(ledger: Ledger) -> tuple[QuestionAnalysis, ...]:
    """The analysis of each question that has ratings, in the study's order; attention checks are left out."""
    ratings = [rating for rating in collected_ratings(ledger) if CHECK not in rating.extra]
    found: list[QuestionAnalysis] = []
    first: dict[str, float] = {}
    for question in ledger.study.questions:
        try:
            matrix = rating_matrix(ratings, question.name, stable_raters=True)
        except DataError:  # there is no rating yet
            continue
        means = dict(zip(matrix.items, np.nanmean(matrix.values, axis=0).tolist(), strict=True))
        correlation = _correlation_with_first(first, means) if first else nan
        first = first or means
        agreement = agreement_of(matrix, intervals=False)
        conclusion = _conclusion(agreement, correlation, threshold=ledger.study.quality.kappa)
        dots, columns = _scatter(matrix)
        found.append(
            QuestionAnalysis(question.name, question.text, agreement, correlation, conclusion, dots, columns)
        )
    return tuple(found)


def _correlation_with_first(first: dict[str, float], means: dict[str, float]) -> float:
    """Pearson correlation of two questions' means over the tasks that both have; NaN with fewer than three."""
    both = [item for item in means if item in first]
    if len(both) < 3:
        return nan
    return float(pearson(np.array([first[i] for i in both]), np.array([means[i] for i in both])))


def _conclusion(agreement: Agreement, correlation: float, *, threshold: float) -> str:
    """A sentence for the administrator: agreement unknown, too low (kappa below `threshold`), redundant or good."""
    kappa = agreement.pairwise_kappa_quadratic.value
    if isnan(kappa):
        return f"unknown so far: {agreement.pairwise_kappa_quadratic.reason}"
    if kappa < threshold:
        return f"raters do not agree (kappa below {threshold:g}): reword the question or leave it out"
    if correlation > REDUNDANT_CORRELATION:
        return "raters agree, but the answers repeat those to the first question"
    return "raters agree"


def _scatter(matrix: RatingMatrix) -> tuple[tuple[Dot, ...], int]:
    """The dots of the centred ratings of the 60 tasks with the most raters, and the number of these tasks.

    No dots and 0 if all ratings equal their rater's mean, or if there are too few ratings to centre them.
    """
    columns = np.argsort(-matrix.counts, kind="stable")[:MAX_COLUMNS]
    try:
        values = normalised(matrix, "centre").values[:, np.sort(columns)]
    except DataError:
        return (), 0
    reach = float(np.nanmax(np.abs(values))) if np.isfinite(values).any() else 0.0
    if not reach:
        return (), 0
    return tuple(_dots(values, reach)), values.shape[1]


def _dots(values: Floats, reach: float) -> list[Dot]:
    """One dot for each position in pixels; `values` is (raters, tasks), and `reach` its largest absolute value."""
    counts: dict[tuple[float, float], int] = {}
    for row in values:
        for column in np.flatnonzero(~np.isnan(row)):
            x = (column + 0.5) / len(row) * WIDTH
            y = HEIGHT / 2 * (1 - float(row[column]) / reach * 0.9)
            position = (round(float(x), 1), round(y))
            counts[position] = counts.get(position, 0) + 1
    return [Dot(x, y, round(2.5 + 1.2 * (n - 1) ** 0.5, 1)) for (x, y), n in counts.items()]
