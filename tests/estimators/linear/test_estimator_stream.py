"""Logs that stream by give what logs in memory give."""

import numpy as np
import pytest

from benchmarks.bench_ope import value_from_chunks
from tests.small_world import world
from turnwise.encode.episodes import kept
from turnwise.errors import Refused
from turnwise.estimators.linear.dice import LinearDice
from turnwise.estimators.linear.regression import Fqe, Lstdq

LOGS = world(agents=6, dialogues=20)


@pytest.mark.parametrize(
    "estimator",
    [Lstdq("hashing"), LinearDice("hashing"), LinearDice("hashing", normalised=False), Fqe("hashing")],
)
def test_chunks_give_the_value_of_the_whole(estimator: Fqe | Lstdq | LinearDice) -> None:
    place = np.arange(len(LOGS.dialogues))
    chunks = [kept(LOGS, place % 5 == number) for number in range(5)]
    whole = estimator.estimate(LOGS, "a2", rng=np.random.default_rng(0))
    assert value_from_chunks(estimator, lambda: chunks, "a2") == pytest.approx(whole.value, abs=1e-7)


def test_no_chunk_is_refused() -> None:
    with pytest.raises(Refused):
        value_from_chunks(Fqe("hashing"), list, "a2")
