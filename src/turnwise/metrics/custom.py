"""A user's own metric, `module:function` or a function: it gets replies with their contexts and returns numbers.

It takes a list of `{"context": [{"role", "content"}], "response": str, "references": [str]}` and returns a
number for each; None and NaN say that a reply could not be scored. The signature carries a digest of the
function's file, so that an edited function is another metric. The digest does not cover what that file imports.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from turnwise.errors import PluginError
from turnwise.metrics.address import http_function
from turnwise.metrics.rows import Ratio
from turnwise.plugin_code import described
from turnwise.registry import own_function
from turnwise.session_functions import finished
from turnwise.types import LARGEST, Card, Floats, Item, Level, Need, Signature, digest

AT_ONCE = "it gets all replies at once: [f(reply) for reply in replies] calls f for each"


@dataclass(frozen=True, slots=True)
class OwnMetric(Ratio):
    """The mean of the numbers that a user's function, or an http address, gives to replies."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset()
    higher_is_better: ClassVar[bool] = True
    unscored: ClassVar[str] = "the function returned None or NaN"
    verdicts: ClassVar[tuple[int, ...]] = (
        5,
        10,
        100,
    )  # highest scores of the scales that judges commonly use
    card: ClassVar[Card] = Card(
        kind="unreferenced",
        meaning="The mean of what your function returns.",
        range="whatever it returns; higher is taken for better",
        limits="As your function's. It is asked again only if its file changes, so it should give the same "
        "answer to the same reply; a function that depends on the other replies of its list will depend on "
        "the batch.",
        citation="yours",
    )

    name: str  # module:function
    source: str  # digest of its file
    function: Callable[[list[dict[str, Any]]], Iterable[float | None]]

    @property
    def signature(self) -> Signature:
        """The function's name and the digest of its file; for an address, the address and the word `address`."""
        return Signature("own", (("function", self.name), ("source", self.source)))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): the function's number and 1; NaN where it returned None or NaN."""
        rows = np.ones((len(items), 2))
        if items:
            rows[:, 0] = self._numbers(items)
        return rows

    def _numbers(self, items: Sequence[Item]) -> list[float]:
        """The function's number for each item, asked in one call.

        Raises `PluginError` if it returns anything but one for each.
        """
        records = [_record(item) for item in items]
        try:
            returned = finished(self.function(records))
        except (TypeError, AttributeError) as error:
            said = described(error, self.name)
            raise PluginError(
                f"{self.name} was given a list of replies and raised {said}; {AT_ONCE}"
            ) from error
        if isinstance(returned, str | bytes | Mapping) or not isinstance(returned, Iterable):
            raise PluginError(
                f"{self.name} returned {_shown(returned)} instead of a list of numbers; {AT_ONCE}"
            )
        values = list(finished(list(returned)))
        if len(values) != len(items):
            raise PluginError(
                f"{self.name} was given {len(items)} replies and returned {len(values)} numbers"
            )
        return [self._number(value, index) for index, value in enumerate(values)]

    def _number(self, value: object, index: int) -> float:
        """The value as a float, NaN for None.

        Raises `PluginError`, which names its `index` in the list, if it is no number, or above `LARGEST` in size.
        """
        if value is None:
            return float("nan")
        problem = "not a number"
        if isinstance(value, Real):
            size: Any = abs(value)  # compared before it becomes a float, which an int may be too large for
            if not size > LARGEST:  # NaN is not
                return float(value)
            problem = f"not between {-LARGEST:g} and {LARGEST:g}"
        raise PluginError(f"{self.name} returned {_shown(value)} for reply {index} of its list: {problem}")


def own_metric(name: str) -> OwnMetric:
    """The metric for a `module:function` that can be imported from here, or for an http(s) address.

    The function is imported at once; an address is not contacted until it scores.
    """
    if name.startswith(("http://", "https://")):
        return OwnMetric(name, "address", http_function(name))
    function, source = own_function(name, "metric")
    return OwnMetric(name, digest(source), function)


def _record(item: Item) -> dict[str, Any]:
    """What the function is given for one item: the context, oldest turn first, the reply and the references."""
    return {
        "context": [{"role": turn.role, "content": turn.text} for turn in item.turns[:-1]],
        "response": item.reply,
        "references": list(item.references),
    }


def _shown(value: object) -> str:
    """The value's `repr`, cut to 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
