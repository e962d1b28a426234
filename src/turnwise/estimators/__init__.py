"""The names under which estimators are asked for, and what stands behind each.

Entries are `"module:class"` strings that are imported when their estimator is used. A name may carry settings:
`fqe[ridge=10]`.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any

from turnwise.errors import MissingExtra, UsageError, unknown

if TYPE_CHECKING:  # numpy comes with the nouns, and a list of names needs neither
    from turnwise.types import Card, Estimator

_OWN = {
    "robust": "robust:Robust",
    "balance": "balance:Balance",
    "fqe": "fqe:Fqe",
    "lstdq": "fqe:Lstdq",
    "dice-linear": "dice:LinearDice",
    "direct": "direct:Direct",
    "nearest": "nearest:Nearest",
    "mean": "baselines:Mean",
    "mean-relabelled": "baselines:Relabelled",
    "features": "handcrafted:Features",
    "ips": "ips:Ips",
    "spe": "selfplay:SelfPlay",
    "enigma": "neural.enigma:Enigma",
    "fqe-neural": "neural.fqe:NeuralFqe",
    "lstdq-neural": "neural.fqe:NeuralLstdq",
}

CHEAP = ("robust", "balance", "fqe", "lstdq", "dice-linear", "direct", "nearest", "mean", "mean-relabelled")


def names() -> tuple[str, ...]:
    return tuple(_OWN)


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
    made: Estimator = maker(**written)
    return made


def describe(name: str) -> Card:
    """What is known of an estimator without making it: its class carries its card."""
    card: Card = _maker(name).card
    return card


def settings(name: str) -> tuple[str, dict[str, Any]]:
    """`name[key=value,...]` taken apart; a value is a number, true, false or a text."""
    plain, bracket, rest = name.partition("[")
    if not bracket:
        return name, {}
    parts = [part.partition("=") for part in rest.removesuffix("]").split(",")]
    if not rest.endswith("]") or not all(key.strip() and sign for key, sign, _ in parts):
        raise UsageError(f"`{name}` is no estimator with settings; write for example fqe[ridge=10]")
    return plain, {key.strip(): _value(value.strip()) for key, _, value in parts}


def _value(text: str) -> bool | int | float | str:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _maker(name: str) -> Any:
    if name not in _OWN:
        raise unknown("estimator", name, names())
    module, _, attribute = _OWN[name].partition(":")
    try:
        return getattr(import_module(f"turnwise.estimators.{module}"), attribute)
    except ModuleNotFoundError as error:
        if error.name in ("torch", "transformers"):
            raise MissingExtra(f"estimator `{name}`", "neural") from error
        raise
