"""Distribution functions and quantiles of the normal and of Student's t distribution, for single numbers.

`scipy.special` has the same functions, but importing it takes .2 s of processor time, a third of a short command.
tests/stats/computing/test_tails.py holds them to its values.
"""

import math
from functools import lru_cache
from statistics import NormalDist

_NORMAL = NormalDist()
_PRECISE = 2.0**-52
_MANY = 3000  # degrees of freedom from which scipy is asked: the fraction below loses a digit for each factor of ten


def normal_cdf(x: float) -> float:
    """P(X <= x) of a standard normal X."""
    return math.erfc(-x / math.sqrt(2)) / 2


def normal_quantile(p: float) -> float:
    """The x with P(X <= x) = p; infinite at 0 and 1, NaN outside of [0, 1]."""
    if 0 < p < 1:
        return _NORMAL.inv_cdf(p)
    return {0.0: -math.inf, 1.0: math.inf}.get(p, math.nan)


def t_cdf(df: float, x: float) -> float:
    """P(T <= x) of Student's t with `df` degrees of freedom, above 0; NaN if one of the two is NaN."""
    if not df > 0 or math.isnan(x):
        return math.nan
    if df >= _MANY:
        from scipy.special import stdtr

        return float(stdtr(df, x))
    tail = _t_tail(df, abs(x))
    return tail if x < 0 else 1 - tail


@lru_cache(maxsize=1024)
def t_quantile(df: float, p: float) -> float:
    """The x with P(T <= x) = p; infinite at 0 and 1, NaN outside of [0, 1] or without degrees of freedom."""
    if not df > 0 or not 0 < p < 1:
        return math.nan if not df > 0 else normal_quantile(p)
    if df >= _MANY:
        from scipy.special import stdtrit

        return float(stdtrit(df, p))
    if p == 0.5:
        return 0.0
    if p < 0.5:
        return -_upper_quantile(df, p)
    return _upper_quantile(df, 1 - p)


def _upper_quantile(df: float, tail: float) -> float:
    """The x above 0 with P(T > x) = tail, below one half: Newton's method on the logarithms of both.

    In logarithms the tail is nearly a straight line far out, and concave, so that the steps stay on one side.
    """
    x = -normal_quantile(tail)
    goal, change = math.log(tail), math.inf
    for _ in range(60):
        now = _t_tail(df, x)
        if not now:  # further out than a number can be
            return math.inf
        slope = x * _t_density(df, x) / now  # of -log tail against log x
        step = min(700.0, (math.log(now) - goal) / slope)  # e^700 is near the largest number
        # Steps become smaller until they are rounding.
        if abs(step) <= _PRECISE or (abs(step) < 1e-9 and abs(step) >= change):
            return x
        x, change = x * math.exp(step), abs(step)
    return x


def _t_density(df: float, x: float) -> float:
    """The density of t at x."""
    return _gamma_ratio(df / 2) * math.exp(-(df + 1) / 2 * math.log1p(x * x / df)) / math.sqrt(df * math.pi)


def _t_tail(df: float, x: float) -> float:
    """P(T > x) for x of 0 or more: half of the incomplete beta function at df / (df + x^2)."""
    a, square = df / 2, x * x / df
    if math.isinf(square):
        return 0.0
    inside = square / (1 + square)  # 1 - df / (df + x^2), without cancellation
    # x^a (1 - x)^(1/2) / B(a, 1/2)
    front = _gamma_ratio(a) / math.sqrt(math.pi) * math.exp(-a * math.log1p(square)) * math.sqrt(inside)
    if 1 / (1 + square) < (a + 1) / (a + 2.5):
        return front * _beta_fraction(a, 0.5, 1 / (1 + square)) / (2 * a)
    return 0.5 - front * _beta_fraction(0.5, a, inside)


def _gamma_ratio(a: float) -> float:
    """Gamma(a + 1/2) / Gamma(a), by its series for large a; a smaller one is raised by steps of 1."""
    factor = 1.0
    while a < 40:
        factor *= a / (a + 0.5)
        a += 1
    u = 1 / a
    series = 1 + u * (
        -1 / 8
        + u
        * (
            1 / 128
            + u
            * (
                5 / 1024
                + u * (-21 / 32768 + u * (-399 / 262144 + u * (869 / 4194304 + u * 39325 / 33554432)))
            )
        )
    )
    return factor * math.sqrt(a) * series


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method (Press et al. 2007, section 6.4)."""
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    found = d
    for m in range(1, 100_000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + step * d
            c = 1 + step / c
            d = 1 / (d if abs(d) > tiny else tiny)
            c = c if abs(c) > tiny else tiny
            found *= d * c
        if abs(d * c - 1) <= _PRECISE:
            break
    return found
