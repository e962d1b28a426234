"""Scores a shard of items with one metric. The result is a block: rows of scored items, reasons for the others.

A block is the unit of work, of storage and of resumption. An error of a metric affects only the items that cause it:
the shard is scored at once, and item by item only if that fails.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from turnwise.conformance.calls import called, foreign, number_of, numbers_of, raised
from turnwise.encode.truncation import collect_truncations
from turnwise.errors import PluginError, Refused, TurnwiseError
from turnwise.logs.items.items import NO_REPLY
from turnwise.metrics.rows import rows_or_errors
from turnwise.metrics.rows import scored as has_evidence
from turnwise.plugin_code import place
from turnwise.protocols import Abstains, Explains, metric_extras
from turnwise.registry import module_of, plugin_name
from turnwise.types import Floats, Ints, Item, Metric, Need, Rows, Status, Summed, digest, without_prompt

REASONS: dict[Need, str] = {
    "context": "no context",
    "references": "no reference",
    "dialogue": "not a whole dialogue",
    "goal": "no goal",
    "state": "no dialogue state",
}


class Failure(msgspec.Struct, frozen=True):
    """An item without a row, and why."""

    position: int  # in the shard
    status: Status
    reason: str
    raised: str = ""  # by a plugin: the type of the exception and the line that raised it
    shown: str = ""  # the reason under which notes count it: the first one of those with the same `raised`

    @property
    def counted_as(self) -> str:
        """The reason under which notes count this failure."""
        return self.shown or self.reason


@dataclass(frozen=True, slots=True)
class Block:
    """The rows and failures of one metric on one shard.

    `scored` are the positions in the shard that the rows belong to.
    """

    scored: Ints  # positions in the shard that the rows belong to
    rows: Rows
    failures: tuple[Failure, ...]
    cut: int = 0  # texts that the metric's model truncated
    explained: Mapping[int, Mapping[str, Any]] = field(
        default_factory=dict
    )  # position -> what is behind its score

    @property
    def failed(self) -> bool:
        """Whether the metric raised an error for some item. Such a block is scored again in the next run."""
        return any(failure.status == "error" for failure in self.failures)


def content_key(items: Sequence[Item]) -> str:
    """A hash of everything that a metric may read in these items."""
    seen = (
        (item.turns, item.turn, item.role, item.goal, item.agent, item.group, item.meta, item.missing)
        for item in items
    )
    return digest(*map(_encoded, seen))


def ratings_key(items: Sequence[Item]) -> str:
    """A hash of the ratings of these items, for metrics that read them."""
    return digest(*(_encoded((item.id, item.ratings)) for item in items))


def _encoded(seen: tuple[object, ...]) -> bytes:
    """The value as msgpack, or as JSON if it has an integer beyond 64 bits."""
    try:
        return msgspec.msgpack.encode(seen)
    except OverflowError:  # an integer beyond 64 bits, which JSON logs may hold and msgpack cannot
        return msgspec.json.encode(seen)


def missing(metric: Metric, item: Item) -> str | None:
    """The reason why `metric` cannot score `item`: the reply is missing or a need is not met. None if it can.

    People's ratings of a dialogue count even if the agent says nothing in it.
    """
    rated = item.missing == NO_REPLY and metric_extras(metric).reads_ratings
    return unmet_need(metric, item) if item.missing is None or rated else item.missing


def unmet_need(metric: Metric, item: Item) -> str | None:
    """The reason why `item` lacks what `metric` needs, the alphabetically first of several; None if it has everything.

    A metric is never asked about an item that lacks something.
    """
    met: dict[Need, bool] = {
        "context": any(turn.text for turn in without_prompt(item.context)),
        "references": bool(item.references),
        "dialogue": item.turn is None,
        "goal": item.goal is not None,
        "state": any(turn.state is not None for turn in item.turns),
    }
    return next((REASONS[need] for need in sorted(metric.needs) if not met[need]), None)


def score(metric: Metric, items: Sequence[Item]) -> Block:
    """The block of `metric` for a shard of items; items that it cannot score, or fails on, are among its failures."""
    failures: list[Failure] = []
    wanted: list[int] = []
    for position, item in enumerate(items):
        reason = missing(metric, item)
        if reason is None:
            wanted.append(position)
        else:
            failures.append(Failure(position, "skipped", reason))
    with collect_truncations() as cut:
        rows, errors = rows_or_errors(metric, [items[position] for position in wanted])
    failures += [
        Failure(wanted[index], _status(error), _words(metric, error), _raised(metric, error))
        for index, error in errors.items()
    ]
    scored = np.array([at for index, at in enumerate(wanted) if index not in errors], dtype=np.int64)
    known = has_evidence(rows)
    failures += [Failure(int(at), "skipped", _why_unscored(metric, items[at])) for at in scored[~known]]
    failures.sort(key=lambda failure: failure.position)
    explained = _explained(metric, items, wanted)
    return Block(scored[known], rows[known], tuple(failures), sum(cut), explained)


def _why_unscored(metric: Metric, item: Item) -> str:
    """The reason why the metric gave the item no value."""
    if isinstance(metric, Abstains):
        return str(called(metric, "why_unscored", item))
    return f"no value or NaN: {metric.unscored}" if foreign(metric) else metric.unscored


def _explained(metric: Metric, items: Sequence[Item], wanted: Sequence[int]) -> dict[int, Mapping[str, Any]]:
    """What the metric says about the scores of the items at these positions; raises `PluginError` for anything else
    than an object or None for each.
    """
    if not isinstance(metric, Explains) or not wanted:
        return {}
    found = called(metric, "explanations", [items[at] for at in wanted])
    fits = isinstance(found, Sequence) and len(found) == len(wanted)
    if not fits or not all(one is None or isinstance(one, Mapping) for one in found):
        raise PluginError(
            f"{type(metric).__qualname__}.explanations must return an object or None for each of {len(wanted)} items"
        )
    return {at: one for at, one in zip(wanted, found, strict=True) if one}


def _status(error: Exception) -> Status:
    """`refused` for a `Refused`, `error` for any other exception."""
    return "refused" if isinstance(error, Refused) else "error"


def _words(metric: Metric, error: Exception) -> str:
    """The reason for the user: the message, with the type of the error unless it is a `PluginError`.

    A plugin is named, with the line that raised the error.
    """
    if isinstance(error, PluginError):
        return str(error)
    if foreign(metric) and not isinstance(error, TurnwiseError):
        return f"{plugin_name(metric)} {raised(metric, error)}"
    return f"{type(error).__name__}: {error}"


def _raised(metric: Metric, error: Exception) -> str:
    """The type of a plugin's exception and the line that raised it; "" for other errors."""
    where = place(error, module_of(metric)) if foreign(metric) else ""
    return f"{type(error).__name__} {where}" if where else ""


