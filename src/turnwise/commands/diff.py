"""What changed between two runs of an agent? Paired test, items that changed most."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from turnwise.commands.function import function
from turnwise.commands.screen import Gated, Gating
from turnwise.errors import UsageError
from turnwise.library.notes import common_notes, thinned, verdict_notes
from turnwise.library.results import ADJUSTED, ResultOf, result
from turnwise.records import ChangeRecord, ItemChange, plain
from turnwise.report.documents import DiffDocument
from turnwise.report.fitting import Layout
from turnwise.report.text import number
from turnwise.settings.groups import Drawing, Judging, Measuring, Resumption, Writing
from turnwise.settings.option import Names, Natural, Option, PathLike
from turnwise.terminal import columns, display_width, visible

SHOWN = 2  # items that rose most, and that fell most, by each metric; with -v all in results.json


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Changes(ResultOf[ChangeRecord]):
    """The change of each metric from an old run to a new run of the same agent: new minus old."""

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "agent", "group", "old", "new", "estimate", "interval", "p_adjusted", "interval_alone",
        "p_alone", "effect_size", "n_items", "n_clusters", "only_old", "only_new", "verdict",
    )  # fmt: skip
    layout: ClassVar[Layout] = Layout(
        names=("metric", "agent", "group"),
        results=("estimate", "interval", "p_adjusted", "verdict"),
        others=(
            ("old", "new"),
            "n_items",
            ("only_old", "only_new"),
            "effect_size",
            "n_clusters",
            "interval_alone",
            "p_alone",
        ),
        keys=ADJUSTED,
    )

    document: DiffDocument

    @property
    def flips(self) -> list[dict[str, Any]]:
        """The items that changed most, one dict an item, for each metric, agent and group: rises first, then falls."""
        return [
            {"metric": record.metric, "agent": record.agent, "group": record.group, **plain(flip)}
            for record in self.document.results
            for flip in record.flips
        ]

    def notes(self) -> list[str]:
        """As in `Result`, and on what only one of the runs has."""
        document = self.document
        found = common_notes(document, self.findings, limits=thinned)
        return [*found, *verdict_notes(document.results), *change_notes(document)]


@dataclass(frozen=True, kw_only=True)
class Diff(Gated, Drawing, Judging, Writing, Measuring):
    """What changed between two runs of an agent? Paired test, items that changed most.

    OLD and NEW are folders that `turnwise score -o` or `turnwise compare -o` wrote, before and after a change of
    the agent. The estimate is NEW minus OLD, and a --gate applies to it. A metric that was not measured alike in
    the two runs is refused with the reason.

    \b
      turnwise diff out/main out/branch
      turnwise diff out/main out/branch --gate 'rouge-l >= -0.02' --junit g.xml
    """

    command: ClassVar[str] = "diff"
    resumption: ClassVar[Resumption] = "never"

    old: Annotated[
        PathLike, Option("A folder that `score` or `compare` wrote.", flags="OLD", record=None)
    ] = field(kw_only=False)  # fmt: skip
    new: Annotated[
        PathLike,
        Option(
            "Such a folder of a later version of the agent, on the same dialogues.", flags="NEW", record=None
        ),
    ] = field(kw_only=False)
    metrics: Annotated[
        Names,
        Option(
            "Metrics, separated by commas. Default: every metric that both runs have.",
            flags="-m --metric", metavar="NAMES", repeatable=True, record=None,
        ),
    ] = ()  # fmt: skip
    agents: Annotated[
        Names, Option("Only these agents. Default: those that both runs have.", metavar="NAMES")
    ] = ()
    force: Annotated[bool, Option("Compare metrics whose signatures differ.", record=None)] = False
    draws: Annotated[
        int, Meta(ge=100), Option("No effect any more: nothing is drawn.", hidden=True, record=None)
    ] = 1000  # fmt: skip
    seed: Annotated[Natural, Option("No effect any more: nothing is drawn.", hidden=True, record=None)] = 0
    output: Annotated[
        PathLike | None,
        Option("Write results.json here.", flags="-o --output", metavar="DIR", record=None),
    ] = None

    @property
    def paths(self) -> tuple[str, ...]:
        """The old and the new folder."""
        return str(self.old), str(self.new)

    def run(self) -> Changes:
        """Compare the two runs."""
        from turnwise.run.scoring.diff import diff as run

        for folder in self.paths:
            if not Path(folder).is_dir():
                raise UsageError(
                    f"{folder} is no folder; `turnwise score DATA -m NAMES -o {folder}` would write one"
                )
        ready = self.changed(files=self.files)
        return result(Changes, run(ready), ready.files, figures=self.figures)

    def show(self, changes: Changes, screen: Gating) -> int:
        """Print the changes, and the items that changed most."""
        return screen.conclude(changes, after=_flips(changes.document.results, verbose=screen.verbose))


def _flips(records: Sequence[ChangeRecord], *, verbose: bool) -> str:
    """The items that changed most by each metric, with their texts; empty if there are none."""
    several = len({record.agent for record in records} - {None}) > 1
    parts = []
    for record in records:
        if flips := record.flips:
            about = [record.metric, record.agent if several else None, record.group]
            counts = f"{record.rose} rose and {record.fell} fell of {record.n_items}"
            name = visible(", ".join(filter(None, about)))
            parts.append(f"\nitems that changed most by {name} ({counts}):")
            parts += [line for flip in _chosen(flips, verbose=verbose) for line in _lines(flip)]
    return "\n".join(parts)


def _chosen(flips: Sequence[ItemChange], *, verbose: bool) -> list[ItemChange]:
    """The first rises and the first falls, or if `verbose` all of them."""
    rises = [flip for flip in flips if (flip.change or 0) > 0]
    falls = [flip for flip in flips if (flip.change or 0) < 0]
    return [*rises, *falls] if verbose else [*rises[:SHOWN], *falls[:SHOWN]]


def _lines(flip: ItemChange) -> Iterator[str]:
    """The lines on one item: its id with both scores, and what is known of the texts, each in one line."""
    names = dict.fromkeys((flip.id_old, flip.id_new))
    sign = "+" if (flip.change or 0) > 0 else ""
    scores = f"{number(flip.old)} -> {number(flip.new)} ({sign}{number(flip.change)})"
    yield visible(f"{' and '.join(names)}: {scores}")
    for label, said in (("context", flip.context), ("old", flip.reply_old), ("new", flip.reply_new)):
        if said is not None:
            yield _cut(f"  {label + ':':<9}{visible(' '.join(said.split()))}", columns())


def _cut(text: str, width: int) -> str:
    """The text in at most `width` columns, with an ellipsis if it is longer."""
    if display_width(text) <= width:
        return text
    while display_width(text) > width - 1:
        text = text[: -max(1, (display_width(text) - width) // 2)]
    return f"{text}…"


def _left_out(records: Sequence[ChangeRecord]) -> list[str]:
    """Lines on the scored items of each agent that are in no pair; with their metrics where others differ."""
    metrics: dict[str | None, dict[tuple[int, int], list[str]]] = {}
    for record in records:
        if record.estimate is not None:
            counts = record.left_out_old or 0, record.left_out_new or 0
            metrics.setdefault(record.agent, {}).setdefault(counts, []).append(record.metric)
    found = []
    for agent, by_count in metrics.items():
        for (old, new), names in by_count.items():
            of = "" if len(by_count) == 1 else f"{', '.join(dict.fromkeys(names))}: "
            if old or new:
                found.append(
                    f"note: {of}items of {agent} left out, as the other run does not have them or could not score "
                    f"them: {old} of the old run and {new} of the new one"
                )
    return found


def change_notes(document: DiffDocument) -> list[str]:
    """Lines on what was left out of the comparison of two runs, on pairs by context, and on texts that could not be
    read.
    """
    found = _left_out(document.results)
    for record in document.results:
        if record.sampling == "unpaired":
            found.append(
                f"note: fewer than half of the items of {record.agent} are in both runs, so the runs are compared as "
                "independent samples of all items"
            )
        elif record.paired_by == "context":
            found.append("note: items are paired by their contexts, which match where the ids do not")
    found += [
        f"note: only the {side} run has {', '.join(names)}"
        for side, names in document.metrics_in_one_run.items()
        if names
    ]
    found += [
        f"note: no texts of the {side} run: {reason}" for side, reason in document.texts_missing.items()
    ]
    return list(dict.fromkeys(found))


COMMAND = Diff
diff = function(Diff)
__all__ = ["Changes", "diff"]
