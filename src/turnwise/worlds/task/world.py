"""The task world: a user with a goal talks to a system with venue tables, and any agent can be the system."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any, ClassVar

import numpy as np

from turnwise.logs.dialogue import POINTER
from turnwise.types import Agent, Dialogue, DimensionScores, Direction, Rating, Turn
from turnwise.worlds.play import World
from turnwise.worlds.task.annotation import StateAnnotatingAgent, database_bits
from turnwise.worlds.task.convlab import Simulator, convlab_user
from turnwise.worlds.task.goal import Goal, draw_goal
from turnwise.worlds.task.lexicalise import (
    DELEXICALISED,
    AnnotatedAgent,
    DelexicalisingAgent,
    LexicalisingAgent,
)
from turnwise.worlds.task.scoring import DIMENSIONS, score
from turnwise.worlds.task.systems import System
from turnwise.worlds.task.tables import Tables
from turnwise.worlds.task.tracking import State, Tracker, belief_state, with_log_names
from turnwise.worlds.task.user import MAX_REPLIES, User

# Dimension -> its scale, where it is not 0 to 1.
SCALES = {"turns": (0.0, 2.0 * MAX_REPLIES)}
BRIEFING = (
    "You help a visitor of a town to find restaurants, hotels, attractions, trains and taxis, and book them. "
    "Write placeholders for what the tables hold, as in `[restaurant_name] is in the [restaurant_area].`: "
    "they are filled in from what the visitor said. This is conversation {:08x}."
)


@dataclass(frozen=True, slots=True)
class Scene:
    """One user with its goal: everything in a dialogue except the system."""

    user: User
    briefing: Turn

    @property
    def goal(self) -> Mapping[str, Any]:
        """The goal in MultiWOZ's format: domain -> record with `info` and perhaps `reqt`, `book` and `fail_info`."""
        return {wish.domain: wish.record() for wish in self.user.goal}

    def first_message(self, rng: np.random.Generator) -> str:
        """The user's first turn."""
        return self.user.first_message(rng)

    def next_message(self, turns: Sequence[Turn], rng: np.random.Generator) -> str | None:
        """The user's next turn, or None if the user said goodbye in its last one."""
        return self.user.next_message(turns[1:], rng)

    def outcome(self, turns: Sequence[Turn], content: str) -> DimensionScores | None:
        """None: in this world no reply is a decision; finished dialogues are scored by `truth`."""
        return None

    def with_decision_request(self, turns: Sequence[Turn]) -> Sequence[Turn] | None:
        """None: in this world no decision can be asked for."""
        return None

    def ratings(self, turns: Sequence[Turn], item: str, rng: np.random.Generator) -> tuple[Rating, ...]:
        """The scores of `truth` that are not NaN, as ratings of the dialogue `item` without a rater.

        `rng` is not used.
        """
        return tuple(
            Rating(item, name, value, scale=SCALES.get(name, (0.0, 1.0)), direction=_direction(name))
            for name, value in self.truth(turns).items()
            if not isnan(value)
        )

    def truth(self, turns: Sequence[Turn]) -> DimensionScores:
        """The scores of a finished dialogue against the goal, by dimension; `book` and `f1` may be NaN."""
        view = self.user.view(turns[1:])
        return score(view.parts, self.user.tables, turns=len(turns) - 1)


def _direction(name: str) -> Direction:
    """Whether higher or lower ratings of a dimension are better."""
    return "lower" if name == "turns" else "higher"


