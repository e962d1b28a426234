"""`turnwise ls`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from turnwise.cli import options

if TYPE_CHECKING:
    from turnwise.types import Card


@click.command(name="ls")
@click.argument(
    "kind",
    default="metrics",
    type=click.Choice(["metrics", "estimators", "readers", "statistics", "weights"]),
)
@options.printing
def command(kind: str, style: str, quiet: bool, verbose: bool) -> None:
    """List metrics, estimators, readers, statistics and weights; with -v, each metric's whole card."""
    from turnwise.report import results, text

    records = LISTS[kind]()
    if style == "json":
        click.echo(results.to_json(records).decode(), nl=False)
    elif verbose and "card" in records[0]:
        click.echo("\n\n".join(_card(record) for record in records))
    else:
        columns = [name for name in records[0] if name not in ("card", "attacks")]
        rows = [[_joined(record[name]) for name in columns] for record in records]
        click.echo(text.table(rows, columns))


def _metrics() -> list[dict[str, Any]]:
    from turnwise.metrics import describe, names
    from turnwise.metrics.attacks import known_attacks

    return [
        {
            "name": info.name,
            "kind": info.kind,
            "level": info.level,
            "needs": sorted(info.needs),
            "better": "higher" if info.higher_is_better else "lower",
            "card": info.card,
            "attacks": known_attacks(info.name),
        }
        for info in map(describe, names())
    ]


def _estimators() -> list[dict[str, Any]]:
    from turnwise.estimators import names

    return [
        {
            "name": name,
            "kind": card.kind,
            "level": "system",
            "needs": ["alternatives"],
            "says": card.meaning,
            "card": card,
        }
        for name, card in ((name, _estimator_card(name)) for name in names())
    ]


def _estimator_card(name: str) -> Card:
    """The card of an estimator; without the extra it needs, a card that names the extra."""
    from turnwise.errors import MissingExtra
    from turnwise.estimators import describe
    from turnwise.types import Card

    try:
        return describe(name)
    except MissingExtra as error:
        return Card(kind="estimator", meaning=str(error), range="-", limits="-", citation="-")


def _readers() -> list[dict[str, Any]]:
    from turnwise.logs.readers import all_readers

    return [{"name": name, "kind": "reader", "reads": one.summary} for name, one in all_readers().items()]


def _statistics() -> list[dict[str, Any]]:
    from turnwise.meta.correlate import STATISTICS

    return [{"name": name, "kind": "statistic", "says": says} for name, says in STATISTICS.items()]


def _weights() -> list[dict[str, Any]]:
    from turnwise.encode.models.catalogue import fetched

    return [
        {
            "name": model.name,
            "kind": model.kind,
            "what": model.what,
            "licence": model.licence,
            "download": f"{model.size / 1e6:.0f} MB",
            "sha256": model.hash[:8],
            "here": "yes" if folder else f"turnwise fetch {model.name}",
        }
        for model, folder in fetched()
    ]


LISTS = {
    "metrics": _metrics,
    "estimators": _estimators,
    "readers": _readers,
    "statistics": _statistics,
    "weights": _weights,
}


def _joined(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _card(record: dict[str, Any]) -> str:
    card = record["card"]
    better = f", {record['better']} is better" if "better" in record else ""
    head = f"{record['name']}  ({record['kind']}, {record['level']} level{better})"
    needs = f"  needs     {_joined(record['needs'])}\n" if record["needs"] else ""
    attacks = "".join(
        f"\n  attack    {one['description']} ({one['contexts']}: {one['score']:.3g}, people {one['human_score']:.3g})"
        for one in record.get("attacks", ())
    )
    return (
        f"{head}\n{needs}  meaning   {card.meaning}\n  range     {card.range}\n"
        f"  limits    {card.limits}\n  citation  {card.citation}{attacks}"
    )
