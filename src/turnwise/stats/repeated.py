"""Success over repeated trials of a task: all of k trials (pass^k), or any of k (pass@k), without bias.

Of a task with c passed trials of n, the share of all subsets of k trials in which every one passed is C(c, k)/C(n, k)
(Yao et al. 2024, tau-bench), and the share in which one or more passed is 1 - C(n-c, k)/C(n, k) (Chen et al. 2021).
Both are unbiased for a task whose trials are independent with one probability; (c/n)^k is not, and is too high. A
system's number is the mean over tasks.

The interval is Wilson's with an effective number of observations, p (1 - p) / variance, and Student's quantile for the
number of tasks. A few tasks with equal values would give far too many: n trials hold at most n/k separate sets of k,
and no more than this count. Measured in benchmarks/results/reliability.json.
"""

import numpy as np

from turnwise.stats.computing.tails import t_quantile
from turnwise.stats.interval import Interval, wilson
from turnwise.types import Floats, Ints


def all_of(passed: Ints, trials: Ints, k: int) -> Floats:
    """(T,) pass^k of each task: the share of its sets of `k` trials in which every one passed.

    `trials` are at least `k`, else `ValueError`.
    """
    if k < 1 or np.any(trials < k):
        raise ValueError(f"every task needs {k} trials, and k must be positive")
    product = np.ones(len(trials))
    for step in range(k):
        product *= np.maximum(passed - step, 0) / (trials - step)
    return product


def any_of(passed: Ints, trials: Ints, k: int) -> Floats:
    """(T,) pass@k of each task: the share of its sets of `k` trials in which one or more passed."""
    return 1 - all_of(trials - passed, trials, k)


def interval_of_tasks(values: Floats, trials: Ints, k: int, level: float = 0.95) -> Interval | None:
    """The interval of the mean over tasks of pass^k or pass@k; None with fewer than 2 tasks."""
    n_tasks = len(values)
    if n_tasks < 2:
        return None
    share, variance = float(np.mean(values)), float(np.var(values, ddof=1))
    most = float(np.sum(trials)) / k
    effective: float = n_tasks
    if 0 < share < 1:
        effective = min(most, n_tasks * share * (1 - share) / variance) if variance > 0 else most
    bounds = wilson(share * effective, effective, level, quantile=t_quantile(n_tasks - 1, (1 + level) / 2))
    # Rounding may leave the end at 0 or 1 on the wrong side of the share.
    return None if bounds is None else (min(bounds[0], share), max(bounds[1], share))
