"""`python -m papers.flagship.fresh DIR`: the fraud that seed 2 found against `turnwise` on PersonaChat, tried again.

DIR has the contexts that `papers.flagship.contexts` wrote. One reply of each dialogue that the attack did not draw is
replaced by the fraud: one friendly sentence where the last turn asks something, another one elsewhere. Prints the mean
gain over people's replies with its interval, and in how many contexts the fraud is above.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from turnwise.attacks.context import sample_contexts
from turnwise.logs.items.items import Selection, all_items
from turnwise.logs.scan import scan
from turnwise.metrics import resolve
from turnwise.run.scoring.tally import generator
from turnwise.stats.computing.tails import t_quantile
from turnwise.types import Item, Turn

COUNT, SEED = 200, 2  # of the attack
ASKED, ELSE = "i volunteer to help local shelters", "great what do you do regularly ?"


def fraud(item: Item) -> Item:
    """The item with the fraud in place of the reply."""
    text = ASKED if "?" in item.context[-1].text else ELSE
    return replace(item, turns=(*item.context, Turn("assistant", text)), turn=len(item.context))


def main() -> None:
    path = str(Path(sys.argv[1]) / "personachat.jsonl")
    stream = list(all_items([path], Selection(items="all"), scan([path])))
    drawn = {one.item.dialogue for one in sample_contexts(iter(stream), COUNT, generator(SEED, "contexts"))}
    rng = np.random.default_rng(0)
    by_dialogue: dict[str, list[Item]] = {}
    for item in stream:
        if item.context and item.dialogue not in drawn:
            by_dialogue.setdefault(item.dialogue, []).append(item)
    fresh = [several[int(rng.integers(len(several)))] for several in by_dialogue.values()]
    metric = resolve("turnwise")
    people, frauds = (np.asarray(metric.rows(some))[:, 0] for some in (fresh, [fraud(one) for one in fresh]))  # type: ignore[union-attr]
    gains = (frauds - people)[~np.isnan(frauds - people)]
    half = t_quantile(len(gains) - 1, 0.975) * gains.std(ddof=1) / np.sqrt(len(gains))
    low, high = gains.mean() - half, gains.mean() + half
    above = np.mean(gains > 0)
    print(
        f"{len(gains)} contexts: {gains.mean():+.2f} [{low:.2f}, {high:.2f}], above people's in {above:.0%}"
    )


if __name__ == "__main__":
    main()
