"""Effect sizes of paired differences."""

import numpy as np

from turnwise.types import Floats


def cohen_dz(differences: Floats) -> float:
    """Cohen's d_z: mean of the paired differences over their standard deviation (n - 1).

    By convention .2, .5 and .8 are small, medium and large. NaN with fewer than two differences or if all are equal.
    """
    differences = np.asarray(differences, dtype=np.float64)
    if len(differences) < 2 or not np.ptp(differences) > 0:
        return float("nan")
    deviation = float(np.std(differences, ddof=1))
    # Differences below 1e-162 are not equal, but their squares are 0.
    return float(np.mean(differences)) / deviation if deviation > 0 else float("nan")


def superiority(differences: Floats) -> float:
    """Share of positive differences, a zero counting half: .5 is no difference. NaN if there are none or one is NaN."""
    differences = np.asarray(differences, dtype=np.float64)
    if len(differences) == 0 or np.isnan(differences).any():
        return float("nan")
    # Less 1 and less 1 again it is the same to the last bit, as is the share of the pairs the other way round.
    return 1.0 - (1.0 - float(np.mean((np.sign(differences) + 1) / 2)))
