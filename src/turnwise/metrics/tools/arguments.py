"""Arguments of tool calls that nobody mentioned: not the user, no tool's result and no system prompt.

Texts of up to five words, numbers from 2 on, and dates are looked for. Longer texts are the agent's own words, 0 and 1
are counts and switches, and calculations are computed: none of these is looked at. Words without a digit and names that
the agent may know, such as the code of an airport, count as mentioned if they are an allowed value of the tool's
schema; else they must have been said.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from turnwise.metrics.tools.calls import leaves, tool_calls
from turnwise.metrics.tools.faults import Fault, Faults, Inspection
from turnwise.metrics.tools.mentions import Mentions
from turnwise.types import Card, Item, Signature

LONGEST = 5  # words of a text that is looked for
_CALCULATION = re.compile(r"[\d\s.,()+\-*/%^=]*[+*/%^][\d\s.,()+\-*/%^=]*|[\d\s.()]+\s-\s[\d\s.()+\-*/]+")


@dataclass(frozen=True, slots=True)
class ToolUnmentioned(Faults):
    """`tool-unmentioned`: the share of arguments of tool calls that nobody mentioned."""

    name: ClassVar[str] = "tool-unmentioned"
    unscored: ClassVar[str] = "no argument of a tool call that can be looked for"
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="The share of arguments of tool calls that no user, tool's result or system prompt mentions.",
        range="0-1",
        limits="An argument that the agent rightly knows or computes counts as a fault: a default, a sum, the code of "
        "an airport. `letters=false` looks only for values with a digit. One that was mentioned may still be wrong.",
        citation="Yao et al. 2024, tau-bench",
    )

    letters: bool = True  # whether values without a digit are looked for

    @property
    def signature(self) -> Signature:
        """With `letters:no` if only values with a digit are looked for."""
        return Signature(self.name, () if self.letters else (("letters", "no"),))

    def inspect(self, item: Item, /) -> Inspection:
        """The arguments that were not mentioned before their call."""
        said = Mentions()
        total, faults, upto = 0, [], 0
        for call in tool_calls(item.turns):
            for turn in item.turns[upto : call.turn]:
                if turn.role != "assistant":
                    said.add(turn.text)
            upto = max(upto, call.turn)
            for path, value in self._looked_for(call.arguments):
                total += 1
                known = said.has(value) if isinstance(value, str) else said.has_number(value)
                if not known:
                    faults.append(Fault(call.turn, f"{call.name}, {path}: {value!r} was not mentioned"))
        return Inspection(total, tuple(faults))

    def _looked_for(self, arguments: Any) -> Iterator[tuple[str, str | float]]:
        """The path and the value of each argument that is looked for."""
        for path, value in leaves(arguments):
            if isinstance(value, bool):
                continue
            if isinstance(value, int | float):
                if abs(value) >= 2:
                    yield path, float(value)
                continue
            text = str(value).strip()
            is_own = len(text.split()) > LONGEST or _CALCULATION.fullmatch(text)
            if text and not is_own and (self.letters or any(sign.isdigit() for sign in text)):
                yield path, text
