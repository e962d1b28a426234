"""What a metric says beside its number: diagnostics of a distance, a curve, what a judge cost.

A metric of another package may say more than the fields of a score have room for; that goes to `more`.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import structs

from turnwise.errors import PluginError
from turnwise.records import PrecisionRecall, ScoreRecord
from turnwise.registry import plugin_name
from turnwise.types import Metric

# The fields of a score that its metric may fill.
FILLED = (
    "floor", "thinned", "n_real", "at_infinity", "spent", "panel_agreement", "panel_means", "sample_sd", "item_margin",
)  # fmt: skip


def with_said(record: ScoreRecord, metric: Metric, method: str, said: Mapping[str, Any]) -> ScoreRecord:
    """The record with what its metric's `method` returned, keys of which are fields of the record or go to `more`.

    Raises `PluginError` for what results.json cannot hold, and for a key that every result has.
    """
    source = f"{plugin_name(metric)}.{method}"
    try:
        more: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(dict(said)))
        # What is unknown stays in `more`, so that it is written.
        filled = {name: more.pop(name) for name in FILLED if more.get(name) is not None}
        msgspec.convert({"metric": record.metric, "estimate": None, **filled}, ScoreRecord)
    except (TypeError, ValueError) as error:
        raise PluginError(f"{source} returned what results.json cannot hold: {error}") from error
    for name in more:
        if name in ScoreRecord.__struct_fields__ and name not in FILLED:
            raise PluginError(f"{source} returned `{name}`, which is a key of every result")
    return structs.replace(record, **filled, more={**record.more, **more})


def with_curve(record: ScoreRecord, curve: Mapping[str, list[float]]) -> ScoreRecord:
    """The record with a curve; one of other numbers than precision and recall goes to `more`."""
    if curve.keys() == set(PrecisionRecall.__struct_fields__):
        points = {name: tuple(values) for name, values in curve.items()}
        return structs.replace(record, curve=PrecisionRecall(**points))
    return structs.replace(record, more={**record.more, "curve": curve})
