"""Estimate and objective against training iteration, with the true value (ENIGMA, figures 2, 3, 12, 15, 16)."""

from collections.abc import Iterator, Mapping, Sequence
from math import nan

from turnwise.errors import counted
from turnwise.records import EstimateRecord
from turnwise.report import plot
from turnwise.report.documents import OpeDocument
from turnwise.report.figure import Figure, provenance_notes
from turnwise.report.lines import Curves, Steps
from turnwise.report.results import file_name
from turnwise.report.runs import RunOf
from turnwise.report.text import number

MAX_TARGETS = plot.N_COLOURS  # targets in one picture
BESIDE = Steps.__struct_fields__  # keys that are no quantities
SUFFIX = ".curves.json"


def iterations(run: RunOf[OpeDocument]) -> Iterator[Figure]:
    """One figure for each `RATING/ESTIMATOR.curves.json` of the run and each quantity in it."""
    pattern = f"*/*{SUFFIX}"
    read = zip(run.json_files(pattern, Curves), run.json_files(pattern, dict[str, Steps]), strict=True)
    for (path, curves), (_, steps) in read:
        name = path.name.removesuffix(SUFFIX)
        mine = [
            record
            for record in run.document.results
            if file_name(record.estimator) == name and file_name(record.rating) == path.parent.name
        ]
        quantities = dict.fromkeys(key for found in curves.values() for key in found if key not in BESIDE)
        for quantity in quantities:
            yield _figure(name, path.parent.name, quantity, curves, steps, mine)


def _figure(
    name: str,
    rating: str,
    quantity: str,
    curves: Curves,
    steps: Mapping[str, Steps],
    records: Sequence[EstimateRecord],
) -> Figure:
    """The figure of one quantity against the iteration, with lines of the first eight targets and rows of all."""
    shown = {target: found for target, found in curves.items() if quantity in found}
    drawn = dict(list(shown.items())[:MAX_TARGETS])
    about = {record.target: record for record in records}
    means = [
        edge
        for target in drawn
        if quantity == "estimate" and target in about and (mean := about[target].known_mean) is not None
        for edge in (mean - _truth_half_width(about[target]), mean + _truth_half_width(about[target]))
    ]
    reached = [value for found in drawn.values() for value in found[quantity]]
    last = max(max(_numbers(steps[target].iteration)) for target in drawn)
    panel = plot.Panel.with_axes((0, last or 1), plot.padded_range([*reached, *means]), integer_ticks=True)
    panel.axes("iteration", quantity)
    for place, (target, found) in enumerate(drawn.items()):
        mean = about[target].known_mean if quantity == "estimate" and target in about else None
        if mean is not None:
            half = _truth_half_width(about[target])
            panel.band([0, last], [mean - half] * 2, [mean + half] * 2, place)
            panel.path([(0, mean), (last, mean)], style=f"rule s{place}")
        panel.line(_numbers(steps[target].iteration), _numbers(found[quantity]), place)
    title = f"{name}: {quantity} of {rating} against iteration"
    truth_note = "The dashed line is the truth, with a band of two of its standard errors. " if means else ""
    return Figure(
        kind="iterations",
        title=title,
        meaning=f"{truth_note}A curve that still climbs or falls at the end was stopped too early."
        + (f" {len(shown) - len(drawn)} more targets are in the table." if len(shown) > len(drawn) else ""),
        notes=provenance_notes(
            records, more=[f"{counted(len(shown), 'target')}, one training run each, before calibration"]
        ),
        head=("target", "iteration", quantity, "truth"),
        rows=tuple(
            (target, step, value, about[target].known_mean if target in about and quantity == "estimate" else None)
            for target, found in shown.items()
            for step, value in zip(steps[target].iteration, found[quantity], strict=True)
        ),
        svg=panel.svg(title, legend=[f"{target} (ends at {number(f[quantity][-1])})" for target, f in drawn.items()]),
    )  # fmt: skip


def _numbers(values: Sequence[float | None]) -> list[float]:
    """The values with NaN for those that are unknown."""
    return [nan if value is None else value for value in values]


def _truth_half_width(record: EstimateRecord) -> float:
    """Half-width of the band around the truth: two of its standard errors; 0 if the record has none."""
    return 2 * (record.truth_se or 0.0)
