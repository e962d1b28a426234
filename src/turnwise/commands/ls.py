"""List metrics, estimators, readers, agents, worlds, trainers, statistics, weights and schemas."""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import msgspec
from msgspec import UNSET, UnsetType

from turnwise.commands.function import function
from turnwise.commands.screen import TRACES, Styled, print_json
from turnwise.extras import install
from turnwise.metrics.attacks import GuardEffect
from turnwise.run.inventory import EstimatorEntry, Listed, Listing, MetricEntry, OwnModel, SchemaEntry, listed
from turnwise.settings.groups import Command, Restated, Resumption
from turnwise.settings.option import Names, Option, split_names
from turnwise.terminal import say, say_lines

UNSTATED = "none stated"  # licence of a file, in the cards of models


@dataclass(frozen=True, kw_only=True)
class Cards(Styled):
    """Settings of the command line of `ls`."""

    restated: ClassVar[Restated] = {
        "quiet": {"help": "No notes on plugins that cannot be used."},
        "verbose": {"help": f"Print the whole cards of metrics and estimators. {TRACES}"},
    }


@dataclass(frozen=True, kw_only=True)
class Ls(Command):
    """List metrics, estimators, readers, agents, worlds, trainers, statistics, weights, rubrics, judges and schemas.

    With names, only these; metrics and estimators with their whole cards, as -v prints them of all, and JSON Schemas as
    they are. A plugin that cannot be used is left out and reported.

    \b
      turnwise ls metrics
      turnwise ls metrics turnwise fbd
      turnwise ls metrics 'turnwise[trained=DIR]'
      turnwise ls weights
      turnwise ls schemas config > turnwise.schema.json
    """

    command: ClassVar[str] = "ls"
    function: ClassVar[str] = "list_available"
    screen_class = Cards
    configurable: ClassVar[bool] = False
    resumption: ClassVar[Resumption] = "never"

    kind: Annotated[
        Listed,
        Option(
            "What is listed. Metrics and estimators have their `card`, weights where they are.", flags="KIND"
        ),
    ] = field(default="metrics", kw_only=False)
    names: Annotated[Names, Option("Only these; all if there are none.", flags="[NAME]...")] = ()

    def run(self) -> Listing:
        """List them."""
        return listed(self.kind, split_names(self.names))

    def show(self, listing: Listing, screen: Cards) -> None:
        """Print a table or cards, and what cannot be used."""
        for problem in () if screen.quiet else listing.problems:
            say_lines(f"note: {problem}", err=True)
        if screen.style == "json":
            print_json(listing.records())
            return
        if self.names and (schemas := [one for one in listing.entries if isinstance(one, SchemaEntry)]):
            for schema in schemas:
                print_json(schema.file)
            return
        cards = [_card(one) for one in listing.entries if isinstance(one, MetricEntry | EstimatorEntry)]
        shown = cards if screen.verbose or self.names else []
        say("\n\n".join(shown) or screen.table_of(listing))


class HeldOut(msgspec.Struct):
    """How well a model predicts ratings that it had not seen."""

    estimate: float | None = None
    interval: tuple[float, float] | None = None
    n: int | None = None


class Raters(msgspec.Struct):
    """What a model learned from raters."""

    scale: tuple[float, float] | None = None
    dimension: str | None = None


def _card(entry: MetricEntry | EstimatorEntry) -> str:
    """A whole card as text, with the known attacks of a metric and what a guard changes."""
    card = entry.card
    needs = f"  needs     {', '.join(entry.needs)}\n" if entry.needs else ""
    missing = f"  missing   the extra `{entry.missing}`: {install(entry.missing)}\n" if entry.missing else ""
    better = more = ""
    if isinstance(entry, MetricEntry):
        better = f", {entry.better} is better" if entry.better else ""
        more = f"{_known(entry)}{_model(entry.model)}{_attacks(entry)}"
    return (
        f"{entry.name}  ({entry.kind}, {entry.level} level{better})\n"
        f"{needs}{missing}  meaning   {card.meaning}\n  range     {card.range}\n"
        f"  limits    {card.limits}\n  citation  {card.citation}{more}"
    )