@dataclass(frozen=True, slots=True)
class Task(World):
    """Users who search and book venues, trains and taxis."""

    name: ClassVar[str] = "task"
    dimensions: ClassVar[tuple[str, ...]] = DIMENSIONS

    tracker: Tracker
    goals: tuple[Goal, ...] = ()  # goals of a corpus; if empty, goals are drawn from the tables
    delexicalised: bool = False  # whether logs have placeholders instead of values
    simulator: Simulator | None = None  # a ConvLab user simulator that replaces the user of this world

    @property
    def tables(self) -> Tables:
        """The venue tables."""
        return self.tracker.tables

    def state(self, turns: Sequence[Turn]) -> dict[str, dict[str, str]]:
        """The belief state after `turns`, domain -> slot -> value, with the slot names of logs; tracked by rules.

        The last of `turns` must be the user's.
        """
        return with_log_names(belief_state(self.tracker(turns)))

    def scene(self, rng: np.random.Generator) -> Scene:
        """Draw the user: ConvLab's if there is a simulator, else with one of `goals` or a goal from the tables."""
        briefing = Turn("system", BRIEFING.format(int(rng.integers(2**32))))
        if self.simulator is not None:
            return Scene(convlab_user(self.simulator, self.tables, rng), briefing)
        if self.goals:
            goal = self.goals[int(rng.random() * len(self.goals))]
        else:
            goal = draw_goal(self.tables, rng)
        return Scene(User(goal, self.tables, patience=2 + int(rng.random() * 3)), briefing)

    def for_dialogue(self, agent: Agent) -> AnnotatedAgent:
        """The agent, wrapped so that it sees the tracked state and its placeholders are filled.

        Systems of this world do both themselves.
        """
        return (
            agent
            if isinstance(agent, System)
            else LexicalisingAgent(StateAnnotatingAgent(agent, self.tracker), self.tracker)
        )

    def for_alternatives(self, agent: Agent) -> Agent:
        """The agent as in a dialogue; in delexicalised logs its replies keep their placeholders."""
        wrapped = self.for_dialogue(agent)
        return DelexicalisingAgent(wrapped) if self.delexicalised else wrapped

    def annotate(self, dialogue: Dialogue, others: Mapping[str, Agent]) -> Dialogue:
        """Add the metadata that task metrics need: the tables' name and the domains booked by each system turn.

        In delexicalised logs also the database bits and the state of each agent in `others` at each turn, and turns get
        their placeholders back.
        """
        meta = {
            **dialogue.meta,
            "db": self.tables.name,
            "booked_domains": list(_bookings(dialogue.turns)),
        }
        if not self.delexicalised:
            return replace(dialogue, meta=meta)
        indices = [index for index, turn in enumerate(dialogue.turns) if turn.role == "assistant"]
        briefing = Turn("system", dialogue.meta["briefing"])
        meta[POINTER] = [
            database_bits(belief_state(self.tracker(dialogue.turns[:index])), self.tables)
            for index in indices
        ]
        meta["predicted_states"] = {
            name: [
                with_log_names(self._tracked_state(agent, (briefing, *dialogue.turns[:index])))
                for index in indices
            ]
            for name, agent in others.items()
        }
        return replace(dialogue, meta=meta, turns=tuple(map(_delexicalised_turn, dialogue.turns)))

    def _tracked_state(self, agent: Agent, turns: Sequence[Turn]) -> State:
        """The state that an agent tracks; the world's own for agents without a tracker."""
        return agent.state(turns) if isinstance(agent, System) else belief_state(self.tracker(turns))


def _bookings(turns: Sequence[Turn]) -> Iterator[list[str]]:
    """For each turn of the system, the domains with a reference number so far."""
    made: set[str] = set()
    for turn in turns:
        if turn.role == "assistant":
            made |= {act.partition("-")[0].lower() for act, slot, _ in turn.acts or () if slot == "reference"}
            yield sorted(made)


def _delexicalised_turn(turn: Turn) -> Turn:
    """The turn with placeholders as its content, if it has them, and the text that the user saw as `surface`."""
    if DELEXICALISED not in turn.extra:
        return turn
    extra = {key: value for key, value in turn.extra.items() if key != DELEXICALISED}
    return replace(turn, content=turn.extra[DELEXICALISED], extra=extra | {"surface": turn.text})
