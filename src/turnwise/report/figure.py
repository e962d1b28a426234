"""One figure of a report: a picture, an explanation, notes on the data, and the numbers as a table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnwise.report.text import number

Record = Mapping[str, Any]  # one result of results.json
MAX_SIGNATURES = 3  # signatures listed below a picture if its table has a column of signatures


@dataclass(frozen=True, slots=True)
class Exchange:
    """The last turn of a context and replies to it, each as (agent, text, score as text)."""

    heard: str
    replies: tuple[tuple[str, str, str], ...]


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

    items, clusters = (
        span([record[key] for record in records if record.get(key) is not None])
        for key in ("n_items", "n_clusters")
    )
    unscored = [sum((record.get("unscored") or {}).values()) for record in records]
    left = f"; {span(unscored)} not scored" if any(unscored) else ""
    return f"n = {items} items in {clusters} clusters{left}"


def _intervals(records: Sequence[Record]) -> str:
    """A note on the methods of the 95 % intervals, of which it names two, or on why there are none."""
    methods = list(dict.fromkeys(record["method"] for record in records if record.get("method")))
    if not any(record.get("interval") for record in records):
        return f"no intervals: {'; '.join(methods) or 'none were made'}"
    shown = "; ".join(methods[:2]) + (f"; and {len(methods) - 2} more" if len(methods) > 2 else "")
    return f"95 % intervals: {shown}"


def _signatures(records: Sequence[Record], column: bool) -> list[str]:
    """A note for each distinct signature; with `column`, more than three are only counted in one note."""
    found = list(dict.fromkeys(record["signature"] for record in records if record.get("signature")))
    if not found:
        return [f"no signature: {'people rated, and no metric' if records else 'nothing was measured'}"]
    if column and len(found) > MAX_SIGNATURES:
        return [f"signatures: {len(found)}, one a row of the table"]
    return [f"signature: {one}" for one in found]


def metric_label(record: Record) -> str:
    """The name of the record's metric, with `(lower is better)` appended where that is so."""
    return (
        f"{record['metric']} (lower is better)" if record.get("better") == "lower" else str(record["metric"])
    )


def lower_is_better_note(records: Iterable[Record], suffix: str) -> str:
    """A space and a sentence that names the metrics of which lower is better and ends with `suffix`; "" if none is."""
    names = dict.fromkeys(record["metric"] for record in records if record.get("better") == "lower")
    return f" Lower is better by {', '.join(names)}{suffix}." if names else ""


def learned_from(records: Iterable[Record]) -> dict[str, str]:
    """Metrics that learned from the items on which they were tested -> how many of them, such as `3 of 60`."""
    return {str(r["metric"]): str(r["in_training"]) for r in records if r.get("in_training")}


def learned_note(records: Iterable[Record]) -> str:
    """A space and a sentence for each metric that learned from the items on which it was tested; "" if none did."""
    return "".join(
        f" {name} learned from {count} items here: its agreement with people says nothing about new ones."
        for name, count in learned_from(records).items()
    )


def interval(record: Record, key: str = "interval") -> tuple[float, float] | None:
    """The interval of a record under `key`; None if it is absent or an end is unknown."""
    found = record.get(key)
    return (found[0], found[1]) if found and None not in found else None


def with_interval(record: Record) -> str:
    """The estimate with its interval if it has one, such as `0.610 [0.520, 0.700]`; `-` if it is unknown."""
    bounds = interval(record)
    shown = f" [{number(bounds[0])}, {number(bounds[1])}]" if bounds else ""
    return f"{number(record.get('estimate'))}{shown}"


def with_estimate(records: Iterable[Record]) -> list[Record]:
    """The records whose estimate is not None, in order."""
    return [record for record in records if record.get("estimate") is not None]