def _attacks(entry: MetricEntry) -> str:
    """What is known of attacks on a metric, and what a guard changes, as lines of a card."""
    name = entry.name.partition("[")[0]
    attacks = "".join(
        f"\n  attack    {fraud.description}: it scores {fraud.score:.3g} on {fraud.contexts}, people "
        f"{fraud.human_score:.3g}"
        for fraud in entry.attacks
    )
    if entry.plain:
        attacks = f"\n  attack    not attacked with these settings; what is known of {name}: turnwise ls metrics {name}"
    guarded = _guard(entry.guarded, f"guarded[metric={name}]")
    return attacks + guarded + _guard(entry.hardened, f"{name}[trained=hardened]")


def _known(entry: MetricEntry) -> str:
    """A model's agreement with people, and what text its readers saw, as lines of a card; else empty."""
    lines = []
    if agreement := entry.agreement:
        mean = sum(agreement.values()) / len(agreement)
        low, high = min(agreement, key=agreement.__getitem__), max(agreement, key=agreement.__getitem__)
        lines.append(
            f"agrees    Spearman with {len(agreement)} groups of ratings that it had not seen: {mean:.2f} on average, "
            f"{agreement[low]:.2f} ({low}) to {agreement[high]:.2f} ({high})"
        )
    if text := entry.text:
        bound = [corpus for corpus, free in text.items() if not free]
        which = f"{len(bound)} of them not free for commercial use or without a stated licence: {', '.join(bound)}"
        lines.append(
            f"text      {len(text)} corpora, {which if bound else 'all published under free licences'}"
        )
    if ratings := entry.ratings:
        silent = sum(one == UNSTATED for one in ratings)
        lines.append(
            f"ratings   of {len(ratings)} files, {silent} without a stated licence; some rate replies to contexts that "
            "are not free for commercial use (docs/learned.md)"
        )
    return "".join(f"\n  {line}" for line in lines)


def _model(model: OwnModel | UnsetType) -> str:
    """How a model of the user's own was trained and how well it predicts, as lines of a card; else empty."""
    if model is UNSET:
        return ""
    lines = [f"trained by: {model.command}"] if model.command else []
    raters = msgspec.convert(model.raters or {}, Raters)
    if raters.scale:
        low, high = raters.scale
        lines.append(f"predicts `{raters.dimension}` from {low:g} to {high:g}, and no other dimension")
    if model.overall:
        lines.append("predicts overall ratings, and no other dimension")
    if model.guard:
        lines.append("has a guard against frauds, which the limits above do not know")
    if model.known_before:
        count = model.known_before
        lines.append(
            f"began with a model that had learned from {count} of these replies: its agreement is no evidence"
        )
    for name, value in (model.held_out or {}).items():
        if isinstance(value, float):
            lines.append(f"{name}: {value:.3f}")
        if not isinstance(value, dict):
            continue
        measured = msgspec.convert(value, HeldOut)
        if measured.estimate is not None:
            interval = "" if measured.interval is None else " [{:.3f}, {:.3f}]".format(*measured.interval)
            lines.append(
                f"{name} with held-out ratings: {measured.estimate:.3f}{interval}, {measured.n} items"
            )
    lines += [f"known of the model that it began with: {one}" for one in model.known_attacks]
    return "".join(f"\n  model     {line}" for line in lines)


def _guard(effect: GuardEffect | None, name: str) -> str:
    """What the metric with a guard, of this name, changes, as lines of a card; empty if it was not measured."""
    if not effect:
        return ""
    lines = [f"hardened: {name}"]
    if effect.agreement:
        # Differences: some metrics have learned from these ratings, so that their agreement itself is no evidence.
        each = (f"{name} {after - before:+.3f}" for name, (before, after) in effect.agreement.items())
        lines.append(f"changes the agreement with people by: {', '.join(each)}")
    if effect.attacks:
        each = (f"{name} {before:.3g} to {after:.3g}" for name, (before, after) in effect.attacks.items())
        lines.append(
            f"gain of the best fraud over people in 12,000 calls, without and with it: {', '.join(each)}"
        )
    return "".join(f"\n  guard     {line}" for line in lines)


COMMAND = Ls
list_available = function(Ls)
__all__ = ["list_available"]
