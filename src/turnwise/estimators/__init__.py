"""The table of estimators by name.

Entries are `"module:class"` strings that are imported when their estimator is used. A name may carry settings:
`fqe[ridge=10]`. Other packages add estimators through the entry point group `turnwise.estimators`; these are checked
when they are resolved.
"""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from turnwise import registry
from turnwise.errors import MissingExtra, PluginError, UsageError, unknown
from turnwise.extras import named_extras
from turnwise.plugin_code import described

if TYPE_CHECKING:  # `types` imports numpy, which is slow and not needed to list names
    from turnwise.types import Card, Estimator

_OWN = {
    "robust": "linear.robust:Robust",
    "balance": "linear.robust:Balance",
    "fqe": "linear.regression:Fqe",
    "lstdq": "linear.regression:Lstdq",
    "dice-linear": "linear.dice:LinearDice",
    "direct": "linear.regression:Direct",
    "nearest": "baselines.nearest:Nearest",
    "mean": "baselines.means:Mean",
    "mean-relabelled": "baselines.means:Relabelled",
    "features": "baselines.handcrafted:Features",
    "ips": "baselines.ips:Ips",
    "spe": "baselines.selfplay:SelfPlay",
    "critic": "critic.critic:Critic",
    "critic-paper": "neural.critic:PaperCritic",
    "enigma": "neural.enigma:Enigma",
    "fqe-neural": "neural.fqe:NeuralFqe",
    "lstdq-neural": "neural.fqe:NeuralLstdq",
}

CHEAP = ("robust", "balance", "fqe", "lstdq", "dice-linear", "direct", "nearest", "mean", "mean-relabelled")


def names() -> tuple[str, ...]:
    """All names, those of other packages last. A listed plugin may still fail its check when it is resolved."""
    return (*_OWN, *_plugins().usable)


def broken() -> tuple[PluginError, ...]:
    """One error for each plugin that is unusable because of its name; plugins are not imported for this."""
    return tuple(_plugins().problems.values())


def resolve(name: str, *, model: str | None = None) -> Estimator:
    """Make the estimator of this name, which may carry settings; `model` is its encoder unless the settings name one.

    `model` is ignored by estimators without an encoder. Raises `UsageError` for wrong settings or an unknown name, and
    `PluginError` for a plugin that cannot be made or that is no estimator.
    """
    plain, written = settings(name)
    maker = _maker(plain)
    signature = inspect.signature(maker)
    if model is not None and "model" in signature.parameters:
        written.setdefault("model", model)
    offer = _plugins().usable.get(plain)
    if offer is not None:
        registry.check_required(offer, maker, written)
    try:
        signature.bind(**written)
    except TypeError as error:
        known = ", ".join(signature.parameters) or "none"
        raise UsageError(f"estimator `{name}`: {error}; its settings are: {known}") from None
    registry.check(written, maker, f"estimator `{name}`")
    if offer is None:
        own: Estimator = maker(**written)
        return own
    made: Estimator = offer.make(maker, written)
    _check(offer, made)
    return made


def describe(name: str) -> Card:
    """The card of an estimator by its name without settings.

    A plugin that is a function, or a class that computes its card, is called to get it. Raises `PluginError` for a
    wrong plugin.
    """
    if _OWN.get(name, "").startswith("neural."):
        from turnwise.estimators.neural.cards import CARDS

        return CARDS[name]
    maker = _maker(name)
    if (offer := _plugins().usable.get(name)) is None:
        own: Card = (maker if isinstance(maker, type) else resolve(name)).card  # type: ignore[union-attr]
        return own
    try:
        from turnwise.conformance.plugins import is_computed

        facts: Any = maker if isinstance(maker, type) and not is_computed(maker, ["card"]) else resolve(name)
        _check(offer, facts)
        card: Card = facts.card
    except (PluginError, MissingExtra):
        raise
    except Exception as error:  # foreign code may raise anything
        raise offer.error(f"cannot be listed: {described(error, offer.target)}") from error
    return card


def extra_of(name: str) -> str | None:
    """The extra that an own estimator needs beside that of its encoder; None if it needs none."""
    return "neural" if _OWN.get(name, "").startswith("neural.") else None


def settings(name: str) -> tuple[str, dict[str, Any]]:
    """Split `name[key=value,...]` into the name and a dict of the settings, empty if there are none."""
    return registry.settings(name, "fqe[ridge=10]")


def _maker(name: str) -> Any:
    """The class or function that makes the estimator `name`, imported now.

    Raises `UsageError` for an unknown name, `PluginError` for a plugin that cannot be loaded or called, and
    `MissingExtra` for an own estimator whose extra `neural` is not installed.
    """
    if name not in _OWN:
        if (offer := _plugins().find(name)) is None:
            raise unknown("estimator", name, names())
        maker = offer.load()
        if not callable(maker):
            raise offer.error(
                f"{offer.target} is no class and no function; expected one that makes the estimator"
            )
        return maker
    module, _, attribute = _OWN[name].partition(":")
    with named_extras(f"estimator `{name}`"):
        return getattr(import_module(f"turnwise.estimators.{module}"), attribute)


def _check(offer: registry.Offer, estimator: object) -> None:
    """Raise the offer's `PluginError` if the object (or class) lacks what an estimator must have."""
    from turnwise.conformance.plugins import estimator_problem

    try:
        problem = estimator_problem(estimator)
    except PluginError as error:  # an attribute raised
        raise offer.error(error) from error
    if problem is not None:
        raise offer.error(problem)


@cache
def _plugins() -> registry.Offers:
    """The estimators that other packages offer by entry points, looked up once."""
    return registry.offered("estimators", _OWN)
