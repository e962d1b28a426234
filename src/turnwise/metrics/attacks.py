"""Attacks that are known to work on each metric, and what a guard changes, measured by `papers/` and shipped with the
package.

The attacks on a trained model are in its `card.json`, under `attacks`; `turnwise attack 'usr-ret[trained=DIR]' --card`
writes them there.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from msgspec import Struct, convert


class Fraud(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A strategy that was shown to score above people."""

    contexts: str  # the corpus that the contexts are from
    strategy: str | None = None  # on the card of a trained model; so is `gain`
    kind: str
    description: str
    score: float
    human_score: float
    gain: float | None = None
    against: str = ""  # of a policy: the metric that it was trained against


class GuardEffect(Struct, frozen=True):
    """What a guard changes for a metric."""

    agreement: dict[str, list[float]]  # rated group -> Spearman with people before and after
    attacks: dict[str, list[float]]  # corpus -> best fraud's gain over people before and after


def known_attacks(metric: str) -> list[Fraud]:
    """The best fraud of each kind and corpus; empty if none was found or the metric was not attacked."""
    return _table().get(metric, [])


def guard_effect(metric: str) -> GuardEffect | None:
    """What `guarded[metric=NAME]` changes; None if it was not measured."""
    return _guarded().get(metric)


def own_guard_effect(metric: str) -> GuardEffect | None:
    """What `NAME[trained=hardened]`, the shipped model with a guard of its own, changes; None if there is none."""
    return _hardened().get(metric)


@cache
def _table() -> dict[str, list[Fraud]]:
    """Metric -> its frauds, from the shipped file; empty if there is no such file."""
    return convert(_shipped("attacks.json"), dict[str, list[Fraud]])


@cache
def _guarded() -> dict[str, GuardEffect]:
    """Metric -> what a guard changes, from the shipped file; empty if there is no such file."""
    return convert(_shipped("guarded.json"), dict[str, GuardEffect])


@cache
def _hardened() -> dict[str, GuardEffect]:
    """Metric -> what a guard of its own changes, from the shipped file; empty if there is no such file."""
    return convert(_shipped("hardened.json"), dict[str, GuardEffect])


def _shipped(name: str) -> Any:
    path = files("turnwise") / "data" / name
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
