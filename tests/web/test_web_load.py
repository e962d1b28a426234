"""Many raters at once on a real server that is killed in the middle; benchmarks/raters.py is the long version."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def load(*options: str) -> dict:
    command = [sys.executable, "-m", "benchmarks.raters", "--items", "60", "--think", "0.3", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_nothing_acknowledged_is_lost_or_doubled_when_the_server_is_killed(
    kind: str, request: pytest.FixtureRequest
):
    store = ["--store", request.getfixturevalue("postgres")()] if kind == "postgres" else []
    found = load("--raters", "30", "--seconds", "8", "--kill-at", "4", *store)
    assert found["ratings_acknowledged"] > 100
    assert found["in_flight_when_killed"] > 0  # the kill hit somebody
    assert found["lost_or_different"] == found["doubled"] == found["from_nowhere"] == 0
    assert found["ratings_exported"] >= found["ratings_acknowledged"]
