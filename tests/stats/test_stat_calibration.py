"""Our own intervals and tests on simulated dialogues: a small, seeded piece of `python -m benchmarks.calibration`.

A method in its band gets the bound it is held to with probability 1e-4 at most; the controls show that one that is
not misses it.
"""

import json

import pytest
from scipy.stats import binom

from benchmarks import calibration, simulated

pytestmark = pytest.mark.slow

SIMULATIONS = 300
CHECKS = {check.key: check for check in calibration.checks()}
SAMPLE = [
    "BCa, mean of turns; 50 clusters, skewed",
    "percentile, mean of turns; 20 clusters, normal",
    "t, mean of turns; 50 clusters, normal",
    "BCa or Wilson, share at the edge; 50 clusters, true share 0-10 %",
    "BCa, pearson over turns; 50 clusters, ratings 1-5",
    "BCa, spearman over turns; 20 clusters, ratings 1-5",
    "BCa, kendall over turns; 50 clusters, ratings 1-5",
    "BCa, pairwise over turns; 20 clusters, ratings 1-5",
    "BCa, pearson across systems; 10 systems, 100 contexts, true means spread 10 standard errors",
    "t, difference of unpaired systems; 50 and 30 clusters",
    "paired permutation; 50 clusters, skewed",
    "unpaired permutation; 50 and 30 clusters",
    "PERM-BOTH, pearson over turns; 50 clusters",
    "PERM-BOTH, kendall over turns; 50 clusters",
    "PERM-BOTH, spearman across systems; 12 systems",
    "Williams; 50 independent items",
    "correlation test, pearson over turns; 50 clusters",
    "correlation test, kendall over turns; 50 clusters",
    "exact test, pearson across systems; 6 systems",
]
CONTROLS = [
    "percentile of turns, mean of turns; 50 clusters, normal",
    "BCa, kendall across systems; 10 systems, 100 contexts, true means spread 2 standard errors",
]


def within(check: calibration.Check) -> bool:
    low, high = calibration.BANDS[check.kind]
    hits = round(calibration.rate(check, SIMULATIONS) * SIMULATIONS)
    return binom.ppf(5e-5, SIMULATIONS, low) <= hits <= binom.ppf(1 - 5e-5, SIMULATIONS, high)


@pytest.fixture(autouse=True)
def fewer_draws(monkeypatch) -> None:
    monkeypatch.setattr(simulated, "DRAWS", 399)


@pytest.mark.parametrize("name", SAMPLE)
def test_coverage_of_intervals_and_rejection_rates_of_tests_are_nominal(name) -> None:
    assert within(CHECKS[name])


@pytest.mark.parametrize("name", CONTROLS)
def test_an_invalid_method_fails_the_check(name) -> None:
    assert not within(CHECKS[name])


def test_the_kept_result_has_every_check_and_no_failure_without_a_reason() -> None:
    kept = json.loads(calibration.RESULT.read_text())
    assert [f"{row['what']}; {row['setting']}" for row in kept["lines"]] == list(CHECKS)
    assert kept["simulations"] == 5000
    assert [row for row in kept["lines"] if not row["valid"] and not row["why_not"]] == []
