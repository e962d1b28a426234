"""The one that an agent chats with: tells of itself, answers, asks, and leaves when bored.

A pure function of who it is and of the conversation.
"""

from collections.abc import Sequence

import numpy as np

from turnwise.types import Turn
from turnwise.worlds.chat.topics import TOPICS, Persona, one, said, states

T_MAX = 8  # replies of the agent
AT_LEAST = 4  # replies before a user thinks of leaving
LEAVES = 0.15  # the chance a turn, when content
BORED = 0.35  # what each dull reply adds to it
GREETINGS = ("Hi there!", "Hello!", "Hey, nice to meet you!")
LIKES = ("That sounds nice.", "Oh, really?", "Cool.")
NOTHING = "I could not tell."
DULL = ("Hm.", "Okay.", "If you say so.")


def first_message(who: Persona, rng: np.random.Generator) -> str:
    topic = one(list(who), rng)
    return f"{one(GREETINGS, rng)} {states(topic, who[topic])} {TOPICS[topic].asks}"


def next_message(who: Persona, turns: Sequence[Turn], rng: np.random.Generator) -> str | None:
    """What the user says to the last of `turns`; None when it has left."""
    replies = [turn.text for turn in turns if turn.role == "assistant"]
    if len(replies) >= T_MAX:
        return None
    dull = not heeds(turns[-2].text, replies[-1]) or replies[-1] in replies[:-1]
    if len(replies) >= AT_LEAST and rng.random() < LEAVES + BORED * dull:
        return None
    reply = said(replies[-1])
    parts = [one(DULL if dull else LIKES, rng)]
    parts += [states(topic, who[topic]) if topic in who else NOTHING for topic in reply.asks[:1]]
    told = {topic for turn in turns if turn.role == "user" for topic in said(turn.text).holds}
    new = [topic for topic in who if topic not in told and topic not in reply.asks]
    if new and (not reply.asks or rng.random() < 0.5):
        topic = one(new, rng)
        parts.append(states(topic, who[topic]))
        if rng.random() < 0.6:
            parts.append(TOPICS[topic].asks)
    elif len(parts) == 1 or rng.random() < 0.4:
        parts.append(TOPICS[one(list(TOPICS), rng)].asks)
    return " ".join(parts)


def heeds(user: str, reply: str) -> bool:
    """Whether a reply is about something that the user spoke of."""
    about = said(user).topics
    return not about or bool(about & said(reply).topics)
