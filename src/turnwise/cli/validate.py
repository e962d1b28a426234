"""`turnwise validate`."""

import click

from turnwise.cli.common import options
from turnwise.errors import USAGE
from turnwise.terminal import say, say_lines


@click.command(name="validate")
@options.data
@options.reader
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
