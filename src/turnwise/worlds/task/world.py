"""The task world: scenes of a user with a goal and a system with tables, in which any agent can be the system."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any, ClassVar

import numpy as np

from turnwise.logs.conversation import POINTER
from turnwise.types import Agent, Dialogue, Direction, Rating, Scores, Turn
from turnwise.worlds.play import World
from turnwise.worlds.task.annotation import Annotated, pointer
from turnwise.worlds.task.convlab import Simulator, convlab_user
from turnwise.worlds.task.goal import Goal, drawn
from turnwise.worlds.task.lexicalise import DELEXICALISED, Lexicalised, Met, Placeholders
from turnwise.worlds.task.scoring import DIMENSIONS, score
from turnwise.worlds.task.systems import System
from turnwise.worlds.task.tables import Tables
from turnwise.worlds.task.tracking import State, Tracker, spelt, tracked
from turnwise.worlds.task.user import T_MAX, User

SCALES = {"turns": (0.0, 2.0 * T_MAX)}
BRIEFING = (
    "You help a visitor of a town to find restaurants, hotels, attractions, trains and taxis, and book them. "
    "Write placeholders for what the tables hold, as in `[restaurant_name] is in the [restaurant_area].`: "
    "they are filled in from what the visitor said. This is conversation {:08x}."
)


@dataclass(frozen=True, slots=True)
class Scene:
    """One visitor; everything of a conversation but the system."""

    user: User
    briefing: Turn

    @property
    def goal(self) -> Mapping[str, Any]:
        return {wish.domain: wish.record() for wish in self.user.goal}

    def first_message(self, rng: np.random.Generator) -> str:
        return self.user.first_message(rng)

    def next_message(self, turns: Sequence[Turn], rng: np.random.Generator) -> str | None:
        return self.user.next_message(turns[1:], rng)

    def outcome(self, turns: Sequence[Turn], content: str) -> Scores | None:
        return None

    def with_decision_request(self, turns: Sequence[Turn]) -> Sequence[Turn] | None:
        return None

    def ratings(self, turns: Sequence[Turn], item: str, rng: np.random.Generator) -> tuple[Rating, ...]:
        return tuple(
            Rating(item, name, value, scale=SCALES.get(name, (0.0, 1.0)), direction=_direction(name))
            for name, value in self.truth(turns).items()
            if not isnan(value)
        )

    def truth(self, turns: Sequence[Turn]) -> Scores:
        course = self.user.course(turns[1:])
        return score(course.parts, self.user.tables, turns=len(turns) - 1)


def _direction(name: str) -> Direction:
    return "lower" if name == "turns" else "higher"


@dataclass(frozen=True, slots=True)
class Task(World):
    name: ClassVar[str] = "task"
    dimensions: ClassVar[tuple[str, ...]] = DIMENSIONS

    tracker: Tracker
    goals: tuple[Goal, ...] = ()  # of a corpus; without any they are drawn from the tables
    delexicalised: bool = False  # whether the log has placeholders in place of values
    simulator: Simulator | None = None  # of ConvLab, in the place of our user

    @property
    def tables(self) -> Tables:
        return self.tracker.tables

    def state(self, turns: Sequence[Turn]) -> dict[str, dict[str, str]]:
        """What the user has said by now, tracked by rules: for a policy that needs a state."""
        return spelt(tracked(self.tracker(turns)))

    def found(self, turns: Sequence[Turn]) -> dict[str, int]:
        """By domain that the user has spoken of, how many venues meet what it said."""
        state = tracked(self.tracker(turns))
        return {
            domain: len(self.tables.matching(domain, known))
            for domain, known in state.items()
            if domain in self.tables.rows
        }

    def scene(self, rng: np.random.Generator) -> Scene:
        briefing = Turn("system", BRIEFING.format(int(rng.integers(2**32))))
        if self.simulator is not None:
            return Scene(convlab_user(self.simulator, self.tables, rng), briefing)
        if self.goals:
            goal = self.goals[int(rng.random() * len(self.goals))]
        else:
            goal = drawn(self.tables, rng)
        return Scene(User(goal, self.tables, patience=2 + int(rng.random() * 3)), briefing)

    def for_dialogue(self, agent: Agent) -> Met:
        """With values for placeholders. Our own systems have trackers; any other agent is told what ours tracks."""
        return (
            agent if isinstance(agent, System) else Lexicalised(Annotated(agent, self.tracker), self.tracker)
        )

    def for_alternatives(self, agent: Agent) -> Agent:
        met = self.for_dialogue(agent)
        return Placeholders(met) if self.delexicalised else met

    def annotate(self, dialogue: Dialogue, others: Mapping[str, Agent]) -> Dialogue:
        """With what the task metrics look for: which domains were booked by each turn, what each system believed."""
        meta = {
            **dialogue.meta,
            "db": self.tables.name,
            "booked_domains": list(_bookings(dialogue.turns)),
        }
        if not self.delexicalised:
            return replace(dialogue, meta=meta)
        places = [place for place, turn in enumerate(dialogue.turns) if turn.role == "assistant"]
        briefing = Turn("system", dialogue.meta["briefing"])
        meta[POINTER] = [
            pointer(tracked(self.tracker(dialogue.turns[:place])), self.tables) for place in places
        ]
        meta["predicted_states"] = {
            name: [spelt(self._believed(agent, (briefing, *dialogue.turns[:place]))) for place in places]
            for name, agent in others.items()
        }
        return replace(dialogue, meta=meta, turns=tuple(map(_bare, dialogue.turns)))

    def _believed(self, agent: Agent, turns: Sequence[Turn]) -> State:
        return agent.state(turns) if isinstance(agent, System) else tracked(self.tracker(turns))


def _bookings(turns: Sequence[Turn]) -> Iterator[list[str]]:
    """By system turn, the domains of which a reference has been given."""
    made: set[str] = set()
    for turn in turns:
        if turn.role == "assistant":
            made |= {act.partition("-")[0].lower() for act, slot, _ in turn.acts or () if slot == "reference"}
            yield sorted(made)


def _bare(turn: Turn) -> Turn:
    """A system's turn with placeholders; what was said is kept beside it."""
    if DELEXICALISED not in turn.extra:
        return turn
    extra = {key: value for key, value in turn.extra.items() if key != DELEXICALISED}
    return replace(turn, content=turn.extra[DELEXICALISED], extra=extra | {"surface": turn.text})
