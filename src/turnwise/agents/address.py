"""An agent behind an OpenAI-compatible address. The key comes from the environment, as `llm/chat.py` tells.

Each reply is asked for with a seed of its own, which a server may honour or not: a hosted model's replies cannot be
promised to come again. A refusal is a reply, as people would have read it; an answer cut off at `longest` tokens too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from turnwise.agents.answering import Answer, Asked, NoReply, alone
from turnwise.agents.own import message
from turnwise.errors import UsageError
from turnwise.llm.chat import Chat, ChatError, Denied
from turnwise.types import Reply, Signature, Turn

_PASSED_ON = (
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "function_call",
)  # servers refuse other keys


@dataclass(frozen=True, slots=True)
class Address:
    concurrent: ClassVar[bool] = True

    chat: Chat
    model: str
    temperature: float | None  # None: the server's own
    longest: int  # tokens of a reply
    system: str | None  # said to it before every conversation

    @property
    def signature(self) -> Signature:
        fields = {
            "model": self.model,
            "temperature": str(self.temperature),
            "longest": str(self.longest),
            "system": str(self.system),
        }
        return Signature(self.chat.address, tuple(fields.items()))

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        return alone(self, turns, rng)

    def replies(self, asked: Sequence[Asked], /) -> list[Answer]:
        rng = np.random.default_rng()  # spreads waits in time; no reply depends on it
        answers = self.chat.ask([self._body(one) for one in asked], rng=rng)
        found: list[Answer] = []
        for answer in answers:
            if isinstance(
                answer, Denied
            ):  # it will answer no question: asking on would cost time for nothing
                raise answer
            found.append(NoReply(str(answer)) if isinstance(answer, ChatError) else Reply(answer.text))
        return found

    def _body(self, asked: Asked) -> dict[str, Any]:
        said = [_known(message(turn)) for turn in asked.turns]
        system = [{"role": "system", "content": self.system}] if self.system else []
        body = {
            "model": self.model,
            "messages": [*system, *said],
            "temperature": self.temperature,
            "max_tokens": self.longest,
            "seed": asked.seed % 2**31,
        }
        return {key: value for key, value in body.items() if value is not None}


def address(
    url: str,
    *,
    model: str | None = None,
    temperature: float | None = None,
    longest: int = 256,
    system: str | None = None,
    concurrency: int = 8,
    timeout: float = 120.0,
    tries: int = 4,
) -> Address:
    """An agent by its address and the name of the model there. Nothing is sent until it is asked."""
    if not model:
        raise UsageError(f"the agent at {url} needs the name of its model there: --set model=NAME")
    if temperature is not None and not temperature >= 0:
        raise UsageError(f"a temperature is 0 or more, not {temperature}")
    if longest < 1:
        raise UsageError(f"a reply has 1 token or more, not {longest}")
    chat = Chat(
        address=url, concurrency=concurrency, silence=timeout, deadline=max(300.0, timeout), tries=tries
    )
    return Address(chat, str(model), temperature, longest, system)


def _known(said: Mapping[str, Any]) -> dict[str, Any]:
    return {key: said[key] for key in _PASSED_ON if key in said}
