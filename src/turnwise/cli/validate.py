"""`turnwise validate`."""

import click

from turnwise.cli.common import options
from turnwise.errors import USAGE


@click.command(name="validate")
@options.data
@options.reader
@click.option("--format", "style", default="table", show_default=True, type=click.Choice(["table", "json"]))
def command(data: tuple[str, ...], reader: str | None, mapping: str | None, style: str) -> int:
    """Check files of dialogues; every bad line is named with its place.

    What good files hold goes to standard output; the first 20 problems go to standard error, then a count.

    \b
      turnwise validate logs.jsonl more.jsonl.gz
    """
    from turnwise.library import validate
    from turnwise.report import results

    found = validate(data, reader=reader, mapping=mapping)
    if style == "json":
        click.echo(results.to_json(found.records()).decode(), nl=False)
    elif table := found.table():
        click.echo(table)
    for problem in found.problems:
        click.echo(problem, err=True)
    if more := found.n_problems - len(found.problems):
        click.echo(f"... and {more} more", err=True)
    return 0 if found.ok else USAGE
