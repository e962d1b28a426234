"""How sure people and a metric are that one system is better than another: the p-values of soft pairwise accuracy."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from turnwise.meta.gold import Gold
from turnwise.meta.points import Points, rated_rows
from turnwise.meta.system_draws import SystemDraws
from turnwise.meta.table import ScoreTable
from turnwise.stats.pairs.soft_pairs import better_p, influence, soft_accuracy, soft_accuracy_test
from turnwise.stats.shared_draws import SharedDraws
from turnwise.types import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Certainty:
    """(S, S) one-sided p-values of each system being better than each other one, by people and by a metric."""

    people: Floats
    metric: Floats

    def accuracy(self, keep: NDArray[np.bool_] | None = None) -> float:
        """Soft pairwise accuracy, of the systems with a true flag if given."""
        kept = np.arange(len(self.people)) if keep is None else np.flatnonzero(keep)
        return soft_accuracy(self.people[np.ix_(kept, kept)], self.metric[np.ix_(kept, kept)])

    def p_value(self, names: tuple[str, ...], *, draws: int, rng: SharedDraws) -> float:
        """p of a metric that knows nothing of the systems; `names` order them, so that draws do not follow the data."""
        order = np.argsort(np.array(names, dtype=np.str_), kind="stable")
        people, metric = (table[np.ix_(order, order)] for table in (self.people, self.metric))
        return soft_accuracy_test(people, metric, draws=draws, rng=rng)


def certainty(table: ScoreTable, gold: Gold, points: Points, draws: SystemDraws) -> Certainty:
    """The p-values over the rated units of all systems, which `points` has in order; NaN where a system is in only one
    cluster.
    """
    scores, ratings = draws.left_out(rated_rows(table, gold), gold)
    return Certainty(
        people=better_p(points.y, influence(points.y, ratings)),
        metric=better_p(points.x, influence(points.x, scores)),
    )
