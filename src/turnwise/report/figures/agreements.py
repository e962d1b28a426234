"""The agreement of each metric with people on one dimension, as dots with intervals: what the claims rest on."""

from collections.abc import Iterator, Sequence

from turnwise.report.agreement import Agreement, chosen_statistic, measured
from turnwise.report.documents import MetaDocument
from turnwise.report.figure import (
    Figure,
    learned_note,
    lower_is_better_note,
    provenance_notes,
    with_estimate,
    with_interval,
)
from turnwise.report.figures.interval_lists import Row, interval_list
from turnwise.report.rated_by import rated_by
from turnwise.report.runs import RunOf
from turnwise.report.text import number

INSIDE, OVER_ALL = 0, 1  # numbers of colours
LEGEND = ("inside agents", "over all items")


def agreements(run: RunOf[MetaDocument]) -> Iterator[Figure]:
    """One figure for each level, dimension and group, `overall` first; by Spearman if the run has it."""
    records = [r for r in with_estimate(run.document.results) if r.metric]
    mine = [r for r in records if r.statistic == chosen_statistic(records)]
    places = dict.fromkeys((r.level, r.dimension, r.group) for r in mine)
    for level, dimension, group in sorted(places, key=lambda place: place[1] != "overall"):
        here = [r for r in mine if (r.level, r.dimension, r.group) == (level, dimension, group)]
        who = rated_by(run, here)
        shown = sorted(measured(here), key=lambda one: -one.value)
        first = shown[0]
        title = f"agreement with {who.words} ({first.quantity}{f', {group}' if group else ''})"
        person = (
            f"The dashed line is {who.one_of_them}: {number(first.one_rater, 2)}. " if first.one_rater else ""
        )
        inside = (
            "The first line of a metric is its agreement among the replies of one agent, averaged over agents; the "
            "second over all items, where metrics also gain from agents that differ. "
            if first.inside
            else ""
        )
        yield Figure(
            kind="agreement",
            title=title,
            meaning=f"Right of {first.chance:g} a metric agrees with {who.words}, left of it it ranks against them. "
            f"{inside}{person}".strip()
            + lower_is_better_note(here, ": signs are turned, so that right agrees there too")
            + learned_note(here),
            notes=provenance_notes(here, column=True),
            head=("metric", first.quantity, "over all items", "p over all", "one rater", "items", "signature"),
            rows=tuple(
                (one.metric, one.text, with_interval(one.record), one.record.p, one.one_rater, one.record.n_items,
                 one.record.signature)
                for one in shown
            ),
            svg=_picture(shown, title, f"{first.record.statistic} with {who.words}"),
        )  # fmt: skip


def _picture(shown: Sequence[Agreement], title: str, along: str) -> str:
    """The dots: two rows a metric where agreement inside agents is known."""
    first = shown[0]
    rows: list[Row] = []
    for one in shown:
        rows.append(Row(one.metric, one.value, one.bounds, INSIDE))
        if first.inside:
            over_all = Agreement(one.record, inside=False)
            rows.append(Row("", over_all.value, over_all.bounds, OVER_ALL))
    rules = [first.chance, *([first.one_rater] if first.one_rater else [])]
    return interval_list(rows, title, along=along, rules=rules, legend=LEGEND if first.inside else ())
