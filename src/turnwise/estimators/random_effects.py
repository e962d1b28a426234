"""A line through points whose ordinates are measured with known errors, and the interval of one more point.

The points are agents: x is an agent's estimate, y its mean rating in the logs, which differs from its true mean by
sampling error. The model is that of random-effects meta-regression (Higgins et al. 2009):

    y_i = a + b x_i + u_i + e_i,   u_i ~ N(0, tau^2),   e_i ~ N(0, s_i^2) with s_i known.

What is wanted is the true mean of one more agent, a + b x + u, without the error e of a finite log. Least squares
ignores the difference: its residuals contain both u and e, so its interval is that of one more *log*, which is too
wide for the true mean. tau is unknown, and few agents say little about it. So the interval is that of a mixture over
tau, with flat priors of a and b, and the prior 1 / sqrt(tau^2 + mean s^2) of tau. It is flat where tau is below the
errors, where the data cannot tell, and scale-free above them. With all s_i = 0 the result is exactly Student's
prediction interval of least squares.

A prior that is 0 at tau = 0 (a flat one on the logarithm of the total variance) gave wider intervals and too much
coverage in simulations; one that is steeper gave too little with eight agents or fewer (papers/enigma-fresh.md).
"""

from dataclasses import dataclass

import numpy as np

from turnwise.types import Floats

GRID = 120  # values of tau
_SPAN = (1e-3, 30.0)  # smallest and largest tau, relative to the spread of the points around a line
_STEPS = 60  # bisection steps to a quantile


@dataclass(frozen=True, slots=True, eq=False)
class RandomEffects:
    """The posterior of the line on a grid of G values of tau."""

    weight: Floats  # (G,) posterior probability of each tau
    tau: Floats  # (G,) standard deviation of true means around the line
    centre: Floats  # (G,) weighted mean of x
    height: Floats  # (G,) the line at the centre
    slope: Floats  # (G,)
    precision: Floats  # (G,) sum of the points' weights
    size: Floats  # (G,) weighted sum of squares of x around the centre

    @property
    def spread(self) -> float:
        """The posterior mean of tau."""
        return float(self.weight @ self.tau)

    def at(self, x: float) -> float:
        """The expected true mean of an agent with this estimate."""
        return float(self.weight @ (self.height + self.slope * (x - self.centre)))

    def interval(self, x: float, level: float) -> tuple[float, float]:
        """The central interval of the true mean of one more agent with this estimate."""
        mean = self.height + self.slope * (x - self.centre)
        deviation = np.sqrt(self.tau**2 + 1 / self.precision + (x - self.centre) ** 2 / self.size)
        low, high = (
            _quantile(self.weight, mean, deviation, share) for share in ((1 - level) / 2, (1 + level) / 2)
        )
        return low, high


@dataclass(frozen=True, slots=True, eq=False)
class ErrorSpread:
    """The posterior of the standard deviation of errors around 0, on a grid of G values of tau."""

    weight: Floats  # (G,) posterior probability of each tau
    tau: Floats  # (G,)

    @property
    def spread(self) -> float:
        """The posterior mean of tau."""
        return float(self.weight @ self.tau)

    def half_width(self, level: float, more: float = 0.0) -> float:
        """Half the width of the central interval of one more error; `more` is a variance that it has in addition."""
        deviation = np.sqrt(self.tau**2 + more)
        return _quantile(self.weight, np.zeros_like(deviation), deviation, (1 + level) / 2)

    def above(self, value: float, more: float = 0.0) -> float:
        """The probability that one more error is above this value; `more` as in `half_width`."""
        from scipy.special import ndtr

        return float(self.weight @ ndtr(-value / np.sqrt(self.tau**2 + more)))


def _quantile(weight: Floats, mean: Floats, deviation: Floats, share: float) -> float:
    """The value below which this share of a mixture of normals lies."""
    from scipy.special import ndtr

    low, high = float(np.min(mean - 40 * deviation)), float(np.max(mean + 40 * deviation))
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if weight @ ndtr((middle - mean) / deviation) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def error_spread(missed: Floats, errors: Floats) -> ErrorSpread:
    """The spread of true errors, from (n,) errors against means that were themselves measured with errors s_i.

    The same model and prior as below without a line: missed_i = u_i + e_i. With all s_i = 0 the interval is exactly
    that of Student's t with n degrees of freedom around 0. `missed` may not be all 0.
    """
    typical = float(np.sqrt(np.mean(errors**2)))
    size = float(np.sqrt(np.mean(missed**2)))
    tau = np.geomspace(*_SPAN, GRID) * max(size, typical)
    variance = tau[:, None] ** 2 + errors**2
    log_posterior = -np.sum(np.log(variance) + missed**2 / variance, axis=1) / 2
    log_posterior += np.log(tau) - np.log(tau**2 + typical**2) / 2
    posterior = np.exp(log_posterior - log_posterior.max())
    return ErrorSpread(posterior / posterior.sum(), tau)


def random_effects(x: Floats, y: Floats, errors: Floats, *, spread: float) -> RandomEffects:
    """Fit the model to (n,) points; `errors` are the s_i, not all 0, `spread` is that of y around the line."""
    typical = float(np.sqrt(np.mean(errors**2)))
    tau = np.geomspace(*_SPAN, GRID) * max(spread, typical)
    weights = 1 / (tau[:, None] ** 2 + errors**2)  # (G, n)
    precision = weights.sum(axis=1)
    centre = weights @ x / precision
    height = weights @ y / precision
    across = x - centre[:, None]
    size = np.sum(weights * across**2, axis=1)
    slope = np.sum(weights * across * y, axis=1) / size
    missed = y - height[:, None] - slope[:, None] * across
    # Likelihood of tau with the line integrated out, the prior, and d tau of a logarithmic grid.
    log_likelihood = (np.log(weights).sum(axis=1) - np.log(precision) - np.log(size)) / 2
    log_likelihood -= np.sum(weights * missed**2, axis=1) / 2
    log_posterior = log_likelihood + np.log(tau) - np.log(tau**2 + typical**2) / 2
    posterior = np.exp(log_posterior - log_posterior.max())
    return RandomEffects(posterior / posterior.sum(), tau, centre, height, slope, precision, size)
