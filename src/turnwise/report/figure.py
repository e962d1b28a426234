"""One figure of a report: a picture, an explanation, notes on the data, and the numbers as a table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, inf, log10
from typing import Any, Protocol, TypeVar, runtime_checkable

from turnwise.records import AgreementRecord, Estimated, Interval, Record, both_ends
from turnwise.report.text import number
from turnwise.types import Direction

MAX_SIGNATURES = 3  # signatures listed below a picture if its table has a column of signatures


@dataclass(frozen=True, slots=True)
class Exchange:
    """The last turn of a context and replies to it, each as (agent, text, score as text)."""

    heard: str
    replies: tuple[tuple[str, str, str], ...]
    items: tuple[str, ...] = ()  # ids of the first replies, as the viewer finds them


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture with its explanation, notes and table."""

    kind: str  # regression, heatmap, ...: identifies the figure in report.json
    title: str
    meaning: str  # how to read it
    notes: tuple[str, ...]  # n, interval, signature
    head: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]  # the numbers of the picture
    svg: str = ""
    exchanges: tuple[Exchange, ...] = ()


def provenance_notes(
    records: Sequence[Record], *, more: Iterable[str] = (), column: bool = False
) -> tuple[str, ...]:
    """Notes on a figure: number of items and clusters, `more`, method of the intervals, and signatures.

    With `column` the table has a column of signatures, and more than three signatures are only counted here.
    """
    return (_counts(records), *more, _intervals(records), *_signatures(records, column))


def _counts(records: Sequence[Record]) -> str:
    """A note such as `n = 100 to 103 items in 50 clusters; 0 to 3 not scored`; `?` where no record has the number.

    Records of one figure may share items, so that numbers are not added up but given as a range.
    """

    def span(values: Sequence[int]) -> str:
        """The range of the numbers, such as `100 to 120`; `?` if there is none."""
        if not values:
            return "?"
        low, high = min(values), max(values)
        return f"{low:,}" if low == high else f"{low:,} to {high:,}"

    items = span([record.n_items for record in records])
    clusters = span([record.n_clusters for record in records])
    unscored = [sum(record.unscored.values()) for record in records]
    left = f"; {span(unscored)} not scored" if any(unscored) else ""
    # Strengths from preferences are fitted to choices, which have no clusters.
    inside = f" in {clusters} clusters" if any(record.n_clusters for record in records) else ""
    return f"n = {items} items{inside}{left}"


def _intervals(records: Sequence[Record]) -> str:
    """A note on the methods of the 95 % intervals, of which it names two, or on why there are none."""
    methods = list(dict.fromkeys(record.method for record in records if record.method))
    if not any(record.interval for record in records):
        return f"no intervals: {'; '.join(methods) or 'none were made'}"
    shown = "; ".join(methods[:2]) + (f"; and {len(methods) - 2} more" if len(methods) > 2 else "")
    return f"95 % intervals: {shown}"


def _signatures(records: Sequence[Record], column: bool) -> list[str]:
    """A note for each distinct signature; with `column`, more than three are only counted in one note."""
    found = list(dict.fromkeys(record.signature for record in records if record.signature))
    if not found:
        return [f"no signature: {'people rated, and no metric' if records else 'nothing was measured'}"]
    if column and len(found) > MAX_SIGNATURES:
        return [f"signatures: {len(found)}, one a row of the table"]
    return [f"signature: {one}" for one in found]


@runtime_checkable
class OfMetric(Protocol):
    """A result of a metric, which may have a good end."""

    @property
    def metric(self) -> str | None:
        """The name of the metric."""

    @property
    def better(self) -> Direction | None:
        """Which end is good; None where none is."""


def metric_label(record: OfMetric) -> str:
    """The name of the record's metric, with `(lower is better)` appended where that is so."""
    return f"{record.metric} (lower is better)" if record.better == "lower" else str(record.metric)


def lower_is_better_note(records: Iterable[OfMetric], suffix: str) -> str:
    """A space and a sentence that names the metrics of which lower is better and ends with `suffix`; "" if none is."""
    names = dict.fromkeys(str(record.metric) for record in records if record.better == "lower")
    return f" Lower is better by {', '.join(names)}{suffix}." if names else ""


def learned_from(records: Iterable[AgreementRecord]) -> dict[str, str]:
    """Metrics that learned from the items on which they were tested -> how many of them, such as `3 of 60`."""
    return {str(record.metric): record.in_training for record in records if record.in_training}


def learned_note(records: Iterable[AgreementRecord]) -> str:
    """A space and a sentence for each metric that learned from the items on which it was tested; "" if none did."""
    return "".join(
        f" {name} learned from {count} items here: its agreement with people says nothing about new ones."
        for name, count in learned_from(records).items()
    )


def low_and_high(interval: Interval) -> tuple[float, float] | tuple[None, None]:
    """The ends of an interval as two cells of a table; both None if there is none or an end is unknown."""
    return both_ends(interval) or (None, None)


def with_interval(record: Estimated) -> str:
    """The estimate with its interval if it has one, such as `0.610 [0.520, 0.700]`; `-` if it is unknown."""
    return in_words(record.estimate, record.bounds)


def in_words(estimate: float | None, bounds: tuple[float, float] | None, digits: int | None = None) -> str:
    """A number with the ends of its interval, if it has one, with these digits or those that the interval supports."""
    if bounds is None or estimate is None:
        return number(estimate)
    digits = digits_for((bounds[1] - bounds[0]) / 2) if digits is None else digits
    shown = [number(round(value, digits) + 0.0, digits) for value in (estimate, *bounds)]
    return f"{shown[0]} [{shown[1]}, {shown[2]}]"


def common_digits(records: Iterable[Estimated]) -> int | None:
    """The digits that the widest interval supports, for numbers that stand beside each other; None without one."""
    widths = [record.bounds[1] - record.bounds[0] for record in records if record.bounds]
    return digits_for(max(widths) / 2) if widths else None


def digits_for(half: float) -> int:
    """Digits after the point that give an error of this size two digits: 1 for 6.7, 2 for .67; at most 12."""
    return 3 if not 0 < half < inf else min(12, max(0, 1 - floor(log10(half))))


AnyEstimated = TypeVar("AnyEstimated", bound=Estimated)


def with_estimate(records: Iterable[AnyEstimated]) -> list[AnyEstimated]:
    """The records whose estimate is not None, in order."""
    return [record for record in records if record.estimate is not None]
