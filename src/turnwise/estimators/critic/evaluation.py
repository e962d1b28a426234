"""Fitted Q evaluation by least squares, cross-fitted over dialogues, with negatives.

Q(s, a) = x(s, a).v satisfies Q(s, a) = r + gamma Q(s', a'), where a' is what the evaluated system would have said. A
corpus of people has only good replies, so a Q that is fitted on it gives every reply a high value. Two kinds of
negatives with a return of 0 are therefore added: the reply of another dialogue, and the user's own words. With the
first alone a parrot scores above people; with both, every control of `controls` scores below every published system on
MultiWOZ.

Neither ridge nor negatives may change the value of the logged policy. So the mean error over the logged replies of each
turn is held at 0 by one row of large weight for each turn; a penalised intercept would bias the value of people by -6
of 48.

The Q of a dialogue comes from a fit without its rewards and contexts. Its words may occur in the fit: random replies
are drawn over all folds, so a fifth of them are replies of held-out dialogues, placed elsewhere and labelled 0.
Everything is a sum over folds: features are summed once, and a system needs one more d x d sum and 2 T steps v <- G^-1
(b + gamma O v). If these do not converge, as with few dialogues, the value is refused. Intervals come from the
influence of each dialogue on the value through the system of equations. The published ones (+-.02) are the spread of Q
over first turns and ignore the uncertainty of the fit.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lu_factor, lu_solve

from turnwise.errors import Refused
from turnwise.estimators.critic.features import TURNS, Features
from turnwise.types import Floats, Ints, RepliesAtPoints, digest

FOLDS = 5
# Weight of the rows that hold a turn's mean error at 0 (a logged reply has 1); 100 leaves a bias of -.6 of 48.
ZERO_MEAN_WEIGHT = 1e4
FEWEST = 30  # smallest number of dialogues: with fewer a fold has less than six
CONVERGED = 0.05  # largest distance of the value from its fixed point, as a share of the largest return
# How often a matrix is squared before its eigenvalues are computed: power 2048 has a norm below 1 if the radius is .99.
SQUARINGS = 12
NOT_CONVERGED = (
    "fitted Q does not converge on this many dialogues; use more, a larger ridge (critic[ridge=1]) or a smaller "
    "gamma"
)


@dataclass(frozen=True, slots=True)
class SystemValue:
    """The critic's value of one system."""

    contributions: Floats  # (N,) whose mean is the value and whose spread is its uncertainty
    q: Floats  # (n,) Q of its reply at each logged point, by a fit without the dialogue
    error: float  # root mean square of r + gamma Q(s', a') - Q(s, a) at logged replies of held-out dialogues

    @property
    def value(self) -> float:
        """The mean of the contributions."""
        return float(self.contributions.mean())


