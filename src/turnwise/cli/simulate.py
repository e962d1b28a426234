"""`turnwise simulate`."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from turnwise.cli import options

F = TypeVar("F", bound=Callable[..., Any])


def _addresses(
    _: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    found = []
    for value in values:
        name, sign, address = value.partition("=")
        if not (name and sign and address):
            raise click.BadParameter(f"`{value}` is not NAME=AGENT", param=parameter)
        found.append((name, address))
    return tuple(found)


def _count(name: str, default: int, *, means: str, least: int = 1) -> Callable[[F], F]:
    kind = click.IntRange(min=least)
    return click.option(name, default=default, show_default=True, type=kind, metavar="N", help=means)


@click.command(name="simulate")
@click.argument("world", metavar="WORLD")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="LOGS",
    help="A .jsonl or .jsonl.gz file; the truth of x.jsonl goes beside it into x.truth.json.",
)
@click.option("--family", metavar="NAME", help="Which agents. Default: the world's first, `graded`.")
@_count("--agents", 16, means="How many of the family.")
@_count("--dialogues", 100, means="Conversations that each agent holds.")
@_count(
    "--samples",
    4,
    means="Replies of every agent at each point; those that are all the same are written once.",
)
@_count("--truth", 5000, means="Unlogged conversations behind an agent's true mean; 0 for no truth.", least=0)
@click.option(
    "--with",
    "outsiders",
    multiple=True,
    callback=_addresses,
    metavar="NAME=AGENT",
    help="An agent beside the family: module:function, an address, a model, as in `respond`. Repeatable.",
)
@click.option(
    "--db",
    metavar="DIR",
    help="Of `task`: the folder of the venue tables, as MultiWOZ's. Default: those of a made-up town.",
)
@click.option(
    "--goals",
    metavar="DATA",
    help="Of `task`: users have the goals of these conversations. Default: goals drawn from the tables.",
)
@click.option(
    "--user",
    metavar="convlab|MODULE:FUNCTION",
    help="Of `task`: ConvLab-3's user simulator, or one with its interface that your function makes.",
)
@click.option(
    "--delexicalised",
    is_flag=True,
    help="Of `task`: logs have placeholders for values, and what each system believed: for `score --as`.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@options.workers
@click.option("--format", "style", default="table", show_default=True, type=click.Choice(["table", "json"]))
@click.option("-q", "--quiet", is_flag=True, help="No progress, no notes.")
@options.config  # fmt: skip
def command(**given: Any) -> None:
    """Make conversations of agents whose true quality is known.

    WORLD is `booking` (families graded, wordings, behaviour, stochastic), `chat` (graded, failings) or `task`
    (graded, failings). At each point stands what every agent of the family would have said there.

    \b
      turnwise simulate booking --family behaviour -o logs.jsonl
      turnwise simulate chat --agents 8 --with bot=mybots:reply -o logs.jsonl.gz
      turnwise simulate task --db multiwoz_db -o logs.jsonl.gz
    """
    from turnwise.errors import counted
    from turnwise.library import simulate
    from turnwise.report import results

    found = simulate(**options.arguments(given, figures=False))
    if given["style"] == "json":
        click.echo(results.to_json(found.truth).decode(), nl=False)
    elif len(found):
        click.echo(str(found))
    if not given["quiet"]:
        beside = f"; {found.truth_path}: true means" if found.truth_path else ""
        click.echo(f"{found.path}: {counted(found.n_dialogues, 'conversation')}{beside}", err=True)
