"""Preferences between agents: win rates of every two agents, and Bradley-Terry strengths of all.

Intervals cover other contexts and, where raters are named, other raters (`stats.crossed`). Two whole dialogues with
different contexts are two clusters, which are both sampled. Both replies being bad counts as a tie.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from turnwise.errors import Refused
from turnwise.stats import bradley_terry
from turnwise.stats.clusters import codes
from turnwise.stats.crossed import StandardErrors, standard_errors
from turnwise.stats.interval import wilson
from turnwise.types import Finding, Floats, Ints

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
    """What the preferences are about: labels of the findings."""

    metric: str
    group: str | None
    unscored: Mapping[str, int]


def errors_of(influence: Floats, pairs: Sequence[ComparedPair]) -> tuple[StandardErrors, str]:
    """Standard errors of k estimates from the (n, k) influence of these pairs, and the method in words."""
    sides = [codes([pair.clusters[side] for pair in pairs])[0] for side in (0, 1)]
    sampled: list[Ints] = sides[:1] if np.array_equal(sides[0], sides[1]) else sides
    by = "cluster" if all(pair.clusters[0] == pair.clusters[1] for pair in pairs) else "the two dialogues"
    names = [pair.rater for pair in pairs]
    if None not in names and len(set(names)) > 1:
        sampled = [*sampled, codes([str(name) for name in names])[0]]
        by += " and rater"
    # With the floor, coverage of Bradley-Terry strengths was 93-97 %, without it 91-96 % (contexts and raters crossed).
    return standard_errors(influence, *sampled, floor=True), f"clustered by {by}, t"


def win_rate(pairs: Sequence[ComparedPair], agents: tuple[str, str], about: About) -> Finding:
    """The share of comparisons that A won minus the share that B won, with interval and test against 0.

    `details` has the shares, and the win rate of A with ties counted half. p is not adjusted yet.
    """
    a, b = agents
    mine = [pair.ordered(a) for pair in pairs if set(pair.agents) == {a, b}]
    what: dict[str, str | None] = {"metric": about.metric, "agent_a": a, "agent_b": b, "group": about.group}
    shared: dict[str, Any] = {
        "what": {**what, "level": "system"},
        "signature": signature(about.metric),
        "unscored": dict(about.unscored),
    }
    if not mine:
        return Finding(**shared, estimate=None, status="skipped", reason=f"nobody compared `{a}` and `{b}`")
    outcome = np.array([pair.outcome for pair in mine], dtype=np.float64)
    estimate = float(outcome.mean())
    errors, method = errors_of((outcome - estimate)[:, None] / len(mine), mine)
    n_clusters = len({cluster for pair in mine for cluster in set(pair.clusters)})
    interval, p = errors.interval(estimate), errors.p_value(estimate)
    if interval is None and np.ptp(outcome) == 0 and estimate != 0:
        # Every comparison has the same winner: a share of 1, counting a cluster as one trial.
        trials = len({pair.clusters[0] for pair in mine})
        rate = wilson(trials if estimate > 0 else 0, trials)
        interval = None if rate is None else (2 * rate[0] - 1, 2 * rate[1] - 1)
        method, p = "Wilson by cluster, and the sign test", min(1.0, 2 * 0.5**trials)
    elif interval is None:
        method = "none: no variation" if np.ptp(outcome) == 0 else "none: fewer than 2 clusters"
    else:
        interval = max(-1.0, interval[0]), min(1.0, interval[1])
    wins, losses = float(np.mean(outcome > 0)), float(np.mean(outcome < 0))
    details: dict[str, Any] = {
        "better": "higher",
        "a": wins,
        "b": losses,
        "ties": float(np.mean(outcome == 0)),
        **({"both_bad": bad} if (bad := float(np.mean([pair.both_bad for pair in mine]))) else {}),
        "win_rate": (1 + estimate) / 2,
        "n_raters": len({pair.rater for pair in mine} - {None}),
        "leads": "A is better" if estimate > 0 else "B is better",
    }
    return Finding(
        **shared, estimate=estimate, interval=interval, p=None if np.isnan(p) else p, n_items=len(mine),
        n_clusters=n_clusters, method=method, details=details,
    )  # fmt: skip


def strengths(
    pairs: Sequence[ComparedPair], agents: Sequence[str], about: About, *, control: Sequence[str] = ()
) -> dict[str, Any]:
    """The record of the Bradley-Terry fit to these pairs: strengths of agents and effects of the controls.

    `control` are covariates: `position`, `length`. Where there is no fit, `reason` says why. Strengths of agents that
    no chain of comparisons connects cannot be compared; `component` numbers these sets.
    """
    record: dict[str, Any] = {"metric": about.metric, "group": about.group, "control": list(control)}
    between = [pair for pair in pairs if pair.agents[0] != pair.agents[1]]
    code = {name: at for at, name in enumerate(agents)}
    first, second = (
        np.array([code[pair.agents[side]] for pair in between], dtype=np.int64) for side in (0, 1)
    )
    outcome = np.array([pair.outcome for pair in between], dtype=np.float64)
    empty = {"n_items": len(between), "strengths": [], "effects": []}
    try:
        covariates = _covariates(between, control)
        found = bradley_terry.fit(
            first, second, outcome, agents, covariates=covariates, covariate_names=control
        )
    except Refused as error:
        return {**record, **empty, "n_components": None, "method": "", "reason": str(error)}
    errors, method = errors_of(found.influence, between)
    order = sorted(
        range(len(agents)), key=lambda at: (found.components[at], -np.nan_to_num(found.strengths[at]))
    )
    return {
        **record,
        "n_items": len(between),
        "n_components": len(set(found.components.tolist())),
        "tie": found.tie,
        "method": f"Bradley-Terry{'' if found.tie is None else ' with ties (Davidson)'}; {method}",
        "strengths": [
            {
                "agent": agents[at],
                "component": int(found.components[at]) + 1,
                **_estimate(found.strengths[at], errors, at),
                "n_items": int(np.sum((first == at) | (second == at))),
                "reason": found.reasons[at],
            }
            for at in order
        ],
        "effects": [
            {"covariate": name, **_estimate(found.effects[at], errors, len(agents) + at)}
            for at, name in enumerate(control)
        ],
        "reason": None,
    }


def _estimate(value: float, errors: StandardErrors, which: int) -> dict[str, Any]:
    """Estimate, interval and p; None where they are undefined."""
    if np.isnan(value):
        return {"estimate": None, "interval": None, "p": None}
    p = errors.p_value(float(value), which)
    interval = errors.interval(float(value), which)
    return {"estimate": float(value), "interval": interval, "p": None if np.isnan(p) else p}


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
                raise Refused("no preference says which one was shown first (`shown`); leave `position` out")
        else:
            lengths = np.array([pair.lengths for pair in pairs], dtype=np.float64).reshape(-1, 2)
            column = (lengths[:, 0] - lengths[:, 1]) / np.maximum(lengths.sum(axis=1), 1)
            if not np.ptp(np.abs(column)):
                raise Refused("all compared pairs differ equally in length; leave `length` out")
            column = column / np.sqrt(np.mean(column**2))
        columns.append(column)
    return np.stack(columns, axis=1)


def signature(metric: str) -> str:
    """The signature of a win rate."""
    return f"preference|of:{metric.partition(':')[2]}|both_bad:tie|v:1"
