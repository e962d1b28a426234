"""ConvLab-3 in this world: its systems before our user, its user simulators before any system.

What is asked of an object is the interface of ConvLab's dialogue agents: `init_session()`, `response(text)`, and of a
user `is_terminated()` and `policy.get_goal()`. ConvLab itself is only imported to build its standard pipelines
(`pipeline`). It draws from Python's global generator, which is therefore seeded before each session: there is
no other way to have one of its conversations again.

A ConvLab system remembers the conversation it is in and cannot be told what it said in another. At a point of somebody
else's conversation it is given the user's turns from the first on, and its own last answer is taken.
"""

import random
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, Literal, Protocol

import numpy as np

from turnwise.errors import DataError, UsageError
from turnwise.types import Reply, Turn
from turnwise.worlds.task.goal import parsed
from turnwise.worlds.task.hearing import heard
from turnwise.worlds.task.tables import Tables
from turnwise.worlds.task.user import T_MAX, Course, User

TRIES = 50  # goals that are passed over, as they have domains that this world lacks


class Session(Protocol):
    """What is called of a ConvLab agent."""

    def init_session(self) -> object: ...
    def response(self, observation: str, /) -> str: ...


class Simulator(Session, Protocol):
    """Of a user."""

    @property
    def policy(self) -> Any: ...
    def is_terminated(self) -> bool: ...


def pipeline(side: Literal["sys", "user"]) -> Any:
    """ConvLab-3's standard agent: BERT NLU, rules, templates; the user's policy is its agenda."""

    def imported(name: str) -> Any:
        try:
            module, _, attribute = f"convlab.{name}".rpartition(".")
            return getattr(import_module(module), attribute)
        except ImportError as error:
            raise UsageError(
                f"ConvLab-3 cannot be imported ({error}): install its package `convlab` "
                "from github.com/ConvLab/ConvLab-3"
            ) from None

    agent = imported("dialog_agent.PipelineAgent")
    nlu = imported("nlu.jointBERT.multiwoz.BERTNLU")
    dst = imported("dst.rule.multiwoz.RuleDST")
    policy = imported("policy.rule.multiwoz.RulePolicy")
    nlg = imported("nlg.template.multiwoz.TemplateNLG")
    if side == "sys":
        return agent(nlu(), dst(), policy(), nlg(is_user=False), name="sys")
    return agent(nlu(), None, policy(character="usr"), nlg(is_user=True), name="user")


@dataclass(slots=True)
class ConvLabSystem:
    """A ConvLab system as an agent."""

    session: Session
    _heard: tuple[str, ...] = ()  # user turns of the session that is open
    _said: str = ""

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        users = tuple(turn.text for turn in turns if turn.role == "user")
        before = [turn.text for turn in turns if turn.role == "assistant"]
        goes_on = users[:-1] == self._heard and before[-1:] == [self._said]
        if not goes_on:
            random.seed(int(rng.integers(2**32)))
            self.session.init_session()
        for text in users[-1:] if goes_on else users:
            self._said = self.session.response(text)
        self._heard = users
        return Reply(self._said)

    def reply(self, messages: Sequence[Mapping[str, Any]], rng: np.random.Generator) -> Reply:
        """As a `module:function` is called: in your module, `reply = ConvLabSystem(yours).reply`."""
        return self([Turn(message["role"], message["content"]) for message in messages], rng)


@cache
def _standard() -> ConvLabSystem:
    return ConvLabSystem(pipeline("sys"))


def system(messages: Sequence[Mapping[str, Any]], rng: np.random.Generator) -> Reply:
    """ConvLab-3's standard system: `--with convlab=turnwise.worlds.task.convlab:system`."""
    return _standard().reply(messages, rng)


@dataclass(frozen=True, slots=True)
class ConvLabUser(User):
    """A ConvLab user simulator in the place of ours: it has a goal of its own, and we read the system to score it."""

    session: Simulator = field(kw_only=True)
    _over: list[bool] = field(default_factory=list, kw_only=True, compare=False)

    def first_message(self, rng: np.random.Generator) -> str:
        return self._turn("")

    def next_message(self, turns: Sequence[Turn], rng: np.random.Generator) -> str | None:
        replies = sum(turn.role == "assistant" for turn in turns)
        return None if self._over or replies >= T_MAX else self._turn(turns[-1].text)

    def _turn(self, text: str) -> str:
        said = self.session.response(text)
        if self.session.is_terminated():
            self._over.append(True)
        return said

    def _spoke(self, course: Course, text: str) -> None:
        """It goes through its goal in an order of its own, so the domain is the one that it speaks of."""
        part = course.part or course.parts[-1]
        domain = heard(self.tables, text, part.wish.domain).domain
        places = {one.wish.domain: place for place, one in enumerate(course.parts)}
        course.at = places.get(str(domain), min(course.at, len(course.parts) - 1))
        User._spoke(self, course, text)


def convlab_user(session: Simulator, tables: Tables, rng: np.random.Generator) -> ConvLabUser:
    """A user with a new goal of ConvLab's own."""
    problem: DataError | None = None
    for _ in range(TRIES):
        random.seed(int(rng.integers(2**32)))
        session.init_session()
        goal: Mapping[str, Any] = deepcopy(session.policy.get_goal())
        try:
            return ConvLabUser(parsed(goal, where="ConvLab's goal"), tables, session=session)
        except DataError as error:
            problem = error
    raise DataError(f"none of {TRIES} goals of ConvLab's could be used; the last: {problem}")
