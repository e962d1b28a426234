"""The attacks that are known to work on each metric, as measured by `papers/probing.py` and shipped with the package.

A trained model carries its own in `card.json`, under `attacks`: `turnwise attack 'usr-ret[trained=DIR]' --card` writes
them there.
"""

import json
from functools import cache
from importlib.resources import files
from typing import TypedDict


class Works(TypedDict):
    """A strategy whose gain over people was shown."""

    contexts: str  # the corpus
    kind: str
    description: str
    score: float
    human_score: float


def known_attacks(metric: str) -> list[Works]:
    """The best strategy of each kind and corpus that scores above people; [] where none was found or looked for."""
    return _table().get(metric, [])


@cache
def _table() -> dict[str, list[Works]]:
    path = files("turnwise") / "data" / "attacks.json"
    if not path.is_file():
        return {}
    table: dict[str, list[Works]] = json.loads(path.read_text(encoding="utf-8"))
    return table
