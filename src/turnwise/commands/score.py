"""Score replies, dialogues and agents with metrics."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from turnwise.commands.function import function
from turnwise.commands.opening import opened
from turnwise.commands.screen import Gated, Gating
from turnwise.library.results import Scores, result
from turnwise.settings.groups import AsAgents, Drawing, Evaluating, Resumption, Selecting, Trying
from turnwise.settings.option import Option

DISTANCES = ("floor", "thinned", "at_infinity", "n_real")  # further columns of a distance (docs/distances.md)


@dataclass(frozen=True, kw_only=True)
class Score(Gated, Trying, Drawing, AsAgents, Selecting, Evaluating):
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

    agent: Annotated[
        str | None, Option("The agent's name where the records name none.", metavar="NAME", record=None)
    ] = None

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


COMMAND = Score
score = function(Score)
__all__ = ["score"]
