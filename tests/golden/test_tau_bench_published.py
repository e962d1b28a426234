"""pass^1..4 of gpt-4o on the airline tasks of tau-bench (sierra-research/tau-bench, 50 tasks x 4 trials)."""

from pathlib import Path

import pytest

import turnwise as tw
from tests.user_variables import corpora

WHOLE = corpora().parent / "wild_more" / "tau_bench_v1_airline_50x4.json.gz"
PUBLISHED = [0.420, 0.273, 0.220, 0.200]


@pytest.mark.skipif(not WHOLE.exists(), reason=f"{WHOLE} is not here")
def test_the_published_shares_come_out(tmp_path: Path) -> None:
    found = tw.reliability(WHOLE, reader="tau-bench", metrics="rating:reward", k=(1, 2, 3, 4))
    values = [one.estimate for one in found.findings if one.statistic == "pass^k"]
    assert [round(value, 3) for value in values if value is not None] == PUBLISHED
    assert {(one.n_clusters, one.n_items) for one in found.findings} == {(50, 200)}
