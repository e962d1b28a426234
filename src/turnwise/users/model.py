"""A user that any agent plays: it is told persona, goal and facts, and sees the dialogue with the roles swapped.

The instructions are ours. A user who is content writes [DONE], and one who gives up writes [GIVE UP]; both marks are
taken out of the message. A plain goodbye ends the dialogue too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from turnwise.agents import resolve
from turnwise.agents.calling import CallLimits, NoReply, ReplyRequest
from turnwise.agents.conversing import AgentReply
from turnwise.conformance.calls import source_digest
from turnwise.protocols import agent_extras
from turnwise.types import Agent, Role, Signature, Turn, digest
from turnwise.users.user import Leaving, Stage, UserMessage

DONE, GIVE_UP = "[DONE]", "[GIVE UP]"
BEGIN = "(You are connected to the assistant. Write your first message.)"
INSTRUCTIONS = f"""\
You take the part of a person who writes to an assistant. You are the person, never the assistant: you ask, and the \
assistant helps.
Write only the person's next message, as people write in a chat: short, one thing at a time, in plain words.
Answer what the assistant asks, and only that. Tell what you know when it is asked for or needed, not all at once.
Use only what is said below. What is not said below you do not know.
When you have what you want, write {DONE}. When you see that you will not get it, write {GIVE_UP}.
Never mention these instructions."""
_MARK = re.compile(
    r"\[\s*(?P<done>done)\s*\]|\[\s*give\s*_?up\s*\]|#{2,}\s*(?P<stop>stop|done)\s*#{2,}", re.IGNORECASE
)
_LABEL = re.compile(r"^\s*(?:\*\*)?(?:user|customer|person|me|human)(?:\*\*)?\s*:\s*", re.IGNORECASE)
GOODBYE = re.compile(
    r"\b(?:good\s?bye|bye|see you|have a (?:nice|good|great|lovely) (?:day|one|evening|weekend))\b"
    r"|\bthat(?:'s| is|s| was| will be|'ll be) (?:all|everything)\b",
    re.IGNORECASE,
)
_SWAPPED: dict[Role, Role] = {"user": "assistant", "assistant": "user"}


@dataclass(frozen=True)
class ModelUser:
    """A user that an agent plays."""

    agent: Agent
    limits: CallLimits = field(default_factory=CallLimits, compare=False)

    @property
    def signature(self) -> Signature:
        """The agent and the instructions."""
        agent = str(agent_extras(self.agent).signature or self.agent) + source_digest(self.agent)
        return Signature("model", (("agent", digest(agent)), ("instructions", digest(INSTRUCTIONS))))

    @property
    def concurrent(self) -> bool:
        """Whether the agent may be called by several threads at once."""
        return agent_extras(self.agent).concurrent

    def __call__(self, stage: Stage, turns: Sequence[Turn], seed: int, /) -> UserMessage:
        """What the agent says in the user's place; raises `NoReply` if it says nothing."""
        return self.say(stage, turns, seed)

    def say(
        self, stage: Stage, turns: Sequence[Turn], seed: int, *, examples: Sequence[str] = ()
    ) -> UserMessage:
        """As in a call; `examples` are messages of real users, whose manner the agent is to follow."""
        (reply,) = self.limits.ask(self.agent, [user_request(stage, turns, seed, examples)])
        if isinstance(reply, NoReply):
            raise reply
        message = parsed(reply.content)
        if isinstance(reply, AgentReply):
            return message._replace(tokens_in=reply.tokens_in, tokens_out=reply.tokens_out)
        return message


def user_request(
    stage: Stage, turns: Sequence[Turn], seed: int, examples: Sequence[str] = ()
) -> ReplyRequest:
    """What an agent is asked in order to speak for the user: the instructions, and the dialogue with roles swapped."""
    told = Turn("system", instructions(stage, examples))
    seen = [
        Turn(_SWAPPED[turn.role], turn.text) for turn in turns if turn.role in _SWAPPED and turn.text.strip()
    ]
    return ReplyRequest([told, Turn("user", BEGIN), *seen], seed)


def instructions(stage: Stage, examples: Sequence[str] = ()) -> str:
    """What the user is told: the instructions, who they are, what they want and what they know."""
    scenario = stage.scenario
    facts = "\n".join(f"- {name}: {value}" for name, value in stage.facts.items())
    real = "\n".join(f"- {text}" for text in examples)
    parts = (
        ("", INSTRUCTIONS),
        ("Who you are: ", scenario.persona),
        ("What you want: ", scenario.goal),
        ("What you know:\n", facts),
        ("Real people wrote this in such a place. Write as they do, about your own matter:\n", real),
    )
    return "\n\n".join(f"{head}{text}" for head, text in parts if text)


def parsed(text: str) -> UserMessage:
    """A message without marks and labels, and whether the user leaves with it."""
    leaving: Leaving | None = None
    for match in _MARK.finditer(text):
        leaving = "goal" if match["done"] or match["stop"] else "gave-up"
    said = _LABEL.sub("", _MARK.sub(" ", text)).strip()
    if len(said) > 1 and said[0] == said[-1] == '"':
        said = said[1:-1].strip()
    if leaving is None and GOODBYE.search(said) and "?" not in said:
        leaving = "goal"
    return UserMessage(said, leaving)


def model_user(spec: str, *, limits: CallLimits | None = None, **settings: Any) -> ModelUser:
    """The user that an agent plays, which is named as in `respond`."""
    return ModelUser(resolve(spec, **settings), limits or CallLimits())
