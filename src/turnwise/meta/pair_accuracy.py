"""Agreement of metrics with preferences: how often a metric's difference has the sign of a person's choice.

A metric ties two scores that differ by at most epsilon, and a tie is correct where people chose neither. Epsilon is
calibrated as in Deutsch, Foster and Freitag 2023: it maximises the accuracy on the same data. Where people never tie,
it is 0, and a tie of the metric counts half: it is right as often as a coin, and a metric that ties often is not worse
than chance. Each choice of each rater is one observation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from turnwise.errors import Refused
from turnwise.meta.preferences import ComparedPair, cluster_count, errors_of, rater_details
from turnwise.records import AgreementRecord, MetricDifference, finite
from turnwise.stats.interval import unvarying
from turnwise.stats.pairs.item_pairs import ordered_alike
from turnwise.stats.shares import share_test
from turnwise.types import Direction, Floats

STATISTIC = "accuracy"
ALL_TIES = "all {n} preferences are ties, which say nothing about which of two is better", "all-ties"


@dataclass(frozen=True, slots=True, eq=False)
class PairScores:
    """A metric's differences on the compared pairs that it scored."""

    metric: str
    signature: str
    pairs: tuple[ComparedPair, ...]
    differences: Floats  # (n,) score of the first minus the second, positive if the first is better
    unscored: Mapping[str, int]
    better: Direction | None

    @property
    def outcomes(self) -> Floats:
        """What people chose: 1 the first, -1 the second, 0 neither."""
        return np.array([pair.outcome for pair in self.pairs], dtype=np.float64)


def tie_calibration(differences: Floats, outcomes: Floats) -> float:
    """The smallest epsilon at which most pairs are ordered, or tied, as people do."""
    sizes = np.append(0.0, np.abs(differences[outcomes == 0]))
    candidates = np.unique(sizes)
    gains = np.searchsorted(np.sort(np.abs(differences[outcomes == 0])), candidates, "right")
    right = np.sort(np.abs(differences[differences * outcomes > 0]))
    losses = np.searchsorted(right, candidates, "right")
    return float(candidates[np.argmax(gains - losses)])


def correct(scores: PairScores) -> tuple[Floats, float]:
    """(n,) 1 where the metric agrees with the choice, else 0; and the epsilon of its ties.

    Where people never tie, a tie of the metric is 0.5.
    """
    outcomes = scores.outcomes
    epsilon = tie_calibration(scores.differences, outcomes)
    agreed = ordered_alike(scores.differences, outcomes, epsilon).astype(np.float64)
    if np.all(outcomes):
        agreed[scores.differences == 0] = 0.5
    return agreed, epsilon


def pair_accuracy(scores: PairScores, *, dimension: str, group: str) -> AgreementRecord:
    """The share of choices that the metric agrees with, with its interval, and p against what needs no metric.

    The floor is the larger of the accuracy of a coin and of a constant metric. Refused where all choices are ties: any
    metric would be right with a large enough epsilon.
    """
    about: dict[str, Any] = {
        "metric": scores.metric,
        "dimension": dimension,
        "group": group or None,
        "level": "pair",
        "statistic": STATISTIC,
        "signature": scores.signature,
        "unscored": dict(scores.unscored),
    }
    if not scores.pairs:
        reason = "; ".join(scores.unscored) or "there are no pairs"
        return AgreementRecord(
            **about, estimate=None, status="skipped", reason=f"no pair of which both are scored: {reason}"
        )
    n, n_clusters = len(scores.pairs), cluster_count(scores.pairs)
    if not np.any(scores.outcomes):
        return AgreementRecord.refusal(Refused(*ALL_TIES, n=n), **about, n_items=n, n_clusters=n_clusters)
    agreed, epsilon = correct(scores)
    estimate = float(agreed.mean())
    errors, by = errors_of((agreed - estimate)[:, None] / n, scores.pairs)
    ties = float(np.mean(scores.outcomes == 0))
    floor = max(ties, (1 - ties) / 2)
    test = share_test(estimate, errors, null=floor, n_clusters=n_clusters, by=by)
    return AgreementRecord(
        **about,
        estimate=estimate,
        interval=test.interval,
        unvarying=unvarying(test.interval, test.method),
        p=finite(test.p),
        n_items=n,
        n_clusters=n_clusters,
        method=test.method,
        better=scores.better,
        one_rater=finite(one_rater(scores.pairs)),
        floor=floor,
        epsilon=epsilon,
        tied_by_people=ties,
        n_tied=int(np.sum(np.abs(scores.differences) <= epsilon)),
        **rater_details(scores.pairs),
    )


def one_rater(pairs: Sequence[ComparedPair]) -> float:
    """How often one rater chooses as the majority of the others on the same pair; NaN if no pair has two raters."""
    agreed = agreed_with_others(pairs)[1]
    return float(agreed.mean()) if len(agreed) else float("nan")


def agreed_with_others(pairs: Sequence[ComparedPair]) -> tuple[list[ComparedPair], Floats]:
    """The choices between two that others have compared too, and (n,) 1 where the majority of these others chose
    likewise, else 0. As many choices for either side are a tie.
    """
    by_pair: dict[frozenset[str], list[tuple[ComparedPair, int]]] = {}
    for pair in pairs:
        outcome = pair.outcome if pair.items[0] == min(pair.items) else -pair.outcome
        by_pair.setdefault(frozenset(pair.items), []).append((pair, outcome))
    several = [chosen for chosen in by_pair.values() if len(chosen) > 1]
    kept = [pair for chosen in several for pair, _ in chosen]
    agreed = [
        float(np.sign(sum(other for _, other in chosen) - one) == one)
        for chosen in several
        for _, one in chosen
    ]
    return kept, np.array(agreed)


def accuracy_differences(
    scores: Sequence[PairScores], *, dimension: str, group: str
) -> list[MetricDifference]:
    """The difference in accuracy of every two metrics on the pairs that both scored, with p not yet adjusted.

    Empty where all choices are ties.
    """
    tests = []
    for a, b in combinations(scores, 2):
        places = {id(pair): at for at, pair in enumerate(b.pairs)}
        both = [(at, places[id(pair)]) for at, pair in enumerate(a.pairs) if id(pair) in places]
        if not both or not (np.any(a.outcomes) and np.any(b.outcomes)):
            continue
        mine, theirs = (np.array(side) for side in zip(*both, strict=True))
        gaps = correct(a)[0][mine] - correct(b)[0][theirs]
        p, interval, method = _test_of_gaps(gaps, [a.pairs[at] for at in mine])
        tests.append(
            MetricDifference(
                metric_a=a.metric,
                metric_b=b.metric,
                dimension=dimension,
                group=group or None,
                level="pair",
                statistic=STATISTIC,
                difference=float(gaps.mean()),
                interval=interval,
                p=finite(p),
                n_items=len(gaps),
                method=method,
            )
        )
    return tests


def _test_of_gaps(
    gaps: Floats, pairs: Sequence[ComparedPair]
) -> tuple[float, tuple[float, float] | None, str]:
    """p of the mean gap against 0, its interval, and the method; where all gaps are equal it is the sign test over
    clusters, without an interval.
    """
    if np.ptp(gaps) == 0:
        p = min(1.0, 2 * 0.5 ** cluster_count(pairs)) if gaps[0] else 1.0
        return p, None, "sign test by cluster, as all pairs differ alike"
    mean = float(gaps.mean())
    errors, by = errors_of((gaps - mean)[:, None] / len(gaps), pairs)
    return errors.p_value(mean), errors.interval(mean), f"clustered by {by}, t"
