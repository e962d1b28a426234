"""Chains whose values and ratios are known exactly: features are one-hot, so that nothing is approximated."""

from dataclasses import dataclass

import numpy as np
import pytest

from turnwise.estimators.linear.dice import LinearDice, padded, ratio, unpadded
from turnwise.estimators.linear.problem import Problem
from turnwise.estimators.linear.regression import Fqe, Lstdq
from turnwise.estimators.linear.robust import Balance, Robust, balanced
from turnwise.estimators.linear.sums import LENGTHS, LoggedSums
from turnwise.types import Floats

SEED = 3


@dataclass(frozen=True)
class Chain:
    """Three states, two replies; reply 0 goes on to a state drawn from `onward`, reply 1 ends with `reward`."""

    onward: Floats  # (s, s')
    reward: Floats  # (s,)
    start: Floats  # (s,)
    longest: int = 6  # turns: at the last one every reply ends

    def value(self, policy: Floats) -> float:
        """By dynamic programming over turns; `policy` is the probability of ending in each state."""
        q = self.reward
        for _ in range(self.longest - 1):
            q = policy * self.reward + (1 - policy) * (self.onward @ q)
        return float(self.start @ q)

    def visits(self, policy: Floats) -> Floats:
        """(turn, state, reply) how often each is met in a dialogue."""
        found = np.zeros((self.longest, len(policy), 2))
        at = self.start
        for turn in range(self.longest):
            end = np.ones_like(policy) if turn == self.longest - 1 else policy
            found[turn] = np.stack([at * (1 - end), at * end], axis=1)
            at = found[turn, :, 0] @ self.onward
        return found


CHAIN = Chain(
    onward=np.array([[0.1, 0.6, 0.3], [0.3, 0.1, 0.6], [0.5, 0.4, 0.1]]),
    reward=np.array([0.2, 0.9, 0.5]),
    start=np.array([0.5, 0.3, 0.2]),
)
LOGGING, TARGET = np.array([0.5, 0.5, 0.5]), np.array([0.2, 0.7, 0.4])


def _expected(chain: Chain, logging: Floats, target: Floats) -> Problem:
    """The problem with its sums in expectation, as if of very many dialogues: a feature a (turn, state, reply)."""
    n, T = len(logging), chain.longest
    visits = chain.visits(logging)
    d = T * n * 2

    def code(turn: int, state: int, reply: int) -> int:
        return (turn * n + state) * 2 + reply

    def replies(turn: int) -> Floats:
        """(s, d) the target's features in each state of a turn."""
        rows = np.zeros((n, d))
        for state in range(n):
            ends = 1.0 if turn == T - 1 else float(target[state])
            rows[state, code(turn, state, 0)], rows[state, code(turn, state, 1)] = 1 - ends, ends
        return rows

    flat = visits.reshape(-1)
    onward, last, arrived = np.zeros((d, d)), np.zeros((LENGTHS, d)), np.zeros(d)
    for turn in range(T):
        for state in range(n):
            going, ending = visits[turn, state]
            if turn < T - 1:
                onward[code(turn, state, 0)] = going * (chain.onward[state] @ replies(turn + 1))
            last[turn, code(turn, state, 1)] = ending
            arrived[code(turn, state, 1)] = ending * chain.reward[state]
    sums = LoggedSums(
        dialogues=1.0,
        points=float(flat.sum()),
        longest=T,
        total=flat,
        xx=np.diag(flat),
        xy=np.zeros((d, 1)),
        yy=np.zeros(1),
        xr=arrived,
        lengths=last.sum(axis=1),
        last=last,
        last_reward=arrived,
        reward=float(arrived.sum()),
    )
    start = (chain.start @ replies(0))[None, :]
    empty = np.zeros((1, d))
    return Problem(
        kept=np.ones(1, dtype=np.bool_),
        reward=chain.reward,
        logged=sums,
        gram=np.diag(flat),
        next_gram=onward,
        end_reward=arrived,
        first=start,
        mean=empty,
        last=empty,
        shift=empty,
        to_features=np.eye(d),
    )


@pytest.fixture
def problem() -> Problem:
    return _expected(CHAIN, LOGGING, TARGET)


@pytest.mark.parametrize("estimator", [Fqe(ridge=1e-12), Lstdq(ridge=1e-12)])
def test_fitted_q_is_dynamic_programming_on_a_chain(estimator: Fqe | Lstdq, problem: Problem) -> None:
    contributions, _ = estimator.solve(problem)
    assert contributions.mean() == pytest.approx(CHAIN.value(TARGET), abs=1e-6)
    assert CHAIN.value(TARGET) != pytest.approx(CHAIN.value(LOGGING), abs=0.01)  # the two do differ


