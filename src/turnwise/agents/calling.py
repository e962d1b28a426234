"""Requests many replies from one agent; returns replies and failures in the order of the requests.

An agent with a method `replies` gets all requests at once (a language model in batches, an address with concurrent
requests). Any other agent is called once per request, in up to `concurrency` threads. A call that exceeds its timeout
is abandoned: a thread cannot be stopped, so it runs on as a daemon thread, and its result is ignored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from turnwise.conformance.calls import called, foreign, raised
from turnwise.conformance.plugins import reply_problem
from turnwise.errors import PluginError, TurnwiseError, Unmeasured, counted
from turnwise.plugin_code import plugin_code
from turnwise.registry import offers_of, plugin_name
from turnwise.types import Agent, PluginProtocol, Reply, Turn


class NoReply(Unmeasured):
    """The reason why an agent gave no reply to one request."""

    def __init__(self, reason: str, *, infrastructure: bool = False) -> None:
        super().__init__(reason)
        # Whether a server or the network failed, and not the agent itself.
        self.infrastructure = infrastructure


class ReplyRequest(NamedTuple):
    """A request for one reply: the turns before it, and the seed of its random generator."""

    turns: Sequence[Turn]
    seed: int

    @property
    def rng(self) -> np.random.Generator:
        """A new generator with the request's seed, equal at every try."""
        return np.random.default_rng(self.seed)


ReplyOrFailure: TypeAlias = Reply | NoReply


@runtime_checkable
class BatchAgent(Protocol, metaclass=PluginProtocol):
    """An agent that takes many requests at once."""

    def replies(self, requests: Sequence[ReplyRequest], /) -> list[ReplyOrFailure]:
        """The reply, or the reason why there is none, to each request in order."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """Limits on calls of an agent that takes one request at a time.

    `timeout` is in seconds for a request with its tries.
    """

    concurrency: int = 1  # most calls at the same time
    timeout: float = 120.0  # seconds per call
    tries: int = 2  # calls per request, if calls raise an error

    def ask(self, agent: Agent, requests: Sequence[ReplyRequest]) -> list[ReplyOrFailure]:
        """The agent's reply, or the reason why there is none, for every request in order.

        A call out of time is a `NoReply`. An agent with `replies` gets all requests at once, and the limits do not
        apply. If it does not return one result a request, `PluginError` is raised.
        """
        if isinstance(agent, BatchAgent):
            return _checked(agent, called(agent, "replies", requests), len(requests))
        results: list[ReplyOrFailure] = [NoReply("was not asked") for _ in requests]
        done: SimpleQueue[tuple[int, ReplyOrFailure]] = SimpleQueue()
        waiting = list(range(len(requests)))[::-1]
        running: dict[int, float] = {}  # index of a request -> time at which it is abandoned
        while waiting or running:
            while waiting and len(running) < self.concurrency:
                index = waiting.pop()
                running[index] = monotonic() + self.timeout
                Thread(target=self._work, args=(agent, requests[index], index, done), daemon=True).start()
            try:
                index, result = done.get(timeout=max(0.0, min(running.values()) - monotonic()))
            except Empty:
                index = min(running, key=running.__getitem__)
                result = NoReply(f"did not reply within {self.timeout:g} s")
            if index in running:  # otherwise it was abandoned, and the reply comes too late
                del running[index]
                results[index] = result
        return results

    def _work(
        self, agent: Agent, request: ReplyRequest, index: int, done: "SimpleQueue[tuple[int, ReplyOrFailure]]"
    ) -> None:
        """Call the agent until it replies or the tries are used up, and put (index, result) into `done`.

        An error of turnwise's own or an invalid reply is not tried again.
        """
        for attempt in range(1, self.tries + 1):
            try:
                with plugin_code():
                    reply = agent(request.turns, request.rng)
                problem = reply_problem(reply)
                done.put((index, reply if problem is None else NoReply(of_plugin(agent, problem))))
                return
            except NoReply as error:
                done.put((index, error))
                return
            except TurnwiseError as error:  # an invalid return value; another try would not help
                done.put((index, NoReply(str(error))))
                return
            except BaseException as error:
                if attempt == self.tries:
                    failed = f"{raised(agent, error)} ({counted(self.tries, 'call')})"
                    no_reply = NoReply(of_plugin(agent, failed), infrastructure=isinstance(error, OSError))
                    done.put((index, no_reply))


def of_plugin(agent: object, failure: str) -> str:
    """What an agent did wrong, to continue the words `the agent`; a plugin is named with its package."""
    offers = offers_of(agent) if foreign(agent) else ()
    return f"{str(offers[0]).removeprefix('agent ')} {failure}" if offers else failure


def _checked(agent: object, results: object, n: int) -> list[ReplyOrFailure]:
    """What `replies` returned, with a `NoReply` in place of each that is no valid reply.

    Raises `PluginError` unless there is one result for each of the `n` requests.
    """
    if not isinstance(results, Sequence) or len(results) != n:
        found = f"{len(results)} replies" if isinstance(results, Sequence) else f"a {type(results).__name__}"
        name = plugin_name(agent) if foreign(agent) else "the agent"
        raise PluginError(f"{name}: `replies` got {counted(n, 'request')} and returned {found}")
    problems = [None if isinstance(one, NoReply) else reply_problem(one) for one in results]
    return [
        one if problem is None else NoReply(of_plugin(agent, problem))
        for one, problem in zip(results, problems, strict=True)
    ]


def single_reply(agent: BatchAgent, turns: Sequence[Turn], rng: np.random.Generator) -> Reply:
    """One reply of an agent that takes many requests at once; a failure is raised as `NoReply`.

    `rng` gives the seed.
    """
    (reply,) = agent.replies([ReplyRequest(turns, int(rng.integers(2**63)))])
    if isinstance(reply, NoReply):
        raise reply
    return reply
