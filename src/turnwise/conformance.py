"""Checks of plugin objects and of what they return, each with one clear sentence for what is wrong.

The registries call `metric_problem`, `estimator_problem`, ... when a plugin is resolved. The commands call `rows_of`,
`number_of`, `estimate_of`, ... in place of the plugin's own methods: they pass the result on unchanged, or raise
`PluginError`. `turnwise.testing` uses the same functions and checks much more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from inspect import getattr_static
from numbers import Real
from types import MemberDescriptorType
from typing import Any, get_args

import numpy as np

from turnwise.errors import PluginError, TurnwiseError
from turnwise.protocols import EstimatesMany, TakesMetrics, read_attribute
from turnwise.registry import described
from turnwise.types import (
    Agent,
    Card,
    Episodes,
    Estimate,
    Estimator,
    Fitted,
    Floats,
    Item,
    Kind,
    Level,
    Metric,
    Need,
    Reply,
    Rows,
    Signature,
    Summed,
    Turn,
)

_ABSENT, _COMPUTED = object(), object()
_CHECKED_IF_COMPUTED = frozenset(
    {"card", "level", "needs", "higher_is_better", "unscored"}  # of metrics, some of estimators too
    | {"span", "bounds", "verdicts", "sampled"}
    | {"nested", "holds_data", "model"}
)
"""Attributes that an object is asked for even if they are properties. The others may load a model when they are read.
An object with `fit` is not asked, because its properties may need the fit."""


def metric_problem(metric: object) -> str | None:
    """What keeps an object (or the class of one) from being a metric, as one sentence; None if nothing does.

    A metric with `fit` need not have `rows`, `reduce` and `signature` yet.
    """
    needs_rows = not callable(getattr(metric, "fit", None))
    return (
        _card_problem(metric, get_args(Kind))
        or _choice_problem(metric, "level", get_args(Level))
        or _needs_problem(metric)
        or _type_problem(metric, "higher_is_better", bool, "True or False")
        or _text_problem(metric, "unscored", "why an item may have no number, in words")
        or (_method_problem(metric, "rows") if needs_rows else None)
        or (_method_problem(metric, "reduce") if needs_rows else None)
        or (_signature_problem(metric) if needs_rows else None)
        or _metric_extras_problem(metric)
    )


def estimator_problem(estimator: object) -> str | None:
    """What keeps an object (or the class of one) from being an estimator, as one sentence; None if nothing does."""
    model = _value(estimator, "model")
    return (
        _card_problem(estimator, ("estimator",))
        or _method_problem(estimator, "estimate")
        or _signature_problem(estimator)
        or _optional_type_problem(estimator, "nested", bool, "True or False")
        or _optional_type_problem(estimator, "holds_data", bool, "True or False")
        or (
            None
            if model in (_ABSENT, _COMPUTED, None) or isinstance(model, str)
            else f"`model` is {shown(model)}; expected the name of an encoder"
        )
    )


def is_computed(plugin: object, names: Iterable[str]) -> bool:
    """Whether one of these attributes of a class can only be read from an instance, such as a property."""
    return any(_value(plugin, name) is _COMPUTED for name in names)


def world_problem(module: object) -> str | None:
    """What keeps a module from being a world, as one sentence; None if nothing does."""
    world, families = getattr(module, "WORLD", _ABSENT), getattr(module, "FAMILIES", _ABSENT)
    if world is _ABSENT:
        return "has no `WORLD`; expected an instance of turnwise.worlds.play.World"
    if isinstance(world, type):
        return "`WORLD` is a class; expected an instance of it"
    for method in ("scene", "play", "truth"):
        if not callable(getattr(world, method, None)):
            return f"`WORLD` has no method `{method}`; expected an instance of turnwise.worlds.play.World"
    if not isinstance(getattr(world, "name", None), str):
        return "`WORLD` has no `name`; expected a text"
    dimensions = getattr(world, "dimensions", None)
    if (
        not isinstance(dimensions, tuple)
        or not all(isinstance(one, str) for one in dimensions)
        or not dimensions
    ):
        return f"`WORLD.dimensions` is {shown(dimensions)}; expected a tuple of names"
    if families is _ABSENT:
        return "has no `FAMILIES`; expected a dict of family names"
    if not isinstance(families, Mapping) or not families:
        return f"`FAMILIES` is {shown(families)}; expected a dict with at least one family name"
    return _method_problem(module, "family")


def rows_of(metric: Metric, items: Sequence[Item]) -> Rows:
    """`metric.rows(items)`; raises `PluginError` unless it is a float64 array (dense or CSR) of one row an item.

    Exceptions of the metric pass through.
    """
    rows: Any = metric.rows(items)
    expected = f"expected a float64 array of shape ({len(items)}, k), one row an item"
    if not isinstance(rows, np.ndarray) and getattr(rows, "format", None) != "csr":
        raise PluginError(f"{_plugin_name(metric)}.rows returned {_with_article(rows)}; {expected}")
    if len(rows.shape) != 2 or rows.shape[0] != len(items):
        raise PluginError(f"{_plugin_name(metric)}.rows returned an array of shape {rows.shape}; {expected}")
    if rows.dtype != np.float64:
        raise PluginError(f"{_plugin_name(metric)}.rows returned an array of {rows.dtype}; {expected}")
    return rows  # type: ignore[no-any-return]


def number_of(metric: Metric, rows: Rows) -> float:
    """`metric.reduce(rows)`; raises `PluginError` if it is not a number, which may be NaN."""
    value = called(metric, "reduce", rows)
    if not _is_number(value):
        raise PluginError(f"{_plugin_name(metric)}.reduce returned {shown(value)}; expected a float")
    return value  # type: ignore[no-any-return]


def numbers_of(metric: Summed, sums: Floats) -> Floats:
    """`metric.of_sums(sums)`; raises `PluginError` for what is not one number a sum."""
    values = called(metric, "of_sums", sums)
    expected = f"expected floats of shape {sums.shape[:-1]}, one number a sum"
    found = np.asarray(values)
    if found.dtype.kind not in "fiu":
        raise PluginError(f"{_plugin_name(metric)}.of_sums returned {_with_article(values)}; {expected}")
    if found.shape != sums.shape[:-1]:
        raise PluginError(
            f"{_plugin_name(metric)}.of_sums returned an array of shape {found.shape}; {expected}"
        )
    return values  # type: ignore[no-any-return]


def fitted_on(metric: Fitted, items: Iterable[Item]) -> Metric:
    """`metric.fit(items)`; raises `PluginError` for what is not a metric."""
    found = called(metric, "fit", items)
    if (problem := metric_problem(found)) is not None:
        raise PluginError(
            f"{_plugin_name(metric)}.fit returned {_with_article(found)}, which {_as_problem(problem)}"
        )
    return found  # type: ignore[no-any-return]


def signature_of(plugin: Any) -> Signature:
    """`plugin.signature`; raises `PluginError` for what is not a `Signature`."""
    try:
        found = plugin.signature
    except TurnwiseError:
        raise
    except Exception as error:
        if not foreign(plugin):
            raise  # a missing extra is named by the command; anything else is a mistake of ours
        raise PluginError(f"{_plugin_name(plugin)}.signature raised {described(error)}") from error
    if not isinstance(found, Signature):
        raise PluginError(
            f"{_plugin_name(plugin)}.signature is {_with_article(found)}; expected a turnwise.plugins.Signature"
        )
    return found


def check_half_width(metric: Metric) -> None:
    """Read the optional `half_width`, which may load a model; `PluginError` if it raises or is no number."""
    half = read_attribute(metric, "half_width", None)
    if half is not None and not _is_number(half):
        raise PluginError(f"{_plugin_name(metric)}.half_width is {shown(half)}; expected a number")


def metric_names_of(estimator: TakesMetrics) -> tuple[str, ...]:
    """`estimator.metrics`; raises `PluginError` for what is not a list or a tuple of names."""
    found = read_attribute(estimator, "metrics", None)
    if not isinstance(found, list | tuple) or not all(isinstance(one, str) for one in found):
        raise PluginError(
            f"{_plugin_name(estimator)}.metrics is {shown(found)}; expected a list of names of metrics"
        )
    return tuple(found)


def estimate_of(
    estimator: Estimator, episodes: Episodes, target: str, *, rng: np.random.Generator
) -> Estimate:
    """`estimator.estimate(...)`; raises `PluginError` for what is not an `Estimate`."""
    return _estimate(estimator, "estimate", called(estimator, "estimate", episodes, target, rng=rng))


def estimates_of(
    estimator: EstimatesMany, episodes: Episodes, targets: Sequence[str], *, rng: np.random.Generator
) -> list[Estimate]:
    """`estimator.estimates(...)`; raises `PluginError` for what is not one `Estimate` a target."""
    found = called(estimator, "estimates", episodes, targets, rng=rng)
    if not isinstance(found, list) or len(found) != len(targets):
        raise PluginError(
            f"{_plugin_name(estimator)}.estimates returned {_with_article(found)}; expected a list of {len(targets)}"
        )
    return [_estimate(estimator, "estimates", one) for one in found]


def reply_problem(reply: object) -> str | None:
    """What keeps an agent's result from being a reply, as one sentence; None if nothing does."""
    if not isinstance(reply, Reply):
        return f"returned {shown(reply)}; expected a turnwise.plugins.Reply"
    content: object = reply.content
    if not isinstance(content, str):
        return f"returned a Reply with {shown(content)} as `content`; expected a text"
    return None


