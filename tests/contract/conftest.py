"""The metric `judge` needs an address: here is one, for the whole suite and for the processes that it starts."""

from collections.abc import Iterator

import pytest

from tests.judge_server import by_length, serving


@pytest.fixture(scope="session", autouse=True)
def judge_address() -> Iterator[None]:
    with serving(by_length) as server, pytest.MonkeyPatch.context() as environment:
        environment.setenv("TURNWISE_JUDGE_ADDRESS", server.address)
        environment.setenv("TURNWISE_JUDGE_MODEL", "by-length")
        yield
