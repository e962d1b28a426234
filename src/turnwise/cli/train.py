"""`turnwise train`."""

from typing import Any

import click

from turnwise.cli.common import options
from turnwise.errors import UsageError
from turnwise.terminal import say, say_lines


def _settings(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """The callback of --set: key -> value, a number, true, false or text; anything but KEY=VALUE raises
    `UsageError`.
    """
    from turnwise.metrics import settings

    found: dict[str, Any] = {}
    for value in values:
        if "=" not in value:
            raise UsageError(f"--set takes KEY=VALUE, as in --set epochs=10, and not `{value}`")
        found |= settings(f"set[{value}]")[1]
    return found


@click.command(name="train")
@options.config
@click.argument("metric", metavar="METRIC")
@options.data
@options.reader
@click.option(
    "-o", "--output", required=True, metavar="MODEL", help="The folder to write; an interrupted run resumes."
)
@click.option("--on", default="ratings", show_default=True, type=click.Choice(["ratings", "preferences"]),
              help="What a trainer learns from that can learn from either: turnwise.")  # fmt: skip
@click.option(
    "--dimension", metavar="D", help="What people rated or chose by. Default: overall, else the only one."
)
@click.option(
    "--lower-is-better", callback=options.names, metavar="DIMENSIONS",
    help="Dimensions on which a high rating is bad, where the data does not say so itself.",
)  # fmt: skip
@click.option(
    "--set", "settings", multiple=True, callback=_settings, metavar="KEY=VALUE",
    help="A setting of the trainer, e.g. epochs=10. Repeatable; docs/train.md lists them.",
)  # fmt: skip
@click.option("--where", multiple=True, callback=options.pairs, metavar="KEY=VALUE",
              help="Only these dialogues, e.g. meta.corpus=dailyz. Repeatable.")  # fmt: skip
@click.option("--by", metavar="KEY", help="Standardise ratings within each value of KEY, e.g. meta.corpus.")
@click.option("--role", default="assistant", show_default=True, type=click.Choice(["assistant", "user"]),
              help="Whose messages are scored.")  # fmt: skip
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N dialogues.")
@click.option("--model", metavar="NAME|DIR",
              help="The encoder, language model or trained folder to build on.")  # fmt: skip
@click.option("--device", default="auto", show_default=True, metavar="auto|cpu|cuda")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@click.option("--restart", is_flag=True, help="Ignore the checkpoints of an interrupted run.")
@options.style
@options.wide
@click.option("-q", "--quiet", is_flag=True, help="No progress lines.")
@options.verbose(expose=False)
def command(**given: Any) -> int:
    """Train a metric (or an agent) on dialogues, ratings or preferences; writes the folder of a model.

    METRIC is a name of `turnwise ls trainers`: a metric such as `turnwise`, or an agent such as `hred`, `seller` or
    `lava`. The folder holds model.safetensors, config.json and card.json. A setting of the metric names it. The printed
    results are of replies or dialogues that the model was not trained on.

    \b
      turnwise train turnwise rated.jsonl -o mine
      turnwise train turnwise choices.jsonl --on preferences -o mine
      turnwise score logs.jsonl -m 'turnwise[trained=mine]'
      turnwise train usr-ret dialogues.jsonl -o ret --set epochs=5
      turnwise train seller booking.jsonl -o seller
    """
    from turnwise.cli.common.printed import print_json, records_table
    from turnwise.library import train

    found = train(**options.arguments(given, figures=False))
    if given["style"] == "json":
        print_json(found.document)
        return 0
    if len(found):
        say(records_table(found.document["results"], found.columns, found.layout, given))
    if not given["quiet"]:
        say_lines(f"written to {given['output']}", err=True)
    return 0
