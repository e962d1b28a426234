"""`turnwise score`."""

from typing import Any

import click

from turnwise.cli.common import options

# Further columns of a distance between distributions (docs/distances.md).
DETAILS = ("floor", "thinned", "at_infinity", "n_real")


@click.command(name="score")
@options.config
@options.data
@options.reader
@click.option("--agent", metavar="NAME", help="The agent's name where the records name none.")
@options.metrics
@options.as_agents
@options.selecting
@options.running
@options.trying
@options.gating
@options.printing
def command(**given: Any) -> int:
    """Score replies, dialogues and agents with metrics.

    Each score has a 95 % interval that resamples whole dialogues, and a count of what could not be scored and
    why. With -o, results.json, items.jsonl and dialogues.jsonl are written; an interrupted run resumes there.

    \b
      turnwise score logs.jsonl -m bleu-4,distinct-2
      turnwise score logs.jsonl.gz -m length --by meta.corpus -o out
      turnwise score logs.jsonl -m bleu-4 --gate 'bleu-4 >= 2'
    """
    from turnwise.cli.common.printed import conclude, print_questions
    from turnwise.library import score

    with options.gated(given):
        found = score(**options.arguments(given))
        if print_questions(found.document, given):
            return 0
        columns = (*found.columns, *(DETAILS if given["verbose"] else ()))
        return conclude(found, given, columns=columns)
