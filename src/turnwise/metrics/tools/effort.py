"""What a dialogue took: steps of the agent, and the cost that the log has."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from turnwise.metrics.rows import Ratio
from turnwise.metrics.tools.latency import measured_by_dialogue
from turnwise.types import Card, Floats, Item, Level, Need, Signature, digest

COSTS = ("agent_cost", "cost", "total_cost")  # keys of `meta` with the cost of a dialogue


@dataclass(frozen=True, slots=True)
class _Effort(Ratio):
    """A mean over dialogues of one number each; lower is better."""

    level: ClassVar[Level] = "dialogue"
    needs: ClassVar[frozenset[Need]] = frozenset({"dialogue"})
    higher_is_better: ClassVar[bool] = False
    name: ClassVar[str]

    @property
    def signature(self) -> Signature:
        """The name alone."""
        return Signature(self.name)

    @abstractmethod
    def value(self, item: Item, /) -> float:
        """The number of a dialogue; NaN where it has none."""

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): the number of each dialogue, NaN for an item that is a reply, and 1."""
        values = [self.value(item) if item.turn is None else nan for item in items]
        return np.array([(value, 1.0) for value in values], dtype=np.float64).reshape(-1, 2)


class Steps(_Effort):
    """`steps`: messages and tool calls of the agent in a dialogue."""

    __slots__ = ()

    name: ClassVar[str] = "steps"
    unscored: ClassVar[str] = "no message"
    card: ClassVar[Card] = Card(
        kind="feature",
        meaning="Steps of the agent in a dialogue: its messages with words, and its tool calls.",
        range="0 and up",
        limits="Few steps are good only if the task was done; read it beside the reward.",
        citation="Yao et al. 2024, tau-bench",
    )

    def value(self, item: Item, /) -> float:
        """The number of messages with words and of tool calls."""
        mine = [turn for turn in item.turns if turn.role == item.role]
        return float(sum(bool(turn.text.strip()) + len(turn.tool_calls) for turn in mine))


@dataclass(frozen=True, slots=True)
class LoggedCost(_Effort):
    """`logged-cost`: the cost of the agent in a dialogue, as the log or the measured file of `play` has it."""

    name: ClassVar[str] = "logged-cost"
    unscored: ClassVar[str] = (
        "the log has no cost (meta.agent_cost, meta.cost, `cost` of the agent's messages, or [measured=FILE])"
    )
    card: ClassVar[Card] = Card(
        kind="feature",
        meaning="The agent's cost of a dialogue, as logged.",
        range="0 and up, in the log's currency",
        limits="As the log counts it. A price of 0 in the log is taken for a price.",
        citation="Barres et al. 2025, tau2-bench",
    )

    measured: str = ""  # the file of `play`

    @property
    def signature(self) -> Signature:
        """The name, with a digest of the measured file."""
        file = (("measured", digest(Path(self.measured).read_bytes())),) if self.measured else ()
        return Signature(self.name, file)

    def value(self, item: Item, /) -> float:
        """The cost in `meta`, else the sum over the agent's messages; NaN if neither is there."""
        if self.measured:
            took = measured_by_dialogue(self.measured).get(item.dialogue)
            return nan if took is None or took.agent_cost is None else took.agent_cost
        for key in COSTS:
            if _is_number(item.meta.get(key)):
                return float(item.meta[key])
        costs = [turn.extra.get("cost") for turn in item.turns if turn.role == item.role]
        known = [float(cost) for cost in costs if cost is not None and _is_number(cost)]
        return sum(known) if known else nan


def logged_cost(*, measured: str | None = None) -> LoggedCost:
    """The metric; a measured file that cannot be read raises `UsageError`."""
    if measured:
        measured_by_dialogue(measured)
    return LoggedCost(measured or "")


def _is_number(value: Any) -> bool:
    """Whether a value is a number; a truth value is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)
