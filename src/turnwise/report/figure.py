"""One figure of a report: a picture, how to read it, what stands behind it, and its numbers as a table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnwise.report.text import number

Record = Mapping[str, Any]  # a result as it stands in results.json
MOST_SIGNATURES = 3  # that are named below a picture whose table has a column of them


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was said before a reply, and replies side by side: (who, text, score)."""

    heard: str
    replies: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    kind: str  # regression, heatmap, ...: what a reader of the JSON looks for
    title: str
    meaning: str  # how to read it
    notes: tuple[str, ...]  # n, interval, signature
    head: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]  # the same numbers for those who cannot see the picture
    svg: str = ""
    exchanges: tuple[Exchange, ...] = ()


def stated(records: Sequence[Record], *, more: Iterable[str] = (), column: bool = False) -> tuple[str, ...]:
    """What must be known of numbers before they are believed: how many, which interval, which signature.

    With `column` the table below has a column of signatures, and many of them are only counted here.
    """
    return (_counts(records), *more, _intervals(records), *_signatures(records, column))


def _counts(records: Sequence[Record]) -> str:
    def span(key: str) -> str:
        values = [record[key] for record in records if record.get(key) is not None]
        if not values:
            return "?"
        low, high = min(values), max(values)
        return f"{low:,}" if low == high else f"{low:,} to {high:,}"

    unscored = sum(sum((record.get("unscored") or {}).values()) for record in records)
    left = f"; {unscored:,} not scored" if unscored else ""
    return f"n = {span('n_items')} items in {span('n_clusters')} clusters{left}"


def _intervals(records: Sequence[Record]) -> str:
    methods = list(dict.fromkeys(record["method"] for record in records if record.get("method")))
    if not any(record.get("interval") for record in records):
        return f"no intervals: {'; '.join(methods) or 'none were made'}"
    shown = "; ".join(methods[:2]) + (f"; and {len(methods) - 2} more" if len(methods) > 2 else "")
    return f"95 % intervals: {shown}"


def _signatures(records: Sequence[Record], column: bool) -> list[str]:
    found = list(dict.fromkeys(record["signature"] for record in records if record.get("signature")))
    if not found:
        return [f"no signature: {'people rated, and no metric' if records else 'nothing was measured'}"]
    if column and len(found) > MOST_SIGNATURES:
        return [f"signatures: {len(found)}, one a row of the table"]
    return [f"signature: {one}" for one in found]


def axis(record: Record) -> str:
    """The metric, and which end of it is good where that is the low one."""
    return (
        f"{record['metric']} (lower is better)" if record.get("better") == "lower" else str(record["metric"])
    )


def lower(records: Iterable[Record], told: str) -> str:
    """A sentence that names the metrics whose low end is the good one; nothing where there are none."""
    names = dict.fromkeys(record["metric"] for record in records if record.get("better") == "lower")
    return f" Lower is better by {', '.join(names)}{told}." if names else ""


def interval(record: Record, key: str = "interval") -> tuple[float, float] | None:
    """A record's interval, where it has a whole one."""
    found = record.get(key)
    return (found[0], found[1]) if found and None not in found else None


def with_interval(record: Record) -> str:
    """`0.61 [0.52, 0.70]`."""
    bounds = interval(record)
    shown = f" [{number(bounds[0])}, {number(bounds[1])}]" if bounds else ""
    return f"{number(record.get('estimate'))}{shown}"


def answered(records: Iterable[Record]) -> list[Record]:
    """Those with an estimate."""
    return [record for record in records if record.get("estimate") is not None]
