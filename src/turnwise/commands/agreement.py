"""The part of `meta`'s results that fits a screen; -v, -o and --format json have all of them."""

from collections.abc import Sequence

from turnwise.records import AgreementRecord
from turnwise.report.text import number, table

MAX_ROWS = 24  # of a table that fits a screen with its notes
LEADING = (
    "spearman",
    "accuracy",
    "pearson",
    "kendall",
    "pairwise",
)  # statistics, the one that is shown first
RATERS = ("alpha-ordinal", "leave-one-out", "ceiling")  # coefficients of raters that are shown
LEVEL = 0.05  # estimates with p up to this have a star


def on_a_screen(records: Sequence[AgreementRecord]) -> tuple[list[AgreementRecord], str]:
    """The rows to show: one statistic (three coefficients for raters), and only those with an estimate; and a
    sentence on what is left out, empty if nothing is.
    """
    statistics = list(dict.fromkeys(r.statistic for r in records if r.statistic))
    shown = [one for one in RATERS if one in statistics] or [one for one in LEADING if one in statistics][:1]
    rows = [r for r in records if r.statistic in shown and r.estimate is not None]
    if not rows:
        return list(records), ""
    others = [one for one in statistics if one not in shown]
    return rows, f"{', '.join(others)}: -v shows them" if others else ""


def matrices(records: Sequence[AgreementRecord]) -> str:
    """For each level a table of estimates, a row for each dimension (and group) and a column for each metric, or for
    each coefficient of the raters; a star is p of .05 or less. At most 24 rows in all.
    """
    left = MAX_ROWS
    parts = []
    for level in dict.fromkeys(str(r.level) for r in records):
        mine = [r for r in records if r.level == level]
        key = "metric" if any(r.metric for r in mine) else "statistic"
        columns = list(dict.fromkeys(str(getattr(r, key)) for r in mine))
        about = list(dict.fromkeys((r.dimension, r.group) for r in mine))
        cells = {((r.dimension, r.group), str(getattr(r, key))): _cell(r) for r in mine}
        rows = [
            [" ".join(str(part) for part in one if part), *(cells.get((one, name), "-") for name in columns)]
            for one in about[:left]
        ]
        left -= len(rows)
        rest = f"\n({len(about) - len(rows)} more rows with -v)" if len(about) > len(rows) else ""
        what = f"{mine[0].statistic} with people" if key == "metric" else "agreement of raters"
        parts.append(f"{what}, {level} level; * is p <= .05\n{table(rows, ['dimension', *columns])}{rest}")
    return "\n\n".join(parts)


def _cell(record: AgreementRecord) -> str:
    """The estimate with two digits, and a star if its p is .05 or less."""
    p = record.p
    return f"{number(record.estimate, 2)}{'*' if p is not None and p <= LEVEL else ''}"
