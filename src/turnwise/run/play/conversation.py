"""One conversation of an agent with a simulated user, from the first message to the reason of its end."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from math import isfinite
from threading import Lock
from time import perf_counter
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from turnwise.agents.calling import CallLimits, NoReply, ReplyRequest
from turnwise.agents.conversing import AgentReply, Conversation, Conversational
from turnwise.run.play.success import unmet
from turnwise.run.play.toolbox import Toolbox
from turnwise.types import Agent, DimensionScores, Reply, Turn, digest
from turnwise.users.faults import Fault, fault
from turnwise.users.user import SimulatedUser, Stage, UserMessage
from turnwise.worlds.play import AnnotatedReply

End = Literal["goal", "gave-up", "script", "limit", "agent-fault", "infrastructure-fault", "simulator-fault"]
NOT_SCORED: tuple[End, ...] = ("infrastructure-fault", "simulator-fault")
MAX_CALLS = 30  # tool calls in one reply, after which the agent is taken to go round in circles


# Tokens in and out and the known cost -> the cost, which it counts; None where nobody knows.
Spend = Callable[[int, int, float | None], float | None]


class Discarded(msgspec.Struct, frozen=True):
    """A message of the simulated user that was tried again, or that ended the dialogue."""

    turn: int  # index that the message has, or would have had
    kind: str
    why: str
    text: str


class Measured(msgspec.Struct, kw_only=True):
    """What a conversation took, and what the simulated user did wrong in it. No part of it is in the log."""

    latency: list[float] = msgspec.field(default_factory=list)  # seconds of each reply, with its tool calls
    user_seconds: float = 0.0
    calls: int = 0  # of the agent's model and the user's
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None  # of agent, user and judge; None where nobody knows
    agent_cost: float | None = None  # of the agent alone
    discarded: list[Discarded] = msgspec.field(default_factory=list)

    def count(
        self, spend: Spend, tokens_in: int | None, tokens_out: int | None, cost: float | None = None
    ) -> float | None:
        """Add what a reply or a message took, and return its cost."""
        self.tokens_in += tokens_in or 0
        self.tokens_out += tokens_out or 0
        cost = spend(tokens_in or 0, tokens_out or 0, cost)
        self.cost = _sum(self.cost, cost)
        return cost

    def add_attempt(self, before: "Measured") -> None:
        """Add what an earlier attempt at the conversation spent."""
        self.calls += before.calls
        self.tokens_in += before.tokens_in
        self.tokens_out += before.tokens_out
        self.cost = _sum(self.cost, before.cost)


def _sum(one: float | None, other: float | None) -> float | None:
    """The sum of two costs; what nobody knows adds nothing."""
    return one if other is None else other + (one or 0.0)


class Held(msgspec.Struct, kw_only=True):
    """A conversation that came to its end."""

    turns: list[Turn]
    end: End
    detail: str = ""
    unmet: list[str] = msgspec.field(default_factory=list)  # what does not hold, of what needs no judge
    scores: dict[str, float] = msgspec.field(default_factory=dict)  # of the world
    scales: dict[str, tuple[float, float] | None] = msgspec.field(default_factory=dict)  # of these
    measured: Measured


class Stopped(Exception):
    """The run is over before this conversation came to its end."""


class _Ended(Exception):
    """The conversation is over, for this reason."""

    def __init__(self, end: End, detail: str = "") -> None:
        super().__init__(detail)
        self.end, self.detail = end, detail


class Seeds(NamedTuple):
    """The seeds of one conversation. Those of the user do not depend on the agent."""

    run: int
    agent: str
    scenario: str
    trial: int

    def of_user(self, message: int, attempt: int) -> int:
        """The seed of a message of the user; another attempt has another seed."""
        return self._seed("user", "", message, attempt)

    def of_agent(self, call: int) -> int:
        """The seed of a reply."""
        return self._seed("agent", self.agent, call)

    def _seed(self, *names: object) -> int:
        """A seed of 63 bits."""
        return int(digest(*map(str, (self.run, self.scenario, self.trial, *names))), 16) >> 1


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The limits of a conversation."""

    limits: CallLimits
    retries: int = 2  # further attempts at a message of the user that has a fault
    check: bool = True  # whether faults of the user are looked for
    user_calls: bool = True  # whether the user is a model, whose calls count
    spend_agent: Spend = lambda _in, _out, cost: cost
    spend_user: Spend = lambda _in, _out, cost: cost
    before_call: Callable[[], None] = lambda: None  # raises `Stopped` where no further call is allowed
    agent_lock: "Lock | None" = None
    user_lock: "Lock | None" = None


