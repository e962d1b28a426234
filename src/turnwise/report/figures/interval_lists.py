"""Lists of names with a dot and an interval each: agents by a metric, strategies by gain, estimators."""

from collections.abc import Callable, Iterator, Sequence

from turnwise.report import plot
from turnwise.report.figure import (
    Figure,
    Record,
    interval,
    lower_is_better_note,
    metric_label,
    provenance_notes,
    with_estimate,
    with_interval,
)
from turnwise.report.runs import Run
from turnwise.report.text import number

MAX_ROWS = 30  # maximum rows of a picture; the table has all


def interval_list(
    records: Sequence[Record],
    title: str,
    *,
    names: Sequence[str],
    along: str,
    value: Callable[[Record], float] = lambda record: float(record["estimate"]),
    bounds: Callable[[Record], tuple[float, float] | None] = interval,
    rules: Sequence[float] = (),
    series: Callable[[Record], int] = lambda record: 0,
    legend: Sequence[str] = (),
) -> str:
    """The SVG picture of the first 30 records, one row for each, with a dot at `value` and a line between its `bounds`.

    `names` are the labels of all records, `along` is the label of the x axis, `rules` are x of dashed lines, and
    `series` gives the number of a record's colour, which `legend` names.
    """
    shown = list(zip(records, names, strict=True))[:MAX_ROWS]
    reached = [
        edge for record, _ in shown for edge in (value(record), *(bounds(record) or ())) if edge is not None
    ]
    panel = plot.Panel.with_names([name for _, name in shown], plot.padded_range([*reached, *rules]))
    panel.axes(along)
    for rule in rules:
        panel.vertical_rule(rule)
    for place, (record, name) in enumerate(shown):
        mine, ends = series(record), bounds(record)
        if ends:
            panel.path([(ends[0], place), (ends[1], place)], style=f"whisker s{mine}")
        around = f" [{number(ends[0])}, {number(ends[1])}]" if ends else ""
        panel.dot(value(record), place, mine, tip=f"{name}: {number(value(record))}{around}")
    return panel.svg(title, legend=legend)


def scores(run: Run) -> Iterator[Figure]:
    """The agents by each metric, best first, one figure for each metric and group; none for results without agents."""
    metrics = dict.fromkeys((record["metric"], record.get("group")) for record in with_estimate(run.results))
    for metric, group in metrics:
        mine = [r for r in with_estimate(run.results) if (r["metric"], r.get("group")) == (metric, group)]
        if not any(record.get("agent") for record in mine):
            continue
        falling = mine[0].get("better") != "lower"
        mine.sort(key=lambda record: -record["estimate"] if falling else record["estimate"])
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
                (r["agent"], r["estimate"], *(interval(r) or (None, None)), r["n_items"], r["n_clusters"],
                 r["signature"])
                for r in mine
            ),
            svg=interval_list(mine, title, names=[str(r["agent"]) for r in mine], along=metric_label(mine[0])),
        )  # fmt: skip


def differences(run: Run) -> Iterator[Figure]:
    """A single figure with a row of A - B for people's ratings and for each metric and group; none without estimates.

    Metrics have different units, so each row is drawn to its own scale, with its number beside it.
    """
    people = with_estimate(run.document.get("people", ()))
    mine = [record for record in (*people, *with_estimate(run.results)) if "win_rate" not in record]
    if not mine:
        return
    first, second = mine[0]["agent_a"], mine[0]["agent_b"]
    title = f"{first} (A) minus {second} (B)"
    yield Figure(
        kind="differences",
        title=title,
        meaning="Right of the line A has the higher number. Numbers are in the units of each metric; lines are to "
        "the scale of their row. An interval that crosses the line shows no difference; it does not show equality."
        + lower_is_better_note(mine, ": there A leads on the left"),
        notes=provenance_notes(mine, column=True),
        head=("metric", "group", "A", "B", "A - B", "p", "p adjusted", "effect size", "verdict", "signature"),
        rows=tuple(
            (r["metric"], r.get("group"), r.get("a"), r.get("b"), with_interval(r), r["p"], r.get("p_adjusted"),
             r.get("effect_size"), r.get("verdict"), r["signature"])
            for r in mine
        ),
        svg=_difference_rows(mine, title),
    )  # fmt: skip


