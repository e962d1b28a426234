"""Notes on preferences by one or two raters, whose intervals say little or nothing about other raters."""

from collections.abc import Sequence

from turnwise.errors import counted
from turnwise.types import Finding

FEW = 2  # raters with whom tests still reject too often (benchmarks/results/preferences.json)


def rater_notes(findings: Sequence[Finding]) -> list[str]:
    """A line for each set of preferences that is by one or two raters; empty if there is none."""
    sets: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.details.get("n_raters") is not None:
            sets.setdefault(_name(finding), []).append(finding)
    found = []
    for name, mine in sets.items():
        alone: dict[str, list[Finding]] = {}
        for one in mine:
            if one.details["n_raters"] == 1:
                alone.setdefault(one.details["rater"], []).append(one)
        for rater, by_one in alone.items():
            whose = "all " if len(by_one) == len(mine) else ""
            found.append(
                f"note: {name}: {whose}{counted(_choices(by_one), 'choice')} are by one rater, `{rater}`: intervals "
                "cover other contexts, not other raters"
            )
        if any(one.details["n_raters"] == FEW for one in mine):
            found.append(
                f"note: {name}: with {FEW} raters intervals may be too narrow for other raters "
                "(docs/statistics.md)"
            )
    return found


def _name(finding: Finding) -> str:
    """What people chose by: `preference:overall`."""
    dimension = finding.what.get("dimension")
    return f"preference:{dimension}" if dimension else str(finding.what.get("metric"))


def _choices(findings: Sequence[Finding]) -> int:
    """The number of choices; findings on the agreement of several metrics share theirs."""
    counts = [finding.n_items for finding in findings]
    return max(counts) if "statistic" in findings[0].what else sum(counts)
