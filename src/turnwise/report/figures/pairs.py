"""Logged and target pairs of context and reply on the plane in which they vary most (ENIGMA, figure 26).

The paper shows t-SNE, which places neighbours and nothing else; principal components keep distances, and are the same
every time.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from turnwise.report import plot
from turnwise.report.figure import Figure, stated
from turnwise.report.runs import Run
from turnwise.report.text import number


def pairs(run: Run) -> Iterator[Figure]:
    for path, found in run.beside("*/pairs.json"):
        for target, one in found["targets"].items():
            logged, said = one["logged"], one["target"]
            title = f"what was logged, and what {target} says there ({path.parent.name})"
            panel = plot.Panel.over(
                plot.reach(place[0] for place in (*logged, *said)),
                plot.reach(place[1] for place in (*logged, *said)),
            )
            share = [f"{part:.0%}" for part in one["variance"]]
            panel.axes(f"first component, {share[0]} of the variance", f"second, {share[1]}")
            for series, places in enumerate((logged, said)):
                for x, y in places:
                    panel.dot(
                        x, y, series, size=(3.4, 1.7)[series]
                    )  # what was logged shows around what is not new
            mine = [r for r in run.results if r["target"] == target]
            looked: Mapping[str, Any] = next(
                (r["diagnostics"] for r in mine if "overlap" in r["diagnostics"]), {}
            )
            told = (
                f"{looked['overlap']:.0%} of its replies were logged word by word; the mean distance to the "
                f"nearest logged reply is {number(max(0.0, looked['distance']))}. "
                if looked
                else ""
            )
            yield Figure(
                kind="pairs",
                title=title,
                meaning=f"{told}Where orange dots stand alone, the logs say nothing of what this agent does.",
                notes=stated(
                    mine, more=[f"a sample of {len(logged)} pairs, encoded by {found['model']}, seed {found['seed']}"]
                ),
                head=("side", "first", "second"),
                rows=(*(("logged", *place) for place in logged), *(("target", *place) for place in said)),
                svg=panel.svg(title, legend=("logged", target)),
            )  # fmt: skip
