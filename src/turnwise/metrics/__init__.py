"""The names under which metrics are asked for, and what stands behind each.

Entries are `"module:attribute"` strings that are imported when their metric is used, so that a list of names
costs nothing. Other packages add theirs through the entry point group `turnwise.metrics`; a name has one
owner, and a second is refused. A name with a colon in it is not looked up: it is the user's own
`module:function`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from turnwise.errors import UsageError, unknown

if TYPE_CHECKING:  # numpy comes with the nouns, and a list of names needs neither
    from turnwise.types import Card, Fitted, Kind, Level, Metric, Need

GROUP = "turnwise.metrics"  # entry points of other packages


@dataclass(frozen=True, slots=True)
class Entry:
    target: str  # module:attribute, a class or a function that makes the metric
    options: Mapping[str, Any] = field(default_factory=dict)
    owner: str = "turnwise"


def _own(module: str, /, **options: Any) -> Entry:
    return Entry(f"turnwise.metrics.{module}", options)


_OWN: dict[str, Entry] = {
    **{f"bleu-{n}": _own("reference.bleu:Bleu", order=n) for n in (1, 2, 3, 4)},
    "chrf": _own("reference.chrf:Chrf"),
    **{f"rouge-{n}": _own("reference.rouge:RougeN", order=n) for n in (1, 2)},
    "rouge-l": _own("reference.rouge:RougeL"),
    "rouge-l-b1.2": _own("reference.rouge:RougeLCaption"),
    **{f"distinct-{n}": _own("features.variety:Distinct", order=n) for n in (1, 2)},
    **{f"entropy-{n}": _own("features.variety:Entropy", order=n) for n in (1, 2)},
    "msttr-50": _own("features.msttr:Msttr", segment=50),
    "length": _own("features.surface:Length"),
    "question-rate": _own("features.surface:QuestionRate"),
    **{f"repeat-external-{n}": _own("features.repetition:External", order=n) for n in (1, 2)},
    **{f"repeat-internal-{n}": _own("features.repetition:Internal", order=n) for n in (1, 2)},
    **{f"repeat-partner-{n}": _own("features.repetition:Partner", order=n) for n in (1, 2)},
    "specificity": _own("features.specificity:Nidf"),
}


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """What `turnwise ls metrics` tells of one name."""

    name: str
    kind: Kind
    level: Level
    needs: frozenset[Need]
    higher_is_better: bool
    card: Card
    fitted: bool  # must see data before it can score


def names() -> tuple[str, ...]:
    return tuple(_table())


def resolve(name: str, **options: Any) -> Metric | Fitted:
    """The metric of this name; `options` are the settings of its class that differ from the name's own."""
    if ":" in name:
        from turnwise.metrics.custom import own_metric

        return own_metric(name)
    maker, settings = _maker(name), {**_entry(name).options, **options}
    try:
        inspect.signature(maker).bind(**settings)
    except TypeError as error:
        raise UsageError(f"metric `{name}` does not take these options: {error}") from None
    return maker(**settings)


def describe(name: str) -> MetricInfo:
    """What is known of a metric without making it: its class carries the facts."""
    maker = None if ":" in name else _maker(name)
    facts: Any = maker if isinstance(maker, type) else resolve(name)
    return MetricInfo(
        name=name,
        kind=facts.card.kind,
        level=facts.level,
        needs=facts.needs,
        higher_is_better=facts.higher_is_better,
        card=facts.card,
        fitted=hasattr(facts, "fit"),
    )


def _maker(name: str) -> Callable[..., Metric | Fitted]:
    entry = _entry(name)
    module, _, attribute = entry.target.partition(":")
    try:
        maker: Callable[..., Metric | Fitted] = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"metric `{name}` of {entry.owner} cannot be loaded: {error}") from error
    return maker


def _entry(name: str) -> Entry:
    try:
        return _table()[name]
    except KeyError:
        raise unknown("metric", name, names()) from None


@cache
def _table() -> dict[str, Entry]:
    table = dict(_OWN)
    for point in entry_points(group=GROUP):
        owner = point.dist.name if point.dist else point.value
        if point.name in table:
            first = table[point.name].owner
            raise UsageError(
                f"two packages offer a metric `{point.name}`: {first} and {owner}; uninstall one"
            )
        table[point.name] = Entry(point.value, owner=owner)
    return table
