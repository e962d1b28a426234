"""The gain of the best fraud over people in each round of hardening."""

from collections.abc import Iterator

import msgspec

from turnwise.report import plot
from turnwise.report.documents import AttackDocument
from turnwise.report.figure import Figure
from turnwise.report.runs import RunOf


class _Options(msgspec.Struct):
    """The options of the run that the figure names."""

    count: int | str = "?"


def hardening(run: RunOf[AttackDocument]) -> Iterator[Figure]:
    """One figure of the gain in each round of a hardening; none for a plain attack."""
    rounds, contexts = run.document.rounds, msgspec.convert(run.options, _Options).count
    if not rounds:
        return
    files = list(dict.fromkeys(one.contexts for done in rounds for one in done.attacked))
    gains = {
        name: [next(one.gain for one in done.attacked if one.contexts == name) for done in rounds]
        for name in files
    }
    title = f"hardening {rounds[0].metric}: the best fraud of each round"
    reached = [gain for values in gains.values() for gain in values]
    panel = plot.Panel.with_axes(
        (0, max(1, len(rounds) - 1)), plot.padded_range([*reached, 0.0]), integer_ticks=True
    )
    panel.axes("round", "gain of the best fraud over people")
    panel.horizontal_rule(0.0)
    for series, values in enumerate(gains.values()):
        panel.line(range(len(values)), values, series)
        for place, gain in enumerate(values):
            panel.dot(place, gain, series)
    yield Figure(
        kind="hardening",
        title=title,
        meaning="After each round the metric is trained on the frauds that were found, and attacked again. Below "
        "the dashed line the best fraud scores less than people.",
        notes=(
            f"n = {contexts} contexts a file at most, half of them held out from the search",
            "no interval: the best of many strategies, whose own intervals an attack of the last model gives",
            f"signature: {run.document.hardened}",
        ),
        head=("round", "contexts", "metric", "people", "best fraud", "gain", "shown", "what it does"),
        rows=tuple(
            (done.round, one.contexts, done.metric, one.people, one.score, one.gain, one.gameable, one.description)
            for done in rounds
            for one in done.attacked
        ),
        svg=panel.svg(title, legend=files),
    )  # fmt: skip
