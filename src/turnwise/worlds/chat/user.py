"""The simulated user: talks about itself, answers, asks, and leaves after dull replies.

The user is a pure function of its persona, the dialogue so far and the generator.
"""

from collections.abc import Sequence

import numpy as np

from turnwise.types import Turn
from turnwise.worlds.chat.topics import TOPICS, Persona, parse, pick, statement

MAX_REPLIES = 8  # replies of the agent after which the user leaves
MIN_REPLIES = 4  # replies of the agent before the user may leave
LEAVE_PROBABILITY = 0.15  # probability of leaving after a good reply
DULL_REPLY_EFFECT = 0.35  # added to it after a dull reply
GREETINGS = ("Hi there!", "Hello!", "Hey, nice to meet you!")
INTERESTED = ("That sounds nice.", "Oh, really?", "Cool.")
NO_ANSWER = "I could not tell."
DULL = ("Hm.", "Okay.", "If you say so.")


def first_message(persona: Persona, rng: np.random.Generator) -> str:
    """The message with which the user starts: a greeting, a claim about itself, and a question on the same topic."""
    topic = pick(list(persona), rng)
    return f"{pick(GREETINGS, rng)} {statement(topic, persona[topic])} {TOPICS[topic].asks}"


def next_message(persona: Persona, turns: Sequence[Turn], rng: np.random.Generator) -> str | None:
    """The user's reply to the last of `turns`; None if the user leaves.

    It leaves after 8 replies, and from 4 on at random, more likely after a reply off topic or repeated.
    """
    replies = [turn.text for turn in turns if turn.role == "assistant"]
    if len(replies) >= MAX_REPLIES:
        return None
    dull = not is_on_topic(turns[-2].text, replies[-1]) or replies[-1] in replies[:-1]
    if len(replies) >= MIN_REPLIES and rng.random() < LEAVE_PROBABILITY + DULL_REPLY_EFFECT * dull:
        return None
    reply = parse(replies[-1])
    parts = [pick(DULL if dull else INTERESTED, rng)]
    parts += [statement(topic, persona[topic]) if topic in persona else NO_ANSWER for topic in reply.asks[:1]]
    mentioned = {topic for turn in turns if turn.role == "user" for topic in parse(turn.text).claims}
    new = [topic for topic in persona if topic not in mentioned and topic not in reply.asks]
    if new and (not reply.asks or rng.random() < 0.5):
        topic = pick(new, rng)
        parts.append(statement(topic, persona[topic]))
        if rng.random() < 0.6:
            parts.append(TOPICS[topic].asks)
    elif len(parts) == 1 or rng.random() < 0.4:
        parts.append(TOPICS[pick(list(TOPICS), rng)].asks)
    return " ".join(parts)


def is_on_topic(user: str, reply: str) -> bool:
    """Whether a reply is on a topic that the user mentioned; always true if the user mentioned none."""
    about = parse(user).topics
    return not about or bool(about & parse(reply).topics)
