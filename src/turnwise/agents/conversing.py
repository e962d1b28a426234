"""What an agent needs beyond single replies: one conversation at a time, with tools, and what its replies took."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

from turnwise.types import Agent, PluginProtocol, Reply, Turn


class AgentReply(Reply, frozen=True):
    """A reply with what led to it, and what it took."""

    tool_calls: tuple[Mapping[str, Any], ...] = ()  # in OpenAI's form; the caller runs them and asks again
    steps: tuple[
        Turn, ...
    ] = ()  # messages before the reply: calls that the agent ran itself, and their results
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None  # where the agent knows it


class Conversation(NamedTuple):
    """One conversation that an agent is about to hold."""

    session: str  # differs in every conversation, also where one is held again
    tools: tuple[Mapping[str, Any], ...] = ()  # definitions in OpenAI's form


@runtime_checkable
class Conversational(Protocol, metaclass=PluginProtocol):
    """An agent that is told of each conversation before it begins: one with state, or with tools."""

    def begin(self, conversation: Conversation, /) -> Agent:
        """The agent for this conversation alone."""
        ...
