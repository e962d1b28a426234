"""Attacks that are known to work on each metric, measured by `papers/probing.py` and shipped with the package.

The attacks on a trained model are in its `card.json`, under `attacks`; `turnwise attack 'usr-ret[trained=DIR]' --card`
writes them there.
"""

import json
from functools import cache
from importlib.resources import files
from typing import TypedDict


class Fraud(TypedDict):
    """A strategy that was shown to score above people."""

    contexts: str  # the corpus that the contexts are from
    kind: str
    description: str
    score: float
    human_score: float


def known_attacks(metric: str) -> list[Fraud]:
    """The best fraud of each kind and corpus; empty if none was found or the metric was not attacked."""
    return _table().get(metric, [])


@cache
def _table() -> dict[str, list[Fraud]]:
    """Metric -> its frauds, from the shipped file; empty if there is no such file."""
    path = files("turnwise") / "data" / "attacks.json"
    if not path.is_file():
        return {}
    table: dict[str, list[Fraud]] = json.loads(path.read_text(encoding="utf-8"))
    return table
