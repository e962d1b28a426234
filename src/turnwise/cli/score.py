"""`turnwise score`."""

from typing import Any

import click

from turnwise.cli.common import options
from turnwise.terminal import say, say_lines

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
@click.option(
    "--calibrate",
    metavar="random|weights:KEY|unknown",
    help="Also estimate mean ratings from the scores and the rated items, which were drawn so (docs/calibrate.md).",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Only say what judges would be asked and what it would cost; send nothing.",
)
@click.option(
    "--show-prompt",
    metavar="ITEM",
    is_flag=False,
    flag_value="",
    help="Only show what judges are sent for ITEM, an id of items.jsonl; without ITEM for the first.",
)
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
    from turnwise.cli.common.printed import conclude
    from turnwise.library import score

    with options.gated(given):
        found = score(**options.arguments(given))
        if given["show_prompt"] is not None and given["style"] != "json":
            return _print_prompts(found.document["prompts"])
        if given["dry_run"] and given["style"] != "json":
            say_lines(*(f"{one['metric']}: {one['words']}" for one in found.document["forecast"]))
            return 0
        after = _calibrated(found.document["calibrated"], given) if "calibrated" in found.document else ""
        columns = (*found.columns, *(DETAILS if given["verbose"] else ()))
        return conclude(found, given, columns=columns, after=after)


def _print_prompts(prompts: list[dict[str, Any]]) -> int:
    """Print the messages of each request; of an attached image or sound only that it is there."""
    for one in prompts:
        say(f"{one['metric']}, {one['item']}, prompt {one['prompt']}")
        for message in one["messages"]:
            content = message["content"]
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            say(f"\n--- {message['role']} ---")
            for part in parts:
                say(part["text"] if part["type"] == "text" else f"[attached: {part['type']}]")
    return 0


def _calibrated(records: list[dict[str, Any]], given: dict[str, Any]) -> str:
    """The table of the mean ratings that were calibrated."""
    from turnwise.cli.common.printed import records_table
    from turnwise.library.results import Calibration

    return "\n" + records_table(records, Calibration.columns, Calibration.layout, given)
