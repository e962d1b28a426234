"""Score replies, dialogues and agents with metrics."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from turnwise.commands.function import function
from turnwise.commands.opening import opened
from turnwise.commands.screen import Gated, Gating
from turnwise.errors import counted
from turnwise.library.notes import (
    SHOWN,
    common_notes,
    covers_few,
    in_group,
    learned_from_ratings,
    without_variation,
)
from turnwise.library.results import ResultOf, result
from turnwise.records import ScoreRecord, plain
from turnwise.report.documents import ScoreDocument
from turnwise.report.fitting import Layout
from turnwise.settings.groups import AsAgents, Drawing, Evaluating, Resumption, Selecting, Trying, Unnamed

DISTANCES = ("floor", "thinned", "at_infinity", "n_real")  # further columns of a distance (docs/distances.md)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Scores(ResultOf[ScoreRecord]):
    """A score for each metric, agent and group, with its interval."""

    columns: ClassVar[tuple[str, ...]] = (
        "metric", "agent", "group", "estimate", "interval", "n_items", "n_clusters",
    )  # fmt: skip
    layout: ClassVar[Layout] = Layout(
        names=("metric", "agent", "group"), results=("estimate", "interval"), others=("n_items", "n_clusters")
    )

    document: ScoreDocument

    @property
    def tools(self) -> list[dict[str, Any]]:
        """What the calls of each tool of each agent were like, if a metric of tool calls was asked for; else empty."""
        return [plain(record) for record in self.document.tools]

    def notes(self) -> list[str]:
        """As in `Result`, and on what was left out or scored together, and estimates of few items."""
        document = self.document
        found = common_notes(document, self.findings, limits=limits, together=together)
        return [*found, *dict.fromkeys(filter(None, map(coverage, document.results)))]


@dataclass(frozen=True, kw_only=True)
class Score(Gated, Unnamed, Trying, Drawing, AsAgents, Selecting, Evaluating):
    """Score replies, dialogues and agents with metrics.

    Each score has a 95 % interval that resamples whole dialogues, and a count of what could not be scored and
    why. With -o, results.json, items.jsonl and dialogues.jsonl are written; an interrupted run resumes there.

    \b
      turnwise score logs.jsonl -m bleu-4,distinct-2
      turnwise score logs.jsonl.gz -m length --by meta.corpus -o out
      turnwise score logs.jsonl -m bleu-4 --gate 'bleu-4 >= 2'
    """

    command: ClassVar[str] = "score"
    resumption: ClassVar[Resumption] = "rows"

    def run(self) -> Scores:
        """Score the data."""
        from turnwise.run.scoring.score import score as run

        with opened(self, agent=self.agent) as ready:
            return result(Scores, run(ready), ready.files, figures=self.figures)

    def show(self, scores: Scores, screen: Gating) -> int:
        """Print the scores, or what judges would be asked."""
        if screen.style == "table" and (self.dry_run or self.show_prompt is not None):
            screen.print_questions(scores.document)
            return 0
        columns = (*scores.columns, *(DISTANCES if screen.verbose else ()))
        return screen.conclude(scores, columns=columns, after=screen.tools_table(scores.document.tools))


def limits(record: ScoreRecord) -> Iterator[str]:
    """Yield the lines on what limits one score."""
    if record.in_training:
        yield learned_from_ratings(record, record.in_training)
    if record.cut:
        yield f"note: {record.metric}: its model read only the beginning of {counted(record.cut, 'text')}"
    if unresolved := record.unresolved:
        named = ", ".join(f"{name} ({count})" for name, count in islice(unresolved.items(), SHOWN))
        more = f", and {len(unresolved) - SHOWN} more" if len(unresolved) > SHOWN else ""
        yield f"note: placeholders that the ontology does not know: {named}{more}"


def coverage(record: ScoreRecord) -> str | None:
    """A warning if a score is of less than half of the items that it should be of; None if not."""
    left = sum(record.unscored.values())
    if not 0 < record.n_items < left:
        return None
    agent = "".join(f" of {name}" for name in record.named("agent"))
    covered = f"{record.n_items} of {record.n_items + left} items"
    return covers_few(f"{record.metric}{in_group(record)}{agent}", covered)


def together(records: Sequence[ScoreRecord]) -> list[str]:
    """Lines on values that do not vary, and on judges."""
    return [*without_variation(records), *_judges(records)]


def _judges(records: Sequence[ScoreRecord]) -> list[str]:
    """For each judge with several samples how far these differ, and for each panel how far its judges agree."""
    found: dict[str, list[str]] = {}
    for record in records:
        whose = f" ({record.agent})" if record.agent else ""
        if record.sample_sd is not None:
            what = f"{record.metric}: standard deviation of the samples of one item"
            found.setdefault(what, []).append(f"{record.sample_sd:.2f}{whose}")
        if record.panel_agreement is not None:
            what = f"{record.metric}: agreement of the judges (alpha)"
            found.setdefault(what, []).append(f"{record.panel_agreement:.2f}{whose}")
    return [f"note: {what}: {', '.join(values)}" for what, values in found.items()]


COMMAND = Score
score = function(Score)
__all__ = ["Scores", "score"]
