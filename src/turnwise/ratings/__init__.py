"""Human judgements: who said what, how far they agree, and whom to believe."""

from turnwise.ratings.aggregate import Aggregate, aggregate, normalised, oriented
from turnwise.ratings.agreement import Agreement, Figure, agreement, agreement_of
from turnwise.ratings.ceiling import Ceiling, ceiling
from turnwise.ratings.matrix import RatingMatrix, rating_matrix
from turnwise.ratings.quality import RaterReport, Screened, screen

__all__ = [
    "Aggregate",
    "Agreement",
    "Ceiling",
    "Figure",
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