def test_linear_dice_recovers_the_exact_ratio_on_a_chain(problem: Problem) -> None:
    a, c, b = padded(problem)
    w = ratio(a, c, b, 1e-10)
    zeta = w[: len(problem.gram)]
    logged, wanted = CHAIN.visits(LOGGING).reshape(-1), CHAIN.visits(TARGET).reshape(-1)
    met = logged > 0
    assert zeta[met] == pytest.approx((wanted[met] / logged[met]), abs=1e-5)


def test_linear_dice_gives_the_value_of_the_chain(problem: Problem) -> None:
    w = ratio(*padded(problem), 1e-10)[: len(problem.gram)]
    value = float(w @ problem.end_reward) / float(w @ problem.logged.last.sum(axis=0))
    assert value == pytest.approx(CHAIN.value(TARGET), abs=1e-5)


def test_the_ratio_of_an_agent_to_itself_is_one() -> None:
    same = _expected(CHAIN, LOGGING, LOGGING)
    w = ratio(*padded(same), 1e-10)[: len(same.gram)]
    met = np.diag(same.gram) > 0
    assert w[met] == pytest.approx(np.ones(met.sum()), abs=1e-6)


def _two_dialogues() -> Problem:
    """Example 1 of the paper's A.1: two dialogues of 2 and 5 turns, rewards 0 and 1; the target prefers the second."""
    lengths, rewards, logged, wanted = (
        (2, 5),
        np.array([0.0, 1.0]),
        np.array([0.5, 0.5]),
        np.array([0.2, 0.8]),
    )
    d = sum(lengths)
    starts = (0, lengths[0])
    visits = np.concatenate([np.full(length, share) for length, share in zip(lengths, logged, strict=True)])
    onward, last = np.zeros((d, d)), np.zeros((LENGTHS, d))
    for start, length, share in zip(starts, lengths, logged, strict=True):
        for turn in range(start, start + length - 1):
            onward[turn, turn + 1] = share
        last[length - 1, start + length - 1] = share
    first = np.zeros((1, d))
    first[0, list(starts)] = wanted
    arrived = np.zeros(d)
    for start, length, share, reward in zip(starts, lengths, logged, rewards, strict=True):
        arrived[start + length - 1] = share * reward
    ends = np.eye(d)[[start + length - 1 for start, length in zip(starts, lengths, strict=True)]]
    sums = LoggedSums(
        1.0, float(visits.sum()), max(lengths), visits, np.diag(visits), np.zeros((d, 1)), np.zeros(1),
        arrived, last.sum(axis=1), last, arrived, 0.5,
    )  # fmt: skip
    return Problem(
        np.ones(1, dtype=np.bool_), rewards, sums, np.diag(visits), onward, arrived, first, ends, ends, ends, np.eye(d)
    )  # fmt: skip


def test_example_1_of_the_paper_needs_padding() -> None:
    problem = _two_dialogues()
    zeta = ratio(*padded(problem), 1e-10)[: len(problem.gram)]
    assert float(zeta @ problem.end_reward) == pytest.approx(0.8, abs=1e-5)  # the true value .2 * 0 + .8 * 1
    zeta = ratio(*unpadded(problem), 1e-10)
    per_state = 0.8 / (
        0.2 * 2 + 0.8 * 5
    )  # the paper's value of the chain without padding: it depends on lengths
    assert float(zeta @ problem.end_reward) / problem.logged.points == pytest.approx(per_state, abs=1e-5)


def test_balanced_weights_have_mean_one_and_balance() -> None:
    rng = np.random.default_rng(SEED)
    shift = rng.normal(size=(400, 5)) + 0.3
    w, looked = balanced(shift, 1e-6)
    assert w.mean() == pytest.approx(1.0)
    assert (w >= 0).all()
    assert np.abs(w @ shift / len(w)).max() < 1e-3
    assert 1 <= looked["ess"] <= 400


def test_balanced_weights_are_one_where_nothing_differs() -> None:
    w, looked = balanced(np.zeros((10, 3)), 0.01)
    assert w == pytest.approx(np.ones(10))
    assert looked["ess"] == pytest.approx(10)


def test_options_that_ablate_change_the_answer() -> None:
    assert LinearDice("hashing").signature != LinearDice("hashing", normalised=False).signature
    assert Balance("hashing", eta=0.1).signature != Balance("hashing").signature
    assert Robust("hashing", ridge=1.0).signature != Robust("hashing").signature
