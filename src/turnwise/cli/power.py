"""`turnwise power`."""

from collections.abc import Mapping
from typing import Any

import click

from turnwise.cli.common import options

MOST = 10**9  # dialogues, items in a dialogue or ratings of an item


def _counts(_: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, ...]:
    """A callback of click: positive whole numbers separated by commas."""
    try:
        found = tuple(int(text) for text in (value or "").split(",") if text.strip())
    except ValueError:
        found = (0,)
    if any(not 1 <= number <= MOST for number in found):
        raise click.BadParameter(
            f"`{value}` is not whole numbers from 1 to {MOST:,}, such as 1,3,5", param=parameter
        )
    return found


@click.command(name="power")
@options.config
@click.argument("data", nargs=-1, metavar="[PILOT]...")
@options.reader
@click.option(
    "-m", "--metric", "metrics", multiple=True, callback=options.names, metavar="NAMES",
    help="What is to differ: metrics, rating:DIMENSION or preference:DIMENSION. Default: the ratings of the pilot.",
)  # fmt: skip
@click.option(
    "--difference",
    type=float,
    metavar="D",
    help="The difference of means that is to be shown; of preferences, that of a win rate from one half.",
)
@click.option(
    "--have", type=click.IntRange(1, MOST), metavar="N",
    help="Dialogues of each agent; finds the smallest difference that they show.",
)  # fmt: skip
@click.option(
    "--power", default=0.8, show_default=True, type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Probability of showing the difference if it is there.",
)  # fmt: skip
@click.option(
    "--alpha", default=0.05, show_default=True, type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Probability of showing one that is not there.",
)  # fmt: skip
@click.option("--agents", callback=options.names, metavar="NAMES", help="Agents of the pilot. Default: all.")
@click.option(
    "--paired/--unpaired", default=None,
    help="Whether agents reply to the same contexts. Default: both designs.",
)  # fmt: skip
@click.option(
    "--turns", callback=_counts, metavar="N,N",
    help="Items in a dialogue. Default: 1, and the mean of the pilot.",
)  # fmt: skip
@click.option("--raters", callback=_counts, metavar="N,N", help="Ratings of an item. Default: 1,2,3,5.")
@click.option(
    "--people", type=click.IntRange(min=1), metavar="N",
    help="Different raters of preferences in all. Default: as many as the pilot has.",
)  # fmt: skip
@click.option(
    "--level", type=click.Choice(["turn", "dialogue"]),
    help="Which ratings of the pilot. Default: those of turns where it has some.",
)  # fmt: skip
@click.option(
    "--with", "beside", metavar="METRIC",
    help="Also plan with this metric's scores beside the ratings (calibrate).",
)  # fmt: skip
@click.option(
    "--scored", type=click.IntRange(1, MOST), metavar="N",
    help="Dialogues of each agent that are scored. Default: far more than are rated, at no cost.",
)  # fmt: skip
@click.option(
    "--sd",
    type=click.FloatRange(0, 1e100, min_open=True),
    help="Without a pilot: spread of the items' true values.",
)
@click.option(
    "--icc", default=0.0, show_default=True, type=click.FloatRange(0, 1),
    help="Share of the variance that is between dialogues.",
)  # fmt: skip
@click.option("--rater-sd", type=click.FloatRange(0, 1e100), help="Spread of the ratings of one item.")
@click.option(
    "--correlation", type=click.FloatRange(-1, 1),
    help="Of two agents' values in one context: adds the paired design.",
)  # fmt: skip
@click.option(
    "--agreement", type=click.FloatRange(-1, 1),
    help="Correlation of a metric and ratings: adds designs with its scores.",
)  # fmt: skip
@click.option(
    "--win-rate", type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Preferences: the share that the better agent gets, a tie being half.",
)  # fmt: skip
@click.option("--ties", default=0.0, show_default=True, type=click.FloatRange(0, 1), help="Share of ties.")
@click.option(
    "--rater-icc", default=0.0, show_default=True, type=click.FloatRange(0, 1),
    help="Preferences: the share of the variance that is between raters.",
)  # fmt: skip
@click.option("--cost-dialogue", type=click.FloatRange(0, 1e100), metavar="X",
              help="Cost of one dialogue that is compared; those that are scored alone cost nothing here.")  # fmt: skip
@click.option("--cost-rating", type=click.FloatRange(0, 1e100), metavar="X", help="Cost of one rating.")
@click.option("--cost-judge", type=click.FloatRange(0, 1e100), metavar="X",
              help="Cost of scoring one item; beside ratings it needs --scored.")  # fmt: skip
@options.selecting_pairs
@options.running_without_draws
@options.printing
def command(**given: Any) -> int:
    """How many dialogues, turns and raters show a difference? Or how small a difference is shown.

    The spread comes from a pilot file, or is given. The table has, for each design, the dialogues of each agent that
    show the difference with the asked power in a two-sided t-test; with --have, the smallest difference. `between` is
    what the pilot leaves open.

    \b
      turnwise power pilot.jsonl -m rating:overall --difference 0.3
      turnwise power pilot.jsonl -m rouge-l --have 200
      turnwise power --sd 0.9 --icc 0.3 --rater-sd 0.8 --difference 0.3
      turnwise power --win-rate 0.55 --ties 0.2
    """
    from turnwise.cli.common.printed import conclude
    from turnwise.library import power

    found = power(**options.arguments(given))
    best = found.cheapest()
    after = "" if best is None else f"\ncheapest: {_described(best)}"
    return conclude(found, {**given, "gates": (), "junit": None}, after=after)


def _described(record: Mapping[str, Any]) -> str:
    """One design in words."""
    parts = [
        f"{record['metric']}, {record['design']}",
        *([f"scores of {record['scores']}"] if record["scores"] else []),
        f"dialogues of each agent {record['dialogues']}",
        f"turns {record['turns']}",
        f"raters {record['raters']}",
        f"cost {record['cost']:,.2f}",
    ]
    return ", ".join(parts)
