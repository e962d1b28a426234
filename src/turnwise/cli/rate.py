"""`turnwise rate`."""

from typing import Any

import click

from turnwise.cli.common import options
from turnwise.errors import UsageError
from turnwise.terminal import say


@click.command(name="rate")
@options.config
@options.data
@options.reader
@click.option("--study", "study", metavar="FILE.toml", help="Questions, wording, scales, quality control.")
@click.option(
    "--mode", type=click.Choice(["reply", "dialogue", "pairwise", "write", "chat"]),
    help="What raters do. Default: the study's, else reply.",
)  # fmt: skip
@click.option(
    "--store", metavar="FILE|URL",
    help="Where ratings are stored: a file, or postgresql://... Default: DATA's name with .ratings.db.",
)  # fmt: skip
@click.option(
    "--raters", metavar="N|NAMES",
    help="Raters to invite: a number, or names separated by commas. More can be invited later. "
    "Default: 3; none if the study has a [crowd].",
)  # fmt: skip
@click.option(
    "--per-task", type=click.IntRange(min=1), metavar="N",
    help="Raters for each task. Default: the study's, else 3.",
)  # fmt: skip
@click.option(
    "--whole", is_flag=True, default=None,
    help="With --mode pairwise, compare whole dialogues; --pair is the key that pairs them.",
)  # fmt: skip
@click.option(
    "--agent", "agents", multiple=True, metavar="URL|module:function|DIR|MODEL",
    help="With --mode chat, the agent to chat with; settings in brackets; NAME=... gives it a name. Repeatable.",
)  # fmt: skip
@click.option(
    "--choose", type=click.IntRange(min=1), metavar="N",
    help="Draw N dialogues and rate only these: those whose ratings narrow what calibrate estimates.",
)  # fmt: skip
@click.option(
    "-m",
    "--metric",
    metavar="NAME",
    help="With --choose, the metric whose expected error decides what is drawn.",
)
@click.option(
    "--to", metavar="rating:DIMENSION",
    help="With --choose, what people rated. Default: rating:overall, else the only one.",
)  # fmt: skip
@click.option(
    "--labels", metavar="random|weights:KEY",
    help="With --choose, how the dialogues that are rated already were drawn.",
)  # fmt: skip
@click.option("--export", metavar="OUT", help="Write the ratings so far as native JSONL, and end.")
@click.option(
    "--everything", is_flag=True, help="With --export, also attention checks and ratings that were set apart."
)
@click.option(
    "--anonymous", is_flag=True, help="With --export, pseudonyms instead of raters' names, and no times."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535))
@click.option(
    "--url", metavar="URL", help="The address of this server for raters, where it is behind a proxy."
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    help="Seed of the order, the assignment and the draw. Default: the study's.",
)
@options.selecting_for_raters
@click.option("-q", "--quiet", is_flag=True, help="Only the links.")
def command(**given: Any) -> int:
    """Let people rate dialogues, or chat with agents and rate them.

    Prints a link for each rater and one for the administrator, and serves until it is interrupted; the same
    command goes on where it stopped. Nothing leaves this machine.

    \b
      turnwise rate logs.jsonl --raters anna,ben,carl
      turnwise rate logs.jsonl --mode pairwise --as @alternatives
      turnwise rate goals.jsonl --mode chat --agent bots:first --agent bots:second
      turnwise rate logs.jsonl --choose 50 -m length --labels random
      turnwise rate logs.jsonl --export rated.jsonl
    """
    from turnwise.library import RatingLinks, export_ratings, rate

    def show(links: RatingLinks) -> None:
        say(str(links))
        if not given["quiet"]:
            say(f"ratings are stored in {links.store}; Ctrl-C ends, and the same command continues", err=True)
            if links.note:
                say(f"note: {links.note}", err=True)

    for name in ("everything", "anonymous"):
        if given[name] and not given["export"]:
            raise UsageError(f"--{name} is an option of --export")
    drawing = ("choose", "metric", "to", "labels")  # not for the export: the store keeps what was drawn
    own = ("export", "everything", "anonymous", "quiet", "host", "port", "url", "raters", *drawing)
    shared = {name: value for name, value in given.items() if name not in own}
    if given["export"]:
        done = export_ratings(
            output=given["export"], everything=given["everything"], anonymous=given["anonymous"], **shared
        )
        say(str(done), err=True)
        return 0
    serving = {name: given[name] for name in ("host", "port", "url", "raters", *drawing)}
    rate(announce=show, **serving, **shared)
    return 0
