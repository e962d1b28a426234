"""What changed between two runs of an agent? Paired test, items that changed most."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar

from msgspec import Meta

from turnwise.commands.function import function
from turnwise.commands.screen import Gated, Gating
from turnwise.errors import UsageError
from turnwise.library.results import Changes, result
from turnwise.records import ChangeRecord, ItemChange
from turnwise.report.text import number
from turnwise.settings.groups import Drawing, Judging, Measuring, Resumption, Writing
from turnwise.settings.option import Names, Natural, Option, PathLike
from turnwise.terminal import columns, display_width, visible

SHOWN = 2  # items that rose most, and that fell most, by each metric; with -v all in results.json


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


COMMAND = Diff
diff = function(Diff)