@dataclass(frozen=True)
class Evaluation:
    """What the evaluations of all systems share: folds, features of the logged replies, equations of each fold."""

    features: Features
    gamma: float
    ridge: float  # share of the number of logged points
    negatives: float  # weight of each of the two negatives of a point
    pessimism: float  # number of standard errors subtracted from the Q of every next reply
    seed: int

    def __post_init__(self) -> None:
        n = len(self.features.episodes.dialogues)
        if n < FEWEST:
            raise Refused(
                "a critic needs {needed} dialogues to learn from, and there are {n}",
                "too-few-dialogues",
                needed=FEWEST,
                n=n,
            )

    @cached_property
    def fold(self) -> Ints:
        """(n,) the fold of each point, 0 to FOLDS - 1; all points of a dialogue are in one fold."""
        fold_of_dialogue = np.empty(len(self._order), dtype=np.int64)
        fold_of_dialogue[self._order] = np.arange(len(self._order)) % FOLDS
        return fold_of_dialogue[self._owner]

    @cached_property
    def _order(self) -> Ints:
        """(N,) the dialogues, sorted by a hash of their ids: they are assigned to folds in this order."""
        names = [digest(str(self.seed), name) for name in self.features.episodes.dialogues]
        return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)

    @cached_property
    def logged(self) -> Floats:
        """(n, d) features of the logged replies."""
        return self.features.rows(self.features.episodes.logged)

    @cached_property
    def last(self) -> Ints:
        """(N,) index of the last point of each dialogue."""
        return self.features.episodes.first[1:] - 1

    @cached_property
    def _owner(self) -> Ints:
        """(n,) index of the dialogue of each point."""
        lengths = np.diff(self.features.episodes.first)
        return np.repeat(np.arange(len(lengths)), lengths)

    @cached_property
    def _gram(self) -> Floats:
        """(FOLDS, d, d) sums of x x' by fold, over logged replies and, times `negatives`, over both negatives."""
        grams = self._outer(self.logged, self.logged)
        if self.negatives:
            for rows in self._negatives():
                grams += self.negatives * self._outer(rows, rows)
        return grams

    def _outer(self, left: Floats, right: Floats) -> Floats:
        """(FOLDS, d, d) sum of left x right' over the points of each fold."""
        return np.stack([left[self.fold == f].T @ right[self.fold == f] for f in range(FOLDS)])

    def _negatives(self) -> tuple[Floats, Floats]:
        """(n, d) features of a reply of another dialogue, drawn at random, and (n, d) of the user's words as a reply.

        A row is zero where the draw fell on the same dialogue, or where there is no user turn.
        """
        episodes = self.features.episodes
        rank = np.argsort(self._order)
        points = np.lexsort((np.arange(len(self._owner)), rank[self._owner]))  # in the order of `_order`
        drawn = np.empty_like(points)
        drawn[points] = points[np.random.default_rng(self.seed).permutation(len(points))]
        other = np.where(self._owner[drawn] != self._owner, episodes.logged.text[drawn, 0], -1)
        return self.features.rows(_words(other)), self.features.rows(_words(episodes.user))

    def _penalty(self, points: float, size: int) -> Floats:
        """(d,) ridge penalty of each coefficient for a fit on `points` points.

        The constant, which is first, has almost none.
        """
        penalty = np.full(size, self.ridge * points)
        penalty[0] = 1e-9 * points
        return penalty

    def _by_turn(self, rows: Floats) -> Floats:
        """(FOLDS, TURNS, ...) sums of rows by fold and turn class."""
        sums = np.zeros((FOLDS, TURNS, *rows.shape[1:]))
        np.add.at(sums, (self.fold, self.features.classes), rows)
        return sums

    @cached_property
    def _fits(self) -> list["_Fit"]:
        """The equations for each fold f, from the dialogues outside f."""
        counts = self._by_turn(np.ones(len(self.fold)))
        reward = self.features.reward
        arrived = np.stack([reward[self.fold == f] @ self.logged[self.fold == f] for f in range(FOLDS)])
        earned, mean = self._by_turn(reward), self._by_turn(self.logged)
        fits = []
        for f in range(FOLDS):
            count = _without(counts, f)
            held = ZERO_MEAN_WEIGHT * _without(mean, f) / np.maximum(count, 1.0)[:, None]
            gram = _without(self._gram, f) + held.T @ _without(mean, f)
            gram[np.diag_indices_from(gram)] += self._penalty(float(np.sum(self.fold != f)), len(gram))
            fits.append(_Fit(gram, held, _without(arrived, f) + held.T @ _without(earned, f)))
        return fits

    def value(self, said: RepliesAtPoints) -> SystemValue:
        """The value of the system that would have said this at each logged point.

        Refused if the steps of Q do not converge.
        """
        rows, gamma = self.features.rows(said), self.gamma
        following = np.vstack([rows[1:], np.zeros(rows.shape[1])])
        following[self.last] = 0.0
        onward = self._outer(self.logged, following)
        held_onward = self._by_turn(following)
        n, dialogues = len(rows), len(self.last)
        q, errors, influence = np.zeros(n), np.zeros(n), np.zeros(n)
        starts = self.features.episodes.first[:-1]
        for f, fit in enumerate(self._fits):
            step = gamma * (_without(onward, f) + fit.held.T @ _without(held_onward, f))
            taken_off = self._pessimistic_part(fit, following, f)
            right = fit.reward if taken_off is None else fit.reward - taken_off
            v = fit.iterated(step, right, 2 * int(self.features.turn.max() + 1))
            unseen = self.fold == f
            q[unseen] = rows[unseen] @ v
            error = self.features.reward + gamma * following @ v - self.logged @ v
            errors[unseen] = error[unseen]
            first = starts[unseen[starts]]
            system = lu_factor(fit.gram - step)
            self._check_converged(rows[first].mean(axis=0) @ (lu_solve(system, right) - v))
            # The derivative of the value by the weight of a point is J.(x + W m) e; J solves the system from the left.
            sensitivity = lu_solve(system, rows[first].sum(axis=0), trans=1)
            moved = (self.logged @ sensitivity + (fit.held @ sensitivity)[self.features.classes]) * error
            influence += np.where(unseen, 0.0, moved)
        contributions = q[starts] + np.add.reduceat(influence, starts)
        contributions += (
            q[starts].mean() - contributions.mean()
        )  # a first-order correction, so that the mean of the contributions is the value
        return SystemValue(contributions, q, float(np.sqrt(np.mean(errors**2))) if dialogues else np.nan)

    def _check_converged(self, left: float) -> None:
        """Raise `Refused` if further steps would move the value by more than `CONVERGED` times the largest return.

        `left` is that remaining change of the value.
        """
        returns = np.add.reduceat(self.features.reward, self.features.episodes.first[:-1])
        if not abs(left) <= CONVERGED * np.abs(returns).max():
            raise Refused(
                "{what} (further steps would move the value by {left:.3g})",
                "not-converged",
                what=NOT_CONVERGED,
                left=float(abs(left)),
            )

    def _pessimistic_part(self, fit: "_Fit", following: Floats, f: int) -> Floats | None:
        """(d,) what pessimism subtracts from the right-hand side: `pessimism` standard errors of each next Q.

        None without pessimism. `following` (n, d) are the features of the system's next replies, `f` is the fold left
        out.
        """
        if not self.pessimism:
            return None
        seen = self.fold != f
        behaviour = fit.solve(fit.reward)  # for the residual spread around a fit of the reward alone
        spread = float(np.std(self.features.reward[seen] - self.logged[seen] @ behaviour))
        size = np.sqrt(np.einsum("nd,nd->n", following, fit.solve(following.T).T))
        lost = np.where(seen, self.gamma * self.pessimism * spread * size, 0.0)
        by_turn = np.bincount(self.features.classes, weights=lost, minlength=TURNS)
        taken: Floats = self.logged.T @ lost + fit.held.T @ by_turn
        return taken


