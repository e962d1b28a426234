"""Logged and target pairs of context and reply on their first two principal components (ENIGMA, figure 26).

The paper uses t-SNE, which preserves neighbourhoods only; principal components keep distances and are deterministic.
"""

from collections.abc import Iterator

from turnwise.report import plot
from turnwise.report.documents import OpeDocument
from turnwise.report.figure import Figure, provenance_notes
from turnwise.report.lines import Projections
from turnwise.report.runs import RunOf
from turnwise.report.text import number


def pairs(run: RunOf[OpeDocument]) -> Iterator[Figure]:
    """One figure for each rating and target that `pairs.json` of the run has; none for a target without pairs."""
    for path, found in run.json_files("*/pairs.json", Projections):
        for target, one in found.targets.items():
            logged, said = one.logged, one.target
            if not logged:
                continue
            title = f"what was logged, and what {target} says there ({path.parent.name})"
            panel = plot.Panel.with_axes(
                plot.padded_range(place[0] for place in (*logged, *said)),
                plot.padded_range(place[1] for place in (*logged, *said)),
            )
            share = [f"{part:.0%}" for part in one.variance]
            panel.axes(f"first component, {share[0]} of the variance", f"second, {share[1]}")
            for series, places in enumerate((logged, said)):
                for x, y in places:
                    panel.dot(
                        x, y, series, size=(3.4, 1.7)[series]
                    )  # what was logged shows around what is not new
            mine = [r for r in run.document.results if r.target == target]
            looked = next((r.diagnostics for r in mine if r.diagnostics.overlap is not None), None)
            coverage_note = (
                f"{looked.overlap:.0%} of its replies were logged word by word; the mean distance to the "
                f"nearest logged reply is {number(max(0.0, looked.distance or 0.0))}. "
                if looked
                else ""
            )
            yield Figure(
                kind="pairs",
                title=title,
                meaning=f"{coverage_note}Orange dots far from blue ones are replies unlike any in the logs.",
                notes=provenance_notes(
                    mine, more=[f"a sample of {len(logged)} pairs, encoded by {found.model}, seed {found.seed}"]
                ),
                head=("side", "first", "second"),
                rows=(*(("logged", *place) for place in logged), *(("target", *place) for place in said)),
                svg=panel.svg(title, legend=("logged", target)),
            )  # fmt: skip
