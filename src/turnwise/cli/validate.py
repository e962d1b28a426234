"""`turnwise validate`."""

import click

from turnwise.cli.common import options
from turnwise.errors import USAGE


def _print_schema(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    """The callback of --schema: print the schema and end, before files are asked for."""
    if asked:
        from turnwise.logs.schema import published

        click.echo(published(), nl=False)
        ctx.exit()


@click.command(name="validate")
@options.data
@options.reader
@click.option("--schema", is_flag=True, is_eager=True, expose_value=False, callback=_print_schema,
              help="Print the JSON Schema of a line of the native format, and nothing else.")  # fmt: skip
@click.option("--format", "style", default="table", show_default=True, type=click.Choice(["table", "json"]))
def command(data: tuple[str, ...], reader: str | None, style: str) -> int:
    """Check files of dialogues; every bad line is named with its place.

    What good files hold goes to standard output; the first 20 problems go to standard error, then a count.

    \b
      turnwise validate logs.jsonl more.jsonl.gz
    """
    from turnwise.library import validate
    from turnwise.report import results

    found = validate(data, reader=reader)
    if style == "json":
        click.echo(results.to_json(found.records()).decode(), nl=False)
    elif table := found.table():
        click.echo(table)
    for problem in found.problems:
        click.echo(problem, err=True)
    if more := found.n_problems - len(found.problems):
        click.echo(f"... and {more} more", err=True)
    return 0 if found.ok else USAGE
