"""`turnwise diff`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from turnwise.cli.common import options
from turnwise.report.text import number
from turnwise.terminal import columns, display_width, visible

SHOWN = 2  # items that rose most, and that fell most, by each metric; with -v all in results.json


@click.command(name="diff")
@options.config
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "-m", "--metric", "metrics", multiple=True, callback=options.names, metavar="NAMES",
    help="Metrics, separated by commas. Default: every metric that both runs have.",
)  # fmt: skip
@click.option(
    "--agents", callback=options.names, metavar="NAMES",
    help="Only these agents. Default: those that both runs have.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Compare metrics whose signatures differ.")
@click.option("-o", "--output", metavar="DIR", help="Write results.json here.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@options.draws
@options.gating
@options.printing
def command(**given: Any) -> int:
    """What changed between two runs of an agent? Paired test, items that changed most.

    OLD and NEW are folders that `turnwise score -o` or `turnwise compare -o` wrote, before and after a change of
    the agent. The estimate is NEW minus OLD, and a --gate applies to it. A metric that was not measured alike in
    the two runs is refused with the reason.

    \b
      turnwise diff out/main out/branch
      turnwise diff out/main out/branch --gate 'rouge-l >= -0.02' --junit g.xml
    """
    from turnwise.cli.common.printed import conclude
    from turnwise.library import diff

    with options.gated(given):
        keywords = options.arguments(given)
        del keywords["progress"]  # nothing is scored
        found = diff(**keywords)
        return conclude(found, given, after=_flips(found.document["results"], given))


def _flips(records: Sequence[Mapping[str, Any]], given: Mapping[str, Any]) -> str:
    """The items that changed most by each metric, with their texts; empty if there are none."""
    several = len({record["agent"] for record in records} - {None}) > 1
    parts = []
    for record in records:
        if flips := record.get("flips"):
            about = [record["metric"], record["agent"] if several else None, record["group"]]
            counts = f"{record['rose']} rose and {record['fell']} fell of {record['n_items']}"
            name = visible(", ".join(filter(None, about)))
            parts.append(f"\nitems that changed most by {name} ({counts}):")
            parts += [line for flip in _chosen(flips, given) for line in _told(flip)]
    return "\n".join(parts)


def _chosen(flips: Sequence[Mapping[str, Any]], given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The first rises and the first falls, or with -v all of them."""
    rises = [flip for flip in flips if flip["change"] > 0]
    falls = [flip for flip in flips if flip["change"] < 0]
    return [*rises, *falls] if given["verbose"] else [*rises[:SHOWN], *falls[:SHOWN]]


def _told(flip: Mapping[str, Any]) -> Iterator[str]:
    """The lines on one item: its id with both scores, and what is known of the texts, each in one line."""
    names = dict.fromkeys((flip["id_old"], flip["id_new"]))
    sign = "+" if flip["change"] > 0 else ""
    scores = f"{number(flip['old'])} -> {number(flip['new'])} ({sign}{number(flip['change'])})"
    yield visible(f"{' and '.join(names)}: {scores}")
    for label, key in (("context", "context"), ("old", "reply_old"), ("new", "reply_new")):
        if flip.get(key) is not None:
            yield _cut(f"  {label + ':':<9}{visible(' '.join(flip[key].split()))}", columns())


def _cut(text: str, width: int) -> str:
    """The text in at most `width` columns, with an ellipsis if it is longer."""
    if display_width(text) <= width:
        return text
    while display_width(text) > width - 1:
        text = text[: -max(1, (display_width(text) - width) // 2)]
    return f"{text}…"
