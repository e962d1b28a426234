"""Strengths of agents from preferences: Bradley-Terry with ties by Davidson (1970).

With strengths s, the log odds of the first agent are d = s_first - s_second + x b, where x are covariates of the
comparison such as the position. Davidson's model gives a win the weight exp(d/2), a loss exp(-d/2) and a tie exp(t).
Without ties it is the logistic regression of Bradley and Terry (1952). The likelihood is concave; Newton steps with
halving find its maximum. Steps of minimal norm keep the mean strength of each connected set of agents at 0.

Strengths are finite only if no group of agents has won or lost all comparisons with the rest (Ford 1957). Agents in
such groups get no strength, with the reason. With ties, strengths can be unbounded in further cases, such as one
agent that only won and tied; these are found by the flat likelihood and refused. Standard errors come from the
influence of each comparison (`influence`), so that clusters and raters can both be sampled (`stats.crossed`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.errors import Refused
from turnwise.types import Floats, Ints

MAX_STEPS = 100
TOLERANCE = 1e-10  # largest Newton step at which the fit has converged
_FLAT = 1e-6  # information of one comparison below which the likelihood is flat in a direction
MAX_STRENGTH = 25.0  # log odds beyond which a fit with covariates is taken to be unbounded


@dataclass(frozen=True, slots=True, eq=False)
class BradleyTerry:
    """Fitted strengths of k agents and effects of m covariates."""

    strengths: Floats  # (k,) log odds, with mean 0 in each component; NaN where there is none
    effects: Floats  # (m,) log odds of one unit of each covariate
    tie: float | None  # log weight of a tie between equal agents; None without ties
    influence: Floats  # (n, k + m) how much each comparison moves strengths and effects
    components: Ints  # (k,) code of the set of agents that are connected by comparisons
    reasons: tuple[str | None, ...]  # (k,) why an agent has no strength

    def difference(self, a: int, b: int) -> tuple[float, Floats]:
        """The strength of agent `a` minus that of `b` and its influence (n,); NaN if they are not connected."""
        connected = self.components[a] == self.components[b]
        value = float(self.strengths[a] - self.strengths[b]) if connected else float("nan")
        return value, self.influence[:, a] - self.influence[:, b]


def fit(
    first: Ints,
    second: Ints,
    outcome: Floats,
    names: Sequence[str],
    *,
    covariates: Floats | None = None,
    covariate_names: Sequence[str] = (),
) -> BradleyTerry:
    """Fit the model to n comparisons of agents `first` and `second` (codes of `names`).

    `outcome` is 1 where the first won, -1 where the second won and 0 for a tie; `covariates` is (n, m), with the sign
    of the first agent. Raises `Refused` for comparisons of an agent with itself, for ties alone, where the agents and
    the other covariates determine a covariate, and where covariates make the effects unbounded.
    """
    if np.any(first == second):
        raise Refused(
            "some comparisons are of an agent with itself; they say nothing about agents", "own-comparison"
        )
    if not len(outcome):
        raise Refused("there are no comparisons", "no-comparison")
    if not np.any(outcome):
        raise Refused(
            "all comparisons are ties, so that strengths are all equal and have no interval", "only-ties"
        )
    given = np.zeros((len(outcome), 0)) if covariates is None else covariates
    components, reasons = _identified(first, second, outcome, names)
    usable = np.array([reason is None for reason in reasons])
    kept = np.flatnonzero(usable[first] & usable[second])
    k, m = len(names), given.shape[1]
    strengths, influence = np.where(usable, 0.0, np.nan), np.zeros((len(outcome), k + m))
    if not len(kept):
        return BradleyTerry(
            strengths * np.nan, np.full(m, np.nan), None, influence, components, tuple(reasons)
        )
    design = np.zeros((len(kept), k + m))
    design[np.arange(len(kept)), first[kept]] = 1.0
    design[np.arange(len(kept)), second[kept]] = -1.0
    design[:, k:] = given[kept]
    _check_separable(design, k, covariate_names)
    solution, tie, of_kept = _maximise(design, outcome[kept])
    strengths[usable] = solution[:k][usable]
    influence[kept] = of_kept
    return BradleyTerry(strengths, solution[k:], tie, influence, components, tuple(reasons))


def _check_separable(design: Floats, k: int, names: Sequence[str]) -> None:
    """Raise `Refused` if a covariate (columns from `k` on) is a linear combination of the other columns."""
    full = np.linalg.matrix_rank(design)
    for at in range(k, design.shape[1]):
        if np.linalg.matrix_rank(np.delete(design, at, axis=1)) == full:
            name = f"`{names[at - k]}`" if names else f"covariate {at - k + 1}"
            raise Refused(
                "{covariate} cannot be told apart from the agents: which agents are compared determines it in every "
                "comparison, as where one agent is always shown first; leave it out",
                "confounded-covariate",
                covariate=name,
            )


def _maximise(design: Floats, outcome: Floats) -> tuple[Floats, float | None, Floats]:
    """The maximum-likelihood coefficients, the log weight of a tie, and the influence of each row on coefficients."""
    has_ties = bool(np.any(outcome == 0))
    rank = int(np.linalg.matrix_rank(design))
    width = design.shape[1]
    solution = np.zeros(width + has_ties)
    value = _log_likelihood(design, outcome, solution, has_ties=has_ties)
    for _ in range(MAX_STEPS):
        scores, information = _derivatives(design, outcome, solution, has_ties=has_ties)
        inverse = np.linalg.pinv(information, rcond=1e-12, hermitian=True)
        step = inverse @ scores.sum(axis=0)
        scale = 1.0
        while (
            better := _log_likelihood(design, outcome, solution + scale * step, has_ties=has_ties)
        ) < value - 1e-12:
            scale /= 2
            if scale < 1e-8:
                break
        solution, value = solution + scale * step, better
        if np.max(np.abs(solution)) > MAX_STRENGTH:
            break
        if np.max(np.abs(scale * step)) < TOLERANCE:
            scores, information = _derivatives(design, outcome, solution, has_ties=has_ties)
            if np.linalg.matrix_rank(information, tol=_FLAT * len(outcome), hermitian=True) < rank + has_ties:
                break
            inverse = np.linalg.pinv(information, rcond=1e-12, hermitian=True)
            return solution[:width], float(solution[-1]) if has_ties else None, (scores @ inverse)[:, :width]
    raise Refused(
        "the likelihood has no maximum, so that strengths are unbounded: an agent never lost, or position or length "
        "predicts every preference",
        "unbounded-strengths",
    )


def _weights(design: Floats, solution: Floats, *, has_ties: bool) -> tuple[Floats, Floats]:
    """Log weights (n, 3) of win, loss and tie, and their log sums (n,)."""
    d = design @ solution[: design.shape[1]]
    tie = np.full(len(d), solution[-1] if has_ties else -np.inf)
    logs = np.stack([d / 2, -d / 2, tie], axis=1)
    return logs, np.logaddexp.reduce(logs, axis=1)


def _log_likelihood(design: Floats, outcome: Floats, solution: Floats, *, has_ties: bool) -> float:
    """The log-likelihood of the outcomes."""
    logs, total = _weights(design, solution, has_ties=has_ties)
    which = np.where(outcome > 0, 0, np.where(outcome < 0, 1, 2))
    return float(np.sum(logs[np.arange(len(outcome)), which] - total))


def _derivatives(
    design: Floats, outcome: Floats, solution: Floats, *, has_ties: bool
) -> tuple[Floats, Floats]:
    """The score of each comparison (n, p), and the information matrix (p, p)."""
    logs, total = _weights(design, solution, has_ties=has_ties)
    win, loss, tie = np.exp(logs - total[:, None]).T
    mean = (win - loss) / 2
    scores = design * (np.sign(outcome) / 2 - mean)[:, None]
    information = (design * ((win + loss) / 4 - mean**2)[:, None]).T @ design
    if not has_ties:
        return scores, information
    cross = -design.T @ (mean * tie)
    information = np.block([[information, cross[:, None]], [cross[None, :], np.sum(tie * (1 - tie))]])
    return np.column_stack([scores, (outcome == 0) - tie]), information


def _identified(
    first: Ints, second: Ints, outcome: Floats, names: Sequence[str]
) -> tuple[Ints, list[str | None]]:
    """The component of each agent, and why its strength is not finite, or None.

    A strength is finite if the graph of "beat or tied with" is strongly connected in its component.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    k = len(names)
    winners = np.concatenate([first[outcome >= 0], second[outcome <= 0]])
    losers = np.concatenate([second[outcome >= 0], first[outcome <= 0]])
    graph = coo_array((np.ones(len(winners)), (winners, losers)), shape=(k, k)).tocsr()
    components = connected_components(graph, directed=False)[1].astype(np.int64)
    strong = connected_components(graph, directed=True, connection="strong")[1].astype(np.int64)
    reasons: list[str | None] = []
    for agent, name in enumerate(names):
        mine = components == components[agent]
        if np.sum(mine) == 1:
            reasons.append(f"`{name}` was compared with nobody")
        elif len(set(strong[mine].tolist())) > 1:
            reasons.append(_unbounded(graph, np.flatnonzero(mine), strong, names))
        else:
            reasons.append(None)
    return components, reasons


def _unbounded(graph: object, members: Ints, strong: Ints, names: Sequence[str]) -> str:
    """The reason of a component in which one group of agents won every comparison with the rest."""
    dense = graph.toarray()  # type: ignore[attr-defined]
    for group in dict.fromkeys(strong[members].tolist()):
        inside = members[strong[members] == group]
        outside = np.setdiff1d(members, inside)
        if not dense[np.ix_(outside, inside)].any():
            listed = ", ".join(f"`{names[one]}`" for one in inside)
            return f"{listed} never lost to nor tied with the others, so that strengths are unbounded"
    return "some agents never lost to nor tied with the others, so that strengths are unbounded"
