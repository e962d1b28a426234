"""`turnwise compare`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from turnwise.cli.common import options
from turnwise.errors import UsageError
from turnwise.report.fitting import Layout
from turnwise.terminal import visible

# Options of scoring: they cannot change two finished runs.
SCORING = (
    "items",
    "role",
    "where",
    "by",
    "pair",
    "cluster",
    "limit",
    "as_agents",
    "real",
    "model",
    "lower_is_better",
)

# What the tables below the main one show first.
STRENGTHS = Layout(names=("agent", "component"), results=("estimate", "interval"), others=("n_items",))
EFFECTS = Layout(names=("covariate",), results=("estimate", "interval", "p"))
FLIPS = Layout(names=("item of A", "item of B"), results=("A", "B", "A-B"))


@click.command(name="compare")
@options.config
@options.data
@options.reader
@click.option(
    "-m", "--metric", "metrics", multiple=True, callback=options.names, metavar="NAMES",
    help="Metrics, separated by commas; `rating:overall` is people's ratings, `preference:overall` their "
    "choices. Default: everything that people said; "
    "for two finished runs, every metric that both have.",
)  # fmt: skip
@click.option(
    "--agents", callback=options.names, metavar="A,B",
    help="The two agents. May be left out where the data, or --as, has just two.",
)  # fmt: skip
@options.as_agents
@click.option(
    "--lower-is-better", callback=options.names, metavar="DIMENSIONS",
    help="Dimensions on which a high rating is bad, where the data does not say so itself.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Compare runs whose signatures differ.")
@options.selecting_compared
@options.running
@options.trying
@options.gating
@options.printing
def command(**given: Any) -> int:
    """Is agent A better than agent B? Paired test, effect size, items that differ most.

    DATA is files of dialogues, or exactly two folders written by `turnwise score -o`: the first is A. The estimate
    is A minus B, and a --gate applies to it. A judge scores each reply by itself; docs/judge.md explains how to
    show it two replies.

    \b
      turnwise compare rated.jsonl --agents new,old
      turnwise compare logs.jsonl -m bleu-4 --agents new,old
      turnwise compare logs.jsonl -m bleu-4 --as new,old
      turnwise compare out/new out/old
    """
    from turnwise.cli.common.printed import conclude, print_questions
    from turnwise.library import compare
    from turnwise.library.scoring import NO_PAIRS

    finished = not given["reader"] and all(Path(path).is_dir() for path in given["data"])
    fixed = tuple(name for name in SCORING if name != "pair" or given["pair"] != NO_PAIRS) if finished else ()
    if idle := options.typed(*fixed):
        raise UsageError(
            f"{', '.join(idle)} cannot change two finished runs; give them to `turnwise score -o`, or compare files"
        )
    with options.gated(given):
        found = compare(**options.arguments(given, *fixed))
        if print_questions(found.document, given):
            return 0
        after = [
            _strengths(found.document, given),
            _flips(found.document, given) if given["verbose"] else "",
        ]
        return conclude(found, given, after="\n".join(part for part in after if part))


def _strengths(document: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """Tables of Bradley-Terry strengths with the effects of the controls, one a dimension and group."""
    from turnwise.cli.common.printed import records_table

    parts = []
    for fit in document.get("preferences", ()):
        rows = [one for one in fit["strengths"] if one["estimate"] is not None]
        if rows:
            about = visible(", ".join(filter(None, [fit["metric"], fit["group"]])))
            columns = (
                "agent",
                *(("component",) if fit["n_components"] > 1 else ()),
                "estimate",
                "interval",
                "n_items",
            )
            table = records_table(rows, columns, STRENGTHS, given)
            parts.append(f"\nBradley-Terry strengths by {about}, in log odds:\n{table}")
        if fit["effects"]:
            columns = ("covariate", "estimate", "interval", "p")
            effects = records_table(fit["effects"], columns, EFFECTS, given)
            parts.append(f"\neffects of what was controlled for, in log odds:\n{effects}")
    return "\n".join(parts)


def _flips(document: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """Tables of the items whose scores differ most, one a metric that has any; empty if none has."""
    from turnwise.cli.common.printed import sized_table

    parts = []
    for record in document["results"]:
        if record.get("flips"):
            rows = [
                [flip["id_a"], flip["id_b"], flip["a"], flip["b"], flip["difference"]]
                for flip in record["flips"]
            ]
            head = ["item of A", "item of B", "A", "B", "A-B"]
            table = sized_table(rows, head, FLIPS, given)
            parts.append(f"\nitems that differ most by {visible(record['metric'])}:\n{table}")
    return "\n".join(parts)
