"""`turnwise meta`."""

from typing import Any

import click

from turnwise.cli import options

LEVEL = 0.05  # of the adjusted p below which a difference is printed


@click.command(name="meta")
@options.config
@options.data
@options.metrics
@click.option(
    "--level",
    type=click.Choice(["turn", "dialogue", "system"]),
    help="Default: every level that the ratings have.",
)
@click.option(
    "--dimension", metavar="D",
    help="What people rated; `all` gives a result for each. Default: overall, else the only one.",
)  # fmt: skip
@click.option(
    "--statistic", "statistics", callback=options.names, default="pearson,spearman,kendall,pairwise",
    show_default=True, metavar="NAMES", help="`turnwise ls statistics` explains them.",
)  # fmt: skip
@click.option("--rescale", is_flag=True, help="Map ratings of different scales to 0-1.")
@options.selecting
@options.running
@options.gating
@options.printing
def command(**given: Any) -> int:
    """Does a metric agree with people? At turn, dialogue and system level.

    Correlations are signed: a metric that ranks backwards is negative. Beside each stand the ceiling (how
    well one rater agrees with the others) and p; with -o or --format json also the floor of a constant
    predictor, the value without each system, and how much data a half-width of .05 would take.

    \b
      turnwise meta rated.jsonl -m bleu-4,rouge-l
      turnwise meta rated.jsonl -m length --level system --dimension all
    """
    from turnwise.cli.printed import conclude
    from turnwise.run.meta import meta

    settings = {name: given[name] for name in ("level", "statistics", "rescale", "dimension")}
    with options.spec("meta", given, **settings) as spec:
        outcome = meta(spec)
    columns = ("metric", "dimension", "group", "level", "statistic", "estimate", "interval", "p", "ceiling",
               "n_items", "n_clusters")  # fmt: skip
    return conclude(outcome, columns, given, after=_differences(outcome.document))


def _differences(document: dict[str, Any]) -> str:
    from turnwise.report import text

    tested = [row for row in document["differences"] if row["p_adjusted"] is not None]
    found = [row for row in tested if row["p_adjusted"] <= LEVEL]
    if not found:
        return f"\nno two metrics were shown to differ ({len(tested)} tests)" if tested else ""
    head = ["metric_a", "metric_b", "dimension", "level", "statistic", "difference", "p", "p_adjusted"]
    rows = [
        [text.p_value(row[name]) if name.startswith("p") else row[name] for name in head] for row in found
    ]
    return f"\nmetrics that differ ({len(found)} of {len(tested)} tests, adjusted):\n{text.table(rows, head)}"
