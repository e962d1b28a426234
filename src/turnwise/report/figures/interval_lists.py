"""Lists of names with a dot and an interval each: agents by a metric, strategies by gain, estimators."""

from collections.abc import Iterator, Sequence
from textwrap import shorten
from typing import NamedTuple

from turnwise.records import Estimated, both_ends
from turnwise.report import plot
from turnwise.report.documents import AttackDocument, OpeDocument, ScoreDocument
from turnwise.report.figure import (
    Figure,
    low_and_high,
    lower_is_better_note,
    metric_label,
    provenance_notes,
    with_estimate,
)
from turnwise.report.runs import Run, RunOf
from turnwise.report.text import number

MAX_ROWS = 30  # maximum rows of a picture; the table has all
MAX_STRATEGIES = 12
STRATEGY_LETTERS = 36  # of a strategy's name in the picture; some are whole replies


class Row(NamedTuple):
    """A row of an interval list: a dot at `value`, and a line between its bounds."""

    name: str
    value: float
    bounds: tuple[float, float] | None
    series: int = 0  # number of the colour, which the legend names

    @classmethod
    def of(cls, name: str, record: Estimated, series: int = 0) -> "Row":
        """The row of a record's estimate and interval."""
        return cls(name, record.value, record.bounds, series)


def interval_list(
    rows: Sequence[Row], title: str, *, along: str, rules: Sequence[float] = (), legend: Sequence[str] = ()
) -> str:
    """The SVG picture of the first 30 rows; `along` is the label of the x axis, `rules` are x of dashed lines."""
    shown = rows[:MAX_ROWS]
    reached = [edge for row in shown for edge in (row.value, *(row.bounds or ()))]
    panel = plot.Panel.with_names([row.name for row in shown], plot.padded_range([*reached, *rules]))
    panel.axes(along)
    for rule in rules:
        panel.vertical_rule(rule)
    for place, (name, value, ends, series) in enumerate(shown):
        around = f" [{number(ends[0])}, {number(ends[1])}]" if ends else ""
        tip = f"{name}: {number(value)}{around}"
        if ends:
            panel.path([(ends[0], place), (ends[1], place)], style=f"whisker s{series}", tip=tip)
        panel.dot(value, place, series, tip=tip)
    return panel.svg(title, legend=legend)


def scores(run: RunOf[ScoreDocument]) -> Iterator[Figure]:
    """The agents by each metric, best first, one figure for each metric and group; none for results without agents."""
    known = with_estimate(run.document.results)
    for metric, group in dict.fromkeys((record.metric, record.group) for record in known):
        mine = [r for r in known if (r.metric, r.group) == (metric, group)]
        if not any(record.agent for record in mine):
            continue
        falling = mine[0].better != "lower"
        mine.sort(key=lambda record: -record.value if falling else record.value)
        title = f"{metric} of each agent" + (f", {group}" if group else "")
        order = (
            "the highest number to the lowest"
            if falling
            else "the lowest number, which is the best, to the highest"
        )
        yield Figure(
            kind="scores",
            title=title,
            meaning=f"Agents from {order}; where intervals overlap much, no order was shown.",
            notes=provenance_notes(mine, column=True),
            head=("agent", "estimate", "low", "high", "items", "clusters", "signature"),
            rows=tuple(
                (r.agent, r.estimate, *low_and_high(r.interval), r.n_items, r.n_clusters, r.signature)
                for r in mine
            ),
            svg=interval_list([Row.of(str(r.agent), r) for r in mine], title, along=metric_label(mine[0])),
        )  # fmt: skip


def listed(run: Run) -> Iterator[Figure]:
    """The estimates of any command in their order, one figure for each metric; none without estimates."""
    known = with_estimate(run.document.results)
    for metric in dict.fromkeys(" ".join(record.named("metric")) for record in known):
        mine = [record for record in known if " ".join(record.named("metric")) == metric]
        names = [name for name in mine[0].names if name != "metric"]
        title = " ".join(filter(None, [run.document.question.rstrip("?"), metric and f"by {metric}"]))
        yield Figure(
            kind="estimates",
            title=title,
            meaning="Estimates with their intervals; where intervals overlap much, no order was shown.",
            notes=provenance_notes(mine, column=True),
            head=(*names, "estimate", "low", "high", "items", "clusters", "signature"),
            rows=tuple(
                (*map(r.about.get, names), r.estimate, *low_and_high(r.interval), r.n_items, r.n_clusters, r.signature)
                for r in mine
            ),
            svg=interval_list(
                [Row.of(" ".join(r.named(*names)) or title, r) for r in mine], title, along=metric or "estimate"
            ),
        )  # fmt: skip


