"""`turnwise ls`."""

from __future__ import annotations

from typing import Any

import click

from turnwise.cli.common import options
from turnwise.extras import install
from turnwise.terminal import say, say_lines

KINDS = [
    "metrics", "estimators", "readers", "agents", "worlds", "trainers", "statistics", "weights", "rubrics", "judges"
]  # fmt: skip

UNSTATED = "none stated"  # licence of a file, in the cards of models


@click.command(name="ls")
@click.argument("kind", default="metrics", type=click.Choice(KINDS))
@click.argument("names", nargs=-1, metavar="[NAME]...")
@options.style
@options.wide
@click.option("-q", "--quiet", is_flag=True, help="No notes on plugins that cannot be used.")
@options.verbose("Print the whole cards of metrics and estimators.")
def command(kind: str, names: tuple[str, ...], style: str, wide: bool, quiet: bool, verbose: bool) -> None:
    """List metrics, estimators, readers, agents, worlds, trainers, statistics, weights, rubrics and checked judges.

    With names, only these; metrics and estimators with their whole cards, as -v prints them of all.

    \b
      turnwise ls metrics
      turnwise ls metrics turnwise fbd
      turnwise ls metrics 'turnwise[trained=DIR]'
      turnwise ls weights

    A plugin that cannot be used is left out and reported on stderr.
    """
    from turnwise.cli.common.printed import HINT, print_json
    from turnwise.library import list_available

    found = list_available(kind, names=names)  # type: ignore[arg-type]  # one of the choices
    for problem in () if quiet else found.problems:
        say_lines(f"note: {problem}", err=True)
    if style == "json":
        print_json(found.records())
    elif (verbose or names) and len(found) and "card" in found.entries[0]:
        say("\n\n".join(map(_card, found)))
    else:
        say(found.table(wide=wide, hint=HINT))


def _card(record: dict[str, Any]) -> str:
    """A whole card as text, with the known attacks of a metric and what a guard changes."""
    card = record["card"]
    better = f", {record['better']} is better" if record.get("better") else ""
    head = f"{record['name']}  ({record['kind']}, {record['level']} level{better})"
    needs = f"  needs     {', '.join(record['needs'])}\n" if record["needs"] else ""
    missing = (
        f"  missing   the extra `{extra}`: {install(extra)}\n" if (extra := record.get("missing")) else ""
    )
    attacks = "".join(
        f"\n  attack    {one['description']}: it scores {one['score']:.3g} on {one['contexts']}, people "
        f"{one['human_score']:.3g}"
        for one in record.get("attacks", ())
    )
    name = record["name"].partition("[")[0]
    if record.get("plain"):
        attacks = f"\n  attack    not attacked with these settings; what is known of {name}: turnwise ls metrics {name}"
    guards = _guard(record.get("guarded"), f"guarded[metric={name}]") + _guard(
        record.get("hardened"), f"{name}[trained=hardened]"
    )
    return (
        f"{head}\n{needs}{missing}  meaning   {card.meaning}\n  range     {card.range}\n"
        f"  limits    {card.limits}\n  citation  {card.citation}{_known(record)}{_model(record)}{attacks}{guards}"
    )


def _known(record: dict[str, Any]) -> str:
    """A model's agreement with people, and what text its readers saw, as lines of a card; else empty."""
    lines = []
    if agreement := record.get("agreement"):
        mean = sum(agreement.values()) / len(agreement)
        low, high = min(agreement, key=agreement.__getitem__), max(agreement, key=agreement.__getitem__)
        lines.append(
            f"agrees    Spearman with {len(agreement)} groups of ratings that it had not seen: {mean:.2f} on average, "
            f"{agreement[low]:.2f} ({low}) to {agreement[high]:.2f} ({high})"
        )
    if text := record.get("text"):
        bound = [corpus for corpus, free in text.items() if not free]
        which = f"{len(bound)} of them not free for commercial use or without a stated licence: {', '.join(bound)}"
        lines.append(
            f"text      {len(text)} corpora, {which if bound else 'all published under free licences'}"
        )
    if ratings := record.get("ratings"):
        silent = sum(one == UNSTATED for one in ratings)
        lines.append(
            f"ratings   of {len(ratings)} files, {silent} without a stated licence; some rate replies to contexts that "
            "are not free for commercial use (docs/learned.md)"
        )
    return "".join(f"\n  {line}" for line in lines)


def _model(record: dict[str, Any]) -> str:
    """How a model of the user's own was trained and how well it predicts, as lines of a card; else empty."""
    model = record.get("model")
    if not model:
        return ""
    lines = [f"trained by: {model['command']}"] if model["command"] else []
    raters = model["raters"] or {}
    if raters.get("scale"):
        low, high = raters["scale"]
        lines.append(f"predicts `{raters['dimension']}` from {low:g} to {high:g}, and no other dimension")
    if model["overall"]:
        lines.append("predicts overall ratings, and no other dimension")
    if model["guard"]:
        lines.append("has a guard against frauds, which the limits above do not know")
    if model["known_before"]:
        count = model["known_before"]
        lines.append(
            f"began with a model that had learned from {count} of these replies: its agreement is no evidence"
        )
    for name, found in (model["held_out"] or {}).items():
        if isinstance(found, float):
            lines.append(f"{name}: {found:.3f}")
        if isinstance(found, dict) and found.get("estimate") is not None:
            low, high = found.get("interval") or (None, None)
            interval = "" if low is None else f" [{low:.3f}, {high:.3f}]"
            lines.append(
                f"{name} with held-out ratings: {found['estimate']:.3f}{interval}, {found['n']} items"
            )
    lines += [f"known of the model that it began with: {one}" for one in model["known_attacks"]]
    return "".join(f"\n  model     {line}" for line in lines)


def _guard(effect: dict[str, Any] | None, name: str) -> str:
    """What the metric with a guard, of this name, changes, as lines of a card; empty if it was not measured."""
    if not effect:
        return ""
    lines = [f"hardened: {name}"]
    if effect["agreement"]:
        # Differences: some metrics have learned from these ratings, so that their agreement itself is no evidence.
        each = (f"{name} {after - before:+.3f}" for name, (before, after) in effect["agreement"].items())
        lines.append(f"changes the agreement with people by: {', '.join(each)}")
    if effect["attacks"]:
        each = (f"{name} {before:.3g} to {after:.3g}" for name, (before, after) in effect["attacks"].items())
        lines.append(
            f"gain of the best fraud over people in 12,000 calls, without and with it: {', '.join(each)}"
        )
    return "".join(f"\n  guard     {line}" for line in lines)
