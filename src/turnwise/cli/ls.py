"""`turnwise ls`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from turnwise.cli import options
from turnwise.errors import PluginError

if TYPE_CHECKING:
    from turnwise.types import Card


@click.command(name="ls")
@click.argument(
    "kind",
    default="metrics",
    type=click.Choice(
        ["metrics", "estimators", "readers", "agents", "worlds", "trainers", "statistics", "weights"]
    ),
)
@options.printing
def command(kind: str, style: str, quiet: bool, verbose: bool) -> None:
    """List metrics, estimators, readers, agents, worlds, trainers, statistics and weights; with -v, whole cards.

    A plugin that cannot be used is left out and reported on stderr.
    """
    from turnwise.report import results, text

    records = LISTS[kind]()
    if style == "json":
        click.echo(results.to_json(records).decode(), nl=False)
    elif not records:
        click.echo(f"no {kind} are installed")
    elif verbose and "card" in records[0]:
        click.echo("\n\n".join(_card(record) for record in records))
    else:
        columns = [name for name in records[0] if name not in ("card", "attacks")]
        rows = [[_joined(record[name]) for name in columns] for record in records]
        click.echo(text.table(rows, columns))


def _usable(
    names: Iterable[str], record: Callable[[str], dict[str, Any]], broken: Iterable[PluginError]
) -> list[dict[str, Any]]:
    """The record of each name that can be used; the others, and those in `broken`, are reported on stderr, a
    line each.
    """
    found, problems = [], list(broken)
    for name in names:
        try:
            found.append(record(name))
        except PluginError as error:
            problems.append(error)
    for problem in problems:
        click.echo(f"note: {problem}", err=True)
    return found


def _metrics() -> list[dict[str, Any]]:
    """A record for each metric, with its card and known attacks."""
    from turnwise import metrics
    from turnwise.metrics.attacks import known_attacks

    def record(name: str) -> dict[str, Any]:
        """The record of one metric; raises `PluginError` for a plugin that cannot be used."""
        info = metrics.describe(name)
        return {
            "name": info.name,
            "kind": info.kind,
            "level": info.level,
            "needs": sorted(info.needs),
            "better": "higher" if info.higher_is_better else "lower",
            "card": info.card,
            "attacks": known_attacks(info.name),
        }

    return _usable(metrics.names(), record, metrics.broken())


def _estimators() -> list[dict[str, Any]]:
    """A record for each estimator, with its card."""
    from turnwise import estimators

    def record(name: str) -> dict[str, Any]:
        """The record of one estimator; raises `PluginError` for a plugin that cannot be used."""
        card = _estimator_card(name)
        return {
            "name": name,
            "kind": card.kind,
            "level": "system",
            "needs": ["alternatives"],
            "says": card.meaning,
            "card": card,
        }

    return _usable(estimators.names(), record, estimators.broken())


def _estimator_card(name: str) -> Card:
    """The card of an estimator; if the extra that it needs is missing, a card that names the extra."""
    from turnwise.errors import MissingExtra
    from turnwise.estimators import describe
    from turnwise.types import Card

    try:
        return describe(name)
    except MissingExtra as error:
        return Card(kind="estimator", meaning=str(error), range="-", limits="-", citation="-")


def _readers() -> list[dict[str, Any]]:
    """A record for each reader: ours, and those of other packages."""
    from turnwise.logs import readers

    known = readers.all_readers()

    def record(name: str) -> dict[str, Any]:
        """The record of one reader; raises `PluginError` for a plugin that cannot be used."""
        readers.check_loads(known[name])
        return {"name": name, "kind": "reader", "reads": known[name].summary}

    return _usable(known, record, readers.broken())


def _agents() -> list[dict[str, Any]]:
    """A record for each kind of agent that can be named."""
    from turnwise import agents

    def record(name: str) -> dict[str, Any]:
        """The record of one kind of agent; raises `PluginError` for a plugin that cannot be used."""
        return {"name": name, "kind": "agent", "what": agents.describe(name)}

    return _usable(agents.names(), record, agents.broken())


def _worlds() -> list[dict[str, Any]]:
    """A record for each world, with its families and dimensions."""
    from turnwise import worlds

    def record(name: str) -> dict[str, Any]:
        """The record of one world; raises `PluginError` for a plugin that cannot be used."""
        module = worlds.named(name)
        return {
            "name": name,
            "kind": "world",
            "families": list(module.FAMILIES),
            "dimensions": list(module.WORLD.dimensions),
        }

    return _usable(worlds.names(), record, worlds.broken())


def _trainers() -> list[dict[str, Any]]:
    """A record for each trainer, with what it learns from."""
    from turnwise.run.train import command as training

    def record(name: str) -> dict[str, Any]:
        """The record of one trainer; raises `PluginError` for a plugin that cannot be used."""
        one = training.trainer(name)
        return {"name": name, "kind": "trainer", "learns from": one.learns, "what": one.what}

    return _usable(training.names(), record, training.broken())


def _statistics() -> list[dict[str, Any]]:
    """A record for each statistic of agreement."""
    from turnwise.meta.correlate import STATISTICS

    return [{"name": name, "kind": "statistic", "says": says} for name, says in STATISTICS.items()]


def _weights() -> list[dict[str, Any]]:
    """A record for each model that can be fetched, and whether it is here."""
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
    "agents": _agents,
    "worlds": _worlds,
    "trainers": _trainers,
    "statistics": _statistics,
    "weights": _weights,
}


def _joined(value: Any) -> str:
    """A list as names separated by commas; anything else by `str`."""
    return ", ".join(value) if isinstance(value, list) else str(value)


def _card(record: dict[str, Any]) -> str:
    """A whole card as text, with the known attacks of a metric."""
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
