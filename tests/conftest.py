"""Shared fixtures. Real corpora live outside the repository; tests that need them skip where they are absent."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("turnwise", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("turnwise")

CORPORA = Path(os.environ.get("TURNWISE_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture
def corpora() -> Path:
    if not CORPORA.is_dir():
        pytest.skip("real corpora absent: set TURNWISE_DATA to their folder")
    return CORPORA
