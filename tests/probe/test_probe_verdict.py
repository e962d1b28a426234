"""When a gain over people is shown."""

import numpy as np

from turnwise.probe.context import FEWEST
from turnwise.probe.verdict import _mean


def test_a_gain_in_a_few_contexts_has_no_interval_and_is_never_shown():
    rng = np.random.default_rng(0)
    for n in (1, 5, FEWEST - 1):
        mean, interval = _mean(np.full(n, 0.7), np.arange(n).astype(str), 0.95, 100, rng)
        assert (round(mean, 9), interval) == (0.7, None)
    assert _mean(np.full(FEWEST, 0.7), np.arange(FEWEST).astype(str), 0.95, 100, rng)[1] == (0.7, 0.7)
