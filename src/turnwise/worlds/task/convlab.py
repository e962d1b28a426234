"""Adapters for ConvLab-3: its systems as agents, and its user simulators as users of this world.

An adapter needs only the interface of ConvLab's dialogue agents: `init_session()`, `response(text)`, and of a user
`is_terminated()` and `policy.get_goal()`. These were checked against `PipelineAgent` and `RulePolicy` of the release
3.0.1. ConvLab itself is never imported: a function of the user builds its system or its simulator. It uses Python's
global random generator, which is seeded before each session to make dialogues reproducible.

A ConvLab system keeps the dialogue in its session and cannot be given other replies than its own. To get its
alternative in another agent's dialogue, the adapter starts a session, sends it the user's turns in order, and takes
its last reply.
"""

import random
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from turnwise.errors import DataError
from turnwise.types import Reply, Turn
from turnwise.worlds.task.goal import parse_goal
from turnwise.worlds.task.tables import Tables
from turnwise.worlds.task.understanding import parse_user_turn
from turnwise.worlds.task.user import MAX_REPLIES, User, UserView

MAX_DRAWS = 50  # goals that are drawn to find one whose domains this world has


class Session(Protocol):
    """The interface of a ConvLab agent that is used here."""

    def init_session(self) -> object:
        """Start a new dialogue."""
        ...

    def response(self, observation: str, /) -> str:
        """The agent's next text, in response to the other side's text."""
        ...


class Simulator(Session, Protocol):
    """The interface of a ConvLab user simulator."""

    @property
    def policy(self) -> Any:
        """ConvLab's policy object of the user; `get_goal()` returns the user's goal."""
        ...

    def is_terminated(self) -> bool:
        """Whether the user has ended the dialogue."""
        ...


@dataclass(slots=True)
class ConvLabSystem:
    """A ConvLab system as an agent; for another agent's dialogue it gets the user's turns in a new session."""

    session: Session
    _user_texts: tuple[str, ...] = ()  # user's turns in the current session
    _last_reply: str = ""  # the system's last reply

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        users = tuple(turn.text for turn in turns if turn.role == "user")
        before = [turn.text for turn in turns if turn.role == "assistant"]
        continues = users[:-1] == self._user_texts and before[-1:] == [self._last_reply]
        if not continues:
            random.seed(int(rng.integers(2**32)))
            self.session.init_session()
        for text in users[-1:] if continues else users:
            self._last_reply = self.session.response(text)
        self._user_texts = users
        return Reply(self._last_reply)

    def reply(self, messages: Sequence[Mapping[str, Any]], rng: np.random.Generator) -> Reply:
        """The reply to chat messages, for use as a `module:function`: `reply = ConvLabSystem(yours).reply`."""
        return self([Turn(message["role"], message["content"]) for message in messages], rng)


@dataclass(frozen=True, slots=True)
class ConvLabUser(User):
    """A ConvLab user simulator with its own goal; progress on the goal is tracked here, for the scores."""

    session: Simulator = field(kw_only=True)
    _ended: list[bool] = field(
        default_factory=list, kw_only=True, compare=False
    )  # non-empty once it has ended

    def first_message(self, rng: np.random.Generator) -> str:
        """The simulator's response to an empty text; `rng` is not used."""
        return self._respond("")

    def next_message(self, turns: Sequence[Turn], rng: np.random.Generator) -> str | None:
        """The simulator's response to the last turn.

        None once it has ended the dialogue or the system has replied 20 times.
        """
        replies = sum(turn.role == "assistant" for turn in turns)
        return None if self._ended or replies >= MAX_REPLIES else self._respond(turns[-1].text)

    def _respond(self, text: str) -> str:
        """The simulator's response to the system's turn; records whether the simulator has ended the dialogue."""
        said = self.session.response(text)
        if self.session.is_terminated():
            self._ended.append(True)
        return said

    def _after_user_turn(self, view: UserView, text: str) -> None:
        """Update the view after a user's turn; the current domain is the one that the turn names, if the goal has it.

        A ConvLab user goes through the domains of its goal in an order of its own.
        """
        part = view.part or view.parts[-1]
        domain = parse_user_turn(self.tables, text, part.wish.domain).domain
        indices = {one.wish.domain: index for index, one in enumerate(view.parts)}
        view.current = indices.get(str(domain), min(view.current, len(view.parts) - 1))
        User._after_user_turn(self, view, text)


def convlab_user(session: Simulator, tables: Tables, rng: np.random.Generator) -> ConvLabUser:
    """A user with a goal drawn by ConvLab; raises `DataError` if none of 50 drawn goals fits this world."""
    problem: DataError | None = None
    for _ in range(MAX_DRAWS):
        random.seed(int(rng.integers(2**32)))
        session.init_session()
        goal: Mapping[str, Any] = deepcopy(session.policy.get_goal())
        try:
            return ConvLabUser(parse_goal(goal, where="ConvLab's goal"), tables, session=session)
        except DataError as error:
            problem = error
    raise DataError(f"none of {MAX_DRAWS} goals drawn by ConvLab could be used; the last: {problem}")
