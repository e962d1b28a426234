"""`turnwise simulate`."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from turnwise.cli.common import options
from turnwise.terminal import say, say_lines

F = TypeVar("F", bound=Callable[..., Any])


def _addresses(
    _: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """The callback of --with: pairs of a name and an address; anything but NAME=AGENT raises `BadParameter`."""
    found = []
    for value in values:
        name, sign, address = value.partition("=")
        if not (name and sign and address):
            raise click.BadParameter(f"`{value}` is not NAME=AGENT", param=parameter)
        found.append((name, address))
    return tuple(found)


def _count(name: str, default: int, *, means: str, least: int = 1) -> Callable[[F], F]:
    """A decorator that adds an option for a whole number, `least` or more; `means` is its help."""
    kind = click.IntRange(min=least)
    return click.option(name, default=default, show_default=True, type=kind, metavar="N", help=means)


@click.command(name="simulate")
@click.argument("world", metavar="WORLD")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="LOGS",
    help="A .jsonl or .jsonl.gz file; the truth of x.jsonl is written to x.truth.json beside it.",
)
@click.option("--family", metavar="NAME", help="Which agents. Default: the world's first, `graded`.")
@_count("--agents", 16, means="Number of agents of the family.")
@_count("--dialogues", 100, means="Dialogues of each agent.")
@_count(
    "--samples",
    4,
    means="Replies of every agent at each point; identical ones are written once.",
)
@_count("--truth", 5000, means="Unlogged dialogues behind an agent's true mean; 0 for no truth.", least=0)
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
    help="`task`: the folder of the venue tables, as MultiWOZ has them. Default: the tables of an invented town.",
)
@click.option(
    "--goals",
    metavar="DATA",
    help="`task`: the users have the goals of these dialogues. Default: goals drawn from the tables.",
)
@click.option(
    "--user",
    metavar="MODULE:FUNCTION|DIR",
    help="`task`: a function of yours that makes a user with the interface of ConvLab-3's simulators. `booking`: "
    "the folder of a customer that `turnwise train customer` made.",
)
@click.option(
    "--delexicalised",
    is_flag=True,
    help="`task`: write placeholders for values, and what each system believed, for `score --as`.",
)
@click.option(
    "--draw",
    type=click.IntRange(min=0),
    metavar="SEED",
    help="Draw the agents of the family at random with this seed. Default: its fixed list, the same in every run.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@options.workers
@options.style
@options.wide
@click.option("-q", "--quiet", is_flag=True, help="No progress bar and no notes.")
@options.verbose(expose=False)
@options.config  # fmt: skip
def command(**given: Any) -> None:
    """Simulate dialogues of agents whose true quality is known.

    WORLD is `booking` (families graded, wordings, behaviour, stochastic, trained), `chat` (graded, failings, mixed) or
    `task` (graded, failings). Each point of the logs has what every agent of the family would have said there.

    \b
      turnwise simulate booking --family behaviour -o logs.jsonl
      turnwise simulate chat --agents 8 --with bot=mybots:reply -o logs.jsonl.gz
      turnwise simulate task --db multiwoz_db -o logs.jsonl.gz
    """
    from turnwise.cli.common.printed import HINT, print_json
    from turnwise.errors import counted
    from turnwise.library import simulate

    found = simulate(**options.arguments(given, figures=False))
    if given["style"] == "json":
        print_json(found.truth)
    elif len(found):
        say(found.table(wide=given["wide"], hint=HINT))
    if not given["quiet"]:
        beside = f"; {found.truth_path}: true means" if found.truth_path else ""
        say_lines(f"{found.path}: {counted(found.n_dialogues, 'dialogue')}{beside}", err=True)
