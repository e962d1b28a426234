"""Serves the address that the metric `judge` needs, for all tests here and the processes that they start."""

from collections.abc import Iterator

import pytest

from tests.judge_server import by_length, serving


@pytest.fixture(scope="session", autouse=True)
def judge_address() -> Iterator[None]:
    with serving(by_length) as server, pytest.MonkeyPatch.context() as environment:
        environment.setenv("TURNWISE_JUDGE_ADDRESS", server.address)
        environment.setenv("TURNWISE_JUDGE_MODEL", "by-length")
        yield