def reply_of(agent: Agent, turns: Sequence[Turn], rng: np.random.Generator) -> Reply:
    """`agent(turns, rng)`; raises `PluginError` if it is not a reply. Exceptions of the agent pass through."""
    reply = agent(turns, rng)
    if (problem := reply_problem(reply)) is not None:
        raise PluginError(f"agent {_plugin_name(agent)} {problem}")
    return reply


def called(plugin: object, method: str, /, *given: Any, **named: Any) -> Any:
    """The result of a plugin's method; `PluginError` if it raises anything but our errors, MemoryError and LinAlgError.

    Exceptions of turnwise's own classes pass through.
    """
    call: Callable[..., Any] = getattr(plugin, method)
    try:
        return call(*given, **named)
    except (TurnwiseError, MemoryError, np.linalg.LinAlgError):
        raise
    except Exception as error:
        if type(plugin).__module__.partition(".")[0] == "turnwise":
            raise  # a mistake of ours: its traceback is wanted
        raise PluginError(f"{_plugin_name(plugin)}.{method} raised {described(error)}") from error


def foreign(plugin: object) -> bool:
    """Whether the plugin's class is defined outside turnwise."""
    return type(plugin).__module__.partition(".")[0] != "turnwise"


def shown(value: object) -> str:
    """The `repr` of a value in one line, cut to 60 characters; the name of its type if `repr` fails."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a foreign `__repr__` may raise
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _estimate(estimator: object, method: str, found: object) -> Estimate:
    """`found`, the result of `method`, if it is an `Estimate` with a number and a non-empty 1-d array of
    contributions; else raises `PluginError`.
    """
    expected = "expected a turnwise.plugins.Estimate"
    if not isinstance(found, Estimate):
        raise PluginError(f"{_plugin_name(estimator)}.{method} returned {shown(found)}; {expected}")
    if not _is_number(found.value):
        raise PluginError(
            f"{_plugin_name(estimator)}.{method} returned an Estimate with {shown(found.value)} as `value`; "
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
            f"{_plugin_name(estimator)}.{method} returned an Estimate with {shown(parts)} as `contributions`; "
            "expected a float array of one dimension"
        )
    if not math.isfinite(found.value) or not np.isfinite(parts).all():
        raise PluginError(
            f"{_plugin_name(estimator)}.{method} returned an Estimate whose `value` or `contributions` are not finite; "
            "raise turnwise.plugins.Refused where there is no estimate"
        )
    return found


def _is_number(value: object) -> bool:
    """Whether a value is a real number, also NaN or one of numpy's; a bool is none."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def _plugin_name(plugin: object) -> str:
    """The module and the class of a plugin, joined by a dot."""
    kind = plugin if isinstance(plugin, type) else type(plugin)
    return f"{kind.__module__}.{kind.__qualname__}"