def item_scores(metric: Metric, rows: Rows) -> Floats:
    """One number for each row; NaN if the metric is not defined for single items."""
    if metric.level != "turn" and "dialogue" not in metric.needs:
        return np.full(rows.shape[0], np.nan)
    if isinstance(metric, Summed) and isinstance(rows, np.ndarray):
        return numbers_of(metric, rows) if len(rows) else np.zeros(0)
    return np.array([number_of(metric, rows[at : at + 1]) for at in range(rows.shape[0])], dtype=np.float64)


def encode(block: Block, key: str) -> bytes:
    """The block as it is stored: msgpack with raw arrays."""
    rows: dict[str, Any]
    if isinstance(block.rows, np.ndarray):
        rows = {"dense": _pack(block.rows)}
    else:
        csr = block.rows
        rows = {"sparse": [_pack(part) for part in (csr.data, csr.indices, csr.indptr)], "shape": csr.shape}
    return msgspec.msgpack.encode(
        {
            "key": key,
            "failed": block.failed,
            "scored": _pack(block.scored),
            "rows": rows,
            "failures": block.failures,
            "cut": block.cut,
        }
        | ({"explained": dict(block.explained)} if block.explained else {})
    )


def decode(data: bytes) -> Block:
    """The block that `encode` wrote."""
    raw = msgspec.msgpack.decode(data)
    rows: Rows
    if "dense" in raw["rows"]:
        rows = _unpack(raw["rows"]["dense"])
    else:
        from scipy.sparse import csr_array

        rows = csr_array(tuple(map(_unpack, raw["rows"]["sparse"])), shape=tuple(raw["rows"]["shape"]))
    failures = msgspec.convert(raw["failures"], tuple[Failure, ...])
    return Block(_unpack(raw["scored"]), rows, failures, raw.get("cut", 0), raw.get("explained", {}))


def _pack(array: np.ndarray[Any, Any]) -> tuple[str, tuple[int, ...], bytes]:
    """An array as dtype, shape and bytes."""
    return array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes()


def _unpack(packed: tuple[str, tuple[int, ...], bytes]) -> Any:
    """The array that `_pack` made."""
    dtype, shape, data = packed
    return np.frombuffer(data, dtype=dtype).reshape(shape)
