"""The names under which estimators are asked for, and what stands behind each.

Entries are `"module:class"` strings that are imported when their estimator is used. A name may carry settings:
`fqe[ridge=10]`. Other packages add theirs through the entry point group `turnwise.estimators`.
"""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from turnwise import plugins
from turnwise.errors import MissingExtra, UsageError, unknown

if TYPE_CHECKING:  # numpy comes with the nouns, and a list of names needs neither
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
    return (*_OWN, *_others())


def resolve(name: str, *, model: str | None = None) -> Estimator:
    """The estimator of this name, which may carry settings; `model` is its encoder where it has one."""
    plain, written = settings(name)
    maker = _maker(plain)
    signature = inspect.signature(maker)
    if model is not None and "model" in signature.parameters:
        written.setdefault("model", model)
    try:
        signature.bind(**written)
    except TypeError as error:
        known = ", ".join(signature.parameters) or "none"
        raise UsageError(f"estimator `{name}`: {error}; its settings are: {known}") from None
    plugins.check(written, maker, f"estimator `{name}`")
    made: Estimator = maker(**written)
    return made


def describe(name: str) -> Card:
    """What is known of an estimator without making it: its class carries its card."""
    card: Card = _maker(name).card
    return card


def settings(name: str) -> tuple[str, dict[str, Any]]:
    """`name[key=value,...]` taken apart."""
    return plugins.settings(name, "fqe[ridge=10]")


def _maker(name: str) -> Any:
    if name in (others := _others()):
        return others[name].load(f"estimator `{name}`")
    if name not in _OWN:
        raise unknown("estimator", name, names())
    module, _, attribute = _OWN[name].partition(":")
    try:
        return getattr(import_module(f"turnwise.estimators.{module}"), attribute)
    except ModuleNotFoundError as error:
        if error.name in ("torch", "transformers"):
            raise MissingExtra(f"estimator `{name}`", "neural") from error
        raise


@cache
def _others() -> dict[str, plugins.Offer]:
    return plugins.offered("estimators", _OWN)