def _with_article(value: object) -> str:
    """`a` and the name of the value's type, or `None`."""
    return f"a {type(value).__name__}" if value is not None else "None"


def _as_problem(problem: str) -> str:
    """A problem as a relative clause: `has no ...` unchanged, others after `is no metric: `."""
    return problem if problem.startswith("has") else f"is no metric: {problem}"


def _value(plugin: object, name: str) -> Any:
    """An attribute; `_ABSENT` if there is none, `_COMPUTED` for a property, or for a slot that only an instance has.

    A property in `_CHECKED_IF_COMPUTED` is read from an instance; `PluginError` if it raises.
    """
    static = getattr_static(plugin, name, _ABSENT)
    if static is _ABSENT:
        return _ABSENT
    if isinstance(static, property | cached_property) and not _may_be_read(plugin, name):
        return _COMPUTED
    if isinstance(static, MemberDescriptorType) and isinstance(plugin, type):
        return _COMPUTED
    return read_attribute(plugin, name, _ABSENT)


def _may_be_read(plugin: object, name: str) -> bool:
    """Whether a property of the plugin is read by the checks."""
    return (
        name in _CHECKED_IF_COMPUTED
        and not isinstance(plugin, type)
        and not callable(getattr_static(plugin, "fit", None))
    )


def _card_problem(plugin: object, kinds: Sequence[str]) -> str | None:
    """What is wrong with the card of a plugin, whose kind must be one of `kinds`; None if nothing is or it is
    computed.
    """
    card = _value(plugin, "card")
    if card is _ABSENT:
        return "has no `card`; expected a turnwise.plugins.Card"
    if card is _COMPUTED:
        return None
    if not isinstance(card, Card):
        return f"`card` is {_with_article(card)}; expected a turnwise.plugins.Card"
    if card.kind not in kinds:
        return f"`card.kind` is {shown(card.kind)}; expected {_one_of(kinds)}"
    for part in ("meaning", "range", "limits", "citation"):
        text = getattr(card, part)
        if not isinstance(text, str) or not text.strip():
            return f"`card.{part}` is {shown(text)}; expected a text"
    return None


