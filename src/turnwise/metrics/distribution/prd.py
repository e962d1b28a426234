"""Precision and recall of a system's replies among people's, in one number (Xiang et al. 2021; Sajjadi et al. 2018).

The replies of both are put into common clusters; the number is the greatest F1 of precision (how much of what the
system says people say too) and recall (how much of what people say the system does). The paper calls it a distance:
it is none, and higher is better.

`prd-paper` follows the published recipe, which the text leaves out: the [CLS] of query and reply together, k = 20
clusters, 1001 angles, 10 runs of k-means from different seeds whose curves are averaged, and F1 taken on the average.
Its k-means is the authors', on mini-batches, though not scikit-learn's; the seed moves what it says of a system, and
of a metric by .1 (papers/fbd-prd.md).

`prd` reads pairs as `fbd` does, clusters once, on the first 32 principal components, from a fixed seed, and takes the
exact maximum (curve.py). `curve` has the whole of it: where precision and recall part company is what F1 hides.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from turnwise.errors import UsageError
from turnwise.metrics.distribution.curve import Curve, Histograms, histograms
from turnwise.metrics.distribution.distance import FEWEST, Distance, Facts
from turnwise.metrics.distribution.reading import Reading, Way
from turnwise.metrics.distribution.sides import real_sides
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
        "right from wrong. Of two samples of one distribution it is below 1: see its floor.",
        citation="Xiang et al. 2021, Assessing Dialogue Systems with Distribution Distances; "
        "Sajjadi et al. 2018, Assessing Generative Models via Precision and Recall",
    )


@dataclass(frozen=True, slots=True)
class Prd(_Facts):
    """`prd` and `prd-paper` before they have seen real replies."""

    name: str = "prd"
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
        if self.runs > 1 and not self.angles:
            raise UsageError(
                f"`{self.name}` with {self.runs} runs averages curves: choose the angles to do so at"
            )

    def fit(self, items: Iterable[Item], /) -> "PrdToReal":
        reading = Reading(self.model, self.way, self.turns, self.layer, self.pooling)
        return PrdToReal(real_sides(items, [reading], fewest=self.fewest), self)


@dataclass(frozen=True, eq=False)
class PrdToReal(_Facts, Distance[Floats]):
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
        found = self._histograms(generated, real)
        return found[0].f1() if not self.asked.angles else self._average(found).f1

    def curve(self, rows: Rows, /) -> Curve:
        """Precision and recall of the rows: at the corners of the exact curve, or at the paper's angles."""
        vectors, side = self._taken(rows)
        if side is None:
            return Curve(np.zeros(0), np.zeros(0))
        found = self._histograms(vectors, side.vectors)
        return self._average(found) if self.asked.angles else found[0].curve()

    def _histograms(self, generated: Floats, real: Floats) -> list[Histograms]:
        asked, rng = self.asked, np.random.default_rng(self.asked.seed)
        settings = {"components": asked.components or None, "batch": asked.batch or None}
        return [histograms(real, generated, asked.clusters, **settings, rng=rng) for _ in range(asked.runs)]

    def _average(self, found: list[Histograms]) -> Curve:
        curves = [each.angles(self.asked.angles) for each in found]
        return Curve(*(np.mean(side, axis=0) for side in zip(*curves, strict=True)))
