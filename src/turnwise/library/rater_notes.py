"""Notes on preferences by one or two raters, whose intervals say little or nothing about other raters."""

from collections.abc import Sequence
from typing import TypeAlias

from turnwise.errors import counted
from turnwise.records import AgreementRecord, DifferenceRecord

OfPreferences: TypeAlias = AgreementRecord | DifferenceRecord
FEW = 2  # raters with whom tests still reject too often (benchmarks/results/preferences.json)


def rater_notes(records: Sequence[OfPreferences]) -> list[str]:
    """A line for each set of preferences that is by one or two raters; empty if there is none."""
    sets: dict[str, list[OfPreferences]] = {}
    for record in records:
        if record.n_raters is not None:
            sets.setdefault(_name(record), []).append(record)
    found = []
    for name, mine in sets.items():
        alone: dict[str, list[OfPreferences]] = {}
        for record in mine:
            if record.n_raters == 1:
                alone.setdefault(str(record.rater), []).append(record)
        for rater, by_one in alone.items():
            whose = "all " if len(by_one) == len(mine) else ""
            found.append(
                f"note: {name}: {whose}{counted(_choices(by_one), 'choice')} are by one rater, `{rater}`: intervals "
                "cover other contexts, not other raters"
            )
        if any(record.n_raters == FEW for record in mine):
            found.append(
                f"note: {name}: with {FEW} raters intervals may be too narrow for other raters "
                "(docs/statistics.md)"
            )
    return found


def _name(record: OfPreferences) -> str:
    """What people chose by: `preference:overall`."""
    return f"preference:{record.dimension}" if isinstance(record, AgreementRecord) else record.metric


def _choices(records: Sequence[OfPreferences]) -> int:
    """The number of choices; records on the agreement of several metrics share theirs."""
    counts = [record.n_items for record in records]
    return max(counts) if isinstance(records[0], AgreementRecord) else sum(counts)
