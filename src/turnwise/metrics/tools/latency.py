"""How long the agent took for its replies: `latency-p50` and `latency-p95`, in seconds.

The times are in the log (`latency` of a message, or the `timestamp` of the reply and of the user's message before it),
or in the file that `turnwise play` writes beside its log: `latency-p95[measured=runs.measured.jsonl]`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from math import inf, isfinite, nan
from pathlib import Path
from typing import ClassVar

import msgspec
import numpy as np

from turnwise.errors import UsageError
from turnwise.metrics.rows import Resampling, scored
from turnwise.types import Card, Floats, Item, Level, Need, Rows, Signature, Turn, digest

STAMPS = (
    "timestamp",
    "created_at",
    "createdAt",
    "time",
    "ts",
)  # keys of a message with the time that it was sent at
_MILLISECONDS = 1e11  # a time since 1970 in milliseconds is above it, one in seconds below


class Took(msgspec.Struct):
    """The part of a line of `play`'s measured file that is read."""

    id: str
    latency: list[float] = []
    agent_cost: float | None = None


@dataclass(frozen=True, slots=True)
class Latency:
    """A quantile of the seconds of the agent's replies."""

    level: ClassVar[Level] = "turn"
    needs: ClassVar[frozenset[Need]] = frozenset({"context"})
    higher_is_better: ClassVar[bool] = False
    resampling: ClassVar[Resampling] = "subsample"
    span: ClassVar[tuple[float, float]] = (0.0, inf)
    unscored: ClassVar[str] = (
        "no time of the reply (`latency`, or `timestamp` here and of the user's message, or [measured=FILE])"
    )
    card: ClassVar[Card] = Card(
        kind="feature",
        meaning="Seconds until the agent's reply, with its tool calls: the median, or the 95 % quantile.",
        range="0 and up, in seconds",
        limits="As the log or `play` measured it, with the network and the load of that day. Timestamps of a log are "
        "often those of its writing.",
        citation="Dean and Barroso 2013, The Tail at Scale",
    )

    name: str = "latency-p50"
    quantile: float = 0.5
    measured: str = ""  # the file of `play`

    @property
    def signature(self) -> Signature:
        """The quantile, and a digest of the measured file."""
        file = (("measured", digest(Path(self.measured).read_bytes())),) if self.measured else ()
        return Signature(self.name, file)

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 1) the seconds of each reply; NaN where the log has no time."""
        return np.array([[self._seconds(item)] for item in items], dtype=np.float64).reshape(-1, 1)

    def reduce(self, rows: Rows, /) -> float:
        """The quantile of the rows without a NaN; NaN if there are none."""
        kept = np.asarray(rows[scored(rows)])
        return float(np.quantile(kept, self.quantile)) if len(kept) else nan

    def _seconds(self, item: Item) -> float:
        """The seconds of a reply."""
        if item.turn is None:
            return nan
        if self.measured:
            took = measured_by_dialogue(self.measured).get(item.dialogue)
            number = sum(turn.role == item.role and not turn.tool_calls for turn in item.context)
            return took.latency[number] if took is not None and number < len(took.latency) else nan
        own = item.turns[-1].extra.get("latency")
        if isinstance(own, int | float) and not isinstance(own, bool):
            return float(own)
        before = next((turn for turn in reversed(item.context) if turn.role not in (item.role, "tool")), None)
        if before is None:
            return nan
        seconds = sent_at(item.turns[-1]) - sent_at(before)
        return seconds if seconds >= 0 else nan


def latency_p50(*, measured: str | None = None) -> Latency:
    """The median; a measured file that cannot be read raises `UsageError`."""
    return _latency("latency-p50", 0.5, measured)


def latency_p95(*, measured: str | None = None) -> Latency:
    """The 95 % quantile; a measured file that cannot be read raises `UsageError`."""
    return _latency("latency-p95", 0.95, measured)


def _latency(name: str, quantile: float, measured: str | None) -> Latency:
    """A quantile of the seconds."""
    if measured:
        measured_by_dialogue(measured)
    return Latency(name, quantile, measured or "")


def sent_at(turn: Turn) -> float:
    """The time at which a message was sent, in seconds; NaN if the log has none."""
    value = next((turn.extra[key] for key in STAMPS if turn.extra.get(key) is not None), None)
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            try:
                value = float(value)
            except ValueError:
                return nan
    if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
        return value / 1000 if value > _MILLISECONDS else float(value)
    return nan


def measured_by_dialogue(path: str) -> Mapping[str, Took]:
    """The lines of a measured file of `play` by dialogue; `UsageError` for a file that is none."""
    try:
        about = Path(path).stat()
        return _lines(path, about.st_mtime_ns, about.st_size)
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(
            f"{path} is no file of measured times, as `turnwise play` writes them: {error}"
        ) from None


@lru_cache(maxsize=8)
def _lines(path: str, changed: int, size: int) -> Mapping[str, Took]:
    """The lines of a file by dialogue, read once as long as it does not change."""
    decode = msgspec.json.Decoder(Took).decode
    return {one.id: one for one in map(decode, Path(path).read_bytes().splitlines())}