@dataclass
class _Talk:
    """A conversation while it is held."""

    stage: Stage
    agent: Agent
    user: SimulatedUser
    toolbox: Toolbox
    seeds: Seeds
    rules: Rules
    turns: list[Turn] = field(default_factory=list)
    measured: Measured = field(default_factory=Measured)
    replies: int = 0
    asked: int = 0
    outcome: DimensionScores | None = None

    def hold(self) -> Held:
        """Talk until something ends the conversation."""
        try:
            while True:
                self._user_turn()
                self._agent_turn()
                if self.replies >= self.stage.scenario.max_turns:
                    self._ask_to_decide()
                    raise _Ended("limit")
        except _Ended as ended:
            end, detail = ended.end, ended.detail
        success = self.stage.scenario.success
        scores: dict[str, float] = {}
        scales: dict[str, tuple[float, float] | None] = {}
        if self.stage.scene is not None and end not in NOT_SCORED:
            turns = [self.stage.scene.briefing, *self.turns]
            scores = {name: value for name, value in self.stage.scene.truth(turns).items() if isfinite(value)}
            rng = np.random.default_rng(self.seeds.of_user(-1, 0))
            scales = {rating.dimension: rating.scale for rating in self.stage.scene.ratings(turns, "", rng)}
        return Held(
            turns=self.turns,
            end=end,
            detail=detail,
            unmet=unmet(success, self.turns, self.toolbox.state) if success.is_checked else [],
            scores=scores,
            scales=scales,
            measured=self.measured,
        )

    def _user_turn(self) -> None:
        """The user's next message; `_Ended` if the user leaves."""
        message = self._scripted() or self._said()
        if message.text.strip():
            self.turns.append(Turn("user", message.text.strip()))
        if message.leaving is not None:
            self._ask_to_decide()
            raise _Ended(message.leaving)

    def _ask_to_decide(self) -> None:
        """In a world with decisions, ask the agent for its own before the user is gone; `_Ended` with it."""
        scene = self.stage.scene
        if scene is None or not self.turns:
            return
        if self.turns[-1].role != "user":
            self.turns.append(Turn("user", ""))
        asked = scene.with_decision_request([scene.briefing, *self.turns])
        if asked is None:
            if not self.turns[-1].text:
                self.turns.pop()
            return
        self.turns = [*asked[1:-1], Turn("user", asked[-1].text.strip())]
        self._agent_turn()  # raises `_Ended` with the decision; a reply without one ends the dialogue as it was

    def _scripted(self) -> UserMessage | None:
        """The next turn of the scenario; None after the last."""
        said = sum(turn.role == "user" for turn in self.turns)
        script = self.stage.scenario.turns
        return UserMessage(script[said]) if said < len(script) else None

    def _said(self) -> UserMessage:
        """A message of the simulated user without a fault; `_Ended` where every attempt has one."""
        number = sum(turn.role == "user" for turn in self.turns)
        found: Fault | None = None
        for attempt in range(self.rules.retries + 1):
            if self.rules.user_calls:
                self.rules.before_call()
                self.measured.calls += 1
            start = perf_counter()
            try:
                with self.rules.user_lock or nullcontext():
                    message = self.user(self.stage, self.turns, self.seeds.of_user(number, attempt))
            except NoReply as error:
                if error.infrastructure:
                    raise _Ended("infrastructure-fault", f"the user {error}") from error
                found = Fault("empty", str(error))
                message = UserMessage("")
            else:
                self.measured.count(self.rules.spend_user, message.tokens_in, message.tokens_out)
                found = self._fault(message)
            finally:
                self.measured.user_seconds += perf_counter() - start
            if found is None:
                return message
            self.measured.discarded.append(Discarded(len(self.turns), found.kind, found.why, message.text))
        self.turns.append(Turn("user", message.text))  # for whoever reads what went wrong
        raise _Ended("simulator-fault", found.kind if found else "")

    def _fault(self, message: UserMessage) -> Fault | None:
        """The fault of a message; None if it has none, and for a user who says its script."""
        if not self.rules.check or message.leaving == "script":
            return None
        success = self.stage.scenario.success
        reached = success.is_checked and not unmet(success, self.turns, self.toolbox.state)
        return fault(message, self.stage, self.turns, reached=reached)

    def _agent_turn(self) -> None:
        """The agent's reply, after its tool calls; `_Ended` where it has a fault or takes its decision."""
        start = perf_counter()
        reply = self._reply()
        for number in range(MAX_CALLS):
            if not isinstance(reply, AgentReply) or not reply.tool_calls:
                break
            self._run_tools(reply, number)
            reply = self._reply()
        else:
            raise _Ended("agent-fault", f"it called tools {MAX_CALLS} times without a reply")
        self.measured.latency.append(round(perf_counter() - start, 6))
        self.replies += 1
        if not reply.content.strip():
            raise _Ended("agent-fault", "it replied with an empty text")
        if isinstance(reply, AgentReply):
            self.turns += reply.steps
        self._finish(reply)

    def _run_tools(self, reply: AgentReply, number: int) -> None:
        """Log the calls of a reply, run them, and log the results."""
        calls = [{"id": f"call_{len(self.turns)}_{at}", **call} for at, call in enumerate(reply.tool_calls)]
        self.turns.append(Turn("assistant", reply.content or None, extra={"tool_calls": calls}))
        self.turns += [self.toolbox.run(call, number) for call in calls]

    def _finish(self, reply: Reply) -> None:
        """Log the reply; `_Ended` where the world takes it for a decision."""
        scene = self.stage.scene
        outcome = None if scene is None else scene.outcome([scene.briefing, *self.turns], reply.content)
        if isinstance(reply, AnnotatedReply):
            self.turns.append(reply.turn(outcome))
        else:
            self.turns.append(Turn("assistant", reply.content, outcome=outcome))
        if outcome is not None:
            raise _Ended("goal")

    def _reply(self) -> Reply:
        """One reply of the agent, which may be tool calls; `_Ended` if there is none."""
        self.rules.before_call()
        seed = self.seeds.of_agent(self.asked)
        self.asked += 1
        with self.rules.agent_lock or nullcontext():
            (reply,) = self.rules.limits.ask(
                self.agent, [ReplyRequest([*self.stage.briefing, *self.turns], seed)]
            )
        self.measured.calls += 1
        if isinstance(reply, NoReply):
            raise _Ended("infrastructure-fault" if reply.infrastructure else "agent-fault", str(reply))
        if isinstance(reply, AgentReply):
            cost = self.measured.count(self.rules.spend_agent, reply.tokens_in, reply.tokens_out, reply.cost)
            self.measured.agent_cost = _sum(self.measured.agent_cost, cost)
        return reply


def hold(
    stage: Stage,
    agent: Agent,
    user: SimulatedUser,
    *,
    toolbox: Toolbox,
    seeds: Seeds,
    session: str,
    rules: Rules,
) -> Held:
    """Hold one conversation. `session` names it for an agent that keeps its state."""
    if isinstance(agent, Conversational):
        agent = agent.begin(Conversation(session, toolbox.definitions))
    if stage.world is not None:
        agent = stage.world.for_dialogue(agent)
    return _Talk(stage, agent, user, toolbox, seeds, rules).hold()
