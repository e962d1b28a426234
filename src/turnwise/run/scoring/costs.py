"""The cost of a run with paid metrics, printed before it starts."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from turnwise.conformance.calls import called, reuse_key
from turnwise.errors import PluginError
from turnwise.protocols import Priced
from turnwise.run.resume.block_store import BlockStore
from turnwise.run.scoring.blocks import content_key
from turnwise.terminal import say_lines
from turnwise.types import Item, Metric, digest


def announce(metrics: Mapping[str, Metric], store: BlockStore, stream: Iterator[Item], *, shard: int) -> None:
    """Print to stderr what each paid metric will request, without the blocks that the store already has.

    `shard` is the number of items in a block. For a plugin whose `cost` raises, the error is printed; it is scored
    nevertheless.
    """
    priced = {name: metric for name, metric in metrics.items() if isinstance(metric, Priced)}
    total: dict[str, Any] = {}
    unknown: dict[str, str] = {}  # metric -> why its cost is not known
    for batch in iter(lambda: list(islice(stream, shard)), []):
        content = content_key(batch)
        asked = [item for item in batch if item.missing is None]
        for name, metric in priced.items():
            if name in unknown or digest(reuse_key(metrics[name]), content) in store:
                continue
            try:
                cost = called(metric, "cost", asked)
            except PluginError as error:
                unknown[name] = f"its cost is not known: {error}"
                continue
            total[name] = total[name] + cost if name in total else cost
    for name in priced:
        found = unknown.get(name) or total.get(name, "nothing to ask: all of it is kept")
        say_lines(f"note: {name}: {found}", err=True)
