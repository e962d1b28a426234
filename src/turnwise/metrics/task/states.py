"""How well a system tracks what the user wants: its predicted states against the logged ones.

At each system turn the state is a set of (domain, slot, value), with names and values normalised by the ontology;
slots for which any value will do are left out on both sides. Joint goal accuracy (Henderson et al. 2014) is the share
of turns whose predicted set is the logged one. Slot F1 is over the members of all sets together.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from turnwise.metrics.rows import Ratio, Sums, quotient
from turnwise.metrics.task import ontology as ontologies
from turnwise.metrics.task.ontology import Ontology, OntologyReader
from turnwise.metrics.task.system_turns import predictions_of
from turnwise.types import Card, Floats, Item, Level, Need, Signature

State = frozenset[tuple[str, str, str]]  # (domain, slot, value)
_UNSCORED = "no states that the system predicted (`meta.predicted_states`)"
_LIMITS = (
    "A state is compared with the logged one, whose errors count against the system. Values are normalised by the "
    "ontology, so published figures with other normalisations differ."
)


@dataclass(frozen=True, slots=True)
class Tracking(OntologyReader):
    """A metric of predicted states."""

    level: ClassVar[Level] = "dialogue"
    needs: ClassVar[frozenset[Need]] = frozenset({"dialogue", "state"})
    higher_is_better: ClassVar[bool] = True
    span: ClassVar[tuple[float, float]] = (0.0, 100.0)
    unscored: ClassVar[str] = _UNSCORED
    name: ClassVar[str]

    ontology: str = "multiwoz"

    @property
    def signature(self) -> Signature:
        """The ontology: its name and the first 8 digits of its digest."""
        ontology = ontologies.load(self.ontology)
        return Signature(self.name, (("ontology", f"{ontology.name}@{ontology.fingerprint[:8]}"),))

    @abstractmethod
    def _row(self, pairs: Sequence[tuple[State, State]]) -> tuple[float, ...]:
        """What is counted of the predicted and the logged state of each turn."""

    def _rows(self, items: Sequence[Item], width: int) -> Floats:
        """(n, width): the row of each dialogue; NaN without predicted states."""
        ontology = ontologies.load(self.ontology)
        rows = np.full((len(items), width), np.nan)
        for row, item in zip(rows, items, strict=True):
            pairs = list(_pairs(item, ontology))
            if pairs:
                row[:] = self._row(pairs)
        return rows


def _pairs(item: Item, ontology: Ontology) -> Iterator[tuple[State, State]]:
    """The predicted and the logged state of each system turn that has a logged one; none without predictions."""
    replies = [turn for turn in item.turns if turn.role == "assistant"]
    predicted = predictions_of(item, len(replies))
    for number, turn in enumerate(replies if predicted is not None else ()):
        if predicted is not None and turn.state is not None:
            yield _members(ontology.state(predicted[number])), _members(ontology.state(turn.state))


def _members(state: dict[str, dict[str, str]]) -> State:
    """A normalised state as a set."""
    return frozenset(
        (domain, slot, value) for domain, slots in state.items() for slot, value in slots.items()
    )


@dataclass(frozen=True, slots=True)
class JointGoalAccuracy(Tracking, Ratio):
    """`joint-goal-accuracy`: the share of system turns whose predicted state is the logged one."""

    name: ClassVar[str] = "joint-goal-accuracy"
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="Percentage of the system turns at which the predicted state has the same slots and values as the "
        "logged one.",
        range="0-100",
        limits=_LIMITS,
        citation="Henderson, Thomson and Williams 2014, The Second Dialog State Tracking Challenge",
    )

    def _row(self, pairs: Sequence[tuple[State, State]]) -> tuple[float, ...]:
        """Percent of the turns that are right, added up, and the number of turns."""
        return 100.0 * sum(predicted == logged for predicted, logged in pairs), float(len(pairs))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 2): 100 for each turn that is right, added up, and the turns."""
        return self._rows(items, 2)


@dataclass(frozen=True, slots=True)
class SlotF1(Tracking, Sums):
    """`slot-f1`: F1 of the slots with their values, over the states of all system turns together."""

    name: ClassVar[str] = "slot-f1"
    card: ClassVar[Card] = Card(
        kind="task",
        meaning="F1 of the (domain, slot, value) of the predicted states against those of the logged ones, over all "
        "system turns together.",
        range="0-100",
        limits=_LIMITS,
        citation="Henderson, Thomson and Williams 2014, The Second Dialog State Tracking Challenge",
    )

    def _row(self, pairs: Sequence[tuple[State, State]]) -> tuple[float, ...]:
        """Members of both states, of the predicted and of the logged one, and the turns."""
        both = sum(len(predicted & logged) for predicted, logged in pairs)
        sizes = (sum(len(pair[side]) for pair in pairs) for side in (0, 1))
        return (float(both), *map(float, sizes), float(len(pairs)))

    def rows(self, items: Sequence[Item], /) -> Floats:
        """(n, 4): members of both states, of the predicted and of the logged ones, and the turns."""
        return self._rows(items, 4)

    def of_sums(self, sums: Floats, /) -> Floats:
        """F1 in percent; 100 if no state has a member, NaN without a turn."""
        total = sums[..., 1] + sums[..., 2]
        score = np.where(total > 0, quotient(200 * sums[..., 0], total), 100.0)
        return np.where(sums[..., 3] > 0, score, np.nan)
