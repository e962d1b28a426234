"""Pilot analysis: on which questions raters agree (ADEM, Lowe et al. 2017, Appendix A).

The paper asked 18 people several questions about the same replies, plotted the normalised scores, and kept the
questions on which people agreed and which added to the overall score. It dropped specificity (kappa .12) and
background (.05), and topicality correlated with the overall score (Pearson .72). This module does the same for each
question of a running study. Normalised scores are ratings minus the rater's mean; the paper gives no formula
(`ratings.aggregate`).

Raters whom the screening sets apart are left out. The conclusion goes by Krippendorff's alpha for ordinal values, with
Krippendorff's own thresholds (2004, p. 241: above .8 rely on it, above .667 for tentative conclusions), because alpha
takes all raters together and values that are missing. A threshold is passed where the whole 95 % interval of alpha
passes it (by the jackknife over tasks); two raters are no verdict, because nothing tells what a third would say. Raw
agreement, the share of pairs of ratings that are equal, is shown beside it: where nearly all answers are the same,
kappa and alpha can be near 0 although raters agree (the prevalence paradox, Feinstein and Cicchetti 1990).
"""

from dataclasses import dataclass
from functools import partial
from math import isnan, nan

import numpy as np

from turnwise.errors import DataError
from turnwise.ratings import Agreement, RatingMatrix, agreement_of, normalised, rating_matrix
from turnwise.ratings.agreement import jackknife_interval
from turnwise.stats.agreement import krippendorff_alpha
from turnwise.stats.correlation import pearson
from turnwise.types import Floats
from turnwise.web.study.ledger import Ledger
from turnwise.web.study.ratings import CHECK, collected_ratings, screen_raters

REDUNDANT_CORRELATION = (
    0.7  # a question that correlates more with the first one adds nothing (ADEM, Appendix A)
)
TENTATIVE_ALPHA, RELIABLE_ALPHA = 0.667, 0.8  # Krippendorff 2004, p. 241
FEWEST_RATERS = 3
HIGH_RAW = 0.8  # share of equal pairs, and of one answer, from which the prevalence paradox is likely
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
    interval: tuple[float, float] | None  # of the ordinal alpha
    raw_agreement: float  # share of pairs of ratings of the same task that are equal; NaN without such a pair
    most_frequent: float  # share of the most frequent answer
    correlation_with_first: (
        float  # correlation of the task means with those of the first question; NaN for the first
    )
    conclusion: str
    dots: tuple[Dot, ...]  # x: task; y: rating relative to the rater's mean
    columns: int  # tasks in the plot


def analyse_questions(ledger: Ledger) -> tuple[QuestionAnalysis, ...]:
    """The analysis of each question that has ratings, in the study's order.

    Attention checks and raters who are set apart are left out.
    """
    collected = collected_ratings(ledger)
    screened = screen_raters(ledger, collected)
    dropped = set(screened.dropped) if screened else set()
    ratings = [one for one in collected if CHECK not in one.extra and one.rater not in dropped]
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
        interval = _interval(matrix, agreement)
        raw, most = raw_agreement(matrix.values)
        dots, columns = _scatter(matrix)
        found.append(
            QuestionAnalysis(
                name=question.name,
                text=question.text,
                agreement=agreement,
                interval=interval,
                raw_agreement=raw,
                most_frequent=most,
                correlation_with_first=correlation,
                conclusion=_conclusion(agreement, interval, correlation, raw=raw, most=most),
                dots=dots,
                columns=columns,
            )
        )
    return tuple(found)


def _correlation_with_first(first: dict[str, float], means: dict[str, float]) -> float:
    """Pearson correlation of two questions' means over the tasks that both have; NaN with fewer than three."""
    both = [item for item in means if item in first]
    if len(both) < 3:
        return nan
    return float(pearson(np.array([first[i] for i in both]), np.array([means[i] for i in both])))


def raw_agreement(values: Floats) -> tuple[float, float]:
    """The share of pairs of ratings of the same task that are equal, and the share of the most frequent answer.

    `values` is (raters, tasks) with NaN for missing ratings; the first share is NaN without a pair.
    """
    same = pairs = 0
    for column in values.T:
        present = column[~np.isnan(column)]
        _, counts = np.unique(present, return_counts=True)
        same += int((counts * (counts - 1)).sum())
        pairs += len(present) * (len(present) - 1)
    _, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    return (same / pairs if pairs else nan), float(counts.max() / counts.sum())


def _interval(matrix: RatingMatrix, agreement: Agreement) -> tuple[float, float] | None:
    """The interval of the ordinal alpha over tasks; None where there is none."""
    alpha = agreement.alpha_ordinal.value
    if isnan(alpha):
        return None
    if alpha == 1:  # all answers of a task are equal
        return (1.0, 1.0)
    return jackknife_interval(matrix, partial(krippendorff_alpha, level="ordinal"), alpha)


def _conclusion(
    agreement: Agreement, interval: tuple[float, float] | None, correlation: float, *, raw: float, most: float
) -> str:
    """A sentence for the administrator by the interval of alpha: unknown, open, low, tentative, redundant or good."""
    alpha = agreement.alpha_ordinal.value
    if isnan(alpha):
        return f"unknown so far: {agreement.alpha_ordinal.reason}"
    if alpha < TENTATIVE_ALPHA and raw >= HIGH_RAW and most >= HIGH_RAW:
        return (
            f"raters give the same answer in {raw:.0%} of pairs, but {most:.0%} of all answers are the same one, so"
            f" alpha ({alpha:.2f}) says little (prevalence paradox): ask about replies that differ more"
        )
    if agreement.n_raters < FEWEST_RATERS:
        return (
            f"open: {agreement.n_raters} raters are no verdict, because nothing tells what a third would say"
        )
    low, high = interval or (-1.0, 1.0)
    if low < TENTATIVE_ALPHA <= high:
        return f"open: alpha may be above {TENTATIVE_ALPHA:g} or below it: let people rate more tasks"
    if high < TENTATIVE_ALPHA:
        return f"raters do not agree (alpha below {TENTATIVE_ALPHA:g}): reword the question or leave it out"
    if correlation > REDUNDANT_CORRELATION:
        return "raters agree, but the answers repeat those to the first question"
    if low < RELIABLE_ALPHA:
        return f"raters agree enough for tentative conclusions (alpha may be below {RELIABLE_ALPHA:g})"
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
