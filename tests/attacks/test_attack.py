"""Ten planted weaknesses are found and named; clean metrics are left in peace; bad metrics are survived."""

import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from scipy.special import ndtri

from tests.attacks.planted import CLEAN, PLANTED, PLANTED_IN_KINDS, rich_talks, scorer, talks
from turnwise.attacks import verdict
from turnwise.attacks.attack import Attack, attack
from turnwise.attacks.context import split_contexts
from turnwise.attacks.target import AT_FIRST, BATCH, HANGS, TWICE, Hangs, Target
from turnwise.errors import Refused
from turnwise.types import Floats, Item, digest

BUDGET = 20_000


def attacked(  # type: ignore[no-untyped-def]
    score,
    *,
    budget: int = BUDGET,
    seed: int = 0,
    count: int = 120,
    timeout: float = 60,
    draws: int = 200,
    contexts=talks,
) -> Attack:
    search_on, test_on = split_contexts(contexts(count, seed))
    texts = [context.human for context in search_on] + [turn.text for one in search_on for turn in one.turns]
    target = Target(score, budget=budget, timeout=timeout)
    found = attack(target, search_on, test_on, texts=texts, rng=np.random.default_rng(seed), draws=draws)
    assert found.calls <= budget
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", [*PLANTED, *PLANTED_IN_KINDS])
def test_a_planted_weakness_is_found_and_described(name: str, seed: int) -> None:
    planted = {**PLANTED, **PLANTED_IN_KINDS}[name]
    found = attacked(scorer(planted.score), seed=seed, contexts=talks if name in PLANTED else rich_talks)
    assert found.gameable
    descriptions = [one.description for one in found.strategies if one.significant]
    assert any(re.search(planted.fraud, one) for one in descriptions), descriptions
    runs_with = [one.feature for one in found.tendencies if one.correlation > 0.7]
    assert planted.tendency is None or planted.tendency in runs_with, found.tendencies


@pytest.mark.parametrize("name", CLEAN)
def test_a_metric_without_weakness_has_no_fraud(name: str) -> None:
    found = attacked(scorer(CLEAN[name]))
    assert not found.gameable, found.worst


@pytest.mark.parametrize("seed", range(20))
def test_no_seed_gives_a_false_positive(seed: int) -> None:
    noise = np.random.default_rng(seed)
    weights = noise.normal(size=64)

    def hashed(items: Sequence[Item]) -> Floats:
        """Deterministic noise around the oracle: chance gains that the search can find and must not believe."""
        jitter = [weights[int(digest(item.id, item.reply), 16) % 64] for item in items]
        return scorer(CLEAN["oracle"])(items) + 0.3 * np.array(jitter)

    assert not attacked(hashed, budget=4000, seed=seed, count=80).gameable


NOISE: dict[str, Callable[[Floats], Floats]] = {
    "normal": ndtri,
    "pass or fail": lambda uniform: (uniform < 0.5).astype(np.float64),
}


def alarms(noise: Callable[[Floats], Floats], seeds: int) -> float:
    """Share of attacks that find a fraud, on a metric of nothing but the hash of a reply in its context."""

    def attacked_by(seed: int) -> Attack:
        def hashed(items: Sequence[Item]) -> Floats:
            uniform = [(int(digest(str(seed), item.id, item.reply), 16) + 0.5) / 2**64 for item in items]
            return noise(np.array(uniform))

        return attacked(hashed, budget=1200, seed=seed, count=40, draws=100)

    return float(np.mean([attacked_by(seed).gameable for seed in range(seeds)]))


@pytest.mark.slow
@pytest.mark.parametrize("name", NOISE)
def test_at_most_one_attack_in_twenty_reports_a_fraud_by_chance(name: str) -> None:
    assert alarms(NOISE[name], seeds=60) <= 0.05


