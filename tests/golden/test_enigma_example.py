"""Example 1 of ENIGMA's appendix A.1: only padded dialogues count by how often they happen, not by how long they are.

Two logged dialogues of t1 and t2 turns have rewards 0 and 1; the target holds them with probability .2 and .8, so its
value is .8. Without padding the states of the second have the density .8 / (.2 t1 + .8 t2), which depends on t1 and t2.
"""

from functools import cache

import pytest

pytest.importorskip("torch")

from tests.estimators.neural.test_neural_estimators import tabular, two_ways
from turnwise.estimators.neural.enigma import Enigma
from turnwise.estimators.neural.training import train


@cache
def solved(turns: tuple[int, int], *, padding: bool, by_step: bool = False) -> tuple[float, float]:
    """ENIGMA's game with a free parameter for every (s, a): the value without and with post-normalisation."""
    setup = tabular(
        two_ways(*turns),
        "target",
        epochs=2000,
        rate=0.01,
        lambda_rate=1.0,
        nu_rate=1.0,
        decay=0.0,
        by_step=by_step,
        nu_penalty=0.0,
    )
    learner = Enigma(padding=padding, normalised=False, allow_collapse=True).learner(setup)
    train(learner, setup.settings, seed=0, readings=1)
    contributions, diagnostics = learner.contributions()
    value = float(contributions.mean())
    return value, value / diagnostics["mean_zeta"]


@pytest.mark.slow
@pytest.mark.parametrize("turns", [(1, 3), (3, 1)])
def test_with_padding_the_value_is_that_of_the_policy(turns) -> None:
    assert solved(turns, padding=True) == pytest.approx((0.8, 0.8), abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("turns", [(1, 3), (3, 1)])
def test_a_mean_of_1_at_each_step_leaves_the_value_as_it_is(turns) -> None:
    """The constraint of `by_step` follows from the flow equations: it moves nothing where these can be met."""
    assert solved(turns, padding=True, by_step=True) == pytest.approx((0.8, 0.8), abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("turns", [(1, 3), (3, 1)])
def test_without_padding_the_value_depends_on_how_long_dialogues_are(turns) -> None:
    t1, t2 = turns
    target, logged = 0.8 / (0.2 * t1 + 0.8 * t2), 1 / (t1 + t2)  # densities of the second dialogue's states
    expected = target / logged / 2  # the mean of zeta r over the two last turns
    assert abs(expected - 0.8) > 0.1
    assert solved(turns, padding=False)[0] == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("turns", [(1, 3), (3, 1)])
def test_dividing_by_the_zeta_of_last_turns_repairs_the_ablation(turns) -> None:
    """Over last turns alone the densities are in the right proportion, padding or not; the paper does not say so."""
    assert solved(turns, padding=False)[1] == pytest.approx(0.8, abs=0.01)