def _choice_problem(plugin: object, name: str, choices: Sequence[str]) -> str | None:
    """What is wrong with attribute `name`, which must be one of `choices`; None if nothing is or it is computed."""
    value = _value(plugin, name)
    if value is _COMPUTED:
        return None
    if value is _ABSENT:
        return f"has no `{name}`; expected {_one_of(choices)}"
    return None if value in choices else f"`{name}` is {shown(value)}; expected {_one_of(choices)}"


def _needs_problem(plugin: object) -> str | None:
    """What is wrong with `needs`, a set of known needs; None if nothing is or it is computed."""
    needs, known = _value(plugin, "needs"), get_args(Need)
    expected = f"expected a frozenset of {', '.join(known)}"
    if needs is _COMPUTED:
        return None
    if needs is _ABSENT:
        return f"has no `needs`; {expected}"
    if not isinstance(needs, frozenset | set):
        return f"`needs` is {shown(needs)}; {expected}"
    wrong = sorted(str(need) for need in needs if need not in known)
    return f"`needs` has `{wrong[0]}` in it; {expected}" if wrong else None


def _type_problem(plugin: object, name: str, kind: type, expected: str) -> str | None:
    """What is wrong with attribute `name`, which must be there and of type `kind` (`expected` in words); None
    if nothing is or it is computed.
    """
    if _value(plugin, name) is _ABSENT:
        return f"has no `{name}`; expected {expected}"
    return _optional_type_problem(plugin, name, kind, expected)


def _optional_type_problem(plugin: object, name: str, kind: type, expected: str) -> str | None:
    """As `_type_problem`, but the attribute may be absent."""
    value = _value(plugin, name)
    if value is _ABSENT or value is _COMPUTED or isinstance(value, kind):
        return None
    return f"`{name}` is {shown(value)}; expected {expected}"


def _text_problem(plugin: object, name: str, expected: str) -> str | None:
    """What is wrong with attribute `name`, which must be a text that is not blank; None if nothing is or it is
    computed.
    """
    value = _value(plugin, name)
    if value is _ABSENT:
        return f"has no `{name}`; expected {expected}"
    if value is _COMPUTED or (isinstance(value, str) and value.strip()):
        return None
    return f"`{name}` is {shown(value)}; expected {expected}"


def _method_problem(plugin: object, name: str) -> str | None:
    """What is wrong with attribute `name`, which must be callable; None if nothing is."""
    value = getattr(plugin, name, _ABSENT)
    if value is _ABSENT:
        return f"has no `{name}`; expected a function"
    return None if callable(value) else f"`{name}` is {shown(value)}; expected a function"


def _signature_problem(plugin: object) -> str | None:
    """What is wrong with `signature`, which must be a `Signature` and no method; None if nothing is or it is
    computed.
    """
    value = _value(plugin, "signature")
    if value is _ABSENT:
        return "has no `signature`; expected a property that returns a turnwise.plugins.Signature"
    if value is _COMPUTED or isinstance(value, Signature):
        return None
    what = "a method" if callable(value) else shown(value)
    return f"`signature` is {what}; expected a property that returns a turnwise.plugins.Signature"


def _metric_extras_problem(metric: object) -> str | None:
    """What is wrong with the optional attributes of a metric; None if nothing is or they are absent or computed."""
    for name in ("span", "bounds"):
        value = _value(metric, name)
        if value is _ABSENT or value is _COMPUTED or (name == "bounds" and value is None):
            continue
        if not _is_pair(value):
            return f"`{name}` is {shown(value)}; expected a pair of numbers, the lower one first"
    verdicts = _value(metric, "verdicts")
    if verdicts not in (_ABSENT, _COMPUTED) and not (
        isinstance(verdicts, tuple) and all(isinstance(one, Real) for one in verdicts)
    ):
        return f"`verdicts` is {shown(verdicts)}; expected a tuple of numbers"
    half = _value(metric, "half_width")
    if half not in (_ABSENT, _COMPUTED, None) and not isinstance(half, Real):
        return f"`half_width` is {shown(half)}; expected a number"
    return _optional_type_problem(metric, "sampled", bool, "True or False")


def _is_pair(value: object) -> bool:
    """Whether a value is a tuple of two numbers, the first of which is not greater."""
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and all(isinstance(one, Real) for one in value)
        and value[0] <= value[1]
    )


def _one_of(choices: Sequence[str]) -> str:
    """The choices in words: `one of a, b`, or the only one in backquotes."""
    return f"one of {', '.join(choices)}" if len(choices) > 1 else f"`{choices[0]}`"
