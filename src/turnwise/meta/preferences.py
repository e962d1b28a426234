"""Preferences between agents: win rates of every two agents, and Bradley-Terry strengths of all.

Intervals cover other contexts and, where raters are named, other raters (`stats.crossed`). Two whole dialogues with
different contexts are two clusters, which are both sampled. Both replies being bad counts as a tie.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace

from turnwise.errors import Refused
from turnwise.records import ControlEffect, DifferenceRecord, PreferenceFit, Strength, finite, known
from turnwise.stats import bradley_terry
from turnwise.stats.clusters import codes
from turnwise.stats.crossed import StandardErrors, standard_errors
from turnwise.stats.interval import unvarying
from turnwise.stats.shares import share_test
from turnwise.stats.studentised import Studentised
from turnwise.types import Floats, Ints

SAME_AGENT = "both replies are by the same agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPair:
    """One person's choice between the replies or dialogues of two agents."""

    agents: tuple[str, str]
    items: tuple[str, str]  # ids
    outcome: int  # 1: the first won, -1: the second won, 0: neither
    both_bad: bool
    clusters: tuple[str, str]  # of the two sides; equal if they reply to the same context
    rater: str | None
    position: int  # 1: the first was shown first, -1: second, 0: unknown
    lengths: tuple[int, int]  # words of the two

    def ordered(self, first: str) -> "ComparedPair":
        """The pair with the agent `first` on the first side."""
        if self.agents[0] == first:
            return self
        return ComparedPair(
            agents=self.agents[::-1],
            items=self.items[::-1],
            outcome=-self.outcome,
            both_bad=self.both_bad,
            clusters=self.clusters[::-1],
            rater=self.rater,
            position=-self.position,
            lengths=self.lengths[::-1],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What the preferences are about: labels of the records."""

    metric: str
    group: str | None
    unscored: Mapping[str, int]


def errors_of(influence: Floats, pairs: Sequence[ComparedPair]) -> tuple[StandardErrors, str]:
    """Standard errors of k estimates from the (n, k) influence of these pairs, and what they are clustered by."""
    both = codes([cluster for pair in pairs for cluster in pair.clusters])[0].reshape(-1, 2)
    alike = np.array_equal(both[:, 0], both[:, 1])
    sampled: list[Ints] = [both[:, 0] if alike else both]
    by = "cluster" if alike else "the two dialogues"
    names = [pair.rater for pair in pairs]
    if None not in names and len(set(names)) > 1:
        sampled = [*sampled, codes([str(name) for name in names])[0]]
        by += " and rater"
    # The floor keeps intervals from being too narrow where the variances of contexts and raters cancel by chance.
    return standard_errors(influence, *sampled, floor=True), by


def cluster_count(pairs: Sequence[ComparedPair]) -> int:
    """The number of clusters; of two dialogues with different clusters, those of the side that has fewer."""
    return min(len({pair.clusters[side] for pair in pairs}) for side in (0, 1))


def rater_details(pairs: Sequence[ComparedPair]) -> dict[str, Any]:
    """The number of raters, None unless all are named, as `n_raters`; and the name of a single one as `rater`."""
    names = {pair.rater for pair in pairs}
    if None in names:
        return {"n_raters": None}
    return {"n_raters": len(names)} | ({"rater": names.pop()} if len(names) == 1 else {})


def win_rate(
    pairs: Sequence[ComparedPair], agents: tuple[str, str], about: About, *, anytime: bool = False
) -> DifferenceRecord:
    """The share of comparisons that A won minus the share that B won, with interval and test against 0.

    The record has the shares too, and the win rate of A with ties counted half. p is not adjusted yet. With `anytime`
    interval and p hold at every look at growing data.
    """
    a, b = agents
    if a > b:  # so that rounding too is that of one order
        return win_rate(pairs, (b, a), about, anytime=anytime).mirrored()
    mine = [pair.ordered(a) for pair in pairs if set(pair.agents) == {a, b}]
    blank = DifferenceRecord(
        estimate=None,
        metric=about.metric,
        agent_a=a,
        agent_b=b,
        group=about.group,
        level="system",
        signature=signature(about.metric),
        unscored=dict(about.unscored),
    )
    if not mine:
        return replace(blank, status="skipped", reason=f"nobody compared `{a}` and `{b}`")
    # In any order of the data the sums are those of one order.
    mine.sort(key=lambda pair: (*pair.items, str(pair.rater), pair.position, pair.outcome))
    outcome = np.array([pair.outcome for pair in mine], dtype=np.float64)
    estimate, n_clusters = float(outcome.mean()), cluster_count(mine)
    rate = 1 - (1 - estimate) / 2  # the win rate with ties counted half: a share
    errors, by = errors_of((outcome - estimate)[:, None] / (2 * len(mine)), mine)
    test = share_test(rate, errors, null=0.5, n_clusters=n_clusters, by=by)
    interval = None if test.interval is None else (2 * test.interval[0] - 1, 2 * test.interval[1] - 1)
    error, degrees = 2 * float(errors.values[0]), float(errors.degrees[0])
    method, p = test.method, test.p
    if anytime and error > 0:
        studentised = Studentised(
            estimate, error, degrees, f"clustered by {by}, t, at every look", anytime=True
        )
        interval, p, method = studentised.interval(), studentised.p, studentised.method
    leader = a if estimate > 0 else b
    return replace(
        blank,
        estimate=estimate,
        interval=interval,
        p=known(p),
        standard_error=finite(error),
        degrees=finite(degrees),
        anytime=anytime and error > 0,
        n_items=len(mine),
        n_clusters=n_clusters,
        unvarying=unvarying(interval, method),
        method=method,
        better="higher",
        points=1.0,
        a=float(np.mean(outcome > 0)),
        b=float(np.mean(outcome < 0)),
        ties=float(np.mean(outcome == 0)),
        both_bad=float(np.mean([pair.both_bad for pair in mine])) or None,
        win_rate=rate,
        leader=leader,
        leads=f"{leader} is better",
        **rater_details(mine),
    )


def strengths(
    pairs: Sequence[ComparedPair], agents: Sequence[str], about: About, *, control: Sequence[str] = ()
) -> PreferenceFit:
    """The Bradley-Terry fit to these pairs: strengths of agents and effects of the controls, whichever order the agents
    have.

    `control` are covariates: `position`, `length`. Where there is no fit, `reason` says why. Strengths of agents that
    no chain of comparisons connects cannot be compared; `component` numbers these sets.
    """
    agents = sorted(agents)  # so that rounding is that of one order
    between = [pair for pair in pairs if pair.agents[0] != pair.agents[1]]
    code = {name: at for at, name in enumerate(agents)}
    first, second = (
        np.array([code[pair.agents[side]] for pair in between], dtype=np.int64) for side in (0, 1)
    )
    outcome = np.array([pair.outcome for pair in between], dtype=np.float64)
    blank = PreferenceFit(
        metric=about.metric, group=about.group, control=tuple(control), n_items=len(between), method=""
    )
    try:
        covariates = _covariates(between, control)
        found = bradley_terry.fit(
            first, second, outcome, agents, covariates=covariates, covariate_names=control
        )
    except Refused as error:
        return replace(blank, reason=str(error))
    errors, by = errors_of(found.influence, between)
    order = sorted(
        range(len(agents)), key=lambda at: (found.components[at], -np.nan_to_num(found.strengths[at]))
    )
    return replace(
        blank,
        n_components=len(set(found.components.tolist())),
        tie=found.tie,
        method=f"Bradley-Terry{'' if found.tie is None else ' with ties (Davidson)'}; clustered by {by}, t",
        strengths=tuple(
            Strength(
                agent=agents[at],
                component=int(found.components[at]) + 1,
                n_items=int(np.sum((first == at) | (second == at))),
                reason=found.reasons[at],
                **_estimate(found.strengths[at], errors, at),
            )
            for at in order
        ),
        effects=tuple(
            ControlEffect(covariate=name, **_estimate(found.effects[at], errors, len(agents) + at))
            for at, name in enumerate(control)
        ),
    )


def _estimate(value: float, errors: StandardErrors, which: int) -> dict[str, Any]:
    """The fields of an estimate: the number, its interval and p; None where they are undefined."""
    if np.isnan(value):
        return {"estimate": None}
    p, interval = errors.p_value(float(value), which), errors.interval(float(value), which)
    return {"estimate": float(value), "interval": interval, "p": known(p)}


def _covariates(pairs: Sequence[ComparedPair], control: Sequence[str]) -> Floats | None:
    """(n, m) covariates with the sign of the first agent; raises `Refused` if one does not vary.

    `position` is 1 if the first agent was shown first and -1 if second. `length` is (a - b) / (a + b) of the lengths in
    words, in standard deviations, as in Chatbot Arena's style control.
    """
    if not control:
        return None
    columns = []
    for name in control:
        if name == "position":
            column = np.array([float(pair.position) for pair in pairs])
            if not column.any():
                raise Refused(
                    "no preference says which one was shown first (`shown`); leave `position` out",
                    "no-position",
                )
        else:
            lengths = np.array([pair.lengths for pair in pairs], dtype=np.float64).reshape(-1, 2)
            column = (lengths[:, 0] - lengths[:, 1]) / np.maximum(lengths.sum(axis=1), 1)
            if not np.ptp(np.abs(column)):
                raise Refused(
                    "all compared pairs differ equally in length; leave `length` out", "equal-lengths"
                )
            column = column / np.sqrt(np.mean(column**2))
        columns.append(column)
    return np.stack(columns, axis=1)


def signature(metric: str) -> str:
    """The signature of a win rate."""
    return f"preference|of:{metric.partition(':')[2]}|both_bad:tie|v:1"
