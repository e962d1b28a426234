"""The contract of estimators (`turnwise.testing.check_estimator`) on every estimator that trains no network."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.small_world import world
from turnwise import estimators
from turnwise.encode.episodes import kept, leave_out
from turnwise.errors import Refused, UsageError
from turnwise.estimators.baselines.handcrafted import EIGHT, Features
from turnwise.testing import check_estimator
from turnwise.testing.estimators import CHECKS, Subject
from turnwise.types import Episodes, Estimator

QUICK = [*estimators.CHEAP, "ips", "features"]
TARGET = "a5"


@pytest.fixture(scope="module")
def logs() -> Episodes:
    """Logs of a small world with made-up log-probabilities."""
    episodes = world(agents=7, dialogues=24)
    rng = np.random.default_rng(1)
    probs = {name: np.log(rng.uniform(0.2, 0.9, len(episodes.user))) for name in episodes.agents}
    return replace(episodes, log_probs=probs)


def made(name: str) -> Estimator:
    estimator = estimators.resolve(name, model="hashing")
    if isinstance(estimator, Features):
        rng = np.random.default_rng(0)
        return estimator.with_scores(
            {one: {f"a{place}": rng.normal() for place in range(7)} for one in EIGHT}
        )
    return estimator


def value(name: str, logs: Episodes, seed: int = 0) -> float:
    return made(name).estimate(logs, TARGET, rng=np.random.default_rng(seed)).value


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_estimator_keeps_the_contract(
    name: str, check: Callable[[Subject], None], logs: Episodes
) -> None:
    check_estimator(made(name), logs, TARGET, checks=(check,))


@pytest.mark.parametrize("name", QUICK)
def test_the_targets_own_dialogues_are_not_looked_at(name: str, logs: Episodes) -> None:
    flipped = np.where(logs.agent == logs.agents.index(TARGET), 1 - logs.reward, logs.reward)
    assert value(name, logs) == value(name, leave_out(logs, {TARGET}))
    assert value(name, replace(logs, reward=flipped)) == value(name, logs)


@pytest.mark.parametrize("name", QUICK)
def test_nothing_to_learn_from_is_refused(name: str, logs: Episodes) -> None:
    alone = kept(logs, logs.agent == logs.agents.index(TARGET))
    if name == "features":
        alone = leave_out(logs, logs.agents[:5])
    with pytest.raises(Refused):
        value(name, alone)


@pytest.mark.parametrize("name", ["robust", "nearest", "mean-relabelled", "ips"])
def test_a_target_of_whom_nothing_is_known_is_refused(name: str, logs: Episodes) -> None:
    with pytest.raises(Refused):
        made(name).estimate(logs, "nobody", rng=np.random.default_rng(0))


@pytest.mark.parametrize("name", estimators.names())
def test_every_estimator_has_a_whole_card(name: str) -> None:
    card = estimators.describe(name)
    assert card.kind == "estimator"
    assert all((card.meaning, card.range, card.limits, card.citation))


def test_settings_stand_in_brackets_and_unknown_ones_are_named() -> None:
    assert estimators.resolve("fqe[ridge=10,model=hashing]") != estimators.resolve("fqe[model=hashing]")
    with pytest.raises(UsageError, match="its settings are: model, ridge"):
        estimators.resolve("fqe[rigde=10]")
    with pytest.raises(UsageError, match="there is no estimator `robst`"):
        estimators.resolve("robst")
