"""Figures of `turnwise calibrate`: mean ratings and differences, from scores and labels and from the labels alone."""

from collections.abc import Iterator, Sequence
from math import nan

from turnwise.records import MeanRecord, both_ends
from turnwise.report.documents import CalibrateDocument
from turnwise.report.figure import Figure, in_words, provenance_notes, with_estimate, with_interval
from turnwise.report.figures.interval_lists import Row, interval_list
from turnwise.report.runs import RunOf

LEGEND = ("scores and ratings", "ratings alone")


def calibration(run: RunOf[CalibrateDocument]) -> Iterator[Figure]:
    """A figure of the means and one of the differences, for each metric and group that has any."""
    found = [record for record in with_estimate(run.document.results) if record.agent]
    for metric, group in dict.fromkeys((record.metric, record.group) for record in found):
        mine = [r for r in found if (r.metric, r.group) == (metric, group)]
        place = f", {group}" if group else ""
        rating = mine[0].rating
        means = sorted((r for r in mine if not r.minus), key=lambda record: -record.value)
        if means:
            title = f"mean {rating} of each agent, by {metric} and ratings{place}"
            yield _figure(means, title, names=[str(r.agent) for r in means], along=f"mean {rating}", rules=())
        if pairs := [r for r in mine if r.minus]:
            title = f"differences of {rating}, by {metric} and ratings{place}"
            names = [f"{r.agent} - {r.minus}" for r in pairs]
            yield _figure(pairs, title, names=names, along=f"difference of {rating}", rules=(0.0,))


def _figure(
    records: Sequence[MeanRecord], title: str, *, names: Sequence[str], along: str, rules: Sequence[float]
) -> Figure:
    """The figure of these records: for each a row with the corrected estimate and one with the labels alone."""
    alone = [Row("ratings alone", *_labels_alone(record), 1) for record in records]
    both = [Row.of(name, record) for name, record in zip(names, records, strict=True)]
    return Figure(
        kind="calibration",
        title=title,
        meaning="The first line of a row uses the metric's scores of all items and the ratings of some, the second the "
        "ratings alone. Both have the same mean on average; where the metric agrees with people the first is shorter.",
        notes=provenance_notes(records),
        head=("", "estimate", "ratings alone", "width ratio", "ratings", "items"),
        rows=tuple(
            (name, with_interval(r), in_words(*_labels_alone(r)), r.width_ratio, r.n_labels, r.n_items)
            for name, r in zip(names, records, strict=True)
        ),
        svg=interval_list(
            [row for pair in zip(both, alone, strict=True) for row in pair],
            title, along=along, rules=rules, legend=LEGEND,
        ),
    )  # fmt: skip


def _labels_alone(record: MeanRecord) -> tuple[float, tuple[float, float] | None]:
    """The estimate of the labels alone, NaN without one, and its interval."""
    estimate = nan if record.labels_alone is None else record.labels_alone
    return estimate, both_ends(record.labels_alone_interval)
