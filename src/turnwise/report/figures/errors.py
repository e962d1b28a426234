"""Errors of estimates against the truth, with histograms, for several runs (ENIGMA, figures 19, 22, 25)."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from turnwise.records import EstimateRecord
from turnwise.report import plot
from turnwise.report.documents import OpeDocument
from turnwise.report.figure import Figure, provenance_notes, with_estimate
from turnwise.report.runs import Run
from turnwise.report.text import number

SETTINGS = ("fraction", "challenging", "model", "delexicalise", "calibrate")  # settings that label runs
MIN_DOTS = 3
BINS = 11  # of the histogram
HISTOGRAM_LEFT = 312.0  # left edge of the histogram in the picture


def run_labels(runs: Sequence[Run]) -> dict[str, str]:
    """Run name -> label: the settings that differ between runs; for all runs the folder if these are not distinct."""
    settings = {run.name: {name: run.options.get(name) for name in SETTINGS} for run in runs}
    differing = [name for name in SETTINGS if len({str(found[name]) for found in settings.values()}) > 1]
    found = {
        name: ", ".join(f"{key} {values[key]}" for key in differing) for name, values in settings.items()
    }
    unique = differing and len(set(found.values())) == len(runs)
    return found if unique else _folder_labels(list(settings))


def _folder_labels(names: Sequence[str]) -> dict[str, str]:
    """Run name -> the last parts of its path, as few as make all labels different; the whole name if none do."""
    for parts in range(1, max((len(Path(name).parts) for name in names), default=0) + 1):
        short = {name: "/".join(Path(name).parts[-parts:]) for name in names}
        if len(set(short.values())) == len(names):
            return short
    return {name: name for name in names}


def errors(runs: Sequence[Run]) -> Iterator[Figure]:
    """One figure for each rating and estimator of the runs of `ope --all`, with a colour for each run.

    A run is left out if fewer than three of its targets have an estimate and a known mean.
    """
    left_out = {
        run.name: run.document.results
        for run in runs
        if isinstance(run.document, OpeDocument) and run.document.validation
    }
    named = run_labels([run for run in runs if run.name in left_out])
    pairs = dict.fromkeys((r.rating, r.estimator) for records in left_out.values() for r in records)
    for rating, estimator in pairs:
        series: dict[str, list[EstimateRecord]] = {}
        for name, records in left_out.items():
            mine = [
                r
                for r in with_estimate(records)
                if (r.rating, r.estimator) == (rating, estimator) and r.known_mean is not None
            ]
            if len(mine) >= MIN_DOTS:
                series[named[name]] = mine
        if series:
            yield _figure(rating, estimator, series)


def _error(record: EstimateRecord) -> float:
    """The estimate minus the known mean, which the record must have."""
    return record.value - (record.known_mean or 0.0)


def _figure(rating: str, estimator: str, series: Mapping[str, Sequence[EstimateRecord]]) -> Figure:
    """The figure of errors against known means, with a histogram; `series` has the records by label of the run."""
    title = f"{estimator}: error of {rating} against the truth"
    every = [record for mine in series.values() for record in mine]
    ys = plot.padded_range([*map(_error, every), 0.0], pad=0.08)
    panel = plot.Panel.with_axes(plot.padded_range(record.known_mean for record in every), ys)
    panel = plot.Panel(panel.x._replace(end=HISTOGRAM_LEFT - 10), panel.y, marks=[])
    panel.axes("known mean", "estimate - known mean")
    panel.horizontal_rule(0.0)
    edges = np.linspace(*ys, BINS + 1)
    counts = {name: np.histogram([_error(r) for r in mine], bins=edges)[0] for name, mine in series.items()}
    most = max(int(found.max()) for found in counts.values())
    side = plot.Panel(
        plot.Scale(0, most, HISTOGRAM_LEFT, plot.WIDTH - plot.RIGHT), panel.y, marks=panel.marks
    )
    for place, (name, mine) in enumerate(series.items()):
        for record in mine:
            tip = (
                f"{record.target}, {name}: known {number(record.known_mean)}, error {number(_error(record))}"
            )
            panel.dot(record.known_mean or 0.0, _error(record), place, tip=tip)
        for low, high, count in zip(edges[:-1], edges[1:], counts[name].tolist(), strict=True):
            if count:
                tip = f"{name}: {count} from {number(low)} to {number(high)}"
                side.bar(
                    (0, count), (float(low), float(high)), style=f"bar s{place % plot.N_COLOURS}", tip=tip
                )
    side.text(side.x.start, side.y.start + 14, f"0 to {most} agents", style="tick")
    sizes = [(name, [_error(record) for record in mine]) for name, mine in series.items()]
    return Figure(
        kind="errors",
        title=title,
        meaning="Each dot is an agent that was left out; above the line its estimate is too high. The bars are a "
        "histogram of the errors. Mean absolute error: "
        + "; ".join(f"{name} {number(float(np.mean(np.abs(found))))}" for name, found in sizes) + ".",
        notes=provenance_notes(every, more=[f"{len(found)} agents: {name}" for name, found in sizes]),
        head=("run", "agent", "known", "estimate", "error"),
        rows=tuple(
            (name, r.target, r.known_mean, r.estimate, _error(r)) for name, mine in series.items() for r in mine
        ),
        svg=panel.svg(title, legend=list(series) if len(series) > 1 else ()),
    )  # fmt: skip
