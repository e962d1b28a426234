"""Figures of `turnwise calibrate`: mean ratings and differences, from scores and labels and from the labels alone."""

from collections.abc import Iterator, Sequence

from turnwise.report.figure import Figure, Record, interval, provenance_notes, with_estimate, with_interval
from turnwise.report.figures.interval_lists import interval_list
from turnwise.report.runs import Run

LEGEND = ("scores and ratings", "ratings alone")


def calibration(run: Run) -> Iterator[Figure]:
    """A figure of the means and one of the differences, for each metric and group that has any."""
    found = [record for record in with_estimate(run.results) if record.get("agent")]
    for metric, group in dict.fromkeys((record["metric"], record.get("group")) for record in found):
        mine = [r for r in found if (r["metric"], r.get("group")) == (metric, group)]
        place = f", {group}" if group else ""
        rating = mine[0]["rating"]
        means = sorted((r for r in mine if not r.get("minus")), key=lambda record: -record["estimate"])
        if means:
            title = f"mean {rating} of each agent, by {metric} and ratings{place}"
            yield _figure(
                means, title, names=[str(r["agent"]) for r in means], along=f"mean {rating}", rules=()
            )
        if pairs := [r for r in mine if r.get("minus")]:
            title = f"differences of {rating}, by {metric} and ratings{place}"
            names = [f"{r['agent']} - {r['minus']}" for r in pairs]
            yield _figure(pairs, title, names=names, along=f"difference of {rating}", rules=(0.0,))


def _figure(
    records: Sequence[Record], title: str, *, names: Sequence[str], along: str, rules: Sequence[float]
) -> Figure:
    """The figure of these records: for each a row with the corrected estimate and one with the labels alone."""
    rows = [row for record in records for row in (record, _labels_alone(record))]
    labels = [label for name in names for label in (name, "ratings alone")]
    return Figure(
        kind="calibration",
        title=title,
        meaning="The first line of a row uses the metric's scores of all items and the ratings of some, the second the "
        "ratings alone. Both have the same mean on average; where the metric agrees with people the first is shorter.",
        notes=provenance_notes(records),
        head=("", "estimate", "ratings alone", "width ratio", "ratings", "items"),
        rows=tuple(
            (name, with_interval(r), with_interval(_labels_alone(r)), r["width_ratio"], r["n_labels"], r["n_items"])
            for name, r in zip(names, records, strict=True)
        ),
        svg=interval_list(
            rows, title, names=labels, along=along, rules=rules,
            series=lambda record: int("alone" in record), legend=LEGEND,
        ),
    )  # fmt: skip


def _labels_alone(record: Record) -> Record:
    """The estimate of the labels alone as a record."""
    return {
        "estimate": record["labels_alone"],
        "interval": interval(record, "labels_alone_interval"),
        "alone": True,
    }
