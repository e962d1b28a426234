"""Agreement between raters, from `meta` without a metric."""

from collections.abc import Iterator

from turnwise.errors import counted
from turnwise.report.documents import MetaDocument
from turnwise.report.figure import Figure, low_and_high, provenance_notes, with_estimate
from turnwise.report.figures.interval_lists import Row, interval_list
from turnwise.report.runs import RunOf

MEANING = (
    "1 is full agreement and 0 is chance; kappa and alpha count agreement beyond chance, leave-one-out is how well one "
    "rater follows the others, and the ceiling is the most that a metric can be expected to reach."
)


def raters(run: RunOf[MetaDocument]) -> Iterator[Figure]:
    """One figure for each dimension, group and level with an estimate of the agreement between raters."""
    mine = [r for r in run.document.results if r.metric is None and r.statistic]
    for dimension, group, level in dict.fromkeys((r.dimension, r.group, r.level) for r in mine):
        there = [r for r in mine if (r.dimension, r.group, r.level) == (dimension, group, level)]
        shown = with_estimate(there)
        if not shown:
            continue
        about = ", ".join(filter(None, [dimension, group]))
        title = f"raters among themselves: {about}, {level} level"
        first = shown[0]
        people = f"{counted(first.n_raters or 0, 'rater')} ({first.raters_are}), {first.n_ratings} ratings"
        yield Figure(
            kind="raters",
            title=title,
            meaning=MEANING,
            notes=provenance_notes(shown, more=[people]),
            head=("statistic", "estimate", "low", "high", "items", "why not"),
            rows=tuple(
                (r.statistic, r.estimate, *low_and_high(r.interval), r.n_items, r.reason)
                for r in there
            ),
            svg=interval_list(
                [Row.of(str(r.statistic), r) for r in shown], title, along="agreement", rules=(0.0, 1.0)
            ),
        )  # fmt: skip
