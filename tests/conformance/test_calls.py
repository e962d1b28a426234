"""Results of plugins are passed on unchanged, or are an error that names the plugin and what is expected."""

from dataclasses import dataclass

import numpy as np
import pytest

from turnwise.conformance.attributes import shown
from turnwise.conformance.calls import (
    called,
    estimate_of,
    fitted_on,
    foreign,
    number_of,
    numbers_of,
    rows_of,
    signature_of,
    value_from_sums,
)
from turnwise.conformance.plugins import estimator_problem, metric_problem, world_problem
from turnwise.errors import PluginError, Refused
from turnwise.metrics import resolve
from turnwise.testing import episodes, turn_items
from turnwise.types import Estimate
from turnwise.worlds import chat


@dataclass
class Plugin:
    """A plugin whose every method returns `result`, or raises it."""

    result: object

    def _answer(self, *given: object, **named: object) -> object:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result

    rows = reduce = of_sums = fit = estimate = value = _answer
    signature = property(_answer)


ITEMS = turn_items()


def test_what_is_right_is_passed_on_unchanged():
    rows = np.ones((len(ITEMS), 2))
    assert rows_of(Plugin(rows), ITEMS) is rows
    assert number_of(Plugin(np.float64(2.5)), rows) == 2.5
    assert numbers_of(Plugin(np.ones(3)), np.ones((3, 2))).tolist() == [1, 1, 1]
    own = resolve("length")
    assert fitted_on(Plugin(own), ITEMS) is own
    assert signature_of(own) == own.signature
    estimate = Estimate(value=1.0, contributions=np.array([1.0]))
    assert estimate_of(Plugin(estimate), episodes(), "a", rng=np.random.default_rng(0)) is estimate
    assert value_from_sums(Plugin(2), None) == 2.0


@pytest.mark.parametrize(
    ("call", "result", "says"),
    [
        (lambda one: rows_of(one, ITEMS), [[1.0]], "Plugin.rows returned a list; expected a float64 array"),
        (lambda one: rows_of(one, ITEMS), np.ones((1, 2)), r"returned an array of shape \(1, 2\)"),
        (lambda one: rows_of(one, ITEMS), np.ones((len(ITEMS), 2), dtype=np.float32), "array of float32"),
        (lambda one: number_of(one, None), "1", "Plugin.reduce returned '1'; expected a float"),
        (lambda one: number_of(one, None), True, "Plugin.reduce returned True; expected a float"),
        (lambda one: numbers_of(one, np.ones((3, 2))), np.ones(2), r"of shape \(2,\); expected floats of shape \(3,\)"),
        (lambda one: numbers_of(one, np.ones((3, 2))), ["a"] * 3, "of_sums returned a list"),
        (lambda one: fitted_on(one, ITEMS), 5, "Plugin.fit returned a int, which has no `card`"),
        (signature_of, "text", "Plugin.signature is a str; expected a turnwise.plugins.Signature"),
        (signature_of, RuntimeError("no"), "Plugin.signature raised RuntimeError: no"),
        (lambda one: value_from_sums(one, None), "0.5", "Plugin.value returned '0.5'; expected a float"),
        (lambda one: called(one, "fit"), ValueError("a\nb"), "Plugin.fit raised ValueError: a b"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_an_error_that_names_the_plugin(call, result, says):
    with pytest.raises(PluginError, match=says):
        call(Plugin(result))


@pytest.mark.parametrize(
    ("estimate", "says"),
    [
        (0.5, "returned 0.5; expected a turnwise.plugins.Estimate"),
        (Estimate(value="1", contributions=np.ones(1)), "with '1' as `value`"),
        (Estimate(value=1.0, contributions=np.ones((1, 1))), "as `contributions`; expected a float array of one"),
        (Estimate(value=float("nan"), contributions=np.ones(1)), "are not finite; raise turnwise.plugins.Refused"),
    ],
)  # fmt: skip
def test_an_estimate_has_a_finite_value_and_contributions(estimate, says):
    with pytest.raises(PluginError, match=says):
        estimate_of(Plugin(estimate), episodes(), "a", rng=np.random.default_rng(0))


def test_our_errors_and_lack_of_memory_pass_through():
    for error in (Refused("too few", "too-few"), MemoryError()):
        with pytest.raises(type(error)):
            called(Plugin(error), "fit")


def test_a_mistake_of_our_own_class_keeps_its_traceback():
    own = resolve("length")
    assert not foreign(own)
    with pytest.raises(AttributeError):
        called(own, "rows", [5])


def test_whole_plugins_are_described_by_what_they_lack():
    assert metric_problem(resolve("length")) is None
    assert metric_problem(Plugin(1)) == "has no `card`; expected a turnwise.plugins.Card"
    assert estimator_problem(Plugin(1)) == "has no `card`; expected a turnwise.plugins.Card"
    assert world_problem(chat) is None
    assert world_problem(object()) == "has no `WORLD`; expected an instance of turnwise.plugins.World"


def test_a_value_is_shown_in_one_short_line():
    class Hostile:
        def __repr__(self) -> str:
            raise ValueError

    assert shown("a\nb") == r"'a\nb'"
    assert len(shown("x" * 100)) == 60
    assert shown(Hostile()) == "a Hostile"
