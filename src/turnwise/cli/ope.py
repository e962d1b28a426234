"""`turnwise ope`."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from turnwise.cli.common import options
from turnwise.report.fitting import Layout
from turnwise.terminal import visible

# What the table of agents left out in turn shows first.
CHECKS = Layout(
    names=("rating", "estimator"),
    results=("pearson", "mae", "coverage"),
    others=("spearman", "n_agents", "refused", "half_width"),
)


def _least_truth(
    ctx: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> tuple[tuple[str, float], ...]:
    """The callback of --min-truth: pairs of a dimension and a number; `.5` alone has the dimension "", which
    stands for all.
    """
    least = []
    for value in values:
        dimension, _, number = value.rpartition("=")
        try:
            least.append((dimension, float(number)))
        except ValueError:
            raise click.BadParameter(
                f"`{value}` is neither a number nor DIMENSION=NUMBER", param=parameter
            ) from None
    return tuple(least)


@click.command(name="ope")
@options.config
@click.argument("data", nargs=-1, required=True, metavar="LOGS...")
@options.reader
@click.option(
    "--target", "targets", multiple=True, callback=options.names, metavar="NAMES|@alternatives",
    help="Agents to estimate, separated by commas; their own dialogues, if logged, are not used.",
)  # fmt: skip
@click.option(
    "--all",
    "all_agents",
    is_flag=True,
    help="Leave out each logging agent in turn, and compare the estimates with the known means.",
)
@click.option(
    "--rating", metavar="D|metric:NAME",
    help="The dimension to estimate; `all` for each. Default: overall, else the only one. Or a metric's score.",
)  # fmt: skip
@click.option(
    "--estimator", "estimators", callback=options.names, metavar="NAMES",
    help="Names of `turnwise ls estimators`; or metric:NAME. Default: robust, and the other quick ones.",
)  # fmt: skip
@click.option(
    "--truth", metavar="FILE", help="True means to check against, as `turnwise simulate` writes them."
)
@click.option(
    "--fraction", default=1.0, show_default=True, type=click.FloatRange(0, 1, min_open=True), metavar="F",
    help="Use this share of each agent's dialogues.",
)  # fmt: skip
@click.option(
    "--challenging", type=click.IntRange(min=0), metavar="N",
    help="Leave out dialogues whose every reply is within edit distance N of the target's (15 in the paper).",
)  # fmt: skip
@click.option(
    "--min-truth", multiple=True, callback=_least_truth, metavar="[D=]X",
    help="Only targets whose known mean is X or more, e.g. flight=.5. Repeatable.",
)  # fmt: skip
@click.option(
    "--calibrate/--no-calibrate", default=True, show_default=True,
    help="Without it, raw estimates; their intervals are marked as not calibrated.",
)  # fmt: skip
@click.option(
    "--delexicalise/--no-delexicalise", default=True, show_default=True,
    help="Replace values by whether the user said them before.",
)  # fmt: skip
@click.option(
    "--where", multiple=True, callback=options.pairs, metavar="KEY=VALUE", help="Only these dialogues."
)
@click.option(
    "--pair", metavar="KEY", help="The key that pairs records of different agents. Default: the same context."
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N dialogues.")
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    help="Write results.json and the regression plots here; an interrupted run resumes.",
)
@click.option("--model", metavar="NAME|DIR", help="Encoder of texts. Default: minilm.")
@click.option(
    "--db",
    metavar="DIR",
    help="Venue tables, for a critic of task logs. Default: multiwoz_db beside the data.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@click.option(
    "--seeds", default=1, show_default=True, type=click.IntRange(min=1), metavar="N",
    help="Train estimators with a random start (enigma, ...) with N seeds from --seed on; the estimate is the mean.",
)  # fmt: skip
@click.option(
    "--stream", is_flag=True,
    help="Constant memory, for logs of any size: estimators that are functions of sums alone (docs/scale.md).",
)  # fmt: skip
@options.workers
@options.gating
@options.printing
def command(**given: Any) -> int:
    """How would people rate an agent they have not met? Off-policy evaluation from other agents' logs.

    LOGS hold rated dialogues of several agents and, as `alternatives`, what the target would have said at each
    point. The estimate is the mean rating that the target would get, with a 95 % interval that was calibrated on
    the logging agents. Where the logs cannot support an estimate it is refused (exit 4), with the reason and what
    would help.

    \b
      turnwise ope logs.jsonl --target new-agent --rating overall
      turnwise ope logs.jsonl --all --truth logs.truth.json -o out
    """
    from turnwise.cli.common.printed import conclude
    from turnwise.library import ope

    with options.gated(given):
        found = ope(**options.arguments(given))
        return conclude(found, given, after=_below_table(found.document, given))


def _below_table(document: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """The lines under the table, after a blank one: estimators that disagree with the first, notes, a warning
    about raw intervals, critics, and the table of validation. Empty if there are none.
    """
    from turnwise.cli.common.printed import sized_table

    lines = [
        f"note: {row['target']}: the mean {row['rating']} by {', '.join(outside)} is outside the interval of "
        f"{row['estimator']}"
        for row in document["results"]
        if row["estimator"] == document["results"][0]["estimator"]
        and (outside := row["diagnostics"].get("disagrees"))
    ]
    lines += [f"note: {note}" for note in document.get("notes", ())]
    if any(
        row["estimate"] is not None and row["diagnostics"].get("calibrated") is False
        for row in document["results"]
    ):
        lines.append(
            "NOT CALIBRATED: these intervals account for sampling alone, and contain the truth far less often than 95 %"
        )
    lines += [_critic_line(name, about) for name, about in document.get("critics", {}).items()]
    lines = list(map(visible, lines))
    checks = document.get("validation", ())
    if checks:
        head = list(checks[0])
        lines.append(sized_table([[row[name] for name in head] for row in checks], head, CHECKS, given))
    return "\n" + "\n".join(lines) if lines else ""


def _critic_line(name: str, about: dict[str, Any]) -> str:
    """One line on whether a critic ranks every real system above every control; `about` is its record."""
    if not about["controls"]:
        return f"{name}: no controls, which need whole dialogues of other agents than the target"
    values = _control_values(about["controls"], taught=about["taught"], unvalued=about["unvalued"])
    if about["fooled"]:
        return (
            f"{name} IS FOOLED by {', '.join(about['fooled_by'])}: valued no lower than {about['worst_system']}; "
            f"do not trust its ranking (controls: {values})"
        )
    return (
        f"{name}: every control is below every system, by {about['margin']:.3g} or more (controls: {values})"
    )


def _control_values(controls: dict[str, float], *, taught: list[str], unvalued: list[str]) -> str:
    """The values of the controls in words; those that the critic was trained on are no test of it, and are
    listed apart, as are those without a value.
    """
    asked = [f"{name} {value:.3g}" for name, value in controls.items() if name not in taught]
    given = [f"{name} {value:.3g}" for name, value in controls.items() if name in taught]
    parts = {"": asked, "trained to be 0: ": given, "without a value: ": unvalued}
    return "; ".join(label + ", ".join(names) for label, names in parts.items() if names)
