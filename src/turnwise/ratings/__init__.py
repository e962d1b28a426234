"""People's ratings: rating matrices, agreement between raters, screening of raters, and means per item."""

from turnwise.ratings.aggregate import Aggregate, aggregate, normalised, oriented
from turnwise.ratings.agreement import Agreement, Coefficient, agreement, agreement_of
from turnwise.ratings.ceiling import Ceiling, ceiling
from turnwise.ratings.matrix import RatingMatrix, rating_matrix
from turnwise.ratings.quality import RaterReport, Screened, screen

__all__ = [
    "Aggregate",
    "Agreement",
    "Ceiling",
    "Coefficient",
    "RaterReport",
    "RatingMatrix",
    "Screened",
    "aggregate",
    "agreement",
    "agreement_of",
    "ceiling",
    "normalised",
    "oriented",
    "rating_matrix",
    "screen",
]
