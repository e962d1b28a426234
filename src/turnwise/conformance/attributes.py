"""Checks of single attributes of a plugin, each with one sentence for what is wrong; None if nothing is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from inspect import getattr_static
from types import MemberDescriptorType
from typing import Any, get_args

from turnwise.protocols import read_attribute
from turnwise.types import (
    Card,
    Need,
    Signature,
)

ABSENT, COMPUTED = object(), object()

ABILITIES = frozenset({"metrics", "played", "reward", "discount", "text_form", "trained_controls"})
"""Attributes by which protocols recognise what an estimator can do."""

CHECKED_IF_COMPUTED = frozenset(
    {
        "card",
        "level",
        "needs",
        "higher_is_better",
        "unscored",
    }  # attributes of metrics, some of estimators too
    | {"span", "bounds", "verdicts", "sampled"}
    | {"nested", "holds_data", "model"}
    | ABILITIES
)
"""Attributes that an object is asked for even if they are properties. The others may load a model when they are read.
An object with `fit` is not asked, because its properties may need the fit."""


def attribute(plugin: object, name: str) -> Any:
    """An attribute; `ABSENT` if there is none, `COMPUTED` for a property, or for a slot that only an instance has.

    An attribute in `CHECKED_IF_COMPUTED` is read from an instance also if it is a property, or if only `__getattr__`
    can supply it; `PluginError` if it raises.
    """
    static = getattr_static(plugin, name, ABSENT)
    if static is ABSENT:  # `__getattr__` may still supply it, or raise
        return read_attribute(plugin, name, ABSENT) if _may_be_read(plugin, name) else ABSENT
    if isinstance(static, property | cached_property) and not _may_be_read(plugin, name):
        return COMPUTED
    if isinstance(static, MemberDescriptorType) and isinstance(plugin, type):
        return COMPUTED
    return read_attribute(plugin, name, ABSENT)


def _may_be_read(plugin: object, name: str) -> bool:
    """Whether the checks read an attribute of the plugin that its code computes."""
    return (
        name in CHECKED_IF_COMPUTED
        and not isinstance(plugin, type)
        and not callable(getattr_static(plugin, "fit", None))
    )


def card_problem(plugin: object, kinds: Sequence[str]) -> str | None:
    """What is wrong with the card of a plugin, whose kind must be one of `kinds`; None if nothing is or it is
    computed.
    """
    card = attribute(plugin, "card")
    if card is ABSENT:
        return "has no `card`; expected a turnwise.plugins.Card"
    if card is COMPUTED:
        return None
    if not isinstance(card, Card):
        return f"`card` is {with_article(card)}; expected a turnwise.plugins.Card"
    if card.kind not in kinds:
        return f"`card.kind` is {shown(card.kind)}; expected {_one_of(kinds)}"
    for part in ("meaning", "range", "limits", "citation"):
        text = getattr(card, part)
        if not isinstance(text, str) or not text.strip():
            return f"`card.{part}` is {shown(text)}; expected a text"
    return None


def choice_problem(plugin: object, name: str, choices: Sequence[str]) -> str | None:
    """What is wrong with attribute `name`, which must be one of `choices`; None if nothing is or it is computed."""
    value = attribute(plugin, name)
    if value is COMPUTED:
        return None
    if value is ABSENT:
        return f"has no `{name}`; expected {_one_of(choices)}"
    return None if value in choices else f"`{name}` is {shown(value)}; expected {_one_of(choices)}"


def needs_problem(plugin: object) -> str | None:
    """What is wrong with `needs`, a set of known needs; None if nothing is or it is computed."""
    needs, known = attribute(plugin, "needs"), get_args(Need)
    expected = f"expected a frozenset of {', '.join(known)}"
    if needs is COMPUTED:
        return None
    if needs is ABSENT:
        return f"has no `needs`; {expected}"
    if not isinstance(needs, frozenset | set):
        return f"`needs` is {shown(needs)}; {expected}"
    wrong = sorted(str(need) for need in needs if need not in known)
    return f"`needs` has `{wrong[0]}` in it; {expected}" if wrong else None


def type_problem(plugin: object, name: str, kind: type, expected: str) -> str | None:
    """What is wrong with attribute `name`, which must be there and of type `kind` (`expected` in words); None
    if nothing is or it is computed.
    """
    if attribute(plugin, name) is ABSENT:
        return f"has no `{name}`; expected {expected}"
    return optional_type_problem(plugin, name, kind, expected)


def optional_type_problem(plugin: object, name: str, kind: type, expected: str) -> str | None:
    """As `type_problem`, but the attribute may be absent."""
    value = attribute(plugin, name)
    if value is ABSENT or value is COMPUTED or isinstance(value, kind):
        return None
    return f"`{name}` is {shown(value)}; expected {expected}"


def text_problem(plugin: object, name: str, expected: str) -> str | None:
    """What is wrong with attribute `name`, which must be a text that is not blank; None if nothing is or it is
    computed.
    """
    value = attribute(plugin, name)
    if value is ABSENT:
        return f"has no `{name}`; expected {expected}"
    if value is COMPUTED or (isinstance(value, str) and value.strip()):
        return None
    return f"`{name}` is {shown(value)}; expected {expected}"


def method_problem(plugin: object, name: str) -> str | None:
    """What is wrong with attribute `name`, which must be callable; None if nothing is. `PluginError` if it raises."""
    value = read_attribute(plugin, name, ABSENT)
    if value is ABSENT:
        return f"has no `{name}`; expected a function"
    return None if callable(value) else f"`{name}` is {shown(value)}; expected a function"


def signature_problem(plugin: object) -> str | None:
    """What is wrong with `signature`, which must be a `Signature` and no method; None if nothing is or it is
    computed.
    """
    value = attribute(plugin, "signature")
    if value is ABSENT:
        return "has no `signature`; expected a property that returns a turnwise.plugins.Signature"
    if value is COMPUTED or isinstance(value, Signature):
        return None
    what = "a method" if callable(value) else shown(value)
    return f"`signature` is {what}; expected a property that returns a turnwise.plugins.Signature"


def _one_of(choices: Sequence[str]) -> str:
    """The choices in words: `one of a, b`, or the only one in backquotes."""
    return f"one of {', '.join(choices)}" if len(choices) > 1 else f"`{choices[0]}`"


def shown(value: object) -> str:
    """The `repr` of a value in one line, cut to 60 characters; the name of its type if `repr` fails."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a foreign `__repr__` may raise
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def with_article(value: object) -> str:
    """`a` and the name of the value's type, or `None`."""
    return f"a {type(value).__name__}" if value is not None else "None"
