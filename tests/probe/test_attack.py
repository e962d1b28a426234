"""Ten planted weaknesses are found and named; clean metrics are left in peace; bad metrics are survived."""

import re
import time
from collections.abc import Sequence

import numpy as np
import pytest

from tests.probe.planted import CLEAN, PLANTED, scorer, talks
from turnwise.errors import Refused
from turnwise.probe.attack import Attack, attack
from turnwise.probe.context import halves
from turnwise.probe.target import Hangs, Target
from turnwise.types import Floats, Item, digest

BUDGET = 20_000


def attacked(score, *, budget: int = BUDGET, seed: int = 0, count: int = 120, timeout: float = 60) -> Attack:  # type: ignore[no-untyped-def]
    search_on, judge_on = halves(talks(count, seed))
    texts = [context.human for context in search_on] + [turn.text for one in search_on for turn in one.turns]
    target = Target(score, budget=budget, timeout=timeout)
    found = attack(target, search_on, judge_on, texts=texts, rng=np.random.default_rng(seed), draws=200)
    assert found.calls <= budget
    return found


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_weakness_is_found_and_named(name: str) -> None:
    function, told = PLANTED[name]
    found = attacked(scorer(function))
    assert found.gameable
    frauds = [one for one in found.strategies if one.significant][:5]
    strong = [one for one in found.tendencies if one.correlation > 0.4]
    said = " | ".join([*(one.description for one in frauds), *(one.feature for one in strong)])
    assert re.search(told, said), said


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_metric_gives_no_finding(name: str) -> None:
    found = attacked(scorer(CLEAN[name]))
    assert not found.gameable, found.worst


@pytest.mark.parametrize("seed", range(20))
def test_no_seed_raises_a_false_alarm(seed: int) -> None:
    noise = np.random.default_rng(seed)
    weights = noise.normal(size=64)

    def hashed(items: Sequence[Item]) -> Floats:
        """Deterministic noise around the oracle: chance gains that the search can find and must not believe."""
        jitter = [weights[int(digest(item.id, item.reply), 16) % 64] for item in items]
        return scorer(CLEAN["oracle"])(items) + 0.3 * np.array(jitter)

    assert not attacked(hashed, budget=4000, seed=seed, count=80).gameable


def test_peoples_replies_and_references_are_never_a_fraud() -> None:
    function, _ = PLANTED["length"]
    found = attacked(scorer(function), budget=4000)
    assert not any(one.significant for one in found.strategies if one.kind == "people")


def test_the_metric_is_never_asked_more_often_than_allowed() -> None:
    asked = 0

    def counted(items: Sequence[Item]) -> Floats:
        nonlocal asked
        asked += len(items)
        return np.array([len(item.reply) / 100 for item in items])

    found = attacked(counted, budget=3000)
    assert asked == found.calls <= 3000


def test_a_constant_metric_is_reported_as_such() -> None:
    found = attacked(scorer(lambda item: 0.5))
    assert found.diagnosis.constant
    assert not found.gameable
    assert "same score" in str(found.diagnosis.words)


def test_a_random_metric_is_reported_as_such() -> None:
    rng = np.random.default_rng(1)
    found = attacked(lambda items: rng.normal(size=len(items)))
    assert found.diagnosis.random
    assert "random" in str(found.diagnosis.words)


def test_a_metric_that_raises_or_returns_nan_on_some_replies_is_survived() -> None:
    def touchy(items: Sequence[Item]) -> Floats:
        if any(not item.reply for item in items):
            raise RuntimeError("empty reply")
        return np.array([np.nan if "?" in item.reply else len(item.reply) / 100 for item in items])

    found = attacked(touchy, budget=5000)
    assert found.gameable
    empty = next(one for one in found.strategies if one.strategy == "empty")
    assert empty.unscored == empty.unscored + empty.n
    assert not empty.significant


def test_a_metric_that_always_raises_says_why() -> None:
    def broken(items: Sequence[Item]) -> Floats:
        raise RuntimeError("no weights")

    found = attacked(broken, budget=2000)
    assert "no weights" in str(found.diagnosis.words)
    assert not found.gameable


def test_a_metric_that_hangs_is_left_behind() -> None:
    def sleeper(items: Sequence[Item]) -> Floats:
        time.sleep(3)
        return np.zeros(len(items))

    with pytest.raises(Hangs, match="no answer"):
        attacked(sleeper, timeout=0.1)


def test_few_contexts_are_refused() -> None:
    with pytest.raises(Refused, match="needs 40 contexts"):
        halves(talks(12))


def test_the_same_seed_finds_the_same() -> None:
    function, _ = PLANTED["copied-nouns"]
    one, two = (attacked(scorer(function), budget=3000, seed=3) for _ in range(2))
    assert one == two
