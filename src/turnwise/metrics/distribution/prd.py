"""Precision and recall of a system's replies among people's, in one number (Xiang et al. 2021; Sajjadi et al. 2018).

The replies of both are put into common clusters; the number is the greatest F1 of precision (how much of what the
system says people say too) and recall (how much of what people say the system does). The paper calls it a distance:
it is none, and higher is better.

`prd-paper` follows the published recipe, which the text leaves out: the [CLS] of query and reply together, k = 20
clusters, 1001 angles, 10 runs of k-means from different seeds whose curves are averaged, and F1 taken on the average.
Its k-means is the authors', on mini-batches, though not scikit-learn's; the seed moves what it says of a system, and
of a metric by .1 (papers/fbd-prd.md).

`prd` reads pairs as `fbd` does, clusters once, on the first 32 principal components, from a fixed seed, and takes the
exact maximum (curve.py). Of more replies than a tally keeps it is made from cells (cells.py). `curve` has the whole of
it: where precision and recall part company is what F1 hides.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from turnwise.errors import UsageError
from turnwise.metrics.distribution.cells import Cells, centres
from turnwise.metrics.distribution.curve import Curve, Histograms, histograms
from turnwise.metrics.distribution.distance import FEWEST, HEAD, MIXED, Distance, Facts
from turnwise.metrics.distribution.reading import Reading, Way
from turnwise.metrics.distribution.sides import real_sides
from turnwise.metrics.rows import scored
from turnwise.types import Card, Floats, Item, Rows, Signature


class _Facts(Facts):
    __slots__ = ()

    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 1.0)
    card: ClassVar[Card] = Card(
        kind="distribution",
        meaning="Greatest F1 of precision (share of the system's replies that people's cover) and recall (share of "
        "people's that the system's cover), over common clusters.",
        range="0-1; 1 for equal sets, 0 for sets that share no cluster",
        limits="A system as a whole, never one reply. Sees clusters only: 20 of them know topics and manners, not "
        "right from wrong. Of two samples of one distribution it is below 1: hold `thinned` against `floor`.",
        citation="Xiang et al. 2021, Assessing Dialogue Systems with Distribution Distances; "
        "Sajjadi et al. 2018, Assessing Generative Models via Precision and Recall",
    )


@dataclass(frozen=True, slots=True)
class Prd(_Facts):
    """`prd` before it has seen real replies."""

    name: ClassVar[str] = "prd"

    model: str = "minilm"
    layer: int | None = None
    pooling: str | None = None
    way: Way = "product"
    turns: int = 1
    clusters: int = 20
    components: int = 32  # 0: all dimensions
    angles: int = 0  # 0: the exact maximum
    runs: int = 1
    batch: int = 0  # points a mini-batch; 0: all points at once (Lloyd)
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
                f"`{self.name}` with {self.runs} runs averages curves: choose the angles to do so at"
            )

    def fit(self, items: Iterable[Item], /) -> "PrdToReal":
        reading = Reading(self.model, self.way, self.turns, self.layer, self.pooling)
        return PrdToReal(real_sides(items, [reading], fewest=self.fewest), self)


@dataclass(frozen=True, slots=True)
class PrdPaper(Prd):
    """`prd-paper` before it has seen real replies."""

    name: ClassVar[str] = "prd-paper"

    way: Way = "together"
    turns: int = 0
    components: int = 0
    angles: int = 1001
    runs: int = 10
    batch: int = 1024


@dataclass(frozen=True, eq=False)
class PrdToReal(_Facts, Distance[Floats]):
    about: ClassVar[float] = 0.2  # how far the number from cells may lie from that of the replies

    asked: Prd

    @property
    def fewest(self) -> int:
        return self.asked.fewest

    @property
    def signature(self) -> Signature:
        asked = self.asked
        return self._signed(
            asked.name,
            ("k", str(asked.clusters)),
            ("pca", str(asked.components or "no")),
            ("angles", str(asked.angles or "exact")),
            ("runs", str(asked.runs)),
            ("batch", str(asked.batch or "all")),
            ("seed", str(asked.seed)),
        )

    def prepare(self, real: Floats, /) -> Floats:
        return real

    def between(self, generated: Floats, real: Floats, /) -> float:
        return self._number(self._histograms(generated, real))

    def curve(self, rows: Rows, /) -> Curve:
        """Precision and recall of the rows: at the corners of the exact curve, or at the paper's angles."""
        vectors, side = self._taken(rows)
        if side is None:
            return Curve(np.zeros(0), np.zeros(0))
        found = self._histograms(vectors, side.vectors)
        return self._average(found) if self.asked.angles else found[0].curve()

    def moments(self, rows: Rows, /) -> Cells:
        """What is kept of rows of one group when they are too many to be held."""
        kept = np.asarray(rows[scored(rows)])
        if not len(kept):
            centres = next(iter(self._centres.values()))
            return Cells(None, np.zeros(len(centres)), np.zeros_like(centres))
        if np.ptp(kept[:, 0]):
            raise ValueError(MIXED)
        return Cells.of(float(kept[0, 0]), kept[:, HEAD:], self._centres[self._side(kept[0, 0]).group])

    def of_moments(self, moments: Cells, /) -> float:
        """About what `reduce` says of all rows behind the cells: members of a cell go to one cluster."""
        self._check_count(int(moments.count.sum()))
        generated, counts = moments.points()
        real = self._side(moments.group or 0.0).vectors
        return self._number(self._histograms(generated, real, counts))

    @cached_property
    def _centres(self) -> dict[str, Floats]:
        return {
            group: centres(side.vectors, np.random.default_rng(self.asked.seed))
            for group, side in self.sides.items()
        }

    def _number(self, found: list[Histograms]) -> float:
        return found[0].f1() if not self.asked.angles else self._average(found).f1

    def _histograms(self, generated: Floats, real: Floats, counts: Floats | None = None) -> list[Histograms]:
        asked, rng = self.asked, np.random.default_rng(self.asked.seed)
        return [
            histograms(
                real, generated, asked.clusters, components=asked.components or None,
                batch=asked.batch or None, counts=counts, rng=rng,
            )
            for _ in range(asked.runs)
        ]  # fmt: skip

    def _average(self, found: list[Histograms]) -> Curve:
        curves = [each.angles(self.asked.angles) for each in found]
        return Curve(*(np.mean(side, axis=0) for side in zip(*curves, strict=True)))