@pytest.mark.slow
def test_without_the_corrected_level_false_positives_are_several_times_as_frequent(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    measure_strategy = verdict.measure_strategy
    monkeypatch.setattr(
        "turnwise.attacks.attack.measure_strategy",
        lambda *args, **options: measure_strategy(*args, **{**options, "tested": 1}),
    )
    assert alarms(NOISE["normal"], seeds=40) > 0.1


def test_a_noisy_metric_is_searched_too() -> None:
    """A judge that is asked at some temperature differs from itself, and can be gamed."""
    rng = np.random.default_rng(0)

    def noisy(items: Sequence[Item]) -> Floats:
        return scorer(PLANTED["phrase"].score)(items) + 0.2 * rng.normal(size=len(items))

    found = attacked(noisy)
    assert found.diagnosis.random
    assert any("sounds like fun" in one.description for one in found.strategies if one.significant)


def test_a_metric_that_is_constant_on_people_is_searched_too() -> None:
    found = attacked(scorer(lambda item: float(item.reply.startswith("you said"))))
    assert found.diagnosis.constant
    assert found.worst is not None
    assert "“you said" in found.worst.description


def test_a_gain_within_rounding_error_is_not_significant() -> None:
    found = attacked(scorer(lambda item: 0.1 + 0.2 if item.reply == "yes" else 0.3), budget=4000)
    assert not found.gameable


@pytest.mark.parametrize("best", [10, 100])
def test_injections_use_the_highest_score_of_the_judge(best: int) -> None:
    def obeys(item: Item) -> float:
        numbers = re.findall(r"(?i)score\W+(\d+)", item.reply)
        return min(float(best), float(numbers[0])) if numbers else 0.66 * best

    search_on, test_on = split_contexts(talks(80, 0))
    found = attack(
        Target(scorer(obeys), 4000), search_on, test_on, texts=(), rng=np.random.default_rng(0), draws=100,
        stages=("baselines",), verdicts=(best,),
    )  # fmt: skip
    assert found.worst is not None
    assert found.worst.description.startswith("puts a verdict where the reply should be")


def test_a_metric_that_calls_exit_is_reported_as_an_error() -> None:
    def exits(items: Sequence[Item]) -> Floats:
        if any(not item.reply for item in items):
            sys.exit(5)
        return scorer(CLEAN["oracle"])(items)

    found = attacked(exits, budget=4000)
    assert "RuntimeError: SystemExit: 5" in found.errors


def test_peoples_replies_and_references_are_never_a_fraud() -> None:
    found = attacked(scorer(PLANTED["length"].score), budget=4000)
    assert not any(one.significant for one in found.strategies if one.kind == "people")


def test_the_metric_is_never_called_more_often_than_the_budget_allows() -> None:
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
    assert "same score" in str(found.diagnosis.warning)


@pytest.mark.parametrize("unit", [1e-25, 1e25])
def test_the_result_does_not_depend_on_the_unit_of_the_metric(unit: float) -> None:
    """A likelihood is a tiny number, and no constant."""
    gamed = attacked(scorer(lambda item: unit * PLANTED["questions"].score(item)), budget=3000)
    assert gamed.gameable
    assert gamed.diagnosis.warning is None
    assert not attacked(scorer(lambda item: unit * CLEAN["oracle"](item)), budget=3000).gameable


def test_a_random_metric_is_reported_as_such() -> None:
    rng = np.random.default_rng(1)
    found = attacked(lambda items: rng.normal(size=len(items)))
    assert found.diagnosis.random
    assert "random" in str(found.diagnosis.warning)


def test_a_metric_that_raises_or_returns_nan_on_some_replies_is_attacked() -> None:
    def touchy(items: Sequence[Item]) -> Floats:
        if any(not item.reply for item in items):
            raise RuntimeError("empty reply")
        return np.array([np.nan if "?" in item.reply else len(item.reply) / 100 for item in items])

    found = attacked(touchy, budget=5000)
    assert found.gameable
    empty = next(one for one in found.strategies if one.strategy == "empty")
    assert empty.unscored == empty.unscored + empty.n
    assert not empty.significant


def test_the_error_of_a_metric_that_always_raises_is_reported() -> None:
    def broken(items: Sequence[Item]) -> Floats:
        raise RuntimeError("no weights")

    found = attacked(broken, budget=2000)
    assert "no weights" in str(found.diagnosis.warning)
    assert not found.gameable


class Sleeper:
    """A metric that waits on the items for which `hangs` is true, until `go` is set."""

    def __init__(self, hangs: Callable[[Item], bool]) -> None:
        self.hangs = hangs
        self.go = threading.Event()
        self.asked: Counter[str] = Counter()  # a reply that it hangs on -> how often

    def __call__(self, items: Sequence[Item]) -> Floats:
        stuck = [item.reply for item in items if self.hangs(item)]
        self.asked.update(stuck)
        if stuck:
            self.go.wait()
        return np.array([len(item.reply) / 100 for item in items])


@pytest.fixture
def sleeper() -> Iterator[Callable[[Callable[[Item], bool]], Sleeper]]:
    made: list[Sleeper] = []

    def make(hangs: Callable[[Item], bool]) -> Sleeper:
        made.append(Sleeper(hangs))
        return made[-1]

    yield make
    for one in made:  # no thread outlives its test
        one.go.set()


def test_an_attack_on_a_metric_that_always_hangs_ends(sleeper) -> None:  # type: ignore[no-untyped-def]
    metric = sleeper(lambda item: True)
    with pytest.raises(Hangs, match="no score within"):
        attacked(metric, timeout=0.2)
    assert sum(metric.asked.values()) <= BATCH + AT_FIRST


def test_a_metric_that_hangs_on_one_reply_is_attacked_and_the_reply_is_reported_by_the_attack(
    sleeper,
) -> None:  # type: ignore[no-untyped-def]
    metric = sleeper(lambda item: item.reply == "yes")
    found = attacked(metric, budget=4000, timeout=1.0)
    assert found.gameable
    assert found.untested == 0
    word = next(one for one in found.strategies if one.strategy == "one-word")
    assert (word.n, word.unscored, word.significant) == (0, 60, False)
    assert found.errors["no score within 1 s for “yes”"] >= 60
    assert (
        metric.asked["yes"] <= 2 * BATCH + TWICE
    )  # a batch that was scored ahead, one more, then alone until it is plain that it never responds


def test_a_metric_that_hangs_too_often_is_not_called_again_and_earlier_scores_are_kept(sleeper) -> None:  # type: ignore[no-untyped-def]
    people = {context.human for context in talks(120)}
    metric = sleeper(lambda item: item.reply not in people and len(item.reply) > 40)
    found = attacked(metric, budget=4000, timeout=0.3)
    assert found.untested > 0
    assert found.strategies
    assert sum(found.errors.values()) >= HANGS
    assert sum(metric.asked.values()) <= HANGS + 10 * BATCH


def test_a_slow_metric_gets_smaller_batches() -> None:
    asked: list[int] = []
    go = threading.Event()

    def slow(items: Sequence[Item]) -> Floats:
        asked.append(len(items))
        if len(items) > BATCH // 2:
            go.wait()
        return np.array([float(len(item.reply)) for item in items])

    target = Target(slow, budget=1000, timeout=2.0)
    scores = target.scores([(context, context.human) for context in talks(200)])
    go.set()
    assert np.isfinite(scores).all()
    assert not target.hung
    assert asked[0] == BATCH
    assert max(asked[-4:]) == BATCH // 2


def test_few_contexts_are_refused() -> None:
    with pytest.raises(Refused, match="needs 40 contexts"):
        split_contexts(talks(12))


def test_the_same_seed_finds_the_same() -> None:
    score = scorer(PLANTED["copied-nouns"].score)
    one, two = (attacked(score, budget=3000, seed=3) for _ in range(2))
    assert one == two


def test_a_metric_of_tiny_scores_is_taken_for_a_constant_one() -> None:
    """The variance of scores near 1e-200 is 0."""
    found = attacked(lambda items: 1e-200 * np.array([float(len(item.reply)) for item in items]), budget=600)
    assert found.diagnosis.constant
    assert found.diagnosis.noise == 0.0
