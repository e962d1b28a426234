"""Calls of plugins whose results are checked, by `plugin_code`.

The commands call `rows_of`, `number_of`, `estimate_of`, ... in place of the plugin's own methods: they pass the
result on unchanged, or raise `PluginError` with one sentence for what is wrong.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwise.conformance.attributes import shown, with_article
from turnwise.conformance.plugins import metric_problem, reply_problem
from turnwise.errors import OutOfRange, PluginError, TurnwiseError
from turnwise.plugin_code import PluginExit, described, plugin_code
from turnwise.protocols import EstimatesMany, SumEstimator, TakesMetrics, read_attribute
from turnwise.registry import module_of, offers_of, plugin_name, remember
from turnwise.types import (
    LARGEST,
    Agent,
    Episodes,
    Estimate,
    Estimator,
    Floats,
    Item,
    Metric,
    NeedsFitting,
    Reply,
    Rows,
    Signature,
    Summed,
    Turn,
    digest,
)

if TYPE_CHECKING:  # a module above this one
    from turnwise.estimators.linear.problem import Problem


_FINITE = f"expected numbers between {-LARGEST:g} and {LARGEST:g}"


def rows_of(metric: Metric, items: Sequence[Item]) -> Rows:
    """`metric.rows(items)`; raises `PluginError` unless it is a float64 array (dense or CSR) of one row an item.

    Exceptions of the metric pass through. A plugin's row with a number that is infinite or above `LARGEST` in size
    raises `OutOfRange`.
    """
    with plugin_code():
        rows: Any = metric.rows(items)
    expected = f"expected a float64 array of shape ({len(items)}, k), one row an item"
    if not isinstance(rows, np.ndarray) and getattr(rows, "format", None) != "csr":
        raise PluginError(f"{plugin_name(metric)}.rows returned {with_article(rows)}; {expected}")
    if len(rows.shape) != 2 or rows.shape[0] != len(items):
        raise PluginError(f"{plugin_name(metric)}.rows returned an array of shape {rows.shape}; {expected}")
    if rows.dtype != np.float64:
        raise PluginError(f"{plugin_name(metric)}.rows returned an array of {rows.dtype}; {expected}")
    if foreign(metric):
        numbers = rows if isinstance(rows, np.ndarray) else rows.data
        if (large := np.abs(numbers) > LARGEST).any():  # NaN is not
            found = numbers[large][0]
            raise OutOfRange(f"{plugin_name(metric)}.rows returned {found:g}; {_FINITE}, or NaN for none")
    return rows  # type: ignore[no-any-return]


def number_of(metric: Metric, rows: Rows) -> float:
    """`metric.reduce(rows)`, which may be NaN; raises `PluginError` if it is no number. Exceptions as in `called`."""
    value = called(metric, "reduce", rows)
    if not is_number(value):
        raise PluginError(f"{plugin_name(metric)}.reduce returned {shown(value)}; expected a float")
    return value  # type: ignore[no-any-return]


def numbers_of(metric: Summed, sums: Floats) -> Floats:
    """`metric.of_sums(sums)`; raises `PluginError` for what is not one number a sum. Exceptions as in `called`."""
    values = called(metric, "of_sums", sums)
    expected = f"expected floats of shape {sums.shape[:-1]}, one number a sum"
    found = np.asarray(values)
    if found.dtype.kind not in "fiu":
        raise PluginError(f"{plugin_name(metric)}.of_sums returned {with_article(values)}; {expected}")
    if found.shape != sums.shape[:-1]:
        raise PluginError(
            f"{plugin_name(metric)}.of_sums returned an array of shape {found.shape}; {expected}"
        )
    return values  # type: ignore[no-any-return]


def fitted_on(metric: NeedsFitting, items: Iterable[Item]) -> Metric:
    """`metric.fit(items)`; raises `PluginError` for what is not a metric. Exceptions as in `called`."""
    found = called(metric, "fit", items)
    remember(found, *offers_of(metric))
    if (problem := metric_problem(found, fitted=True)) is not None:
        raise PluginError(
            f"{plugin_name(metric)}.fit returned {with_article(found)}, which {_as_problem(problem)}"
        )
    return found  # type: ignore[no-any-return]


def signature_of(plugin: Any) -> Signature:
    """`plugin.signature`; raises `PluginError` for what is not a `Signature`, or if another package's property raises.

    Errors of turnwise pass through.
    """
    try:
        with plugin_code():
            found = plugin.signature
    except TurnwiseError:
        raise
    except Exception as error:
        if not foreign(plugin):
            raise  # a missing extra is named by the command; anything else is a mistake of ours
        raise PluginError(
            f"{plugin_name(plugin)}.signature raised {described(error, module_of(plugin))}"
        ) from error
    if not isinstance(found, Signature):
        raise PluginError(
            f"{plugin_name(plugin)}.signature is {with_article(found)}; expected a turnwise.plugins.Signature"
        )
    return found


def check_needs(metric: Metric | NeedsFitting) -> None:
    """Raise `PluginError` if `needs` or `fit` of a metric raises."""
    for name in ("needs", "fit"):
        read_attribute(metric, name, None)


def value_from_sums(estimator: SumEstimator, problem: Problem) -> float:
    """`estimator.value(problem)`; raises `PluginError` if it is no number."""
    value = called(estimator, "value", problem)
    if not is_number(value):
        raise PluginError(f"{plugin_name(estimator)}.value returned {shown(value)}; expected a float")
    return float(value)


def check_half_width(metric: Metric) -> None:
    """Read the optional `half_width`, which may load a model; `PluginError` if it raises or is no number."""
    half = read_attribute(metric, "half_width", None)
    if half is not None and not is_number(half):
        raise PluginError(f"{plugin_name(metric)}.half_width is {shown(half)}; expected a number")


def metric_names_of(estimator: TakesMetrics) -> tuple[str, ...]:
    """`estimator.metrics`; raises `PluginError` for what is not a list or a tuple of names."""
    found = read_attribute(estimator, "metrics", None)
    if not isinstance(found, list | tuple) or not all(isinstance(one, str) for one in found):
        raise PluginError(
            f"{plugin_name(estimator)}.metrics is {shown(found)}; expected a list of names of metrics"
        )
    return tuple(found)


def estimate_of(
    estimator: Estimator, episodes: Episodes, target: str, *, rng: np.random.Generator
) -> Estimate:
    """`estimator.estimate(...)`; raises `PluginError` for what is no finite `Estimate`. Exceptions as in `called`."""
    return _estimate(estimator, "estimate", called(estimator, "estimate", episodes, target, rng=rng))


def estimates_of(
    estimator: EstimatesMany, episodes: Episodes, targets: Sequence[str], *, rng: np.random.Generator
) -> list[Estimate]:
    """`estimator.estimates(...)`; raises `PluginError` for what is not one finite `Estimate` a target.

    Exceptions are as in `called`.
    """
    found = called(estimator, "estimates", episodes, targets, rng=rng)
    if not isinstance(found, list) or len(found) != len(targets):
        raise PluginError(
            f"{plugin_name(estimator)}.estimates returned {with_article(found)}; expected a list of {len(targets)}"
        )
    return [_estimate(estimator, "estimates", one) for one in found]


def _estimate(estimator: object, method: str, found: object) -> Estimate:
    """`found`, the result of `method`, if it is an `Estimate` with a finite value and a non-empty 1-d array of finite
    contributions; else raises `PluginError`.
    """
    expected = "expected a turnwise.plugins.Estimate"
    if not isinstance(found, Estimate):
        raise PluginError(f"{plugin_name(estimator)}.{method} returned {shown(found)}; {expected}")
    if not is_number(found.value):
        raise PluginError(
            f"{plugin_name(estimator)}.{method} returned an Estimate with {shown(found.value)} as `value`; "
            "expected a float"
        )
    parts: object = found.contributions
    if (
        not isinstance(parts, np.ndarray)
        or parts.ndim != 1
        or parts.dtype.kind not in "fiu"
        or not len(parts)
    ):
        raise PluginError(
            f"{plugin_name(estimator)}.{method} returned an Estimate with {shown(parts)} as `contributions`; "
            "expected a float array of one dimension"
        )
    if not math.isfinite(found.value) or not np.isfinite(parts).all():
        raise PluginError(
            f"{plugin_name(estimator)}.{method} returned an Estimate whose `value` or `contributions` are not finite; "
            "raise turnwise.plugins.Refused where there is no estimate"
        )
    if foreign(estimator) and not np.isclose(parts.mean(), found.value, rtol=1e-6, atol=1e-12):
        raise PluginError(
            f"{plugin_name(estimator)}.{method} returned an Estimate whose `value` is {found.value:g}, and the mean of "
            f"its `contributions` is {parts.mean():g}; expected the same number"
        )
    return found


def reply_of(agent: Agent, turns: Sequence[Turn], rng: np.random.Generator) -> Reply:
    """`agent(turns, rng)`; raises `PluginError` if it is not a reply. Exceptions of the agent pass through."""
    with plugin_code():
        reply = agent(turns, rng)
    if (problem := reply_problem(reply)) is not None:
        raise PluginError(f"{_agent_name(agent)} {problem}")
    return reply


def called(plugin: object, method: str, /, *given: Any, **named: Any) -> Any:
    """The result of a plugin's method; `PluginError` if reading or calling it raises an exception.

    Our errors, MemoryError and LinAlgError pass through. If the plugin's class is turnwise's own, every exception does.
    """
    try:
        with plugin_code():
            call: Callable[..., Any] = getattr(plugin, method)
            return call(*given, **named)
    except (TurnwiseError, MemoryError, np.linalg.LinAlgError):
        raise
    except Exception as error:
        if type(plugin).__module__.partition(".")[0] == "turnwise":
            raise  # a mistake of ours: its traceback is wanted
        raise PluginError(f"{plugin_name(plugin)}.{method} {raised(plugin, error)}") from error


def foreign(plugin: object) -> bool:
    """Whether the plugin's class is defined outside turnwise."""
    return type(plugin).__module__.partition(".")[0] != "turnwise"


