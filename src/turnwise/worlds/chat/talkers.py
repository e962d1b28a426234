"""Agents that chat: one policy, and the habits by which they differ.

As the sellers of the booking world they are pure functions of what they see and of the generator.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from turnwise.types import Reply, Turn
from turnwise.worlds.chat.topics import TOPICS, Persona, Said, one, persona_of, said, states

VOICES = {
    "plain": ("I see.", "That is interesting.", "I understand."),
    "lively": ("Wow, how cool is that!", "Haha, no way!", "Oh, I like that a lot!"),
}


@dataclass(frozen=True, slots=True)
class Habits:
    """How an agent chats. A share is the chance that it happens in a turn."""

    voice: str = "plain"
    contradicts: float = 0.0  # claims another thing than before
    repeats: float = 0.0  # says its last reply again
    ignores: float = 0.0  # says something polite and empty
    strays: float = 0.0  # talks of something that nobody mentioned
    asks: float = 0.5  # asks something back
    shares: float = 0.7  # tells of itself where it fits


@dataclass(frozen=True, slots=True)
class Talker:
    habits: Habits = Habits()

    def __call__(self, turns: Sequence[Turn], rng: np.random.Generator, /) -> Reply:
        habits, who = self.habits, persona_of(turns[0])
        repeats, ignores, strays, contradicts, shares, asks = rng.random(6).tolist()
        user = said(turns[-1].text)
        if repeats < habits.repeats and len(turns) > 2:
            return Reply(turns[-2].text)
        parts = [one(VOICES[habits.voice], rng)]
        if ignores < habits.ignores:
            return Reply(parts[0])
        if strays < habits.strays:
            topic = one([topic for topic in TOPICS if topic not in user.topics], rng)
            return Reply(f"{parts[0]} {_remark(topic, one(TOPICS[topic].things, rng))}")
        parts.append(_content(user, who, shares=shares < habits.shares))
        if contradicts < habits.contradicts:
            parts += _contradiction(turns, rng)
        if asks < habits.asks:
            parts.append(TOPICS[_untold(turns, rng)].asks)
        return Reply(" ".join(parts))


def _content(user: Said, who: Persona, *, shares: bool) -> str:
    """Something on what the user spoke of: an answer where one was asked for, else what fits."""
    topic = (*(user.asks or sorted(user.topics)), *who)[0]
    if topic in who and (user.asks or shares):
        return states(topic, who[topic])
    thing = user.holds.get(topic)
    return _remark(topic, thing) if thing else NOTHING[topic]


def _remark(topic: str, thing: str) -> str:
    text = TOPICS[topic].likes.format(thing)
    return text[:1].upper() + text[1:]


def _contradiction(turns: Sequence[Turn], rng: np.random.Generator) -> list[str]:
    """Another thing than what was claimed before, if anything was."""
    claimed = {
        topic: thing
        for turn in turns
        if turn.role == "assistant"
        for topic, thing in said(turn.text).holds.items()
    }
    if not claimed:
        return []
    topic = one(list(claimed), rng)
    return [f"In fact {states(topic, one([t for t in TOPICS[topic].things if t != claimed[topic]], rng))}"]


def _untold(turns: Sequence[Turn], rng: np.random.Generator) -> str:
    """A topic on which the user has neither told anything yet nor been asked, if there is any."""
    told = {
        topic
        for turn in turns[1:]
        for topic in (said(turn.text).holds if turn.role == "user" else said(turn.text).asks)
    }
    return one([topic for topic in TOPICS if topic not in told] or list(TOPICS), rng)


# What is said on a topic by one who holds nothing there.
NOTHING = {
    "food": "I eat whatever there is.",
    "pet": "There are no pets around here.",
    "work": "Work is just work.",
    "music": "Music is not my thing.",
    "sport": "Sport is for others.",
    "home": "It is a nice city.",
    "travel": "Travel is expensive.",
    "books": "Books are patient.",
}
