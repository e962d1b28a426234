"""How far raters agree among themselves: what `meta` finds without a metric, and the most that one can reach with."""

from collections.abc import Iterator

from turnwise.errors import counted
from turnwise.report.figure import Figure, answered, interval, stated
from turnwise.report.figures.listed import listed
from turnwise.report.runs import Run

MEANING = (
    "1 is full agreement and 0 is chance; kappa and alpha count agreement beyond chance, leave-one-out is how well one "
    "person follows the others, and the ceiling is the most that a metric can be expected to reach."
)


def raters(run: Run) -> Iterator[Figure]:
    """One figure for each dimension, group and level."""
    mine = [r for r in run.results if r.get("metric") is None and r.get("statistic")]
    for dimension, group, level in dict.fromkeys((r["dimension"], r.get("group"), r["level"]) for r in mine):
        there = [r for r in mine if (r["dimension"], r.get("group"), r["level"]) == (dimension, group, level)]
        shown = answered(there)
        if not shown:
            continue
        about = ", ".join(filter(None, [dimension, group]))
        title = f"raters among themselves: {about}, {level} level"
        first = shown[0]
        people = (
            f"{counted(first['n_raters'], 'rater')} ({first['raters_are']}), {first['n_ratings']} ratings"
        )
        yield Figure(
            kind="raters",
            title=title,
            meaning=MEANING,
            notes=stated(shown, more=[people]),
            head=("statistic", "estimate", "low", "high", "items", "why not"),
            rows=tuple(
                (r["statistic"], r["estimate"], *(interval(r) or (None, None)), r["n_items"], r["reason"])
                for r in there
            ),
            svg=listed(
                shown, title, names=[str(r["statistic"]) for r in shown], along="agreement", rules=(0.0, 1.0)
            ),
        )  # fmt: skip
