"""Finished runs that the tests of reports share."""

from pathlib import Path

import pytest

from tests.finished_runs import write_runs


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of finished runs without trained models; only read."""
    return write_runs(tmp_path_factory.mktemp("finished"))