@dataclass(frozen=True)
class _Fit:
    """The equations of the dialogues outside one fold."""

    gram: Floats  # (d, d)
    held: Floats  # (TURNS, d) large weight times the mean row of each turn
    reward: Floats  # (d,)

    @cached_property
    def _factor(self) -> tuple[Floats, bool]:
        """The Cholesky factor of `gram`."""
        return cho_factor(self.gram)

    def solve(self, right: Floats) -> Floats:
        """The solution x of gram x = right."""
        solved: Floats = cho_solve(self._factor, right)
        return solved

    def iterated(self, step: Floats, right: Floats, steps: int) -> Floats:
        """(d,) v after `steps` steps v <- gram^-1 (right + step v) from 0; refused if the steps diverge."""
        if (growth := _growth(self.solve(step))) is not None:
            raise Refused(
                "{what} (each step multiplies an error by {growth:.4g})",
                "diverges",
                what=NOT_CONVERGED,
                growth=float(growth),
            )
        v = np.zeros(len(right))
        for _ in range(steps):
            v = self.solve(right + step @ v)
        return v


def _growth(matrix: Floats) -> float | None:
    """The spectral radius of a square matrix if it is 1 or more; None if the powers of the matrix go to 0.

    A power with a norm below 1 proves the latter, and a few squarings cost a tenth of the eigenvalues, which are
    computed only without that proof.
    """
    power = matrix
    for _ in range(SQUARINGS):
        norm = float(np.linalg.norm(power))
        if norm < 1:
            return None
        if not norm < 1e100:
            break
        power = power @ power
    radius = float(np.abs(np.linalg.eigvals(matrix)).max()) if np.isfinite(matrix).all() else np.inf
    return None if radius < 1 else radius


def _without(parts: Floats, fold: int) -> Floats:
    """The sum of the parts over all folds but one."""
    left: Floats = parts.sum(axis=0) - parts[fold]
    return left


def _words(text: Ints) -> RepliesAtPoints:
    """One text at each point as replies, none where `text` is -1; without ends of dialogues or decisions."""
    one = text[:, None]
    nothing = np.full(one.shape, np.nan)
    return RepliesAtPoints(one, np.zeros(one.shape, dtype=np.bool_), nothing, nothing)
