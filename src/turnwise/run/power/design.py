"""How two agents are compared and what spread that has: the designs of given spreads, and the test of a design."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING

from turnwise.errors import UsageError, setting
from turnwise.run.scoring.pair_keys import PairKey
from turnwise.stats.power import (
    Scored,
    Spread,
    TTest,
    WinRateTest,
    win_rate_spread,
)

if TYPE_CHECKING:
    from turnwise.commands.power import PlanStudy

MOST_EXPLAINED = 0.999  # largest share of the variance that scores explain


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """How two agents are compared, and the spread of what is compared."""

    name: str  # paired, unpaired or preferences
    spread: Spread
    paired: bool
    agreement: float | None = None  # of a metric's scores with the ratings, over the clusters of the pilot
    in_training: str | None = None  # items of the pilot that this metric was trained on, such as "3 of 60"
    pilot: tuple[int, int] = (1, 1)  # items in a cluster and ratings of an item behind this agreement
    freedom: int | None = None  # of the pilot behind the spread; None for a given spread
    n_items: int = 0
    n_clusters: int = 0
    several_items: bool = True  # whether some cluster has several items, so that their spread is known
    several_ratings: bool = True  # whether some item has several ratings; True for a metric
    better_pair: tuple[PairKey, int] | None = (
        None  # the key that would pair more items of the pilot, and pairs now
    )
    step: float = 0.0  # step of the scale of one measurement; 0 if it has none
    ties: float = 0.0  # share of preferences that are ties
    people: int | None = None  # different raters of preferences; None: each preference has another one

    @property
    def agents(self) -> int:
        """How many agents' dialogues are counted: a preference is about both at once."""
        return 1 if self.name == "preferences" else 2


def t_test(spec: "PlanStudy", design: Design, *, items: int, ratings: int) -> TTest:
    """The test of a design with this many items in a dialogue and ratings of each.

    Scores explain a share of the true values' variance, which the agreement in the pilot gives, and none of the raters'
    noise. More ratings of an item therefore raise the agreement.
    """
    variance = design.spread.of_cluster(items=items, ratings=ratings)
    if design.name == "preferences" and variance > 0:
        one = design.spread.of_cluster()
        return WinRateTest(
            variance=variance, paired=True, alpha=spec.alpha, single=one / variance,
            raters=design.spread.raters / variance, ties=design.ties, ratings=ratings, people=design.people,
        )  # fmt: skip
    scored = None
    if design.agreement is not None and variance > 0:
        true = replace(design.spread, ratings=0.0)
        pilot = design.spread.of_cluster(items=design.pilot[0], ratings=design.pilot[1])
        of_true = true.of_cluster(items=design.pilot[0])
        share = min(1.0, design.agreement**2 * pilot / of_true) if of_true > 0 else 0.0
        explained = min(MOST_EXPLAINED, share * true.of_cluster(items=items) / variance)
        scored = Scored(agreement=sqrt(explained), clusters=spec.scored)
    step = 0.0 if scored else design.step / (items * ratings)  # `calibrate` makes no permutation test
    return TTest(variance=variance, paired=design.paired, alpha=spec.alpha, scored=scored, step=step)


def wanted_difference(spec: "PlanStudy") -> float:
    """The difference that is to be shown; of a win rate from one half."""
    if spec.win_rate is not None:
        return spec.win_rate - 0.5
    if spec.difference is None:
        raise UsageError(
            f"say which difference is to be shown ({setting('--difference', 'D')}), or what there is "
            f"({setting('--have', 'N')})"
        )
    return spec.difference


def given_designs(spec: "PlanStudy") -> Iterator[Design]:
    """The designs of a given spread or win rate."""
    if spec.win_rate is not None:
        try:
            win_rate_spread(spec.win_rate, ties=spec.ties)
            spread = win_rate_spread(0.5, ties=spec.ties, icc=spec.icc, rater_icc=spec.rater_icc)
        except ValueError as error:
            names = ", ".join(map(setting, ("--win-rate", "--ties", "--icc", "--rater-icc")))
            raise UsageError(f"{names}: {error}") from None
        yield Design(name="preferences", spread=spread, paired=True, ties=spec.ties, people=spec.people)
        return
    if spec.sd is None:
        raise UsageError(
            f"give a pilot file with {setting('-m')}, or the spread: {setting('--sd')} with {setting('--icc')} and "
            f"{setting('--rater-sd')}, or {setting('--win-rate')}"
        )
    true, noise = spec.sd**2, (spec.rater_sd or 0.0) ** 2
    alone = Spread(clusters=spec.icc * true, items=(1 - spec.icc) * true, ratings=noise)
    for agreement in dict.fromkeys((None, spec.agreement)):
        if spec.paired is not True:
            yield Design(name="unpaired", spread=alone, paired=False, agreement=agreement)
        if spec.paired is not False and spec.correlation is not None:
            apart = 2 * (1 - spec.correlation)
            both = Spread(clusters=apart * alone.clusters, items=apart * alone.items, ratings=2 * noise)
            yield Design(name="paired", spread=both, paired=True, agreement=agreement)
    if spec.paired and spec.correlation is None:
        raise UsageError(
            f"a paired design needs {setting('--correlation')}, that of two agents' scores in one context"
        )
