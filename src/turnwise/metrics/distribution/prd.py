"""Precision and recall of an agent's replies against people's, as one F1 (Xiang et al. 2021; Sajjadi et al. 2018).

The replies of both are clustered together. Precision is the share of the agent's replies that people's replies cover,
recall the share of people's replies that the agent's cover; the score is their largest F1. The paper calls it a
distance, but it is not one: higher is better, and 1 means equal distributions over the clusters.

`prd-paper` is the published method, whose details are only in the released code: the [CLS] vector of query and reply
together, k = 20 clusters, 1001 angles, and 10 runs of k-means with different seeds; the curves are averaged and F1 is
computed from the average. k-means uses mini-batches as the authors' does, but not scikit-learn's implementation. The
seed changes an agent's score, and a metric's correlation with ratings by .1 (papers/fbd-prd.md).

`prd` encodes pairs as `fbd` does, clusters once with a fixed seed on the first 32 principal components, and takes the
exact maximum (see `curve`). For more replies than are kept in memory it is computed from a summary (see `quantised`).
The method `curve` returns precision and recall separately, which F1 hides.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from turnwise.errors import UsageError
from turnwise.metrics.distribution.curve import Curve, Histograms, histograms
from turnwise.metrics.distribution.distance import (
    FEWEST,
    HEADER,
    MIXED_GROUPS,
    Distance,
    DistanceAttributes,
    EncodingSettings,
)
from turnwise.metrics.distribution.pair_encoding import Way
from turnwise.metrics.distribution.quantised import QuantisedVectors, draw_centres
from turnwise.metrics.distribution.real_replies import real_replies
from turnwise.metrics.rows import scored
from turnwise.types import Card, Floats, Item, Rows, Signature


class _Attributes(DistanceAttributes):
    """The class attributes of `prd` before and after `fit`."""

    __slots__ = ()

    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 1.0)
    card: ClassVar[Card] = Card(
        kind="distribution",
        meaning="Largest F1 of precision (share of the agent's replies that people's cover) and recall (share of "
        "people's that the agent's cover), over common clusters.",
        range="0-1; 1 for equal sets, 0 for sets that share no cluster",
        limits="Scores an agent as a whole, never one reply. Compares only shares of 20 clusters, which separate "
        "topics and styles but not right from wrong. Two samples of one distribution score below 1: compare `thinned` "
        "with `floor`.",
        citation="Xiang et al. 2021, Assessing Dialogue Systems with Distribution Distances; "
        "Sajjadi et al. 2018, Assessing Generative Models via Precision and Recall",
    )


@dataclass(frozen=True, slots=True)
class Prd(_Attributes, EncodingSettings):
    """`prd` before it is fitted to real replies."""

    name: ClassVar[str] = "prd"

    clusters: int = 20
    components: int = 32  # principal components; 0: all dimensions
    angles: int = 0  # points of the curve; 0: the exact maximum
    runs: int = 1  # runs of k-means
    batch: int = 0  # points in a mini-batch; 0: Lloyd's algorithm on all points
    seed: int = 0
    fewest: int = FEWEST

    def __post_init__(self) -> None:
        if self.clusters < 1 or self.runs < 1:
            raise UsageError(f"`{self.name}` needs 1 cluster and 1 run or more")
        for setting in ("components", "batch", "seed"):
            if getattr(self, setting) < 0:
                raise UsageError(
                    f"`{self.name}` takes 0 or more for `{setting}`, not {getattr(self, setting)}"
                )
        if self.angles < 0 or self.angles == 1:
            raise UsageError(
                f"`{self.name}` takes 2 angles or more, or 0 for the exact maximum, not {self.angles}"
            )
        if self.runs > 1 and not self.angles:
            raise UsageError(
                f"`{self.name}` with {self.runs} runs averages curves at fixed angles: set the number of angles"
            )

    def fit(self, items: Iterable[Item], /) -> "FittedPrd":
        """Fit to the real replies among the items (see `real_replies`); raises `TooFewItems` if no group has enough."""
        return FittedPrd(real_replies(items, [self.encoding], fewest=self.fewest), self)


@dataclass(frozen=True, slots=True)
class PrdPaper(Prd):
    """`prd-paper` before it is fitted to real replies."""

    name: ClassVar[str] = "prd-paper"

    way: Way = "together"
    turns: int = 0
    components: int = 0
    angles: int = 1001
    runs: int = 10
    batch: int = 1024


@dataclass(frozen=True, eq=False)
class FittedPrd(_Attributes, Distance[Floats]):
    """`prd` or `prd-paper`, fitted to real replies."""

    summary_error: ClassVar[float] = (
        0.2  # largest difference between the score from the summary and the exact score
    )

    settings: Prd

    @property
    def fewest(self) -> int:
        """The smallest number of replies that get a score, from the settings."""
        return self.settings.fewest

    @property
    def signature(self) -> Signature:
        """The settings of clustering and curve, the encoding and a digest of the real replies."""
        settings = self.settings
        return self._signature(
            settings.name,
            ("k", str(settings.clusters)),
            ("pca", str(settings.components or "no")),
            ("angles", str(settings.angles or "exact")),
            ("runs", str(settings.runs)),
            ("batch", str(settings.batch or "all")),
            ("seed", str(settings.seed)),
        )

    def prepare(self, real: Floats, /) -> Floats:
        """The real vectors unchanged: they are clustered anew with each set of replies."""
        return real

    def between(self, generated: Floats, real: Floats, /) -> float:
        """The largest F1 of precision and recall."""
        return self._f1(self._histograms(generated, real))

    def curve(self, rows: Rows, /) -> Curve:
        """Precision and recall of the rows: at the corners of the exact curve, or at the paper's angles.

        Empty for fewer than two scored rows.
        """
        vectors, real = self._scored_vectors(rows)
        if real is None:
            return Curve(np.zeros(0), np.zeros(0))
        runs = self._histograms(vectors, real.vectors)
        return self._average_curve(runs) if self.settings.angles else runs[0].curve()

    def moments(self, rows: Rows, /) -> QuantisedVectors:
        """Mergeable summary of rows of one group, for when there are too many to keep.

        Raises `ValueError` for several groups.
        """
        kept = np.asarray(rows[scored(rows)])
        if not len(kept):
            centres = next(iter(self._centres.values()))
            return QuantisedVectors(None, np.zeros(len(centres)), np.zeros_like(centres))
        if np.ptp(kept[:, 0]):
            raise ValueError(MIXED_GROUPS)
        code = float(kept[0, 0])
        return QuantisedVectors.of(code, kept[:, HEADER:], self._centres[self._real_of_code(code).group])

    def of_moments(self, moments: QuantisedVectors, /) -> float:
        """The approximate score of the summarised rows: all vectors of a cell are assigned to one cluster.

        Raises `TooFewItems` for fewer than `fewest` rows.
        """
        self._check_count(int(moments.count.sum()))
        generated, counts = moments.points()
        real = self._real_of_code(moments.group or 0.0).vectors
        return self._f1(self._histograms(generated, real, counts))

    @cached_property
    def _centres(self) -> dict[str, Floats]:
        """The centres of the cells of the summary, by group."""
        return {
            group: draw_centres(real.vectors, np.random.default_rng(self.settings.seed))
            for group, real in self.real.items()
        }

    def _f1(self, runs: list[Histograms]) -> float:
        """The exact largest F1 of the first run or, with `angles`, the largest on the mean curve of all runs."""
        return runs[0].f1() if not self.settings.angles else self._average_curve(runs).f1

    def _histograms(self, generated: Floats, real: Floats, counts: Floats | None = None) -> list[Histograms]:
        """The histograms of each run of k-means.

        `counts` is the number of replies that each generated vector represents.
        """
        settings, rng = self.settings, np.random.default_rng(self.settings.seed)
        return [
            histograms(
                real, generated, settings.clusters, components=settings.components or None,
                batch=settings.batch or None, counts=counts, rng=rng,
            )
            for _ in range(settings.runs)
        ]  # fmt: skip

    def _average_curve(self, runs: list[Histograms]) -> Curve:
        """The mean, over the runs, of the precisions and of the recalls at each angle."""
        curves = [each.at_angles(self.settings.angles) for each in runs]
        return Curve(*(np.mean(values, axis=0) for values in zip(*curves, strict=True)))
