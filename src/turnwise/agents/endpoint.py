"""An agent behind an OpenAI-compatible address. The key comes from the environment (see `llm/chat.py`).

Each request has a seed of its own. A server may ignore it, so the replies of a hosted model may not be reproducible.
A model's refusal counts as a reply, because people would have read it, and so does a reply cut off at `longest` tokens.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from turnwise.agents.calling import NoReply, ReplyOrFailure, ReplyRequest, single_reply
from turnwise.agents.conversing import AgentReply, Conversation
from turnwise.agents.function import to_message
from turnwise.errors import UsageError
from turnwise.llm.chat import Chat, ChatError, Denied, Unanswered
from turnwise.llm.providers import PROVIDERS, served_model
from turnwise.types import Reply, Signature, Turn

# Keys of a message that servers accept; they reject requests with others.
_ACCEPTED_KEYS = ("role", "content", "name", "tool_calls", "tool_call_id", "function_call")


@dataclass(frozen=True, slots=True)
class EndpointAgent:
    """A chat model behind an address."""

    concurrent: ClassVar[bool] = True

    chat: Chat
    model: str
    temperature: float | None  # None: the server's default
    longest: int  # most tokens of a reply
    system: str | None  # system message before every dialogue
    tools: tuple[Mapping[str, Any], ...] = ()  # definitions in OpenAI's form

    def begin(self, conversation: Conversation, /) -> "EndpointAgent":
        """The agent with the tools of this conversation."""
        return replace(self, tools=conversation.tools)

    @property
    def signature(self) -> Signature:
        """The address, and all settings of a request: model, temperature, longest reply and system message."""
        fields = {
            "model": self.model,
            "temperature": str(self.temperature),
            "longest": str(self.longest),
            "system": str(self.system),
        }
        return Signature(self.chat.address, tuple(fields.items()))

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        return single_reply(self, turns, rng)

    def stream(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Iterator[str | Reply]:
        """The pieces of the reply as the server sends them; raises `ChatError` as `Chat.stream`."""
        return self.chat.stream(self._body(ReplyRequest(turns, int(rng.integers(2**31)))))

    def replies(self, requests: Sequence[ReplyRequest], /) -> list[ReplyOrFailure]:
        """The reply, or the reason why there is none, to each request in order.

        Raises `Denied` if the server says of any that it rejects all requests of this kind.
        """
        rng = np.random.default_rng()  # only for the waiting times between tries
        completions = self.chat.ask([self._body(one) for one in requests], rng=rng)
        found: list[ReplyOrFailure] = []
        for one in completions:
            if isinstance(one, Denied):  # further requests would be denied too
                raise one
            if isinstance(one, ChatError):
                found.append(NoReply(str(one), infrastructure=isinstance(one, Unanswered)))
            else:
                found.append(
                    AgentReply(
                        one.text,
                        tool_calls=one.tool_calls,
                        tokens_in=one.tokens_in,
                        tokens_out=one.tokens_out,
                    )
                )
        return found

    def _body(self, request: ReplyRequest) -> dict[str, Any]:
        """The body of the HTTP request for one reply, without settings that are None."""
        messages = [_accepted_keys(to_message(turn)) for turn in request.turns]
        system = [{"role": "system", "content": self.system}] if self.system else []
        body = {
            "model": self.model,
            "messages": [*system, *messages],
            "temperature": self.temperature,
            "max_tokens": self.longest,
            "seed": request.seed % 2**31,
            "tools": list(self.tools) or None,
        }
        return {key: value for key, value in body.items() if value is not None}


def endpoint_agent(
    url: str,
    *,
    model: str | None = None,
    temperature: float | None = None,
    longest: int = 256,
    system: str | None = None,
    concurrency: int = 8,
    timeout: float = 120.0,
    tries: int = 4,
    key: str = "",
) -> EndpointAgent:
    """The agent for a model behind an address. Nothing is sent before the first request.

    Wrong settings are a `UsageError`; `timeout` is in seconds without a byte, `longest` the most tokens of a reply,
    `key` the name of the environment variable that has the key.
    """
    if not model:
        raise UsageError(f"the agent at {url} needs the name of a model: --set model=NAME")
    if temperature is not None and not temperature >= 0:
        raise UsageError(f"a temperature is 0 or more, not {temperature}")
    if longest < 1:
        raise UsageError(f"a reply has 1 token or more, not {longest}")
    chat = Chat(
        address=url,
        concurrency=concurrency,
        silence=timeout,
        deadline=max(300.0, timeout),
        tries=tries,
        key=key,
    )
    return EndpointAgent(chat, str(model), temperature, longest, system)


def provider_agent(
    spec: str,
    *,
    temperature: float | None = None,
    longest: int = 256,
    system: str | None = None,
    concurrency: int = 8,
    timeout: float = 120.0,
    tries: int = 4,
) -> EndpointAgent:
    """The agent for a model by its provider, `openai/gpt-4o`; settings as for an address."""
    served = served_model(spec)
    if served is None:
        raise UsageError(f"`{spec}` names no provider; there are: {', '.join(PROVIDERS)}")
    return endpoint_agent(
        served.address, model=served.model, key=served.key, temperature=temperature, longest=longest, system=system,
        concurrency=concurrency, timeout=timeout, tries=tries,
    )  # fmt: skip


def _accepted_keys(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message without keys that servers reject."""
    return {key: message[key] for key in _ACCEPTED_KEYS if key in message}
