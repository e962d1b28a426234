"""`turnwise validate`."""

import click

from turnwise.cli.common import options
from turnwise.errors import USAGE
from turnwise.terminal import json_escape, say, say_document, say_lines


def _print_schema(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    """The callback of --schema: print the schema and end, before files are asked for."""
    if asked:
        from turnwise.logs.schema import published

        say_document(published(), escape=json_escape)
        ctx.exit()


@click.command(name="validate")
@options.data
@options.reader
@click.option("--schema", is_flag=True, is_eager=True, expose_value=False, callback=_print_schema,
              help="Print the JSON Schema of a line of the native format, and nothing else.")  # fmt: skip
@options.style
@options.wide
def command(data: tuple[str, ...], reader: str | None, mapping: str | None, style: str, wide: bool) -> int:
    """Check files of dialogues; every bad line is named with its place.

    What good files hold goes to standard output; the first 20 problems go to standard error, then a count.

    \b
      turnwise validate logs.jsonl more.jsonl.gz
    """
    from turnwise.cli.common.printed import HINT, print_json
    from turnwise.library import validate

    found = validate(data, reader=reader, mapping=mapping)
    if style == "json":
        print_json(found.records())
    elif table := found.table(wide=wide, hint=HINT):
        say(table)
    say_lines(*map(str, found.problems), err=True)
    if more := found.n_problems - len(found.problems):
        say(f"... and {more} more", err=True)
    return 0 if found.ok else USAGE
