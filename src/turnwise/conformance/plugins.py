"""Checks of whole plugins: what keeps an object from being a metric, an estimator, a world or a reply.

The registries call these functions when a plugin is resolved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import signature
from numbers import Real
from typing import get_args

from turnwise.conformance.attributes import (
    ABILITIES,
    ABSENT,
    CHECKED_IF_COMPUTED,
    COMPUTED,
    attribute,
    card_problem,
    choice_problem,
    method_problem,
    needs_problem,
    optional_type_problem,
    shown,
    signature_problem,
    text_problem,
    type_problem,
)
from turnwise.protocols import read_attribute
from turnwise.types import (
    Kind,
    Level,
    Reply,
)


def metric_problem(metric: object, *, fitted: bool = False) -> str | None:
    """What keeps an object (or the class of one) from being a metric, as one sentence; None if nothing does.

    A metric with `fit` need not have `rows`, `reduce` and `signature` yet, unless it is `fitted` already. Raises
    `PluginError` if an attribute raises.
    """
    needs_rows = fitted or not callable(read_attribute(metric, "fit", None))
    if fitted:
        for name in CHECKED_IF_COMPUTED:
            read_attribute(metric, name, None)
    return (
        card_problem(metric, get_args(Kind))
        or choice_problem(metric, "level", get_args(Level))
        or needs_problem(metric)
        or type_problem(metric, "higher_is_better", bool, "True or False")
        or text_problem(metric, "unscored", "why an item may have no number, in words")
        or (method_problem(metric, "rows") if needs_rows else None)
        or (method_problem(metric, "reduce") if needs_rows else None)
        or (signature_problem(metric) if needs_rows else None)
        or _metric_extras_problem(metric)
    )


def estimator_problem(estimator: object) -> str | None:
    """What keeps an object (or the class of one) from being an estimator, as one sentence; None if nothing does."""
    model = attribute(estimator, "model")
    for name in ABILITIES:
        attribute(estimator, name)  # raises `PluginError` if a property raises
    return (
        card_problem(estimator, ("estimator",))
        or method_problem(estimator, "estimate")
        or signature_problem(estimator)
        or optional_type_problem(estimator, "nested", bool, "True or False")
        or optional_type_problem(estimator, "holds_data", bool, "True or False")
        or (
            None
            if model in (ABSENT, COMPUTED, None) or isinstance(model, str)
            else f"`model` is {shown(model)}; expected the name of an encoder"
        )
    )


def is_computed(plugin: object, names: Iterable[str]) -> bool:
    """Whether one of these attributes of a class can only be read from an instance, such as a property."""
    return any(attribute(plugin, name) is COMPUTED for name in names)


def world_problem(module: object) -> str | None:
    """What keeps a module from being a world, as one sentence; None if nothing does."""
    world, families = read_attribute(module, "WORLD", ABSENT), read_attribute(module, "FAMILIES", ABSENT)
    if world is ABSENT:
        return "has no `WORLD`; expected an instance of turnwise.plugins.World"
    if isinstance(world, type):
        return "`WORLD` is a class; expected an instance of it"
    for method in ("scene", "play", "truth"):
        if not callable(read_attribute(world, method, None)):
            return f"`WORLD` has no method `{method}`; expected an instance of turnwise.plugins.World"
    if not isinstance(read_attribute(world, "name", None), str):
        return "`WORLD` has no `name`; expected a text"
    dimensions = read_attribute(world, "dimensions", None)
    if (
        not isinstance(dimensions, tuple)
        or not all(isinstance(one, str) for one in dimensions)
        or not dimensions
    ):
        return f"`WORLD.dimensions` is {shown(dimensions)}; expected a tuple of names"
    if families is ABSENT:
        return "has no `FAMILIES`; expected a dict of family names"
    if not isinstance(families, Mapping) or not families:
        return f"`FAMILIES` is {shown(families)}; expected a dict with at least one family name"
    make_world = read_attribute(module, "make_world", None)
    if make_world is not None and not callable(make_world):
        return f"`make_world` is {shown(make_world)}; expected a function that makes the world"
    return method_problem(module, "family")


READER = "expected read(path, options) -> Iterator[Dialogue]"


def reader_problem(function: object) -> str | None:
    """What keeps an object from being a reader, as one sentence; None if nothing does."""
    if not callable(function):
        return f"is no function; {READER}"
    try:
        parameters = signature(function)
        parameters.bind("path", "options")
    except TypeError:
        return f"has the parameters {parameters}; {READER}"
    except ValueError:  # Python cannot tell
        return None
    return None


def dialogues_problem(found: object) -> str | None:
    """What keeps a reader's result from being dialogues one after the other; None if nothing does."""
    if isinstance(found, Iterable) and not isinstance(found, str | bytes | Mapping):
        return None
    return f"returned {shown(found)}; expected an iterator of turnwise.plugins.Dialogue"


def reply_problem(reply: object) -> str | None:
    """What keeps an agent's result from being a reply, as one sentence; None if nothing does."""
    if not isinstance(reply, Reply):
        return f"returned {shown(reply)}; expected a turnwise.plugins.Reply"
    content: object = reply.content
    if not isinstance(content, str):
        return f"returned a Reply with {shown(content)} as `content`; expected a text"
    return None


def _metric_extras_problem(metric: object) -> str | None:
    """What is wrong with the optional attributes of a metric; None if nothing is or they are absent or computed."""
    for name in ("span", "bounds"):
        value = attribute(metric, name)
        if value is ABSENT or value is COMPUTED or (name == "bounds" and value is None):
            continue
        if not _is_pair(value):
            return f"`{name}` is {shown(value)}; expected a pair of numbers, the lower one first"
    verdicts = attribute(metric, "verdicts")
    if verdicts not in (ABSENT, COMPUTED) and not (
        isinstance(verdicts, tuple) and all(isinstance(one, Real) for one in verdicts)
    ):
        return f"`verdicts` is {shown(verdicts)}; expected a tuple of numbers"
    half = attribute(metric, "half_width")
    if half not in (ABSENT, COMPUTED, None) and not isinstance(half, Real):
        return f"`half_width` is {shown(half)}; expected a number"
    return optional_type_problem(metric, "sampled", bool, "True or False")


def _is_pair(value: object) -> bool:
    """Whether a value is a tuple of two numbers, the first of which is not greater."""
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and all(isinstance(one, Real) for one in value)
        and value[0] <= value[1]
    )
