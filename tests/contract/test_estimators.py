"""What holds of every estimator that needs no network to be fitted."""

from dataclasses import fields, replace

import numpy as np
import pytest

from tests.small_world import world
from turnwise import estimators
from turnwise.encode.episodes import kept, leave_out
from turnwise.errors import Refused, UsageError
from turnwise.estimators.baselines.handcrafted import EIGHT, Features
from turnwise.types import Episodes, Estimator

QUICK = [*estimators.CHEAP, "ips", "features"]
TARGET = "a5"


@pytest.fixture(scope="module")
def logs() -> Episodes:
    """A small world in which log-probabilities are logged too, made up: a fair coin for each reply and agent."""
    episodes = world(agents=7, dialogues=24)
    rng = np.random.default_rng(1)
    probs = {name: np.log(rng.uniform(0.2, 0.9, len(episodes.user))) for name in episodes.agents}
    return replace(episodes, log_probs=probs)


def made(name: str) -> Estimator:
    estimator = estimators.resolve(name, model="hashing")
    if isinstance(estimator, Features):
        rng = np.random.default_rng(0)
        return estimator.given({one: {f"a{place}": rng.normal() for place in range(7)} for one in EIGHT})
    return estimator


def value(name: str, logs: Episodes, seed: int = 0) -> float:
    return made(name).estimate(logs, TARGET, rng=np.random.default_rng(seed)).value


@pytest.mark.parametrize("name", QUICK)
def test_contributions_have_the_value_as_their_mean(name: str, logs: Episodes) -> None:
    found = made(name).estimate(leave_out(logs, {TARGET}), TARGET, rng=np.random.default_rng(0))
    assert found.contributions.mean() == pytest.approx(found.value)
    assert np.isfinite(found.contributions).all()
    assert all(np.isfinite(number) for number in found.diagnostics.values())


@pytest.mark.parametrize("name", QUICK)
def test_the_targets_own_dialogues_are_not_looked_at(name: str, logs: Episodes) -> None:
    flipped = np.where(logs.agent == logs.agents.index(TARGET), 1 - logs.reward, logs.reward)
    assert value(name, logs) == value(name, leave_out(logs, {TARGET}))
    assert value(name, replace(logs, reward=flipped)) == value(name, logs)


@pytest.mark.parametrize("name", QUICK)
def test_the_order_of_dialogues_does_not_matter(name: str, logs: Episodes) -> None:
    parts = [kept(logs, logs.agent == place) for place in range(len(logs.agents))]
    assert value(name, _joined(parts[::-1])) == pytest.approx(value(name, logs), abs=1e-8)


@pytest.mark.parametrize("name", QUICK)
def test_the_same_seed_gives_the_same_number_and_inputs_stay_as_they_were(name: str, logs: Episodes) -> None:
    before = [
        getattr(logs, one.name).copy()
        for one in fields(logs)
        if isinstance(getattr(logs, one.name), np.ndarray)
    ]
    assert value(name, logs, 3) == value(name, logs, 3)
    after = [
        getattr(logs, one.name) for one in fields(logs) if isinstance(getattr(logs, one.name), np.ndarray)
    ]
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(before, after, strict=True))


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


def _joined(parts: list[Episodes]) -> Episodes:
    """Parts of one log, in another order; they share their texts."""
    names = tuple(name for part in parts for name in part.agents)
    agent = np.concatenate([np.full(len(part.agent), names.index(part.agents[0])) for part in parts])
    lengths = np.concatenate([np.diff(part.first) for part in parts])

    def stacked(saids: list) -> object:
        width = max(said.text.shape[1] for said in saids)
        assert all(said.text.shape[1] == width for said in saids)
        return type(saids[0])(
            *(np.concatenate([getattr(s, f.name) for s in saids]) for f in fields(saids[0]))
        )

    return replace(
        parts[0],
        agents=names,
        dialogues=tuple(name for part in parts for name in part.dialogues),
        agent=agent,
        reward=np.concatenate([part.reward for part in parts]),
        cluster=np.concatenate([part.cluster for part in parts]),
        first=np.concatenate([[0], np.cumsum(lengths)]),
        user=np.concatenate([part.user for part in parts]),
        logged=stacked([part.logged for part in parts]),
        alternatives={n: stacked([part.alternatives[n] for part in parts]) for n in parts[0].alternatives},
        log_probs={n: np.concatenate([part.log_probs[n] for part in parts]) for n in parts[0].log_probs},
    )