def reuse_key(plugin: Any) -> str:
    """What must be equal for stored results of a plugin to be used again: its signature and `source_digest`."""
    return f"{plugin.signature}{source_digest(plugin)}"


def source_digest(plugin: object) -> str:
    """A hash of the file that defines the class of another package's plugin; empty for our own.

    It does not cover what that file imports.
    """
    file = getattr(sys.modules.get(type(plugin).__module__), "__file__", None)
    if not foreign(plugin) or not file or not Path(file).is_file():
        return ""
    return f" {digest(Path(file).read_bytes())}"


def is_number(value: object) -> bool:
    """Whether a value is a real number, also NaN or one of numpy's; a bool is none."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def raised(plugin: object, error: BaseException) -> str:
    """`raised ValueError: ... (pack/metric.py:12)`: an exception of a plugin, and the line that raised it."""
    text = described(error, module_of(plugin))
    return text if isinstance(error, PluginExit) else f"raised {text}"


def _agent_name(agent: object) -> str:
    """What a message calls an agent: `plugin_name`, after the word `agent` unless that begins it."""
    name = plugin_name(agent)
    return name if name.startswith("agent ") else f"agent {name}"


def _as_problem(problem: str) -> str:
    """A problem as a relative clause: `has no ...` unchanged, others after `is no metric: `."""
    return problem if problem.startswith("has") else f"is no metric: {problem}"
