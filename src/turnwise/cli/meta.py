"""`turnwise meta`."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from turnwise.cli.common import options
from turnwise.errors import UsageError, counted
from turnwise.report.fitting import Layout
from turnwise.terminal import visible

LEVEL = 0.05  # differences are printed up to this adjusted p
MAX_DIFFERENCES = 6  # rows of the table of differences
STATISTICS = "pearson,spearman,kendall,pairwise"
# What the tables below the main one show first.
DIFFERENCES = Layout(
    names=("metric_a", "metric_b", "dimension", "level", "statistic"),
    results=("difference", "p_adjusted"),
    others=("p",),
)
LENGTHS = Layout(
    names=("metric", "dimension", "group"), results=("near", "far", "p"), others=("n_near", "n_far")
)
CASES = Layout(names=("dimension", "group"), results=("n",), prose=("replies", "for example"))
RATERS = Layout(
    names=("rater", "dimension", "level"), results=("kappa",), prose=("reason",), others=("ratings",)
)


@click.command(name="meta")
@options.config
@options.data
@options.reader
@click.option(
    "-m", "--metric", "metrics", multiple=True, callback=options.names, metavar="NAMES",
    help="Metrics, separated by commas. Without any, the result is the agreement of the raters among themselves.",
)  # fmt: skip
@click.option(
    "--level",
    type=click.Choice(["turn", "dialogue", "system", "pair"]),
    help="`pair` compares with preferences. Default: every level that the ratings have.",
)
@click.option(
    "--dimension", metavar="D",
    help="What people rated; `all` gives a result for each. Default: overall, else the only one.",
)  # fmt: skip
@click.option(
    "--statistic", "statistics", callback=options.names, default=STATISTICS,
    show_default=True, metavar="NAMES", help="`turnwise ls statistics` explains them.",
)  # fmt: skip
@click.option(
    "--precision", default=0.05, show_default=True, type=click.FloatRange(1e-6, 1, max_open=True),
    help="Half-width of an interval for which the needed amount of data is reported.",
)  # fmt: skip
@click.option(
    "--lower-is-better", callback=options.names, metavar="DIMENSIONS",
    help="Dimensions on which a high rating is bad, where the data does not say so itself.",
)  # fmt: skip
@click.option(
    "--differences/--no-differences", default=True, show_default=True,
    help="Test every two metrics against each other; with many metrics this takes most of the time.",
)  # fmt: skip
@click.option(
    "--intervals/--no-intervals", default=True, show_default=True,
    help="Resample for intervals: a thousand times the work of the estimate itself.",
)  # fmt: skip
@click.option(
    "--length-bias", is_flag=True,
    help="Also test whether a metric favours replies as long as their reference, where people do not.",
)  # fmt: skip
@click.option(
    "--normalised", is_flag=True,
    help="Also count where the first metric finds good replies that the others miss, and the reverse.",
)  # fmt: skip
@click.option("--rescale", is_flag=True, help="Map ratings of different scales to 0-1.")
@click.option(
    "--screen", is_flag=True,
    help="Leave out raters who fail attention checks or agree with nobody; prints who and why.",
)  # fmt: skip
@click.option(
    "--stable-raters/--positional-raters", default=None,
    help="Whether a rater's name is one person throughout. Default: inferred from the names.",
)  # fmt: skip
@options.selecting
@options.running
@options.gating
@options.printing
def command(**given: Any) -> int:
    """Does a metric agree with people? At turn, dialogue and system level.

    Correlations are signed: a metric that ranks backwards is negative. Each is shown over all items, inside agents
    and inside contexts, beside the agreement of one rater with the others. The table shows one statistic; -v, -o and
    --format json have the others, the intervals inside agents and contexts, the ceiling of a perfect metric, the
    estimate without each system, and how much data --precision would need.

    \b
      turnwise meta rated.jsonl -m bleu-4,rouge-l
      turnwise meta rated.jsonl -m length --level system --dimension all
    """
    from turnwise.cli.common.agreement import MAX_ROWS, matrices, on_a_screen
    from turnwise.cli.common.printed import conclude
    from turnwise.library import meta_evaluate

    if given["gates"] and not given["metrics"]:
        raise UsageError("a --gate applies to the agreement of a metric with people; name the metric with -m")
    with options.gated(given):
        found = meta_evaluate(**options.arguments(given))
        rows: Sequence[Mapping[str, Any]] = found.document["results"]
        left_out = whole = ""
        if not given["verbose"] and not _named(given["statistics"]):
            rows, left_out = on_a_screen(rows)
        if not given["verbose"] and len(rows) > MAX_ROWS:
            whole = matrices([row for row in rows if row.get("estimate") is not None])
        made = (_differences, _raters, _length_biases, _disagreements)
        sections = [of(found.document, given) for of in made]
        after = "\n".join(part for part in (left_out, *sections) if part)
        return conclude(found, given, rows=rows, whole=whole, after=after)


def _named(statistics: Sequence[str]) -> bool:
    """Whether the statistics are not the default ones, so that all of them are shown."""
    return list(statistics) != STATISTICS.split(",")


def _differences(document: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """The table of metrics that differ at adjusted p up to .05, or a sentence that none do; empty without tests."""
    from turnwise.cli.common.printed import sized_table
    from turnwise.report import text

    tested = [row for row in document.get("differences", ()) if row["p_adjusted"] is not None]
    found = sorted((row for row in tested if row["p_adjusted"] <= LEVEL), key=lambda row: row["p_adjusted"])
    if not found:
        return f"\nno two metrics were shown to differ ({counted(len(tested), 'test')})" if tested else ""
    head = ["metric_a", "metric_b", "dimension", "level", "statistic", "difference", "p", "p_adjusted"]
    rows = [
        [text.p_value(row[name]) if name.startswith("p") else row[name] for name in head] for row in found
    ]
    share = f"{len(found)} of {counted(len(tested), 'test')}, adjusted"
    rest = f"\n({len(rows) - MAX_DIFFERENCES} more with -o)" if len(rows) > MAX_DIFFERENCES else ""
    return f"\nmetrics that differ ({share}):\n{sized_table(rows[:MAX_DIFFERENCES], head, DIFFERENCES, given)}{rest}"


def _length_biases(document: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """The table of the test of length bias; empty if it was not asked for."""
    from turnwise.cli.common.printed import sized_table
    from turnwise.report import text

    head = ["metric", "dimension", "group", "near", "far", "p", "n_near", "n_far"]
    rows = [
        [text.p_value(row[name]) if name == "p" else row[name] for name in head]
        for row in document.get("length_bias", ())
    ]
    title = "mean score of replies within 6 words of their reference, and of others:"
    return f"\n{title}\n{sized_table(rows, head, LENGTHS, given)}" if rows else ""


# Cases of normalised scores. High is 3/4 of the scale and more, low 1/4 and less: 4 and 2 on a scale of 1 to 5.
KINDS = {
    "good": "people: high",
    "missed": "people high, every other metric low",
    "rescued": "of these, the first metric high",
    "failed": "people high, the first metric low",
    "beaten": "of these, another metric high",
    "fooled": "people low and another metric too, the first high",
}


def _disagreements(document: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """The table of cases in which the first metric and the others differ, on people's scale; empty if it was
    not asked for.
    """
    from turnwise.cli.common.printed import sized_table

    found = document.get("normalised", ())
    rows = [
        [row["dimension"], row["group"], KINDS[row["kind"]], row["n"], ", ".join(row["examples"])]
        for row in found
    ]
    if not rows:
        return ""
    title = visible(f"{found[0]['metric']} against {', '.join(found[0]['others'])}, on people's scale:")
    head = ["dimension", "group", "replies", "n", "for example"]
    return f"\n{title}\n{sized_table(rows, head, CASES, given)}"


def _raters(document: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """The table of raters that --screen left out, or a sentence that none were; empty if it was not asked for."""
    from turnwise.cli.common.printed import sized_table

    dropped = [row for row in document["raters"] if row["dropped"]]
    if not dropped:
        return f"\nno rater was left out ({len(document['raters'])} screened)" if document["raters"] else ""
    head = ["rater", "dimension", "level", "reason", "ratings", "kappa"]
    table = sized_table([[row[name] for name in head] for row in dropped], head, RATERS, given)
    return f"\nraters left out:\n{table}"
