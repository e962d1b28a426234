"""`turnwise view`."""

from typing import Any

import click

from turnwise.cli.common import options
from turnwise.terminal import say, say_lines


@click.command(name="view")
@options.config
@click.argument("data", nargs=-1, required=True, metavar="DIR|DATA...")
@options.reader
@click.option(
    "--pair", metavar="KEY",
    help="The key that pairs dialogues of different agents. Default: the run's, else the same context.",
)  # fmt: skip
@click.option("--item", metavar="ID[#TURN]", help="The dialogue or reply to begin with.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8766, show_default=True, type=click.IntRange(0, 65535))
@click.option(
    "--open/--no-open", "browser", default=True, help="Open the page in the browser.  [default: open]"
)
@click.option("-q", "--quiet", is_flag=True, help="Only the link.")
def command(**given: Any) -> None:
    """Look at dialogues with their scores, ratings and preferences in a browser.

    DIR is what `score`, `meta`, `compare`, `attack` or `ope` wrote with -o, DATA are files of dialogues. Prints a link
    and serves until it is interrupted. Nothing is changed, and nothing leaves this machine.

    \b
      turnwise view logs.jsonl
      turnwise view out
      turnwise view out --item 'c17#3' --no-open
    """
    from turnwise.library import ViewerLink, view

    def show(link: ViewerLink) -> None:
        say(str(link))
        if not given["quiet"]:
            say_lines(
                *(f"note: {note}" for note in link.notes),
                f"{link.n_dialogues:,} dialogues; Ctrl-C ends",
                err=True,
            )

    shared = {name: value for name, value in given.items() if name != "quiet"}
    view(announce=show, progress=not given["quiet"], **shared)