def estimates(run: RunOf[OpeDocument]) -> Iterator[Figure]:
    """The estimates by all estimators, with the truth if known, for each target and rating.

    None if there are more than three pairs of target and rating, which have a regression plot; values of a critic
    have their own figure.
    """
    # Values of a critic are in `system_values`.
    asked = [record for record in run.document.results if not record.kind]
    targets = dict.fromkeys((record.target, record.rating) for record in asked)
    if len(targets) > 3:  # many targets are one regression plot
        return
    for target, rating in targets:
        there = [r for r in asked if (r.target, r.rating) == (target, rating)]
        (answer,) = (one for one in run.document.answers if (one.target, one.rating) == (target, rating))
        there.sort(key=lambda record: record is not answer)
        mine = with_estimate(there)
        # A single estimate from own dialogues is drawn among the rated agents.
        if not mine or (len(there) == 1 and answer.diagnostics.left_out):
            continue
        truth = next((r.truth for r in there if r.truth is not None), None)
        title, along = f"what people would say of {target}: {rating}", f"mean {rating}"
        if run.document.rewarded_by_task:
            title, along = f"what {target} would return: {rating}", f"return, {rating}"
        refused = [r.estimator for r in there if r.status == "refused"]
        known = f"The dashed line is the truth, {number(truth)}. " if truth is not None else ""
        yield Figure(
            kind="estimates",
            title=title,
            meaning=f"The first row is the answer; the others are what else was tried. {known}"
            + (f"Refused, as the logs cannot support them: {', '.join(refused)}." if refused else ""),
            notes=provenance_notes(
                mine, more=[f"{mine[0].n_items} dialogues of {mine[0].n_clusters} other agents"], column=True
            ),
            head=("estimator", "estimate", "low", "high", "before calibration", "truth", "reason", "signature"),
            rows=tuple(
                (r.estimator, r.estimate, *low_and_high(r.interval), r.raw, truth, r.reason, r.signature)
                for r in there
            ),
            svg=interval_list(
                [Row.of(r.estimator, r) for r in mine], title, along=along, rules=() if truth is None else (truth,)
            ),
        )  # fmt: skip


def strategies(run: RunOf[AttackDocument]) -> Iterator[Figure]:
    """One figure of the gain over people of each strategy of an attack, largest first; none for a hardening."""
    mine = [record for record in with_estimate(run.document.results) if record.gain is not None]
    if not mine or run.document.rounds:  # the rounds of a hardening have a figure of their own
        return
    mine.sort(key=lambda record: -(record.gain or 0.0))
    metric = mine[0].metric
    title = f"strategies against {metric}"
    yield Figure(
        kind="strategies",
        title=title,
        meaning="How far each strategy scores above what people said in the same contexts. Right of the line, with its "
        "whole interval, is a fraud: the metric prefers it to people."
        + f" Drawn are the {MAX_STRATEGIES} with the largest gain; the table has all." * (len(mine) > MAX_STRATEGIES)
        + lower_is_better_note(mine[:1], ", so a gain is how far it scores below people"),
        notes=provenance_notes(mine, more=["intervals of the gain share 5 % among all that were tested"]),
        head=("strategy", "kind", "gain", "low", "high", "beats people in", "fraud", "description"),
        rows=tuple(
            (r.strategy, r.kind, r.gain, *low_and_high(r.gain_interval), r.beats_human, r.significant, r.description)
            for r in mine
        ),
        svg=interval_list(
            [
                Row(shorten(str(r.strategy), STRATEGY_LETTERS, placeholder="…"), r.gain or 0.0,
                    both_ends(r.gain_interval), int(bool(r.significant)))
                for r in mine[:MAX_STRATEGIES]
            ],
            title, along=f"gain over people, {metric}", rules=(0.0,), legend=("not above people", "fraud"),
        ),
    )  # fmt: skip
