"""The contract of agents."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import numpy as np

from turnwise.agents.calling import CallLimits, NoReply, ReplyRequest
from turnwise.conformance.plugins import reply_problem
from turnwise.protocols import agent_extras
from turnwise.testing.data import turn_items
from turnwise.testing.expect import an_instance, expect, no_problem, running
from turnwise.types import Agent, Reply, Signature, Turn


def check_agent(
    agent: Agent,
    contexts: Sequence[Sequence[Turn]] | None = None,
    *,
    checks: Sequence[Callable[[Agent, Sequence[ReplyRequest]], None]] | None = None,
) -> None:
    """Check that an agent keeps its contract; raises `ContractError` with one sentence where it does not.

    Parameters:
        agent: The agent, ready to be called.
        contexts: The turns before each reply. Default: those of `turn_items()`.
        checks: Some of `turnwise.testing.agents.CHECKS`. Default: all.
    """
    an_instance(agent)
    expect(callable(agent), f"a {type(agent).__name__} cannot be called; expected agent(turns, rng) -> Reply")
    if contexts is None:
        contexts = [item.context for item in turn_items()]
    points = [ReplyRequest(tuple(turns), index) for index, turns in enumerate(contexts)]
    for check in CHECKS if checks is None else checks:
        with running(f"the check that {(check.__doc__ or check.__name__).strip().rstrip('.').lower()}"):
            check(agent, points)


def a_call_gives_a_reply(agent: Agent, points: Sequence[ReplyRequest]) -> None:
    """A call gives a reply, and the same one with the same generator."""
    for point in points[:3]:
        with running("the call of the agent"):
            first, again = (agent(point.turns, np.random.default_rng(3)) for _ in range(2))
        no_problem(reply_problem(first))
        expect(first == again, f"two calls with the same turns and seed gave {first!r} and {again!r}")


def replies_have_the_order_of_the_points(agent: Agent, points: Sequence[ReplyRequest]) -> None:
    """Many points get the replies that each gets alone, in any order."""
    together = replies(agent, points, concurrency=3 if agent_extras(agent).concurrent else 1)
    alone = [reply for point in points for reply in replies(agent, [point])]
    expect(together == alone, "replies to many points at once differ from replies to each point alone")
    turned = replies(agent, points[::-1])
    expect(list(reversed(together)) == turned, "replies depend on the order in which points are asked")


def turns_are_not_changed(agent: Agent, points: Sequence[ReplyRequest]) -> None:
    """The turns are not changed, and no points give no replies."""
    expect(CallLimits().ask(agent, []) == [], "asked at no point, the agent gave replies")
    before = copy.deepcopy(list(points))
    replies(agent, points)
    expect(list(points) == before, "the agent changed the turns it was given")


def the_signature_is_one(agent: Agent, points: Sequence[ReplyRequest]) -> None:
    """The optional `signature` is a `Signature` that stays the same."""
    found: object = agent_extras(agent).signature
    expect(
        found is None or isinstance(found, Signature),
        f"`signature` is a {type(found).__name__}; expected a turnwise.plugins.Signature",
    )
    expect(str(found) == str(agent_extras(agent).signature), "`signature` changes from one read to the next")


CHECKS: tuple[Callable[[Agent, Sequence[ReplyRequest]], None], ...] = (
    a_call_gives_a_reply,
    replies_have_the_order_of_the_points,
    turns_are_not_changed,
    the_signature_is_one,
)


def replies(agent: Agent, points: Sequence[ReplyRequest], *, concurrency: int = 1) -> list[Reply]:
    """The replies at these points, in order, with one try each; `ContractError` if the agent fails at one."""
    found = []
    for reply in CallLimits(concurrency=concurrency, tries=1).ask(agent, points):
        expect(not isinstance(reply, NoReply), f"the agent gave no reply: {reply}")
        found.append(reply)
    return found  # type: ignore[return-value]
