"""What is asked for by name: `name[key=value,...]`, and names that other packages add.

A package adds a metric, an estimator, a reader or a world through an entry point of the group `turnwise.metrics`,
`turnwise.estimators`, `turnwise.readers` or `turnwise.worlds`. A name has one owner, and a second is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from turnwise.errors import UsageError


@dataclass(frozen=True, slots=True)
class Offer:
    """A name that another package adds."""

    target: str  # module:attribute
    owner: str  # the package

    def load(self, what: str) -> Any:
        module, _, attribute = self.target.partition(":")
        try:
            found = import_module(module)
            return getattr(found, attribute) if attribute else found
        except (ImportError, AttributeError) as error:
            raise UsageError(f"{what} of {self.owner} cannot be loaded: {error}") from error


def offered(group: str, own: Mapping[str, object] | tuple[str, ...]) -> dict[str, Offer]:
    """Name -> what other packages offer under it, in the group `turnwise.GROUP`."""
    found: dict[str, Offer] = {}
    for point in entry_points(group=f"turnwise.{group}"):
        owner = point.dist.name if point.dist else point.value
        if point.name in own or point.name in found:
            first = found[point.name].owner if point.name in found else "turnwise"
            raise UsageError(
                f"two packages offer `{point.name}` among the {group}: {first} and {owner}; uninstall one"
            )
        found[point.name] = Offer(point.value, owner)
    return found


def settings(name: str, example: str) -> tuple[str, dict[str, Any]]:
    """`name[key=value,...]` taken apart; a value is a number, true, false or a text."""
    plain, bracket, rest = name.partition("[")
    if not bracket:
        return name, {}
    parts = [part.partition("=") for part in rest.removesuffix("]").split(",")]
    if not rest.endswith("]") or not all(key.strip() and sign for key, sign, _ in parts):
        raise UsageError(f"`{name}` is no name with settings; write for example {example}")
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
