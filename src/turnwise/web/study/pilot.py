"""Which questions people agree on: the analysis that ADEM ran before its main collection.

Its Appendix A asked 18 people several questions about the same replies, plotted everybody's normalised scores of
each reply, and kept only the questions with agreement that said more than the overall score did: specificity
(kappa .12) and background (.05) were dropped, topicality went with the overall score (Pearson .72). Here the
same is worked out for each question of a running study. "Normalised" is the rater's mean taken off, the paper
giving no formula (`ratings.aggregate`).
"""

from dataclasses import dataclass
from math import isnan, nan

import numpy as np

from turnwise.errors import DataError
from turnwise.ratings import Agreement, RatingMatrix, agreement_of, normalised, rating_matrix
from turnwise.stats.correlation import pearson
from turnwise.types import Floats
from turnwise.web.study.judgements import CHECK, judgements
from turnwise.web.study.ledger import Ledger

ALIKE = 0.7  # correlation with the first question above which ADEM found a question to add nothing
MOST_COLUMNS = 60  # tasks in a plot
WIDTH, HEIGHT = 640, 180


@dataclass(frozen=True, slots=True)
class Dot:
    x: float
    y: float
    size: float  # grows with the number of raters at the same place


@dataclass(frozen=True, slots=True)
class Piloted:
    name: str
    text: str
    agreement: Agreement
    like_first: float  # correlation of the task means with those of the first question; NaN for the first
    verdict: str
    dots: tuple[Dot, ...]  # a column a task, the higher the better for the rater's own mean
    columns: int


def pilot(ledger: Ledger) -> tuple[Piloted, ...]:
    """Each question's agreement and scatter; empty before two people have judged the same thing."""
    ratings = [rating for rating in judgements(ledger) if CHECK not in rating.extra]
    found: list[Piloted] = []
    first: dict[str, float] = {}
    for question in ledger.study.questions:
        try:
            matrix = rating_matrix(ratings, question.name, stable_raters=True)
        except DataError:  # nothing was rated yet
            continue
        means = dict(zip(matrix.items, np.nanmean(matrix.values, axis=0).tolist(), strict=True))
        like = _alike(first, means) if first else nan
        first = first or means
        agreed = agreement_of(matrix, intervals=False)
        verdict = _verdict(agreed, like, threshold=ledger.study.quality.kappa)
        dots, columns = _scatter(matrix)
        found.append(Piloted(question.name, question.text, agreed, like, verdict, dots, columns))
    return tuple(found)


def _alike(first: dict[str, float], means: dict[str, float]) -> float:
    both = [item for item in means if item in first]
    if len(both) < 3:
        return nan
    return float(pearson(np.array([first[i] for i in both]), np.array([means[i] for i in both])))


def _verdict(agreed: Agreement, like: float, *, threshold: float) -> str:
    kappa = agreed.pairwise_kappa_quadratic.value
    if isnan(kappa):
        return f"cannot be told yet: {agreed.pairwise_kappa_quadratic.reason}"
    if kappa < threshold:
        return f"people do not agree (kappa below {threshold:g}): reword it or leave it out"
    if like > ALIKE:
        return "people agree, but say the same as on the first question"
    return "people agree"


def _scatter(matrix: RatingMatrix) -> tuple[tuple[Dot, ...], int]:
    """Each rater's normalised score of the tasks that most raters share."""
    columns = np.argsort(-matrix.counts, kind="stable")[:MOST_COLUMNS]
    try:
        values = normalised(matrix, "centre").values[:, np.sort(columns)]
    except DataError:
        return (), 0
    reach = float(np.nanmax(np.abs(values))) if np.isfinite(values).any() else 0.0
    if not reach:
        return (), 0
    return tuple(_dots(values, reach)), values.shape[1]


def _dots(values: Floats, reach: float) -> list[Dot]:
    places: dict[tuple[float, float], int] = {}
    for row in values:
        for column in np.flatnonzero(~np.isnan(row)):
            x = (column + 0.5) / len(row) * WIDTH
            y = HEIGHT / 2 * (1 - float(row[column]) / reach * 0.9)
            place = (round(float(x), 1), round(y))
            places[place] = places.get(place, 0) + 1
    return [Dot(x, y, round(2.5 + 1.2 * (n - 1) ** 0.5, 1)) for (x, y), n in places.items()]
