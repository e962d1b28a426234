"""Agreement on published corpora: the figures stated with the data, and peers' on the same ratings."""

from pathlib import Path

import krippendorff
import pytest

from turnwise.logs.native import read
from turnwise.ratings.agreement import agreement_of
from turnwise.ratings.matrix import RatingMatrix, rating_matrix

# Correlation of one rater with the mean of the item's others, pooled: as stated in the README of the data,
# to two decimals.
STATED = [
    ("usr_persona.jsonl", "overall", 0.71),
    ("usr_persona.jsonl", "engaging", 0.46),
    ("fed_turn.jsonl.gz", "overall", 0.46),
    ("fed_dialog.jsonl", "overall", 0.51),
    ("grade.jsonl.gz", "coherence", 0.23),
    ("engage.jsonl", "engaging", 0.81),
    ("holistic.jsonl", "coherence", 0.62),
    ("holistic.jsonl", "fluency", 0.68),
    ("dstc7.jsonl.gz", "relevance", 0.24),
    ("dstc7.jsonl.gz", "informativeness", 0.22),
]


def matrix_of(path: Path, dimension: str, *, stable_raters: bool | None = None) -> RatingMatrix:
    if not path.exists():
        pytest.skip(f"{path.name} is not among the corpora")
    ratings = [rating for dialogue in read(str(path)) for rating in dialogue.ratings]
    return rating_matrix(ratings, dimension, stable_raters=stable_raters)


@pytest.mark.parametrize(("file", "dimension", "stated"), STATED)
def test_leave_one_out_correlation_is_the_one_stated_with_the_corpus(
    corpora: Path, file: str, dimension: str, stated: float
) -> None:
    row = agreement_of(matrix_of(corpora / file, dimension))
    assert row.identity == "positions"
    assert row.leave_one_out.value == pytest.approx(stated, abs=0.01)
    low, high = row.leave_one_out.interval or (0, 0)
    assert low < row.leave_one_out.value < high
    # One rater against the others' mean cannot beat a perfect metric against everybody's mean.
    assert row.leave_one_out.value < row.ceiling.value < 1


@pytest.mark.parametrize(("file", "dimension"), [row[:2] for row in STATED[:5]])
def test_alpha_on_real_ratings_equals_the_krippendorff_package(
    corpora: Path, file: str, dimension: str
) -> None:
    matrix = matrix_of(corpora / file, dimension)
    row = agreement_of(matrix, intervals=False)
    for level in ("nominal", "ordinal", "interval"):
        peer = krippendorff.alpha(matrix.values, level_of_measurement=level)
        assert getattr(row, f"alpha_{level}").value == pytest.approx(peer, abs=1e-9)


def test_a_file_with_numbered_people_has_pairs_with_stable_raters(corpora: Path) -> None:
    row = agreement_of(matrix_of(corpora / "usr_persona.jsonl", "overall", stable_raters=True))
    assert (row.identity, row.n_raters, row.per_item) == ("people", 4, (3, 3.0, 3))
    assert row.pairwise_kappa_quadratic.value == pytest.approx(0.64, abs=0.01)


def test_published_means_have_no_agreement(corpora: Path) -> None:
    row = agreement_of(matrix_of(corpora / "fbd.jsonl.gz", "coherence"))
    assert row.identity == "mean"
    assert row.alpha_interval.reason == "only the mean over raters was published"