def _difference_rows(records: Sequence[Record], title: str) -> str:
    """The SVG picture of the first 30 differences: a line to the scale of its row, and the number in its own unit."""
    shown = records[:MAX_ROWS]
    names = [f"{r['metric']}" + (f" {r['group']}" if r.get("group") else "") for r in shown]
    panel = plot.Panel.with_names(names, (-1.1, 4.2), below=24.0)
    panel.vertical_rule(0.0)
    for place, record in enumerate(shown):
        ends = interval(record)
        size = max(abs(edge) for edge in (record["estimate"], *(ends or ()))) or 1.0
        if ends:
            panel.path([(ends[0] / size, place), (ends[1] / size, place)], style="whisker s0")
        panel.dot(record["estimate"] / size, place, tip=f"{names[place]}: {with_interval(record)}")
        panel.text(plot.WIDTH - plot.RIGHT, panel.y(place) + 4, with_interval(record), anchor="end")
    bottom = panel.y(len(shown) - 0.5) + 16
    panel.text(panel.x(-0.08), bottom, "B higher", anchor="end", style="label")
    panel.text(panel.x(0.08), bottom, "A higher", style="label")
    return panel.svg(title)


def estimates(run: Run) -> Iterator[Figure]:
    """The estimates by all estimators, with the truth if known, for each target and rating.

    None if there are more than three pairs of target and rating, which have a regression plot; values of a critic
    have their own figure.
    """
    asked = [
        record for record in run.results if not record.get("kind")
    ]  # values of a critic are in `system_values`
    targets = dict.fromkeys((record["target"], record["rating"]) for record in asked)
    if len(targets) > 3:  # many targets are one regression plot
        return
    for target, rating in targets:
        there = [r for r in asked if (r["target"], r["rating"]) == (target, rating)]
        mine = with_estimate(there)
        if not mine:
            continue
        truth = next((r["truth"] for r in there if r.get("truth") is not None), None)
        title, along = f"what people would say of {target}: {rating}", f"mean {rating}"
        if run.rewarded_by_task:
            title, along = f"what {target} would return: {rating}", f"return, {rating}"
        refused = [r["estimator"] for r in there if r["status"] == "refused"]
        known = f"The dashed line is the truth, {number(truth)}. " if truth is not None else ""
        yield Figure(
            kind="estimates",
            title=title,
            meaning=f"The first row is the answer; the others are what else was tried. {known}"
            + (f"Refused, as the logs cannot support them: {', '.join(refused)}." if refused else ""),
            notes=provenance_notes(
                mine, more=[f"{mine[0]['n_items']} dialogues of {mine[0]['n_clusters']} other agents"], column=True
            ),
            head=("estimator", "estimate", "low", "high", "before calibration", "truth", "reason", "signature"),
            rows=tuple(
                (r["estimator"], r["estimate"], *(interval(r) or (None, None)), r.get("raw"), truth, r["reason"],
                 r["signature"])
                for r in there
            ),
            svg=interval_list(
                mine, title, names=[str(r["estimator"]) for r in mine], along=along,
                rules=() if truth is None else (truth,),
            ),
        )  # fmt: skip


def strategies(run: Run) -> Iterator[Figure]:
    """One figure of the gain over people of each strategy of an attack, largest first; none for a hardening."""
    mine = [record for record in with_estimate(run.results) if record.get("gain") is not None]
    if not mine or run.document.get("rounds"):  # the rounds of a hardening have a figure of their own
        return
    mine.sort(key=lambda record: -record["gain"])
    metric = mine[0]["metric"]
    title = f"strategies against {metric}"
    yield Figure(
        kind="strategies",
        title=title,
        meaning="How far each strategy scores above what people said in the same contexts. Right of the line, with its "
        "whole interval, is a fraud: the metric prefers it to people."
        + lower_is_better_note(mine[:1], ", so a gain is how far it scores below people"),
        notes=provenance_notes(mine, more=["intervals of the gain share 5 % among all that were tested"]),
        head=("strategy", "kind", "gain", "low", "high", "beats people in", "fraud", "description"),
        rows=tuple(
            (r["strategy"], r.get("kind"), r["gain"], *(interval(r, "gain_interval") or (None, None)),
             r.get("beats_human"), r.get("significant"), r.get("description"))
            for r in mine
        ),
        svg=interval_list(
            mine, title, names=[str(r["strategy"]) for r in mine], along=f"gain over people, {metric}",
            value=lambda record: float(record["gain"]), bounds=lambda record: interval(record, "gain_interval"),
            rules=(0.0,), series=lambda record: int(bool(record.get("significant"))),
            legend=("not above people", "fraud"),
        ),
    )  # fmt: skip
