"""`turnwise validate`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from turnwise.cli import options
from turnwise.errors import USAGE, Problem

if TYPE_CHECKING:
    from turnwise.logs.scan import Census, Dimension

SHOWN = 20  # problems that are printed; the rest are counted
NAMED = 3  # agents or dimensions that a line names


@click.command(name="validate")
@options.data
@click.option("--format", "style", default="table", show_default=True, type=click.Choice(["table", "json"]))
def command(data: tuple[str, ...], style: str) -> int:
    """Check conversation files; every bad line is named with its place.

    What good files hold goes to standard output; the first 20 problems go to standard error, then a count.

    \b
      turnwise validate logs.jsonl more.jsonl.gz
    """
    from turnwise.logs.scan import survey
    from turnwise.report import results, text

    found = _Problems()
    records = []
    for path in data:
        before = found.count
        census = survey([path], found.note)
        records.append({"file": path, "problems": found.count - before, **_holdings(census)})
    if style == "json":
        click.echo(results.to_json(records).decode(), nl=False)
    elif rows := [_row(record) for record in records if not record["problems"]]:
        click.echo(text.table(rows, ("file", "dialogues", "messages", "agents", "dimensions", "notes")))
    for problem in found.first:
        click.echo(problem, err=True)
    if found.count > SHOWN:
        click.echo(f"... and {found.count - SHOWN} more", err=True)
    return USAGE if found.count else 0


class _Problems:
    def __init__(self) -> None:
        self.first: list[Problem] = []
        self.count = 0

    def note(self, problem: Problem) -> None:
        self.count += 1
        if self.count <= SHOWN:
            self.first.append(problem)


def _holdings(census: "Census") -> dict[str, Any]:
    return {
        "dialogues": census.n_dialogues,
        "messages": census.n_messages,
        "agents": dict(census.agents.most_common()),
        "dimensions": {name: _rated(dimension) for name, dimension in census.dimensions.items()},
        "references": census.has_references,
        "alternatives": list(census.alternatives),
        "sha256": census.files[0].sha256,
    }


def _rated(dimension: "Dimension") -> dict[str, Any]:
    return {
        "turn_ratings": dimension.n_turn,
        "dialogue_ratings": dimension.n_dialogue,
        "raters": len(dimension.raters),
        "scales": list(dimension.scales),
        "good": list(dimension.directions),
    }


def _row(record: dict[str, Any]) -> list[Any]:
    agents = [f"{name} {count}" for name, count in record["agents"].items()]
    dimensions = [f"{name}{_scale(about['scales'])}" for name, about in record["dimensions"].items()]
    notes = ["references"] if record["references"] else []
    if record["alternatives"]:
        notes.append(f"alternatives of {_several(record['alternatives'])}")
    if mixed := [name for name, about in record["dimensions"].items() if len(about["scales"]) > 1]:
        notes.append(f"scales differ in {_several(mixed)}")
    counts = [record["dialogues"], record["messages"]]
    return [record["file"], *counts, _several(agents), _several(dimensions) or "-", "; ".join(notes) or "-"]


def _scale(scales: Sequence[tuple[float, float] | None]) -> str:
    return f" {scales[0][0]:g}-{scales[0][1]:g}" if len(scales) == 1 and scales[0] else ""


def _several(names: Sequence[str]) -> str:
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return ", ".join([*names[:NAMED], *more])
