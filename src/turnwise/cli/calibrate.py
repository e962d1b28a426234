"""`turnwise calibrate`."""

from typing import Any

import click

from turnwise.cli.common import options

SHOWN = 6  # differences that the table shows whether or not they were shown to be there
LEVEL = 0.05  # adjusted p up to which the table shows more differences than that


@click.command(name="calibrate")
@options.config
@options.data
@options.reader
@options.metrics
@click.option(
    "--to", metavar="rating:DIMENSION",
    help="What people rated. Default: rating:overall, else the only one.",
)  # fmt: skip
@click.option(
    "--labels", required=True, metavar="random|weights:KEY|unknown",
    help="How the rated items were drawn. KEY, such as meta.weight, holds the inverse probability of each.",
)  # fmt: skip
@click.option(
    "--level", type=click.Choice(["turn", "dialogue"]), help="What was rated. Default: the only one that was."
)
@click.option(
    "--fit", default="none", show_default=True, type=click.Choice(["none", "linear", "isotonic"]),
    help="Map scores to ratings first, by a function that is cross-fitted on the ratings.",
)  # fmt: skip
@click.option(
    "--plan", type=click.IntRange(min=1), metavar="N",
    help="Draw N dialogues to rate next, by the metric's expected error: plan.jsonl and rest.jsonl in -o.",
)  # fmt: skip
@click.option("--rescale", is_flag=True, help="Map ratings of different scales to 0-1.")
@options.selecting_units
@options.running_without_draws
@options.printing
def command(**given: Any) -> int:
    """Mean ratings of agents from a metric's scores on everything and people's ratings on some.

    The metric scores every item; people rated some of each agent. The estimate is the mean rating of all items of the
    agent, and of one agent minus another. Its interval is narrower than that of the ratings alone where the metric
    agrees with people, and no wider elsewhere: width_ratio shows by how much. Where nobody knows how the rated items
    were drawn the estimate is refused (exit 4), and the table shows how far it depends on that.

    \b
      turnwise calibrate logs.jsonl -m turnwise --labels random
      turnwise calibrate logs.jsonl -m length --labels weights:meta.weight
    """
    from turnwise.cli.common.printed import conclude
    from turnwise.library import calibrate

    found = calibrate(**options.arguments(given))
    # A difference that is refused for the draw of its labels has no p, but the sensitivity analysis: always printed.
    every = [row for row in found.document["results"] if row.get("minus")]
    differences = [row for row in every if row["status"] != "refused"]
    impossible = [row for row in every if row["status"] == "refused" and row.get("labels_alone") is None]
    unshown: list[Any] = []
    if len(differences) > SHOWN and not given["verbose"]:
        unshown = [row for row in differences if row["p_adjusted"] is None or row["p_adjusted"] > LEVEL]
    without = impossible if len(impossible) > SHOWN and not given["verbose"] else []
    rows = [row for row in found.document["results"] if row not in [*unshown, *without]]
    after = ""
    if unshown:
        after += (
            f"\n{len(unshown)} of {len(differences)} differences were not shown to be there; -v lists all"
        )
    if without:
        after += (
            f"\n{len(without)} differences have no estimate, as an agent has too few ratings; -v lists all"
        )
    if plan := found.document.get("plan"):
        after += (
            f"\n{plan['drawn']} dialogues to rate are in {given['output']}/plan.jsonl, the others in rest.jsonl; after "
            f"rating: turnwise calibrate RATED {given['output']}/rest.jsonl --labels weights:{plan['key']}"
        )
    return conclude(found, {**given, "gates": (), "junit": None}, rows=rows, after=after)
